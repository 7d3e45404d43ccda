#include "api/http_own_answers.h"
#include "api/media.h"
#include "api/problem.h"
#include "server/ids.h"
#include "server/json.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef enum MHD_Result queue_call(struct MHD_Connection *connection, unsigned status,
                                   struct MHD_Response *response);

static queue_call *library_queue;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_library(void)
{
    void *found = dlsym(RTLD_NEXT, "MHD_queue_response");
    memcpy(&library_queue, &found, sizeof found); /* ISO C knows no other way between the two */
    if (!library_queue)
        abort(); /* we are linked with it */
}

enum MHD_Result own_answers_queue(struct MHD_Connection *connection, unsigned status,
                                  struct MHD_Response *response)
{
    (void)pthread_once(&once, find_library);
    return library_queue(connection, status, response);
}

static const struct {
    unsigned status; /* of libmicrohttpd */
    enum problem kind;
    const char *detail;
} known[] = {
    {MHD_HTTP_BAD_REQUEST, PROBLEM_MALFORMED,
     "the request line, a header, a length or a chunk cannot be read"},
    {MHD_HTTP_CONTENT_TOO_LARGE, PROBLEM_TOO_LARGE, "a length is beyond what can be read"},
    {MHD_HTTP_URI_TOO_LONG, PROBLEM_TARGET_TOO_LONG, "the target is far too long"},
    {MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE, PROBLEM_HEAD_TOO_LARGE,
     "the headers are far too large"},
    {MHD_HTTP_HTTP_VERSION_NOT_SUPPORTED, PROBLEM_HTTP_VERSION,
     "this is neither HTTP/1.0 nor HTTP/1.1"},
};

static struct MHD_Response *make_response(enum problem kind, const char *detail)
{
    char id[IDS_TEXT_SIZE];
    char *text = problem_text(kind, detail, ids_new(id));
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(text);
        return NULL;
    }
    (void)MHD_add_response_header(response, "X-Request-Id", id);
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    (void)MHD_add_response_header(response, "Content-Type", media_type(MEDIA_PROBLEM));
    return response;
}

/* Called by libmicrohttpd alone. */
enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status,
                                   struct MHD_Response *response)
{
    size_t i = 0;
    while (i < JSON_COUNT(known) && known[i].status != status)
        i++;
    struct MHD_Response *ours =
        i < JSON_COUNT(known) ? make_response(known[i].kind, known[i].detail) : NULL;
    if (!ours)
        return own_answers_queue(connection, status, response);
    enum MHD_Result queued =
        own_answers_queue(connection, (unsigned)problem_status(known[i].kind), ours);
    MHD_destroy_response(ours); /* our reference; the connection has its own */
    return queued;
}
