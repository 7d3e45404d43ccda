/* GET /v1/kinds: what can be measured, and what its parameters are. */
#include "api/handlers.h"
#include "api/request.h"
#include "jobs/jobs.h"

void kind_list(struct req *req)
{
    req_answer_json(req, 200, kinds_list_json());
}
