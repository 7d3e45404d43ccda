#pragma once
/* The one table of routes: verb, path, scope, what it takes and sends, handler. The document
 * openapi.yaml is held against it by a test. Threads: any; the table is constant. */
#include "api/request.h"

enum route_body {
    BODY_NONE,  /* none, or {} */
    BODY_MAYBE, /* none, or an object */
    BODY_JSON,  /* an object */
};

struct route {
    const char *method;
    const char *path; /* a segment in braces is a parameter */
    enum scope scope; /* the smallest that may */
    enum route_body body;
    unsigned sends; /* MEDIA_BITs */
    req_step *handle;
    const char *const *query; /* names it takes, NULL at the end; NULL: none is looked at */
};

extern const struct route routes[];
extern const size_t route_count;

/* The route for a method (HEAD asks for that of GET) and path; NULL when there is none, then
 * out_allow gets the methods of this path, "" when no route has it. */
const struct route *route_find(const char *method, const struct target *target,
                               const char *params[REQ_PARAMS], struct buf *out_allow);

/* Checks Accept, body and the names of the query, and calls the handler of req->route (access.h has
 * found it); answers what is wrong. */
void route_dispatch(struct req *req);
