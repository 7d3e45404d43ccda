#pragma once
/* The HTTP layer in this process, over a real store in a folder of its own and the double of
 * jobs.h: what the tests of the API stand on. */
#include "api/http.h"
#include "server/tokens.h"
#include "tests/fake_jobs.h"
#include "tests/http_client.h"

struct http_kit {
    char *folder;
    struct store *store;
    struct secrets *secrets;
    struct egress *egress;
    struct jobs *jobs;
    struct http_parts parts; /* may be changed between http_kit_stop_http and _start_http */
    struct http *http;
    int port;
};

/* request_ms: within which a request must have come; 0: as in production. */
struct http_kit *http_kit_start(int64_t request_ms);
/* With other times of streams; 0: as in production. */
struct http_kit *http_kit_start_streams(int64_t comment_ms, int64_t stall_ms);
/* Stops only the HTTP layer, and starts it again. */
void http_kit_stop_http(struct http_kit *kit);
void http_kit_start_http(struct http_kit *kit);
void http_kit_stop(struct http_kit *kit);

/* cmocka's setup and teardown: *state is a struct http_kit with an instance "sql01". */
int http_kit_set_up(void **state);
int http_kit_tear_down(void **state);
#define HTTP_TEST(name) cmocka_unit_test_setup_teardown(name, http_kit_set_up, http_kit_tear_down)

/* Makes a token of this name and scope; the caller frees it. */
char *http_kit_token(struct http_kit *kit, const char *name, enum scope scope);
void http_kit_revoke(struct http_kit *kit, const char *name);

/* One call with "Authorization: Bearer TOKEN" (none for NULL) and further header lines or NULL. */
struct reply http_kit_call_as(struct http_kit *kit, const char *token, const char *method,
                              const char *target, const char *headers, const char *body);

/* POSTs a job for sql01 and returns its id; the caller frees it. */
char *http_kit_submit(struct http_kit *kit);

/* Sends GET /v1/jobs/{id} with Prefer: wait and returns once the service holds it. */
struct client http_kit_hold(struct http_kit *kit, const char *id, int seconds);

/* One line of a transcript. */
struct line {
    const char *method;
    const char *target;
    const char *headers; /* or NULL */
    const char *body;    /* or NULL */
    int status;
    const char *holds; /* a piece of the body, or NULL */
};

/* Says all lines on one connection and fails the test at the first answer that differs. */
void http_kit_speak(int port, const struct line *lines, size_t count);
#define SPEAK(port, lines) http_kit_speak((port), (lines), sizeof(lines) / sizeof((lines)[0]))

/* The text of a member of a JSON text, NULL when there is none; the caller frees it. */
char *json_text_of(const char *text, const char *member);

/* A job, instance or webhook body that is accepted. */
extern const char http_kit_job[];
extern const char http_kit_instance[];
