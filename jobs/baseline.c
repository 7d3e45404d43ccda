#include "jobs/baseline.h"
#include "jobs/compare.h"
#include "jobs/kind.h"
#include "jobs/member.h"
#include "jobs/state.h"
#include "server/ids.h"
#include "server/limits.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

#define LATEST "latest"
#define LOOKED_AT 2000 /* jobs of the instance that are looked through for "latest" */

/* --- at submit ------------------------------------------------------------------------------ */

static int check_job(struct db *db, const struct definition *definition, const char *id,
                     struct json_faults *faults, struct err *err)
{
    struct job_row row = {0};
    char *document = NULL;
    if (store_job_get(db, id, &row, err) < 0) {
        if (err->code != ERR_NOT_FOUND)
            return -1;
        json_fault_add(faults, "/baseline", "there is no job with this id");
        return 0;
    }
    int rc = 0;
    if (strcmp(row.kind, definition->kind_name) != 0)
        json_fault_add(faults, "/baseline", "is a job of another kind: %s", row.kind);
    else if (!job_is_done(&row))
        json_fault_add(faults, "/baseline", "has not ended: it is %s", row.state);
    else if (store_evidence_get(db, id, &document, err) < 0 && err->code == ERR_NOT_FOUND)
        json_fault_add(faults, "/baseline", "ended without figures: it is %s", row.state);
    else
        rc = document ? 0 : -1;
    free(document);
    job_row_fini(&row);
    return rc;
}

int baseline_check(struct db *db, const struct definition *definition, struct json_faults *faults,
                   struct err *err)
{
    const char *baseline = definition->baseline;
    if (!baseline || !definition->kind)
        return 0;
    if (definition->kind->gather) {
        json_fault_add(faults, "/baseline", "a kind without trials has nothing to compare");
        return 0;
    }
    if (strcmp(baseline, LATEST) == 0 || !ids_is_valid(baseline))
        return 0; /* a bad one was told when the form was checked */
    return check_job(db, definition, baseline, faults, err);
}

/* --- at the end ----------------------------------------------------------------------------- */

struct search {
    const char *job; /* our own */
    const struct definition *definition;
    char *found; /* id, heap */
    char *document;
};

static bool has_same_parameters(const struct search *search, const struct job_row *row)
{
    cJSON *tree = NULL;
    struct err ignored; /* one that cannot be read is passed over */
    if (strcmp(row->id, search->job) == 0 || member_parse_own(row->definition, &tree, &ignored) < 0)
        return false;
    bool same =
        cJSON_Compare(json_member(tree, "parameters"), search->definition->parameters, true);
    cJSON_Delete(tree);
    return same;
}

static int find_latest(struct db *db, struct search *search, struct err *err)
{
    struct job_filter filter = {.state = job_state_name(JOB_SUCCEEDED),
                                .kind = search->definition->kind_name,
                                .instance = search->definition->instance};
    char *after = NULL;
    size_t count = LIMIT_PAGE;
    int rc = 0;
    for (int seen = 0; rc == 0 && !search->found && count == LIMIT_PAGE && seen < LOOKED_AT;
         seen += LIMIT_PAGE) {
        struct store_list page = {.limit = LIMIT_PAGE, .after = after};
        struct job_row *rows = NULL;
        count = 0;
        rc = store_job_list(db, &filter, &page, &rows, &count, err);
        for (size_t i = 0; i < count; i++) {
            if (!search->found && has_same_parameters(search, &rows[i]))
                search->found = mem_copy(rows[i].id);
            if (i + 1 == count)
                mem_replace(&after, rows[i].id);
        }
        job_rows_free(rows, count);
    }
    free(after);
    return rc;
}

static int search_work(struct db *db, void *arg, struct err *err)
{
    struct search *search = arg;
    if (strcmp(search->definition->baseline, LATEST) != 0)
        search->found = mem_copy(search->definition->baseline);
    else if (find_latest(db, search, err) < 0)
        return -1;
    return search->found ? store_evidence_get(db, search->found, &search->document, err) : 0;
}

static cJSON *read_baseline(const struct search *search, struct err *err)
{
    struct evidence evidence;
    if (evidence_read(search->document, strlen(search->document), true, &evidence, err) < 0)
        return NULL;
    cJSON *tree = compare_baseline(&evidence);
    evidence_fini(&evidence);
    if (!tree)
        (void)err_set(err, ERR_NOT_FOUND, 0, "it has no trials");
    return tree;
}

cJSON *baseline_find(struct store *store, const char *job, const struct definition *definition)
{
    struct err err = {0};
    struct search search = {.job = job, .definition = definition};
    if (!definition->baseline)
        return NULL;
    cJSON *tree = NULL;
    char *why = NULL;
    int rc = store_read(store, search_work, &search, &err);
    if (rc == 0 && search.document)
        tree = read_baseline(&search, &err);
    else if (rc == 0)
        why = mem_copy("There is no baseline yet: no earlier job of the same kind, instance and "
                       "parameters has succeeded.");
    if (!tree && !why)
        why = mem_format("The baseline job could not be compared with: %s.", err.msg);
    if (!tree)
        tree = compare_no_baseline(why);
    free(why);
    free(search.found);
    free(search.document);
    return tree;
}
