/* GET /openapi.yaml: the contract as a document. */
#include "api/embedded.h"
#include "api/handlers.h"
#include "api/request.h"
#include "server/mem.h"

void openapi_get(struct req *req)
{
    req_answer_text(req, 200, MEDIA_YAML, mem_copy(embedded_openapi));
}
