#pragma once
/* Errors as clients see them: RFC 9457 application/problem+json, from one table. Each kind has a
 * fixed type, title and status; detail is for people and never holds a secret. Threads: any. */
#include "server/err.h"
#include "server/json.h"

struct req;

enum problem {
    PROBLEM_MALFORMED, /* the request line, a header or a query parameter */
    PROBLEM_BODY,      /* faults of a body */
    PROBLEM_HTTP_VERSION,
    PROBLEM_UNAUTHORIZED,   /* no token, or a wrong one */
    PROBLEM_FOREIGN_HOST,   /* Host names something that is not us */
    PROBLEM_FOREIGN_ORIGIN, /* a page of somebody else */
    PROBLEM_SCOPE,
    PROBLEM_NOT_FOUND,
    PROBLEM_METHOD,
    PROBLEM_NOT_ACCEPTABLE,
    PROBLEM_NOT_ENDED, /* a verdict that cannot be given yet */
    PROBLEM_CONFLICT,
    PROBLEM_BAD_VERDICT, /* the job failed or regressed */
    PROBLEM_PRECONDITION,
    PROBLEM_TOO_LARGE,
    PROBLEM_MEDIA_TYPE,
    PROBLEM_REFUSED,
    PROBLEM_KEY_REUSED,
    PROBLEM_TARGET_TOO_LONG,
    PROBLEM_TOO_MANY, /* wrong tokens from one address */
    PROBLEM_HEAD_TOO_LARGE,
    PROBLEM_INTERNAL,
    PROBLEM_UPSTREAM,
    PROBLEM_UNAVAILABLE,
    PROBLEM_STOPPING,
    PROBLEM_TIMEOUT,
};
#define PROBLEM_COUNT (PROBLEM_TIMEOUT + 1)

/* The problem as JSON, for who has no request of ours. The caller frees it. */
char *problem_text(enum problem kind, const char *detail, const char *request_id);

/* The HTTP status of a kind. */
int problem_status(enum problem kind);

/* The one table of err_code to problem. */
enum problem problem_of(enum err_code code);

/* Answers with a problem; what was built of another answer is dropped. */
void problem_answer(struct req *req, enum problem kind, const char *format, ...) PRINTF_LIKE(3, 4);

/* The same for an error of a lower layer. What only we can mend (ERR_SYSTEM and the like) is
 * logged, and the answer names the request id instead of the message. */
void problem_err(struct req *req, const struct err *err);
/* Answers 403 and returns false when the job holds what only an admin may submit. */
bool problem_may_submit(struct req *req, const char *admin_only);
/* What jobs_check said about a body: its faults, else the error. */
void problem_unfit(struct req *req, const struct json_faults *faults, const struct err *err);

/* 400 with errors[]: one pointer and detail per fault. */
void problem_faults(struct req *req, const struct json_faults *faults);

/* 400 for one member of the body. */
void problem_fault(struct req *req, const char *pointer, const char *format, ...) PRINTF_LIKE(3, 4);

/* 400 for one parameter of the query: errors[] names it as "parameter". */
void problem_parameter(struct req *req, const char *name, const char *format, ...)
    PRINTF_LIKE(3, 4);
