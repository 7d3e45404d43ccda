/* scenario_others.c: what happens on the server by itself: the timeline and the default trace. */
#include "scenario.h"

#include <string.h>

#include "others.h"

/* A fault that cannot be must be told now, not when its time has come. */
static void check_fault(struct loader *l, const cJSON *fault)
{
    const cJSON *what = cJSON_GetObjectItemCaseSensitive(fault, "do");
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(fault, "kind");
    if (!cJSON_IsObject(fault) || !cJSON_IsString(what))
        sim_load_fail(l, "a fault with \"do\" is needed", "timeline");
    else if (!sim_fault_is_known(what->valuestring))
        sim_load_fail(l, "this fault is not known", what->valuestring);
    if (cJSON_IsString(kind) && sim_foreign_kind(kind->valuestring) < 0)
        sim_load_fail(l, "this kind is not known", kind->valuestring);
}

void sim_load_timeline(struct loader *l)
{
    static const char *const names[] = {"at_s", "at_backup", "at_percent", "fault", NULL};
    const cJSON *m = NULL;
    int64_t now = sim_now_us_locked(l->sim);

    cJSON_ArrayForEach(m, sim_load_member(l, "timeline")) {
        const cJSON *fault = cJSON_GetObjectItemCaseSensitive(m, "fault");
        sim_load_check(l, m, names, "timeline");
        check_fault(l, fault);
        double at = sim_load_number_of(l, m, "at_s", -1);
        int backup = (int)sim_load_number_of(l, m, "at_backup", 0);
        if ((at < 0) == (backup < 1))
            sim_load_fail(l, "at_s of 0 or more, or at_backup from 1 on, is needed", "timeline");
        if (l->failed)
            return;
        const struct sim_moment moment = {
            .at_us = at < 0 ? 0 : now + (int64_t)(at * 1e6),
            .backup = backup,
            .percent = sim_load_number_of(l, m, "at_percent", 50),
            .fault = cJSON_Duplicate(fault, true),
        };
        sim_moment_add_locked(l->sim, &moment);
    }
}

/* Growths that have been before the start; files keep the size that the scenario gives them. */
void sim_load_trace(struct loader *l)
{
    static const char *const names[] = {"number", "growths", NULL};
    static const char *const members[] = {"database", "file", "mib", "ms", "ago_s", "trace", NULL};
    const cJSON *trace = sim_load_member(l, "default_trace"), *m = NULL;
    int64_t now = sim_now_us_locked(l->sim);

    sim_load_check(l, trace, names, "default_trace");
    l->sim->trace_number = (int)sim_load_number_of(l, trace, "number", 5);
    if (l->sim->trace_number < 1)
        sim_load_fail(l, "1 or more is needed", "number");
    cJSON_ArrayForEach(m, cJSON_GetObjectItemCaseSensitive(trace, "growths")) {
        sim_load_check(l, m, members, "growths");
        const struct sim_growth growth = {
            .start_us = now - (int64_t)(sim_load_number_of(l, m, "ago_s", 60) * 1e6),
            .took_us = (int64_t)(sim_load_number_of(l, m, "ms", 100) * 1000),
            .pages = (int64_t)(sim_load_number_of(l, m, "mib", 64) * 128),
            .trace_file = (int)sim_load_number_of(l, m, "trace", 0),
        };
        if (sim_growth_add_locked(l->sim, sim_load_text(l, m, "database", ""),
                                  sim_load_text(l, m, "file", ""), &growth, false))
            sim_load_fail(l, "a database and one of its files are needed", "growths");
    }
}
