/* GET and POST /v1/mode: whether jobs may start. */
#include "api/handlers.h"
#include "api/request.h"
#include "jobs/jobs.h"
#include "server/log.h"

#include <string.h>

static const char *const modes[] = {"active", "paused", NULL};

struct mode {
    const char *name;
    bool paused;
};

static const struct json_field fields[] = {
    {"mode", JSON_TEXT, offsetof(struct mode, name), .required = true, .choices = modes,
     .help = "paused starts no job"},
};

static void answer(struct req *req, bool paused)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "mode", json_text(modes[paused]));
    req_answer_json(req, 200, tree);
}

static int get_work(struct db *db, void *arg, struct err *err)
{
    return store_paused_get(db, arg, err);
}

void mode_get(struct req *req)
{
    bool paused = false;
    struct err err;
    if (store_read(req->parts->store, get_work, &paused, &err) < 0)
        problem_err(req, &err);
    else
        answer(req, paused);
}

static int put_work(struct db *db, void *arg, struct err *err)
{
    const struct mode *mode = arg;
    return store_paused_put(db, mode->paused, err);
}

static void put_done(struct req *req, int rc, const struct err *err)
{
    const struct mode *mode = req->then_arg;
    if (rc < 0) {
        problem_err(req, err);
        return;
    }
    log_event(LOG_LEVEL_INFO, "mode", "mode=%s", mode->name);
    jobs_wake(req->parts->jobs);
    answer(req, mode->paused);
}

void mode_post(struct req *req)
{
    struct json_faults faults = {0};
    struct mode *mode = req_alloc(req, sizeof *mode);
    json_read(req->json, fields, JSON_COUNT(fields), "", mode, &faults);
    mode->paused = mode->name && strcmp(mode->name, "paused") == 0;
    if (faults.count > 0)
        problem_faults(req, &faults);
    else
        req_write(req, put_work, mode, put_done);
    json_faults_fini(&faults);
}
