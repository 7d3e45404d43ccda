#pragma once
/* One request on its way: what came, what will be answered, and the memory that lives as long.
 * Handlers run on the HTTP thread that owns the connection. A handler either answers before it
 * returns, or holds the request (req_write, waiting_hold) and is called on again later, on the
 * same thread. Threads: the HTTP thread of the connection, but for req_release. */
#include "api/http.h"
#include "api/media.h"
#include "api/problem.h"
#include "api/target.h"
#include "server/buf.h"
#include "server/store.h"
#include "server/tokens.h"

#include <microhttpd.h>
#include <stdbool.h>

#define REQ_ID_SIZE 65 /* 1..64 characters */
#define REQ_PARAMS 2   /* {…} in a path */
#define REQ_HEADERS 12 /* headers of an answer */

enum req_phase {
    REQ_NEW,      /* only the request line is known */
    REQ_READING,  /* the head passed the gate, the body comes */
    REQ_RUNNING,  /* a handler has it */
    REQ_HELD,     /* suspended; `resume` goes on */
    REQ_ANSWERED, /* handed to libmicrohttpd */
};

struct req_header_out {
    const char *name; /* a constant */
    char *value;      /* heap */
};

struct answer {
    int status; /* 0: none yet */
    enum media media;
    char *body;            /* heap, or NULL */
    struct kept *kept;     /* instead of a body, or NULL; held */
    struct stream *stream; /* instead of a body, or NULL; owned */
    size_t length;
    struct req_header_out headers[REQ_HEADERS];
    size_t header_count;
    bool has_content; /* it has, or had, a body or stream: decides Content-Type */
    bool has_etag;    /* decides Cache-Control */
    bool close;       /* the connection cannot be trusted any more */
};

struct kept;
struct req;
struct route;
struct stream;
typedef void req_step(struct req *req);
typedef void req_then(struct req *req, int rc, const struct err *err);
typedef void req_cleanup(void *what);

struct req {
    struct http *http;
    const struct http_parts *parts; /* what handlers work with */
    struct MHD_Connection *connection;
    enum req_phase phase;
    int64_t began_ns;

    /* --- what came */
    char id[REQ_ID_SIZE];
    const char *method; /* borrowed from the connection */
    struct target target;
    const char *target_fault;       /* what is wrong with it, or NULL */
    const char *params[REQ_PARAMS]; /* values of {…} in the order of the path */
    struct buf body;                /* at most LIMIT_BODY_BYTES */
    uint64_t body_bytes;            /* all that came, also what was not kept */
    cJSON *json;                    /* the body, when the route takes one */
    enum media media;               /* what the client likes best of what the route sends */
    const struct route *route;      /* NULL: none has this method and path */
    enum scope scope;               /* of the caller */
    char digest[HASH_HEX_SIZE];     /* hash_hex of the token that was shown; "": none */
    const char *who;                /* the caller: a token's name or "loopback"; NULL: not asked */
    bool refused;                   /* the gate said no; `answer` is filled */

    /* --- what is answered */
    struct answer answer;

    /* --- holding */
    req_step *resume; /* runs on the HTTP thread after req_release */
    void *held_by;    /* of waiting.c */
    bool is_not_held; /* it wished to wait, and there was no room (holding.h) */
    store_work *work; /* of req_write, and its argument */
    void *work_arg;
    req_then *then; /* of req_write */
    void *then_arg; /* what req_write was given */
    int write_rc;
    struct err write_err;

    /* --- the line in the audit trail (audit.h) */
    const char *audit_object; /* what is changed; NULL: the path says it */
    const bool *audit_unless; /* no line when this is true after the work; NULL: always one */

    struct req_memory *memory; /* newest first */
};

/* Takes a copy of the target as it came. req_free ends everything that hangs on it. */
struct req *req_new(struct http *http, struct MHD_Connection *connection, const char *target);
void req_free(struct req *req);

/* --- memory */

/* Zeroed; lives as long as the request. */
void *req_alloc(struct req *req, size_t size);
/* The same, filled with the first length bytes of text and a NUL. */
char *req_copy(struct req *req, const char *text, size_t length);
/* Runs cleanup(what) when the request ends, the latest first. */
void req_defer(struct req *req, req_cleanup *cleanup, void *what);

/* --- what came */

/* A header's value without blanks around it, or NULL; lives as long as the request. */
const char *req_header(struct req *req, const char *name);
/* The decoded value of a query parameter, or NULL. */
const char *req_query(const struct req *req, const char *name);
/* Answers 400 and returns -1 when the query has a name that is not in the NULL-terminated list,
 * or one twice: a typo in a filter must not list everything. */
MUST_CHECK int req_query_only(struct req *req, const char *const *names);
/* Reads Prefer: wait=S, capped at LIMIT_WAIT_S. False when it is not asked for. */
bool req_prefers_wait(struct req *req, int *out_seconds);
/* Hands the body's tree over to the caller. */
cJSON *req_take_json(struct req *req);

/* --- what is answered; a later answer replaces an earlier one */

/* Takes tree over. */
void req_answer_json(struct req *req, int status, cJSON *tree);
void req_answer_problem(struct req *req, int status, cJSON *tree);
/* Takes text over. */
void req_answer_text(struct req *req, int status, enum media media, char *text);
/* 200 with the text of kept, which is held until it is sent. */
void req_answer_kept(struct req *req, struct kept *kept);
/* Events without end; takes stream over. */
void req_answer_stream(struct req *req, struct stream *stream);
/* No body. Headers set so far are kept. */
void req_answer_empty(struct req *req, int status);
/* Adds a header to the answer; name is a constant. Control bytes in the value are a bug. */
void req_answer_header(struct req *req, const char *name, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Sets ETag; when If-None-Match names it and the method is GET or HEAD, answers 304 and returns
 * true. Call it after the answer it belongs to. */
bool req_answer_etag(struct req *req, const char *etag);

/* --- holding */

/* Suspends the request; resume(req) is called on its thread after req_release, unless the client
 * has gone: then the request ends without, and what req_defer was given must let go of everything.
 * The handler must return at once after the call that makes a release possible. */
void req_hold(struct req *req, req_step *resume);
/* From any thread, once per req_hold. */
void req_release(struct req *req);

/* Writes: suspends, runs work in the writer's next transaction, together with the line in the audit
 * trail when the call leaves one, then calls then(req, rc, err) on the HTTP thread. arg must live
 * as long as the request. Return at once afterwards. */
void req_write(struct req *req, store_work *work, void *arg, req_then *then);
