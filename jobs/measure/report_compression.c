/* What compression makes of a backup, beside what it costs (domain.md 1.5; 8, reports 10, 17, 32).
 */
#include "jobs/measure/report.h"

#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 6
#define SAVES 1.1 /* domain.md 8, report 10: below this a file is as good as not compressed */

typedef double figure_of(const struct trial *trial);

static double bytes_of(const struct trial *trial)
{
    return trial->bytes < 0 ? NAN : (double)trial->bytes;
}

static double cpu_percent_of(const struct trial *trial)
{
    bool known = trial->cpu_count > 0 && trial->elapsed_s > 0;
    return known ? 100 * trial->cpu_s / (trial->elapsed_s * (double)trial->cpu_count) : NAN;
}

/* The median over an arm's counted trials; NaN when none knows it. */
static double median_of(const struct bundle *bundle, int arm, figure_of *figure)
{
    struct stats_summary summary;
    double *values = mem_alloc(bundle->trial_count, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < bundle->trial_count; i++) {
        const struct trial *trial = &bundle->trials[i];
        double value = trial->arm == arm && trial_counts(trial) ? figure(trial) : NAN;
        if (isfinite(value))
            values[count++] = value;
    }
    stats_summarise(values, count, bundle->design->confidence, &summary);
    free(values);
    return summary.median;
}

double report_bytes(const struct bundle *bundle, int arm)
{
    return median_of(bundle, arm, bytes_of);
}

double report_compression_ratio(const struct bundle *bundle, const struct analysis *analysis,
                                int arm)
{
    double file_bytes = analysis->file_bytes[arm];
    return file_bytes > 0 ? report_bytes(bundle, arm) / file_bytes : NAN;
}

bool report_compresses(const struct arm *arm)
{
    const cJSON *word = json_member(arm->settings, "compression");
    return cJSON_IsString(word) && strcmp(word->valuestring, "off") != 0 &&
           strcmp(word->valuestring, "default") != 0;
}

void report_warn_of_ratio(cJSON *report, const struct bundle *bundle, int arm, double ratio)
{
    const char *label = bundle->arms[arm].label;
    const char *advice = guard_tde_advice(bundle->facts);
    double cpu = median_of(bundle, arm, cpu_percent_of);
    if (!(ratio < SAVES))
        return;
    char *cost =
        isnan(cpu) ? mem_copy("") : mem_format("; the server's CPU was at %.0f %% meanwhile", cpu);
    report_warn(report,
                "%s: the file is 1/%.2f of the data, so compressing saves next to nothing "
                "there%s.%s%s",
                label, ratio, cost, advice ? " " : "", advice ? advice : "");
    free(cost);
}

void report_add_compression(cJSON *report, const struct bundle *bundle,
                            const struct analysis *analysis)
{
    int index = 0;
    const cJSON *arms = json_member(report, "arms");
    cJSON *arm;
    cJSON_ArrayForEach(arm, arms) {
        double ratio = report_compression_ratio(bundle, analysis, index);
        cJSON_AddItemToObject(arm, "compression_ratio", json_rounded(ratio, DIGITS));
        if (report_compresses(&bundle->arms[index]))
            report_warn_of_ratio(report, bundle, index, ratio);
        index++;
    }
}
