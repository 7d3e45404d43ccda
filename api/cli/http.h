#pragma once
/* HTTP to the daemon (libcurl): one connection, no redirects, no proxy: the server is near, and
 * a proxy from the environment would break http://127.0.0.1. One thread. */
#include "server/err.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_DEFAULT_URL "http://127.0.0.1:8484"

struct http;

struct http_options {       /* all borrowed during http_open; any may be NULL */
    const char *url;        /* http:// or https://, host and port */
    const char *token_file; /* a missing file means: no token */
    const char *ca_file;
    const volatile sig_atomic_t *stop; /* not 0: a request under way is given up; must live on */
};

/* ERR_INPUT: the address or the token file is no good. */
MUST_CHECK int http_open(const struct http_options *options, struct http **out, struct err *err);
void http_close(struct http *http);

/* The server's address, as given. */
const char *http_url(const struct http *http);

struct http_request {
    const char *method;
    const char *path; /* "/v1/jobs"; parts from outside through http_escape */
    const char *body; /* JSON, or NULL */
    size_t body_bytes;
    const char *accept;          /* NULL: application/json */
    const char *idempotency_key; /* or NULL */
};

struct http_answer {
    long status;
    char *body; /* NUL-terminated, never NULL on success; http_answer_fini frees */
    size_t body_bytes;
    int64_t retry_after_s; /* -1: none */
};

/* Any HTTP status is success here. ERR_UNREACHABLE: no answer; detail is 1 when the request may
 * have arrived nevertheless. ERR_CANCELLED: *stop was set. */
MUST_CHECK int http_send(struct http *http, const struct http_request *request,
                         struct http_answer *out, struct err *err);
void http_answer_fini(struct http_answer *answer);

/* Text as one part of a path. The caller frees it. */
char *http_escape(const char *text);
