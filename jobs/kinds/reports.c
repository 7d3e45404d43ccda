#include "jobs/kinds/reports.h"
#include "jobs/kinds/flag.h"
#include "jobs/kinds/history_report.h"
#include "jobs/kinds/snapshot.h"
#include "jobs/kinds/sweep_report.h"
#include "jobs/kinds/throughput_report.h"

#include <string.h>

static const struct {
    const char *kind;
    kind_report *report;
} reports[] = {
    /* clang-format off */
    {"backup_sweep",      sweep_report},
    {"backup_throughput", throughput_report},
    {"trace_flag",        flag_report},
    {"snapshot_overhead", snapshot_report},
    {"backup_history",    history_report},
    /* clang-format on */
};

kind_report *kind_report_of(const char *kind)
{
    for (size_t i = 0; i < JSON_COUNT(reports); i++)
        if (strcmp(reports[i].kind, kind) == 0)
            return reports[i].report;
    return NULL;
}
