/* The parameters of backup_throughput: which arms they make, what is refused before anything runs,
 * and what its report says of made-up trials. */
#include "jobs/definition.h"
#include "jobs/kind.h"
#include "jobs/kinds/throughput.h"
#include "jobs/kinds/throughput_reads.h"
#include "jobs/kinds/throughput_report.h"
#include "jobs/measure/report.h"
#include "server/buf.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB 1048576.0
#define BLOCKS 5

/* --- an experiment, from its parameters to its report ---------------------------------------- */

struct experiment {
    cJSON *parameters;
    struct throughput throughput;
    struct plan plan;
    struct design design;
    struct server_facts facts;
    struct trial *trials;
    size_t trial_count, trial_capacity;
    cJSON *report;
    struct outcome outcome;
};

static struct experiment *experiment_new(const char *parameters)
{
    struct experiment *made = mem_alloc(1, sizeof *made);
    made->parameters = jobs_kit_json(parameters);
    struct json_faults faults = {0};
    throughput_read(made->parameters, &made->throughput, &faults);
    jobs_kit_expect_none(&faults);
    throughput_add_arms(&made->throughput, &made->plan);
    made->design = (struct design){.repetitions = BLOCKS, .confidence = 0.95, .tolerance = 0.02};
    made->facts.cpu_count = 8;
    made->facts.major = 16;
    return made;
}

static void experiment_free(struct experiment *made)
{
    cJSON_Delete(made->report);
    free(made->outcome.summary);
    trials_free(made->trials, made->trial_count);
    plan_fini(&made->plan);
    throughput_fini(&made->throughput);
    cJSON_Delete(made->parameters);
    free(made);
}

/* One run of 1 GiB. waits, reads: single-quoted JSON or NULL. */
static struct trial *add_trial(struct experiment *made, int arm, int block, double rate,
                               const char *waits, const char *reads)
{
    made->trials =
        mem_grow(made->trials, &made->trial_capacity, made->trial_count + 1, sizeof *made->trials);
    struct trial *trial = &made->trials[made->trial_count++];
    *trial = trial_new((int64_t)made->trial_count, block, arm, false);
    trial->status = TRIAL_OK;
    trial->started_at = 1;
    trial->pages = 131072;
    trial->bytes = trial->pages * 8192;
    trial->server_s = trial->elapsed_s = (double)trial->bytes / MIB / rate;
    trial->cpu_s = 0.1 * trial->server_s;
    trial->cpu_count = 8;
    trial->waits = waits ? jobs_kit_json(waits) : NULL;
    trial->reads_by_file = reads ? jobs_kit_json(reads) : NULL;
    return trial;
}

/* An arm's runs, with a little noise that differs between arms and blocks. wait_share: of BACKUPIO;
 * NAN: no waits were seen. */
static void measure(struct experiment *made, int arm, double rate, double wait_share,
                    const char *reads)
{
    for (int block = 1; block <= BLOCKS; block++) {
        double here = rate * (1 + 0.002 * ((arm * 7 + block * 3) % 5 - 2));
        char *waits = isnan(wait_share)
                          ? NULL
                          : mem_format("[{'type':'BACKUPIO','ms':%.0f,'count':9},"
                                       "{'type':'ASYNC_IO_COMPLETION','ms':%.0f,'count':1},"
                                       "{'type':'BACKUPBUFFER','ms':0,'count':0}]",
                                       1024 / here * 1000 * wait_share, 1024 / here * 1000 * 0.97);
        (void)add_trial(made, arm, block, here, waits, reads);
        free(waits);
    }
}

static void report(struct experiment *made)
{
    struct bundle bundle = {.job = "j",
                            .kind = "backup_throughput",
                            .instance = "sql01",
                            .facts = &made->facts,
                            .design = &made->design,
                            .arms = made->plan.arms,
                            .arm_count = made->plan.arm_count,
                            .trials = made->trials,
                            .trial_count = made->trial_count,
                            .parameters = made->parameters};
    struct analysis analysis;
    analysis_make(&bundle, &analysis);
    made->report = report_make(&bundle, &analysis);
    throughput_report(&bundle, &analysis, made->report, &made->outcome);
    analysis_fini(&analysis);
    assert_non_null(made->outcome.summary);
    assert_null(strchr(made->outcome.summary, '\n'));
    assert_null(strstr(made->outcome.summary, "nan"));
}

static const cJSON *row_of(const struct experiment *made, int database)
{
    return cJSON_GetArrayItem(json_member(made->report, "bottleneck"), database);
}

static const cJSON *target_of(const struct experiment *made, int database, int target)
{
    return cJSON_GetArrayItem(json_member(row_of(made, database), "targets"), target);
}

static void expect_verdict(const struct experiment *made, int database, int target,
                           const char *wanted)
{
    const cJSON *verdict = json_member(target_of(made, database, target), "verdict");
    assert_string_equal(cJSON_GetStringValue(verdict), wanted);
}

static bool says(const cJSON *texts, const char *words)
{
    const cJSON *text = NULL;
    cJSON_ArrayForEach(text, texts) {
        if (strstr(text->valuestring, words))
            return true;
    }
    return false;
}

/* --- arms ------------------------------------------------------------------------------------ */

static void expect_settings(const struct experiment *made, size_t arm, const char *wanted)
{
    char *printed = json_print(made->plan.arms[arm].settings);
    char *text = jobs_kit_text(wanted);
    assert_string_equal(printed, text);
    free(text);
    free(printed);
}

static void reads_every_database_to_nul_before_its_targets(void **state)
{
    (void)state;
    struct experiment *made =
        experiment_new("{'databases':['Sales','HR'],'targets':[{'name':'disk','paths':['/backup'],"
                       "'files':4},{'name':'share','paths':['/backup/share']}]}");
    assert_int_equal(made->plan.arm_count, 6);
    assert_int_equal(throughput_arm_count(&made->throughput), 6);
    expect_settings(made, 0, "{'compression':'off','target':'NUL','database':'Sales'}");
    expect_settings(made, 1, "{'files':4,'compression':'off','target':'disk','database':'Sales'}");
    expect_settings(made, 3, "{'compression':'off','target':'NUL','database':'HR'}");
    expect_settings(made, 5, "{'compression':'off','target':'share','database':'HR'}");
    for (size_t i = 0; i < made->plan.arm_count; i++) {
        const struct arm *arm = &made->plan.arms[i];
        assert_int_equal(arm->baseline, i % 3 == 0);
        assert_int_equal(arm->against, i - i % 3);
        assert_true(isnan(arm->buffer_memory_mib));
        for (size_t other = 0; other < i; other++)
            assert_string_not_equal(arm->label, made->plan.arms[other].label);
    }
    assert_string_equal(made->plan.arms[4].label, "HR to disk (4 files)");
    experiment_free(made);
}

static void takes_the_nul_that_was_given(void **state)
{
    (void)state;
    static const struct {
        const char *parameters;
        size_t count;
        const char *first, *last;
    } cases[] = {
        {"{'databases':['S']}", 1, "{'compression':'off','target':'NUL','database':'S'}", NULL},
        {"{'databases':['S'],'targets':[]}", 1,
         "{'compression':'off','target':'NUL','database':'S'}", NULL},
        {"{'databases':['S'],'compression':'default','targets':[{'name':'disk','paths':['/a']},"
         "{'name':'NUL','paths':['NUL'],'files':3}]}",
         2, "{'files':3,'compression':'default','target':'NUL','database':'S'}",
         "{'compression':'default','target':'disk','database':'S'}"},
        {"{'databases':['S'],'compression':'on','targets':[{'name':'two','paths':['NUL'],"
         "'files':2}]}",
         2, "{'compression':'on','target':'NUL','database':'S'}",
         "{'files':2,'compression':'on','target':'two','database':'S'}"},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct experiment *made = experiment_new(cases[i].parameters);
        assert_int_equal(made->plan.arm_count, cases[i].count);
        expect_settings(made, 0, cases[i].first);
        if (cases[i].last)
            expect_settings(made, cases[i].count - 1, cases[i].last);
        experiment_free(made);
    }
}

/* --- checks ---------------------------------------------------------------------------------- */

static void check(const char *parameters, int repetitions, struct json_faults *faults)
{
    struct json_faults of_instance = {0};
    struct instance instance;
    cJSON *tree = jobs_kit_json(parameters);
    struct definition definition = {.parameters = tree,
                                    .design = {.repetitions = repetitions, .warmups = 1}};
    assert_int_equal(instance_read(jobs_kit_json(JOBS_KIT_INSTANCE), NULL, &instance, &of_instance),
                     0);
    throughput_check(&definition, &instance, faults);
    json_faults_fini(&of_instance);
    instance_fini(&instance);
    cJSON_Delete(tree);
}

static void refuses_what_no_server_could_do(void **state)
{
    (void)state;
    static const struct {
        const char *parameters, *pointer, *words;
    } cases[] = {
        {"{}", "/parameters/databases", "required"},
        {"{'databases':[]}", "/parameters/databases", "1"},
        {"{'databases':['a',5]}", "/parameters/databases/1", "name of a database"},
        {"{'databases':['a','b','a']}", "/parameters/databases/2", "twice"},
        {"{'databases':['']}", "/parameters/databases/0", "128"},
        {"{'databases':['TempDB']}", "/parameters/databases/0", "tempdb"},
        {"{'databases':['a'],'database':'b'}", "/parameters/database", ""},
        {"{'databases':['a'],'compression':'ZSTD'}", "/parameters/compression", ""},
        {"{'databases':['a'],'compression':['off']}", "/parameters/compression", ""},
        {"{'databases':['a'],'targets':[{'name':'x','paths':['/etc']}]}",
         "/parameters/targets/0/paths/0", "allow.paths"},
        {"{'databases':['a'],'targets':[{'name':'x','paths':['/backup/../etc']}]}",
         "/parameters/targets/0/paths/0", "allow.paths"},
        {"{'databases':['a'],'targets':[{'name':'NUL','paths':['/backup']}]}",
         "/parameters/targets/0/name", "discards"},
        {"{'databases':['a'],'targets':[{'name':'x','paths':['/dev/null']}]}",
         "/parameters/targets/0/paths/0", "allow.paths"},
        {"{'databases':['a'],'targets':[{'name':'x','paths':['/backup'],'files':65}]}",
         "/parameters/targets/0/files", "64"},
        {"{'databases':['a'],'targets':[{'name':'x','paths':['NUL','/backup']}]}",
         "/parameters/targets/0/paths/0", "mixed"},
        {"{'databases':['a'],'targets':[{'name':'x','paths':['/backup']},"
         "{'name':'x','paths':['/backup/b']}]}",
         "/parameters/targets/1/name", "already"},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct json_faults faults = {0};
        check(cases[i].parameters, 5, &faults);
        jobs_kit_expect_fault(&faults, cases[i].pointer, cases[i].words);
        json_faults_fini(&faults);
    }
}

static void accepts_what_people_ask_for(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{'databases':['Sales']}",
        "{'databases':['a]b \\u0022c','数据库','💾'],'compression':'default'}",
        "{'databases':['S'],'targets':[{'name':'NUL','paths':['NUL'],'files':8}]}",
        "{'databases':['S'],'targets':[{'name':'d','paths':['/backup','D:\\\\Backup'],'files':4}]}",
        "{'databases':['S'],'targets':[{'name':'d','paths':['NUL']}],'compression':'on'}",
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct json_faults faults = {0};
        check(cases[i], 5, &faults);
        jobs_kit_expect_none(&faults);
        json_faults_fini(&faults);
    }
}

/* 32 databases x (16 targets and NUL) would be 544 arms. */
static void caps_the_number_of_arms_and_trials(void **state)
{
    (void)state;
    struct buf text = {0};
    buf_add(&text, "{'databases':[");
    for (int i = 0; i < 32; i++)
        buf_format(&text, "%s'db%d'", i ? "," : "", i);
    char *few = mem_format("%s]}", buf_text(&text));
    buf_add(&text, "],'targets':[");
    for (int i = 0; i < 16; i++)
        buf_format(&text, "%s{'name':'t%d','paths':['/backup/%d']}", i ? "," : "", i, i);
    char *many = mem_format("%s]}", buf_text(&text));
    struct json_faults faults = {0};
    check(few, 5, &faults);
    jobs_kit_expect_none(&faults);
    check(many, 5, &faults);
    jobs_kit_expect_fault(&faults, "/parameters", "544 arms");
    json_faults_fini(&faults);
    buf_fini(&text);
    free(few);
    free(many);
}

/* --- reports --------------------------------------------------------------------------------- */

#define TWO_TARGETS                                                                                \
    "{'databases':['Sales'],'targets':[{'name':'data disk','paths':['D:\\\\Backup']},"             \
    "{'name':'other disk','paths':['E:\\\\Backup']}]}"
#define ONE_DRIVE                                                                                  \
    "[{'file':'Sales','volume':'D:\\\\','bytes':1073741824,'stall_ms':900,'log':false},"           \
    "{'file':'Sales_log','volume':'D:\\\\','bytes':16384,'stall_ms':1,'log':true}]"

static void tells_the_slower_side_of_each_target(void **state)
{
    (void)state;
    struct experiment *made = experiment_new(TWO_TARGETS);
    measure(made, 0, 43.869, 0.02, ONE_DRIVE);
    measure(made, 1, 17.824, 0.9, ONE_DRIVE);
    measure(made, 2, 41.394, 0.3, ONE_DRIVE);
    report(made);
    expect_verdict(made, 0, 0, "write");
    expect_verdict(made, 0, 1, "read");
    double fraction = json_member(target_of(made, 0, 0), "fraction_of_ceiling")->valuedouble;
    assert_true(fabs(fraction - 0.406) < 0.002);
    assert_true(says(json_member(target_of(made, 0, 0), "advice"), "another disk"));
    assert_true(says(json_member(target_of(made, 0, 1), "advice"), "log a disk of its own"));
    assert_int_equal(made->outcome.state, JOB_SUCCEEDED);
    assert_non_null(strstr(made->outcome.summary, "Sales to data disk: writing limits (41 %"));
    char *markdown = report_markdown(made->report);
    assert_non_null(strstr(markdown, "to data disk: **writing** limits"));
    assert_non_null(strstr(markdown, "to other disk: **reading** limits"));
    assert_non_null(strstr(markdown, "| Sales\\_log |"));
    assert_true(strstr(markdown, "limits") < strchr(markdown, '\n'));
    free(markdown);
    experiment_free(made);
}

static void names_the_drive_that_the_others_wait_for(void **state)
{
    (void)state;
    struct experiment *made = experiment_new("{'databases':['Sales']}");
    measure(made, 0, 100, 0.02,
            "[{'file':'a','volume':'D:\\\\','bytes':536870912,'stall_ms':900,'log':false},"
            "{'file':'b','volume':'E:\\\\','bytes':268435456,'stall_ms':3000,'log':false},"
            "{'file':'c','volume':'E:\\\\','bytes':268435456,'stall_ms':3000,'log':false},"
            "{'file':'l','volume':'L:\\\\','bytes':16384,'stall_ms':900,'log':true}]");
    report(made);
    const cJSON *row = row_of(made, 0);
    const cJSON *drives = json_member(row, "drives");
    assert_int_equal(cJSON_GetArraySize(drives), 2); /* the log's is not one of them */
    assert_int_equal(cJSON_GetArraySize(json_member(row, "files")), 4);
    assert_string_equal(cJSON_GetStringValue(json_member(row, "slowest_drive")), "E:\\");
    const cJSON *second = cJSON_GetArrayItem(drives, 1);
    assert_int_equal(json_member(second, "data_files")->valueint, 2);
    assert_true(fabs(json_member(second, "mib_s")->valuedouble - 50) < 0.5);
    assert_true(fabs(json_member(second, "stall_ms_per_mib")->valuedouble - 11.7) < 0.1);
    assert_int_equal(made->outcome.state, JOB_SUCCEEDED);
    assert_non_null(strstr(made->outcome.summary, "Sales: reading alone gives 100 MiB/s"));
    experiment_free(made);
}

static void knows_which_folders_are_beside_data(void **state)
{
    (void)state;
    static const struct {
        const char *volume, *folder;
        bool wanted;
    } cases[] = {
        {"D:\\", "D:\\Backup", true},          {"D:\\", "d:\\backup", true},
        {"D:\\", "E:\\Backup", false},         {"D:\\", "\\\\server\\share", false},
        {"D:\\Mount\\", "D:\\Mount\\b", true}, {"D:\\Mount\\", "D:\\Mounted", false},
        {"/data", "/data/backup", true},       {"/data", "/database", false},
        {"/", "/var/opt/backup", false},       {"D:\\", "NUL", false},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct throughput_reads reads = {.drives = cJSON_CreateArray()};
        cJSON *drive = cJSON_CreateObject();
        cJSON_AddStringToObject(drive, "volume", cases[i].volume);
        cJSON_AddItemToArray(reads.drives, drive);
        if (throughput_is_beside_data(&reads, cases[i].folder) != cases[i].wanted)
            fail_msg("%s on %s", cases[i].folder, cases[i].volume);
        throughput_reads_fini(&reads);
    }
}

static void has_no_answer_when_every_verdict_is_unsure(void **state)
{
    (void)state;
    struct experiment *made = experiment_new(TWO_TARGETS);
    measure(made, 1, 17.824, 0.9, NULL); /* NUL never ran well */
    measure(made, 2, 41.394, 0.3, NULL);
    report(made);
    expect_verdict(made, 0, 0, "unsure");
    expect_verdict(made, 0, 1, "unsure");
    assert_true(cJSON_IsNull(json_member(row_of(made, 0), "read_ceiling_mib_s")));
    assert_true(cJSON_IsNull(json_member(target_of(made, 0, 0), "fraction_of_ceiling")));
    assert_int_equal(made->outcome.state, JOB_INCONCLUSIVE);
    experiment_free(made);

    made = experiment_new("{'databases':['Sales']}");
    report(made);
    assert_int_equal(made->outcome.state, JOB_INCONCLUSIVE);
    experiment_free(made);
}

static void blames_the_target_without_any_right_to_look_at_waits(void **state)
{
    (void)state;
    struct experiment *made = experiment_new(TWO_TARGETS);
    measure(made, 0, 100, NAN, NULL);
    measure(made, 1, 40, NAN, NULL);
    measure(made, 2, 99, NAN, NULL);
    report(made);
    expect_verdict(made, 0, 0, "write");
    expect_verdict(made, 0, 1, "read");
    experiment_free(made);
}

/* The server's own default compresses or not: the size of the files tells. */
static void sees_from_the_files_whether_the_default_compresses(void **state)
{
    (void)state;
    static const struct {
        double ratio;
        int major;
        const char *near_verdict;
    } cases[] = {{1.0, 16, "read"}, {4.0, 16, "unsure"}, {1.0, 9, "read"}};
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct experiment *made = experiment_new(
            "{'databases':['S'],'compression':'default','targets':[{'name':'d','paths':['/d']}]}");
        made->facts.major = cases[i].major;
        measure(made, 0, 100, 0.02, NULL);
        measure(made, 1, 99, 0.3, NULL);
        for (size_t t = 0; t < made->trial_count; t++) {
            struct trial *trial = &made->trials[t];
            trial->cpu_s = 2.1 * trial->server_s; /* 2.1 cores for 3 threads */
            trial->file_bytes =
                trial->arm == 1 ? (int64_t)((double)trial->bytes / cases[i].ratio) : 0;
        }
        report(made);
        expect_verdict(made, 0, 0, cases[i].near_verdict);
        experiment_free(made);
    }
}

static void warns_when_compression_saves_nothing(void **state)
{
    (void)state;
    struct experiment *made = experiment_new(
        "{'databases':['S'],'compression':'on','targets':[{'name':'d','paths':['/d']}]}");
    measure(made, 0, 100, 0.02, NULL);
    measure(made, 1, 99, 0.3, NULL);
    for (size_t t = 0; t < made->trial_count; t++)
        made->trials[t].file_bytes = made->trials[t].arm == 1 ? made->trials[t].bytes : 0;
    report(made);
    assert_true(says(json_member(made->report, "warnings"), "saves next to nothing"));
    experiment_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_database_to_nul_before_its_targets),
        cmocka_unit_test(takes_the_nul_that_was_given),
        cmocka_unit_test(refuses_what_no_server_could_do),
        cmocka_unit_test(accepts_what_people_ask_for),
        cmocka_unit_test(caps_the_number_of_arms_and_trials),
        cmocka_unit_test(tells_the_slower_side_of_each_target),
        cmocka_unit_test(names_the_drive_that_the_others_wait_for),
        cmocka_unit_test(knows_which_folders_are_beside_data),
        cmocka_unit_test(has_no_answer_when_every_verdict_is_unsure),
        cmocka_unit_test(blames_the_target_without_any_right_to_look_at_waits),
        cmocka_unit_test(sees_from_the_files_whether_the_default_compresses),
        cmocka_unit_test(warns_when_compression_saves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
