#pragma once
/* Outgoing HTTP (libcurl): no redirects, no proxy from the environment, http and https only,
 * and the address really connected to is checked: loopback, link-local, private and other special
 * ranges are refused unless allowed by the setting webhooks_allow. Threads: any; each call uses
 * its own easy handle. */
#include "server/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct egress;

/* allow: hosts or CIDR, comma-separated (the setting webhooks_allow); ERR_INPUT names an item that
 * is neither. A host is the one in the URL, without case; whatever address it has is allowed. */
MUST_CHECK int egress_open(const char *allow, struct egress **out, struct err *err);
void egress_close(struct egress *egress);

struct egress_request {
    const char *url;
    const char *content_type;
    const char *body;
    size_t body_length;
    const char *const *headers; /* "Name: value" each, without CR or LF; may be NULL */
    size_t header_count;
};

struct egress_answer {
    long status;           /* HTTP status */
    char *body;            /* at most LIMIT_ANSWER_BYTES; heap, never NULL on success */
    int64_t retry_after_s; /* from Retry-After; -1 none */
};

/* Checks the form of a URL: http or https, a host, no user info, at most LIMIT_URL_BYTES. Pure. */
MUST_CHECK int egress_check_url(const char *url, struct err *err);

/* The same, and that its host is no literal address that a POST would refuse: ERR_REFUSED. Names
 * are looked up only when something is sent. No I/O. */
MUST_CHECK int egress_check_target(const struct egress *egress, const char *url, struct err *err);

/* POSTs; connect 5 s, 15 s in all. ERR_REFUSED: the address is not allowed; ERR_UNREACHABLE: no
 * answer. Any HTTP status is success here. The URL is in no message. */
MUST_CHECK int egress_post(struct egress *egress, const struct egress_request *request,
                           struct egress_answer *out, struct err *err);
void egress_answer_fini(struct egress_answer *answer);

/* Ends the calls that run, and all later ones, with ERR_CANCELLED within about a second. */
void egress_abort(struct egress *egress);

/* For tests, which cannot wait: other deadlines for the calls that follow. */
void egress_set_deadlines(struct egress *egress, long connect_ms, long total_ms);

/* "https://host/…abcd": what may be shown of a URL: nothing of a short path, and only "…" of what
 * is no URL. The caller frees it. */
char *egress_redact(const char *url);
/* Whether it is what egress_redact shows, and no URL to send to. */
bool egress_is_redacted(const char *url);
