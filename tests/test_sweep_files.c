/* backup_sweep to files: where they are written, and that they are gone afterwards. */
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* How many BACKUP statements name this text. */
static int backups_naming(struct sim *sim, const char *text)
{
    size_t count = 0;
    int found = 0;
    char **texts = sim_statements(sim, &count);
    for (size_t i = 0; i < count; i++)
        found += strncmp(texts[i], "BACKUP", 6) == 0 && strstr(texts[i], text) != NULL;
    sim_texts_free(texts, count);
    return found;
}

static void stripes_go_round_the_paths_in_turn(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, "'allow':{'paths':['/var/opt/mssql/backup','/tmp']},"
                            "'limits':{'min_free_disk_mib':1}");
    char *id = NULL;
    cJSON *job = sweep_run(house,
                           SWEEP(",'buffercount':[50],'targets':[{'name':'both','paths':"
                                 "['/var/opt/mssql/backup','/tmp/'],'files':3}]",
                                 SHORT),
                           &id);
    assert_string_equal(text_at(job, "cleanup"), "done");
    char *expected = mem_format("TO DISK = N'/var/opt/mssql/backup/sweetspot_%s_1_1.bak', "
                                "DISK = N'/tmp/sweetspot_%s_1_2.bak', "
                                "DISK = N'/var/opt/mssql/backup/sweetspot_%s_1_3.bak'",
                                id, id, id);
    assert_int_equal(backups_naming(house->sim, expected), 1);
    sweep_nothing_left(house->sim);
    free(expected);
    free(id);
    cJSON_Delete(job);
    harness_stop(house);
}

static void windows_paths_are_compared_without_case_and_written_with_backslashes(void **state)
{
    (void)state;
    struct harness *house = harness_start("{'time_scale':0,'platform':'Windows'}");
    harness_register(house, "'allow':{'paths':['D:\\\\Backup']},'limits':{'min_free_disk_mib':1}");
    char *id = NULL;
    cJSON *job = sweep_run(house,
                           SWEEP(",'buffercount':[50],'targets':[{'name':'d','paths':"
                                 "['d:/BACKUP']}]",
                                 SHORT),
                           &id);
    assert_string_equal(text_at(job, "cleanup"), "done");
    char *expected = mem_format("\\sweetspot_%s_2_1.bak'", id);
    assert_int_equal(backups_naming(house->sim, expected), 1);
    sweep_nothing_left(house->sim);
    free(expected);
    free(id);
    cJSON_Delete(job);
    harness_stop(house);
}

static void a_path_outside_of_the_allowed_ones_is_refused_at_submit(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/var/opt/mssql/backups",
        "/var/opt/mssql",
        "/var/opt/mssql/backup/../data",
        "var/opt/mssql/backup",
        "/etc",
        "/dev/null",
        "nul",
        "",
        "/var/opt/mssql/backup/*",
    };
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char *body = mem_format(
            SWEEP(",'targets':[{'name':'x','paths':['NUL']},{'name':'disk','paths':['%s']}]", ""),
            paths[i]);
        cJSON *problem = harness_call(house, "POST", "/v1/jobs", body, 400);
        assert_string_equal(text_at(problem, "errors/0/pointer"), "/parameters/targets/1/paths/0");
        cJSON_Delete(problem);
        free(body);
    }
    harness_stop(house);
}

static void compression_is_said_as_it_was_asked(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        const char *sent;
    } rows[] = {{"off", ", NO_COMPRESSION"},
                {"on", ", COMPRESSION"},
                {"MS_XPRESS", "COMPRESSION (ALGORITHM = MS_XPRESS)"},
                {"QAT_DEFLATE", "COMPRESSION (ALGORITHM = QAT_DEFLATE)"},
                {"ZSTD", "COMPRESSION (ALGORITHM = ZSTD)"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct harness *house = harness_start("{'time_scale':0,'version':'17.0.1000.7'}");
        char *body =
            mem_format(SWEEP(",'buffercount':[50],'compression':['%s']", SHORT), rows[i].word);
        harness_register(house, NULL);
        cJSON_Delete(sweep_run(house, body, NULL));
        assert_int_equal(backups_naming(house->sim, rows[i].sent), 2);
        free(body);
        harness_stop(house);
    }
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    cJSON_Delete(
        sweep_run(house, SWEEP(",'buffercount':[50],'compression':['default']", SHORT), NULL));
    sweep_none_says(house->sim, "BACKUP", "COMPRESSION");
    harness_stop(house);
}

static void compression_that_the_server_cannot_do_is_refused_before_it_runs(void **state)
{
    (void)state;
    static const struct {
        const char *version, *edition, *word, *said;
    } rows[] = {
        {"10.0.6000.29", "Standard", "on", "Enterprise"},
        {"16.0.4100.1", "Web", "on", "Web"},
        {"16.0.4100.1", "Express", "on", "Express"},
        {"15.0.4345.5", "Developer", "MS_XPRESS", "2022"},
        {"16.0.4100.1", "Developer", "ZSTD", "2025"},
        {"9.0.5000.0", "Enterprise", "on", "2008"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *scenario =
            mem_format("{'time_scale':0,'platform':'Windows','version':'%s','edition':'%s'}",
                       rows[i].version, rows[i].edition);
        char *body =
            mem_format(SWEEP(",'buffercount':[50],'compression':['%s']", SHORT), rows[i].word);
        struct harness *house = harness_start(scenario);
        harness_register(house, NULL);
        cJSON *job = sweep_run_to(house, body, "failed", NULL);
        assert_true(sweep_error_says(job, rows[i].said));
        assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 0);
        cJSON_Delete(job);
        harness_stop(house);
        free(body);
        free(scenario);
    }
}

static void standard_edition_compresses_from_2008_r2_on(void **state)
{
    (void)state;
    static const char *const versions[] = {"10.50.6000.34", "16.0.4100.1"};
    for (size_t i = 0; i < 2; i++) {
        char *scenario =
            mem_format("{'time_scale':0,'platform':'Windows','edition':'Standard','version':'%s'}",
                       versions[i]);
        struct harness *house = harness_start(scenario);
        harness_register(house, NULL);
        cJSON *job =
            sweep_run(house, SWEEP(",'buffercount':[50],'compression':['on']", SHORT), NULL);
        assert_string_not_equal(text_at(job, "state"), "failed");
        cJSON_Delete(job);
        harness_stop(house);
        free(scenario);
    }
}

/* 1844 all the same: the edition is not one we know the rule of. */
static void an_arm_that_the_edition_refuses_fails_alone(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    char *id = NULL;
    harness_register(house, NULL);
    sweep_fault(house->sim, "{'do':'error','match':'BACKUP','nth':3,'number':1844,'times':2}");
    cJSON *job = sweep_run(
        house, SWEEP(",'buffercount':['default',50],'compression':['off','on']", SHORT), &id);
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON *trials = sweep_trials_of(house, id);
    assert_int_equal(sweep_count(trials, NULL, "ok"), 2);
    assert_int_equal(sweep_count(trials, NULL, "failed"), 2);
    assert_int_equal(number_at(trials, "items/2/error/number"), 1844);
    cJSON_Delete(trials);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

#define DELETE_NOTHING "{'do':'delete_nothing'}"

static void a_server_that_does_not_delete_is_refused_when_all_files_have_no_room(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    sweep_fault(house->sim, DELETE_NOTHING);
    sweep_fault(house->sim, "{'do':'fill_volume','free_mib':700}");
    char *id = NULL;
    cJSON *job = sweep_run_to(house, SWEEP(",'buffercount':[50]" TO_DISK, ""), "failed", &id);
    assert_true(sweep_error_says(job, "does not delete"));
    assert_string_equal(text_at(job, "cleanup"), "failed"); /* the small file that was tried */
    assert_int_equal(backups_naming(house->sim, "[Sales]"), 0);
    assert_int_equal(sweep_files_left(house->sim), 1);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

static void one_folder_that_does_not_delete_is_enough_to_be_refused(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, "'allow':{'paths':['/var/opt/mssql/backup','/root']},"
                            "'limits':{'min_free_disk_mib':1}");
    /* nothing can be tried in /root, so all trials must have room: they do not */
    sweep_fault(house->sim, "{'do':'fill_volume','free_mib':1200}");
    cJSON *job = sweep_run_to(house,
                              SWEEP(",'buffercount':[50],'targets':[{'name':'two','paths':"
                                    "['/root','/var/opt/mssql/backup'],'files':2}]",
                                    ""),
                              "failed", NULL);
    assert_int_equal(backups_naming(house->sim, "[Sales]"), 0);
    assert_true(sweep_error_says(job, "MiB free"));
    sweep_nothing_left(house->sim);
    cJSON_Delete(job);
    harness_stop(house);
}

/* Else the file that was never written would tell that the server shows no files. */
static void a_small_backup_counts_only_with_its_success_message(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    sweep_fault(house->sim, "{'do':'skip','match':'BACKUP DATABASE [model]'}");
    cJSON *job = sweep_run(house,
                           SWEEP(",'buffercount':[50],'targets':[{'name':'disk','paths':"
                                 "['/var/opt/mssql/backup']}]",
                                 SHORT),
                           NULL);
    assert_string_equal(text_at(job, "cleanup"), "done");
    assert_int_equal(backups_naming(house->sim, "[master]"), 1); /* the next one is tried */
    sweep_nothing_left(house->sim);
    cJSON_Delete(job);
    harness_stop(house);
}

static void folders_on_one_volume_need_room_together(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, "'allow':{'paths':['/tmp','/var']},'limits':{'min_free_disk_mib':1}");
    sweep_fault(house->sim, "{'do':'fill_volume','path':'/tmp','free_mib':300}");
    /* 160 MiB for each of two stripes: one would fit, both do not */
    cJSON *job = sweep_run_to(house,
                              SWEEP(",'buffercount':[50],'targets':[{'name':'two','paths':"
                                    "['/tmp','/var'],'files':2}]",
                                    SHORT),
                              "failed", NULL);
    assert_true(sweep_error_says(job, "/tmp has 300 MiB free; 1 backup(s) may take 321 MiB"));
    assert_int_equal(backups_naming(house->sim, "[Sales]"), 0);
    sweep_nothing_left(house->sim);
    cJSON_Delete(job);
    harness_stop(house);
}

static void files_that_cannot_be_deleted_are_listed_and_do_not_hold_the_queue(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    sweep_fault(house->sim, DELETE_NOTHING);
    char *id = NULL;
    cJSON *job = sweep_run(house, SWEEP(",'buffercount':[50]" TO_DISK, SHORT), &id);
    assert_string_not_equal(text_at(job, "state"), "failed");
    assert_string_equal(text_at(job, "cleanup"), "failed");
    cJSON *report = sweep_report_of(house, id);
    assert_int_equal(cJSON_GetArraySize(at(report, "left_behind")), 3); /* the small one too */
    assert_string_equal(text_at(report, "left_behind/0/action"), "file");
    assert_non_null(strstr(text_at(report, "left_behind/2/object"), "_2_1.bak"));
    assert_int_equal(sweep_files_left(house->sim), 3);
    cJSON_Delete(report);
    cJSON_Delete(job);
    free(id);

    job = sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), NULL);
    assert_string_equal(text_at(job, "cleanup"), "none");
    cJSON_Delete(job);
    harness_stop(house);
}

static void a_file_that_exists_already_is_never_written_to(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    sweep_fault(house->sim, "{'do':'hold_before','match':'SELECT CONVERT(int, file_exists)'}");
    char *id = harness_submit(house, SWEEP(",'buffercount':[50]" TO_DISK, SHORT));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    char *statement = mem_format("BACKUP DATABASE [Sales] TO DISK = "
                                 "N'/var/opt/mssql/backup/sweetspot_%s_1_1.bak' WITH COPY_ONLY",
                                 id);
    harness_execute(house->sim, statement);
    sim_release(house->sim);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "failed");
    assert_true(sweep_error_says(job, "exists already"));
    assert_int_equal(sweep_files_left(house->sim), 1); /* it is not ours to delete */
    free(statement);
    free(id);
    cJSON_Delete(job);
    harness_stop(house);
}

static void a_disk_that_fills_up_fails_the_arm_and_its_file_is_deleted(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, ALLOW);
    sweep_fault(house->sim, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]',"
                            "'percent':30}");
    char *id = harness_submit(house, SWEEP(",'buffercount':['default',50]" TO_DISK, SHORT));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    sweep_fault(house->sim, "{'do':'fill_volume','free_mib':1}");
    sim_release(house->sim);
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "failed");
    cJSON *trials = sweep_trials_of(house, id);
    assert_string_equal(text_at(trials, "items/0/status"), "failed");
    assert_int_equal(number_at(trials, "items/0/error/number"), 3202);
    assert_non_null(strstr(text_at(trials, "items/0/error/message"), "112"));
    assert_true(sweep_error_says(job, "MiB free")); /* the next trial is not even tried */
    sweep_nothing_left(house->sim);
    cJSON_Delete(trials);
    free(id);
    cJSON_Delete(job);
    harness_stop(house);
}

static void a_folder_that_the_service_may_not_write_to_fails_with_3201(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, "'allow':{'paths':['/root','/nowhere']},"
                            "'limits':{'min_free_disk_mib':1}");
    cJSON *job = sweep_run_to(
        house, SWEEP(",'buffercount':[50],'targets':[{'name':'r','paths':['/root']}]", SHORT),
        "failed", NULL);
    assert_int_equal(number_at(job, "error/number"), 3201);
    assert_true(sweep_error_says(job, "Access is denied"));
    sweep_nothing_left(house->sim);
    cJSON_Delete(job);
    job = sweep_run_to(
        house, SWEEP(",'buffercount':[50],'targets':[{'name':'n','paths':['/nowhere']}]", SHORT),
        "failed", NULL);
    assert_int_equal(number_at(job, "error/number"), 3201);
    cJSON_Delete(job);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stripes_go_round_the_paths_in_turn),
        cmocka_unit_test(windows_paths_are_compared_without_case_and_written_with_backslashes),
        cmocka_unit_test(a_path_outside_of_the_allowed_ones_is_refused_at_submit),
        cmocka_unit_test(compression_is_said_as_it_was_asked),
        cmocka_unit_test(compression_that_the_server_cannot_do_is_refused_before_it_runs),
        cmocka_unit_test(standard_edition_compresses_from_2008_r2_on),
        cmocka_unit_test(an_arm_that_the_edition_refuses_fails_alone),
        cmocka_unit_test(a_server_that_does_not_delete_is_refused_when_all_files_have_no_room),
        cmocka_unit_test(one_folder_that_does_not_delete_is_enough_to_be_refused),
        cmocka_unit_test(a_small_backup_counts_only_with_its_success_message),
        cmocka_unit_test(folders_on_one_volume_need_room_together),
        cmocka_unit_test(files_that_cannot_be_deleted_are_listed_and_do_not_hold_the_queue),
        cmocka_unit_test(a_file_that_exists_already_is_never_written_to),
        cmocka_unit_test(a_disk_that_fills_up_fails_the_arm_and_its_file_is_deleted),
        cmocka_unit_test(a_folder_that_the_service_may_not_write_to_fails_with_3201),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
