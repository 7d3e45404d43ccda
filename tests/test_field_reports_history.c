/* What people reported from the field of the backup history in msdb (the numbers are those of the
 * list of such reports): of rows made up, and of rows that backups left on the simulator. */
#include "jobs/measure/history.h"
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define MIB 1048576.0
#define HISTORY "{'kind':'backup_history','instance':'sql01','parameters':{%s}}"

/* A full backup of Sales of 1 GiB, compressed to a quarter, in 10 s. */
static struct history_row good_row(void)
{
    return (struct history_row){.database = "Sales",
                                .type = "D",
                                .name = "nightly",
                                .start = "2026-01-05 22:00:00",
                                .finish = "2026-01-05 22:00:10",
                                .zone = 0,
                                .size = 1024 * MIB,
                                .compressed = 256 * MIB};
}

static cJSON *history_of(const struct history_row *rows, size_t count)
{
    const struct history_filter filter = {
        .types = {true, true, true}, .since_s = INT64_MIN, .confidence = 0.95};
    struct history *history = history_new(&filter);
    for (size_t i = 0; i < count; i++)
        history_add(history, &rows[i]);
    cJSON *tree = history_finish(history);
    history_free(history);
    return tree;
}

static double excluded_for(const cJSON *tree, const char *reason)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, at(tree, "excluded")) {
        if (strcmp(text_at(item, "reason"), reason) == 0)
            return number_at(item, "n");
    }
    return 0;
}

static cJSON *report_of(struct harness *house, const char *parameters)
{
    char *id = NULL;
    char *body = mem_format(HISTORY, parameters);
    cJSON_Delete(sweep_run(house, body, &id));
    cJSON *report = sweep_report_of(house, id);
    free(body);
    free(id);
    return report;
}

/* Phantom rows: what a benchmark wrote to NUL looked like a nightly full. */
static void report_3_our_runs_are_labelled_and_left_out(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    cJSON_Delete(sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), NULL));
    harness_execute(house->sim, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COPY_ONLY");
    cJSON *report = report_of(house, "'include_copy_only':true");
    assert_int_equal(cJSON_GetArraySize(at(report, "history")), 0);
    assert_int_equal(excluded_for(report, "own"), 2);
    assert_int_equal(excluded_for(report, "nul"), 1);
    cJSON_Delete(report);
    harness_stop(house);
}

/* Snapshots of volumes (15) and third-party engines (5) write over virtual devices: device_type 7,
 * an estimate of the size, no writing. */
static void report_5_15_virtual_devices_tell_no_speed(void **state)
{
    (void)state;
    struct history_row rows[] = {good_row(), good_row()};
    rows[0].virtual_device = true; /* an engine on VDI: is_snapshot 0 */
    cJSON *tree = history_of(rows, COUNT(rows));
    assert_int_equal(excluded_for(tree, "virtual_device"), 1);
    assert_int_equal(number_at(tree, "history/0/n"), 1);
    cJSON_Delete(tree);

    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'vss_snapshot','database':'Sales'}");
    cJSON *report = report_of(house, "");
    assert_int_equal(cJSON_GetArraySize(at(report, "history")), 0);
    assert_int_equal(excluded_for(report, "virtual_device"), 1);
    assert_non_null(strstr(text_at(report, "excluded/0/detail"), "VSS"));
    cJSON_Delete(report);
    harness_stop(house);
}

/* Two moments in one second, and an end before the beginning. */
static void report_25_backups_within_a_second_are_unknown_and_not_infinite(void **state)
{
    (void)state;
    struct history_row rows[] = {good_row(), good_row(), good_row()};
    rows[0].finish = rows[0].start;
    rows[1].finish = "2026-01-05 21:59:59";
    rows[2].finish = "2026-01-05 22:00:01"; /* 1 s: it may have been no time at all */
    cJSON *tree = history_of(rows, COUNT(rows));
    assert_int_equal(excluded_for(tree, "zero_seconds"), 1);
    assert_int_equal(excluded_for(tree, "negative_duration"), 1);
    assert_true(number_at(tree, "history/0/logical_mib_s/median") == 1024);
    assert_true(cJSON_IsNull(at(tree, "history/0/logical_mib_s/high")));
    char *text = json_print(tree);
    assert_null(strcasestr(text, "inf,"));
    assert_null(strcasestr(text, "nan"));
    free(text);
    cJSON_Delete(tree);
}

/* 1024 MiB in 10 s, 256 MiB of file. */
static void report_26_speeds_and_ratio_are_the_right_way_up(void **state)
{
    (void)state;
    const struct history_row row = good_row();
    cJSON *tree = history_of(&row, 1);
    assert_true(fabs(number_at(tree, "history/0/logical_mib_s/median") - 102.4) < 1e-4);
    assert_true(fabs(number_at(tree, "history/0/device_mib_s/median") - 25.6) < 1e-4);
    assert_true(fabs(number_at(tree, "history/0/ratio") - 4) < 1e-6);
    cJSON_Delete(tree);
}

/* Rows of a copy that was restored over, and a log backup beside a full: counted as what they are;
 * nothing is said of a chain. */
static void report_27_no_chain_is_read_into_the_history(void **state)
{
    (void)state;
    struct history_row rows[] = {good_row(), good_row()};
    rows[0].elsewhere = true;
    rows[1].type = "L";
    rows[1].start = "2026-01-05 22:00:05";
    rows[1].finish = "2026-01-05 22:00:15";
    cJSON *tree = history_of(rows, COUNT(rows));
    assert_int_equal(excluded_for(tree, "other_server"), 1);
    assert_string_equal(text_at(tree, "history/0/type"), "log");
    cJSON_Delete(tree);

    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    cJSON *report = report_of(house, "");
    assert_true(cJSON_IsNull(at(report, "chain")));
    cJSON_Delete(report);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_3_our_runs_are_labelled_and_left_out),
        cmocka_unit_test(report_5_15_virtual_devices_tell_no_speed),
        cmocka_unit_test(report_25_backups_within_a_second_are_unknown_and_not_infinite),
        cmocka_unit_test(report_26_speeds_and_ratio_are_the_right_way_up),
        cmocka_unit_test(report_27_no_chain_is_read_into_the_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
