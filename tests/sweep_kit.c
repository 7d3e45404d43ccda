#include "tests/sweep_kit.h"
#include "server/mem.h"
#include "server/mssql.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

cJSON *sweep_run(struct harness *house, const char *body, char **out_id)
{
    char *id = harness_submit(house, body);
    cJSON *job = harness_wait(house, id);
    if (out_id)
        *out_id = id;
    else
        free(id);
    return job;
}

cJSON *sweep_run_to(struct harness *house, const char *body, const char *state, char **out_id)
{
    cJSON *job = sweep_run(house, body, out_id);
    if (strcmp(text_at(job, "state"), state) != 0)
        fail_msg("%s instead of %s: %s", text_at(job, "state"), state, cJSON_PrintUnformatted(job));
    return job;
}

void sweep_register(struct harness *house, const char *name, int port, const char *extra,
                    int status)
{
    char *target = mem_format("/v1/instances/%s", name);
    char *body = mem_format("{'host':'127.0.0.1','port':%d,'login':'sa','environment':'test',"
                            "'password':{'env':'SWEETSPOT_SECRET_SIM'}%s%s}",
                            port, extra ? "," : "", extra ? extra : "");
    cJSON_Delete(harness_call(house, "PUT", target, body, status));
    free(body);
    free(target);
}

static cJSON *part_of(struct harness *house, const char *id, const char *part)
{
    char *target = mem_format("/v1/jobs/%s/%s", id, part);
    cJSON *tree = harness_call(house, "GET", target, NULL, 200);
    free(target);
    return tree;
}

cJSON *sweep_report_of(struct harness *house, const char *id)
{
    return part_of(house, id, "report");
}

cJSON *sweep_trials_of(struct harness *house, const char *id)
{
    return part_of(house, id, "trials?limit=500");
}

int sweep_count(const cJSON *trials, const char *arm, const char *status)
{
    int count = 0;
    const cJSON *trial;
    cJSON_ArrayForEach(trial, at(trials, "items")) {
        bool is_arm = !arm || strcmp(text_at(trial, "arm"), arm) == 0;
        count += is_arm && strcmp(text_at(trial, "status"), status) == 0;
    }
    return count;
}

const cJSON *sweep_arm(const cJSON *report, const char *label)
{
    const cJSON *arm;
    cJSON_ArrayForEach(arm, at(report, "arms")) {
        if (strcmp(text_at(arm, "label"), label) == 0)
            return arm;
    }
    fail_msg("no arm %s in %s", label, cJSON_PrintUnformatted(report));
    return NULL;
}

void sweep_fault(struct sim *sim, const char *fault)
{
    char error[SIM_ERROR_SIZE];
    if (sim_fault(sim, fault, error) < 0)
        fail_msg("%s", error);
}

int sweep_files_left(struct sim *sim)
{
    size_t count = 0;
    int ours = 0;
    struct sim_left *files = sim_files(sim, &count);
    for (size_t i = 0; i < count; i++)
        ours += strstr(files[i].path, "sweetspot_") != NULL;
    sim_files_free(files, count);
    return ours;
}

void sweep_nothing_left(struct sim *sim)
{
    int flags[4];
    assert_int_equal(sweep_files_left(sim), 0);
    assert_int_equal(sim_flags(sim, flags, 4), 0);
}

static void look(struct sim *sim, const char *prefix, const char *text, bool wanted)
{
    size_t count = 0;
    char **texts = sim_statements(sim, &count);
    for (size_t i = 0; i < count; i++)
        if (strncmp(texts[i], prefix, strlen(prefix)) == 0 &&
            (strstr(texts[i], text) != NULL) != wanted)
            fail_msg("%s %s: %s", wanted ? "without" : "with", text, texts[i]);
    sim_texts_free(texts, count);
}

void sweep_all_say(struct sim *sim, const char *prefix, const char *text)
{
    look(sim, prefix, text, true);
}

void sweep_none_says(struct sim *sim, const char *prefix, const char *text)
{
    look(sim, prefix, text, false);
}

bool sweep_error_says(const cJSON *job, const char *text)
{
    if (strstr(text_at(job, "error/message"), text))
        return true;
    print_message("the error is: %s\n", text_at(job, "error/message"));
    return false;
}
