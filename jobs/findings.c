#include "jobs/findings.h"
#include "jobs/baseline.h"
#include "jobs/compare.h"
#include "jobs/ending.h"
#include "jobs/evidence.h"
#include "jobs/kind.h"
#include "server/log.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

static cJSON *warnings_of(const struct run *run)
{
    cJSON *list = cJSON_CreateArray();
    char *lines = mem_copy(buf_text(&run->warnings));
    char *rest = lines;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
        if (*line)
            cJSON_AddItemToArray(list, json_text(line));
    free(lines);
    return list;
}

/* One verdict over all databases: false before null before true. */
static void merge_chain(cJSON *whole, const cJSON *part)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, part) {
        const cJSON *before = json_member(whole, member->string);
        if (cJSON_IsFalse(before) || (cJSON_IsNull(before) && !cJSON_IsFalse(member)))
            continue;
        cJSON_DeleteItemFromObjectCaseSensitive(whole, member->string);
        cJSON_AddItemToObject(whole, member->string, cJSON_Duplicate(member, false));
    }
}

/* NULL where nothing was backed up: there is nothing to say. */
static cJSON *chain_of(struct run *run)
{
    if (run->definition.kind->gather)
        return NULL;
    bool can_ask = run_session(run) && !mssql_is_dead(run_session(run));
    cJSON *chain = cJSON_CreateObject();
    for (size_t i = 0; i < run->plan.database_count; i++) {
        const struct plan_database *database = &run->plan.databases[i];
        cJSON *after =
            can_ask ? probe_chain(run_session(run), database->name) : cJSON_CreateObject();
        cJSON *part = probe_chain_compare(database->chain, after);
        merge_chain(chain, part);
        cJSON_Delete(part);
        cJSON_Delete(after);
    }
    return chain;
}

/* From the text, as anybody else would: no figure may come from what is not in it. */
static void read_back(struct findings *findings)
{
    struct evidence evidence;
    struct err err = {0};
    if (evidence_read(findings->evidence, strlen(findings->evidence), true, &evidence, &err) < 0) {
        log_event(LOG_LEVEL_ERROR, "evidence_unreadable", "error=%s", log_quote(err.msg));
        free(findings->evidence);
        findings->evidence = NULL;
        return;
    }
    cJSON *report = evidence_report(&evidence, &findings->outcome);
    findings->report = json_print(report);
    findings->regressed = compare_is_regressed(report);
    cJSON_Delete(report);
    evidence_fini(&evidence);
}

struct findings findings_make(struct run *run, bool complete, const cJSON *left_behind)
{
    struct findings findings = {.outcome = {.state = JOB_INCONCLUSIVE}};
    if (run->plan.arm_count == 0 && !run->gathered)
        return findings;
    cJSON *chain = chain_of(run);
    cJSON *warnings = warnings_of(run);
    cJSON *baseline =
        complete ? baseline_find(run->parts->store, run->row.id, &run->definition) : NULL;
    struct evidence_parts parts = {.bundle = ending_bundle(run),
                                   .definition = run->tree,
                                   .complete = complete,
                                   .trials_done = run->row.trials_done,
                                   .trials_planned = run->row.trials_planned,
                                   .chain = chain,
                                   .warnings = warnings,
                                   .left_behind = left_behind,
                                   .baseline = baseline};
    findings.evidence = evidence_write(&parts);
    cJSON_Delete(chain);
    cJSON_Delete(warnings);
    cJSON_Delete(baseline);
    read_back(&findings);
    return findings;
}

void findings_fini(struct findings *findings)
{
    if (!findings)
        return;
    free(findings->evidence);
    free(findings->report);
    free(findings->outcome.summary);
    *findings = (struct findings){0};
}
