#include "jobs/kind.h"
#include "jobs/kinds/kinds.h"

#include <stdio.h>
#include <string.h>

static const struct job_kind *const kinds[] = {
    &kind_backup_sweep,      &kind_backup_throughput, &kind_trace_flag,
    &kind_snapshot_overhead, &kind_backup_history,
};

const struct job_kind *kind_by_name(const char *name)
{
    for (size_t i = 0; i < JSON_COUNT(kinds); i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

const char *kind_names(void)
{
    static _Thread_local char names[256];
    size_t used = 0;
    for (size_t i = 0; i < JSON_COUNT(kinds) && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 kinds[i]->name);
    return names;
}

const struct job_kind *const *kind_all(size_t *out_count)
{
    *out_count = JSON_COUNT(kinds);
    return kinds;
}
