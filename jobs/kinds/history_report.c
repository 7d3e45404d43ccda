#include "jobs/kinds/history_report.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>

#define SHORT_SHARE 0.1 /* of backups within a second, which the rest does not speak for */
#define WIDE_BAND 0.1   /* of the median */

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *member = json_member(object, name);
    return cJSON_IsNumber(member) ? member->valuedouble : NAN;
}

static const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *member = json_member(object, name);
    return cJSON_IsString(member) ? member->valuestring : "";
}

static double sum_of(const cJSON *rows, const char *name)
{
    double sum = 0;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) {
        double value = number_of(row, name);
        sum += isnan(value) ? 0 : value;
    }
    return sum;
}

/* The series with the most backups. */
static const cJSON *largest(const cJSON *rows)
{
    const cJSON *row;
    const cJSON *found = rows ? rows->child : NULL;
    cJSON_ArrayForEach(row, rows) {
        if (number_of(row, "n") > number_of(found, "n"))
            found = row;
    }
    return found;
}

static char *summary_of(const cJSON *rows, double left_out)
{
    const cJSON *row = largest(rows);
    if (!row)
        return mem_format("msdb remembers no backup that tells a speed (%.0f left out)", left_out);
    const cJSON *data = json_member(row, "logical_mib_s");
    double backups = sum_of(rows, "n");
    const char *plural = backups == 1 ? "" : "s";
    if (isnan(number_of(data, "high"))) /* whole seconds allow any speed from low on */
        return mem_format(
            "%s, %s: at least %.4g MiB/s of data, the backups are too short for msdb's "
            "whole seconds to tell more; %.0f backup%s in %d series, %.0f left out",
            text_of(row, "database"), text_of(row, "type"), number_of(data, "low"), backups, plural,
            cJSON_GetArraySize(rows), left_out);
    return mem_format("%s, %s: median %.4g MiB/s of data (5th to 95th percentile %.4g-%.4g), "
                      "%.4g MiB/s to the device; %.0f backup%s in %d series, %.0f left out",
                      text_of(row, "database"), text_of(row, "type"), number_of(data, "median"),
                      number_of(data, "p5"), number_of(data, "p95"),
                      number_of(json_member(row, "device_mib_s"), "median"), backups, plural,
                      cJSON_GetArraySize(rows), left_out);
}

/* A series whose many short backups are unknown shows the slow ones only. */
static void warn_of_short_ones(cJSON *report, const cJSON *rows)
{
    const cJSON *row;
    int count = 0;
    cJSON_ArrayForEach(row, rows) {
        double none = number_of(row, "zero_seconds");
        count += none > SHORT_SHARE * (none + number_of(row, "n"));
    }
    if (count > 0)
        report_warn(report,
                    "In %d series more than a tenth of the backups began and ended within the same "
                    "second. Their speed is unknown, so these series show the slower ones only.",
                    count);
}

static void warn_of_whole_seconds(cJSON *report, const cJSON *rows)
{
    const cJSON *row;
    int count = 0;
    cJSON_ArrayForEach(row, rows) {
        const cJSON *data = json_member(row, "logical_mib_s");
        double median = number_of(data, "median");
        double high = number_of(data, "high");
        count += isnan(high) || high - number_of(data, "low") > WIDE_BAND * median;
    }
    if (count > 0)
        report_warn(report,
                    "msdb keeps whole seconds. In %d series of short backups that alone moves the "
                    "median by more than a tenth: see low and high.",
                    count);
}

void history_report(const struct bundle *bundle, const struct analysis *analysis, cJSON *report,
                    struct outcome *out)
{
    (void)analysis; /* of trials, of which there are none */
    const cJSON *rows = json_member(bundle->gathered, "history");
    const cJSON *excluded = json_member(bundle->gathered, "excluded");
    double left = number_of(bundle->gathered, "series") - cJSON_GetArraySize(rows);
    cJSON_AddItemToObject(report, "history", cJSON_Duplicate(rows, true));
    cJSON_AddItemToObject(report, "excluded", cJSON_Duplicate(excluded, true));
    out->summary = summary_of(rows, sum_of(excluded, "n"));
    out->state = rows && rows->child ? JOB_SUCCEEDED : JOB_INCONCLUSIVE;
    if (out->state == JOB_INCONCLUSIVE)
        (void)cJSON_AddStringToObject(report, "no_recommendation", out->summary);
    if (left > 0)
        report_warn(report, "%.0f more series, of fewer backups each, are not listed.", left);
    warn_of_short_ones(report, rows);
    warn_of_whole_seconds(report, rows);
}
