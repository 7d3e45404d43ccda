/* What people reported from the field (their numbers are those of the list that this project keeps
 * of such reports), where figures alone decide: no server is asked.
 *
 * What concerns no kind of job has no test of its own: steps of SQL Server Agent that end green on
 * an error (33) are the business of the client's exit status; BACKUP LOG (34) is never sent, which
 * report_3 sees. */
#include "jobs/kinds/flag.h"
#include "jobs/kinds/sweep.h"
#include "jobs/kinds/sweep_report.h"
#include "jobs/kinds/throughput.h"
#include "jobs/kinds/throughput_report.h"
#include "jobs/measure/bottleneck.h"
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
#define TIB (1024 * 1024 * MIB)
#define BLOCKS 6

/* --- made-up experiments -----------------------------------------------------------------------
 */

typedef void kind_report(const struct bundle *, const struct analysis *, cJSON *, struct outcome *);

struct experiment {
    cJSON *parameters;
    struct throughput throughput;
    struct plan plan;
    struct design design;
    struct server_facts facts;
    struct trial *trials;
    size_t count, capacity;
    cJSON *report;
    char *markdown;
    struct outcome outcome;
};

static struct experiment *experiment_new(const char *parameters)
{
    struct experiment *made = mem_alloc(1, sizeof *made);
    made->parameters = jobs_kit_json(parameters);
    made->design = (struct design){.repetitions = BLOCKS, .confidence = 0.95, .tolerance = 0.02};
    made->facts.major = 16;
    made->facts.cpu_count = 8;
    return made;
}

static struct experiment *sweep_of(const char *parameters)
{
    struct experiment *made = experiment_new(parameters);
    struct sweep sweep;
    sweep_read(made->parameters, &sweep, NULL);
    sweep_add_arms(&sweep, &made->plan);
    return made;
}

static struct experiment *throughput_of(const char *parameters)
{
    struct experiment *made = experiment_new(parameters);
    throughput_read(made->parameters, &made->throughput, NULL);
    throughput_add_arms(&made->throughput, &made->plan);
    return made;
}

/* A run that read this much; further figures are the caller's to set. */
static struct trial *add_trial(struct experiment *made, int arm, int block, double mib,
                               double seconds)
{
    made->trials = mem_grow(made->trials, &made->capacity, made->count + 1, sizeof *made->trials);
    struct trial *trial = &made->trials[made->count++];
    *trial = trial_new((int64_t)made->count, block, arm, false);
    trial->status = TRIAL_OK;
    trial->started_at = 1;
    trial->pages = (int64_t)(mib * MIB / 8192);
    trial->bytes = trial->pages * 8192;
    trial->server_s = trial->elapsed_s = seconds;
    trial->file_bytes = 0;
    return trial;
}

/* An arm's runs of 1 GiB at this rate in MiB/s, with a little noise. Returns the first. */
static size_t measure(struct experiment *made, int arm, double rate)
{
    size_t first = made->count;
    for (int block = 1; block <= BLOCKS; block++)
        (void)add_trial(made, arm, block, 1024,
                        1024 / rate / (1 + 0.002 * ((arm * 7 + block * 3) % 5 - 2)));
    return first;
}

static void finish(struct experiment *made, kind_report *report)
{
    struct analysis analysis;
    struct bundle bundle = {.job = "j",
                            .kind = "k",
                            .instance = "sql01",
                            .facts = &made->facts,
                            .design = &made->design,
                            .arms = made->plan.arms,
                            .arm_count = made->plan.arm_count,
                            .trials = made->trials,
                            .trial_count = made->count,
                            .parameters = made->parameters};
    analysis_make(&bundle, &analysis);
    made->report = report_make(&bundle, &analysis);
    report(&bundle, &analysis, made->report, &made->outcome);
    made->markdown = report_markdown(made->report);
    analysis_fini(&analysis);
}

static void experiment_free(struct experiment *made)
{
    cJSON_Delete(made->report);
    free(made->markdown);
    free(made->outcome.summary);
    trials_free(made->trials, made->count);
    plan_fini(&made->plan);
    throughput_fini(&made->throughput);
    server_facts_fini(&made->facts);
    cJSON_Delete(made->parameters);
    free(made);
}

static bool says(const cJSON *texts, const char *words)
{
    const cJSON *text;
    cJSON_ArrayForEach(text, texts) {
        if (strstr(text->valuestring, words))
            return true;
    }
    return false;
}

static bool warns(const struct experiment *made, const char *words)
{
    return says(json_member(made->report, "warnings"), words);
}

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *member = json_member(object, name);
    return cJSON_IsNumber(member) ? member->valuedouble : NAN;
}

static void expect_near(double value, double wanted, double by)
{
    if (!(fabs(value - wanted) <= by))
        fail_msg("%.9g instead of %.9g", value, wanted);
}

/* --- memory ------------------------------------------------------------------------------------
 */

/* The largest setting ran well before a smaller one failed for lack of memory: the next run of it
 * may be the one that fails. */
static void report_1_nothing_at_or_above_a_failed_memory_is_recommended(void **state)
{
    (void)state;
    struct experiment *made = sweep_of("{'database':'S','buffercount':[100,200,300,400]}");
    static const double rates[] = {300, 500, 700, 900, 1100};
    for (int arm = 0; arm < 5; arm++)
        (void)measure(made, arm, rates[arm]);
    struct trial *failed = add_trial(made, 3, BLOCKS + 1, 1024, 1);
    failed->status = TRIAL_FAILED;
    failed->error_number = 701;
    failed->error_text = mem_copy("There is insufficient system memory");
    finish(made, sweep_report);
    const cJSON *recommendation = json_member(made->report, "recommendation");
    expect_near(number_of(recommendation, "buffer_memory_mib"), 200, 0);
    expect_near(number_of(json_member(recommendation, "settings"), "buffercount"), 200, 0);
    assert_true(warns(made, "error 701"));
    assert_true(warns(made, "Use fewer or smaller ones"));
    const cJSON *name;
    cJSON_ArrayForEach(name, json_member(made->report, "pareto")) {
        assert_string_not_equal(name->valuestring, "a3");
        assert_string_not_equal(name->valuestring, "a4");
    }
    experiment_free(made);
}

/* Virtual devices count per thread; ours are disks, whose BUFFERCOUNT is of the whole backup. */
static void report_2_memory_is_told_with_what_a_restore_takes(void **state)
{
    (void)state;
    expect_near(guard_buffer_memory_mib(600, 4194304, "on"), 7200, 0); /* 7.03 GiB, not 2.34 */
    expect_near(guard_buffer_memory_mib(600, 4194304, "off"), 2400, 0);
    struct experiment *made = sweep_of("{'database':'S','buffercount':[100],'files':[4]}");
    (void)measure(made, 0, 300);
    (void)measure(made, 1, 900);
    finish(made, sweep_report);
    expect_near(number_of(json_member(made->report, "recommendation"), "buffer_memory_mib"), 100,
                0);
    assert_non_null(strstr(made->markdown, "a restore with the same options takes them too"));
    experiment_free(made);
}

/* --- compression --------------------------------------------------------------------------------
 */

/* TDE and compression on 2016: CPU, and no gain. */
static void report_10_compression_that_saves_nothing_is_told_with_its_cpu(void **state)
{
    (void)state;
    static const struct {
        const char *word, *version;
        double ratio;
        bool warned, tde;
    } cases[] = {
        {"on", "13.0.5026.0", 1.02, true, true},       {"on", "15.0.4043.16", 1.02, true, false},
        {"on", "13.0.5026.0", 1.12, false, false},     {"off", "13.0.5026.0", 1.0, false, false},
        {"default", "13.0.5026.0", 1.0, false, false},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        char *parameters = mem_format("{'database':'S','buffercount':[50],'compression':['%s'],"
                                      "'targets':[{'name':'disk','paths':['/backup']}]}",
                                      cases[i].word);
        struct experiment *made = sweep_of(parameters);
        made->facts.version = mem_copy(cases[i].version);
        made->facts.major = (int)strtol(cases[i].version, NULL, 10);
        for (int arm = 0; arm < 2; arm++)
            (void)measure(made, arm, 500);
        for (size_t t = 0; t < made->count; t++) {
            made->trials[t].file_bytes = (int64_t)((double)made->trials[t].bytes / cases[i].ratio);
            made->trials[t].cpu_count = 8;
            made->trials[t].cpu_s = 6 * made->trials[t].elapsed_s; /* 6 of 8 cores: 75 % */
        }
        finish(made, sweep_report);
        assert_int_equal(warns(made, "compressing saves next to nothing"), cases[i].warned);
        assert_int_equal(warns(made, "the server's CPU was at 75 %"), cases[i].warned);
        assert_int_equal(warns(made, "MAXTRANSFERSIZE = 131072"), cases[i].tde);
        const cJSON *arm = cJSON_GetArrayItem(json_member(made->report, "arms"), 1);
        expect_near(number_of(arm, "compression_ratio"), cases[i].ratio, 1e-6);
        assert_non_null(strstr(made->markdown, "## Sizes"));
        experiment_free(made);
        free(parameters);
    }
}

static void report_17_compression_is_recommended_with_a_question_only(void **state)
{
    (void)state;
    static const double rates[] = {300, 400, 900, 1200}; /* off: default, 50; on: default, 50 */
    struct experiment *made =
        sweep_of("{'database':'S','buffercount':[50],'compression':['off','on'],"
                 "'targets':[{'name':'disk','paths':['/backup']}]}");
    for (int arm = 0; arm < 4; arm++) {
        size_t first = measure(made, arm, rates[arm]);
        for (size_t t = first; t < made->count; t++)
            made->trials[t].file_bytes = made->trials[t].bytes / (arm < 2 ? 1 : 4);
    }
    finish(made, sweep_report);
    const cJSON *recommendation = json_member(made->report, "recommendation");
    const cJSON *notes = json_member(recommendation, "notes");
    assert_string_equal(
        cJSON_GetStringValue(json_member(json_member(recommendation, "settings"), "compression")),
        "on");
    assert_true(says(notes, "does the target deduplicate?"));
    assert_true(says(notes, "256 MiB on the target with compression"));
    assert_true(says(notes, "1024 MiB on the target without compression"));
    assert_non_null(strstr(made->markdown, "does the target deduplicate?"));
    experiment_free(made);

    made = sweep_of("{'database':'S','buffercount':[50]}"); /* nothing to ask */
    (void)measure(made, 0, 300);
    (void)measure(made, 1, 900);
    finish(made, sweep_report);
    notes = json_member(json_member(made->report, "recommendation"), "notes");
    assert_int_equal(cJSON_GetArraySize(notes), 0);
    experiment_free(made);
}

/* --- time ---------------------------------------------------------------------------------------
 */

/* I/O frozen by somebody's snapshot of the volumes in the middle of one run. */
static void report_16_a_hole_of_61_seconds_is_no_slow_disk(void **state)
{
    (void)state;
    struct experiment *made = sweep_of("{'database':'S','buffercount':[50]}");
    (void)measure(made, 0, 500);
    size_t first = measure(made, 1, 500);
    made->trials[first + 2].server_s += 61;
    made->trials[first + 2].elapsed_s += 61;
    finish(made, sweep_report);
    const cJSON *comparison = cJSON_GetArrayItem(json_member(made->report, "comparisons"), 0);
    expect_near(number_of(comparison, "ratio"), 1, 0.01);
    assert_string_not_equal(cJSON_GetStringValue(json_member(comparison, "verdict")), "slower");
    assert_true(warns(made, "BUFFERCOUNT=50 in block 3"));
    experiment_free(made);
}

static void report_25_no_time_gives_null_and_not_infinity(void **state)
{
    (void)state;
    struct experiment *made = sweep_of("{'database':'S','buffercount':[50]}");
    (void)measure(made, 0, 500);
    for (int block = 1; block <= BLOCKS; block++) {
        struct trial *trial = add_trial(made, 1, block, 1024, 0);
        trial->cpu_s = 0.5;
        trial->cpu_count = 8;
        trial->file_bytes = trial->bytes;
        cJSON *tree = trial_to_json(trial);
        assert_true(cJSON_IsNull(json_member(tree, "rate_mib_s")));
        assert_true(cJSON_IsNull(json_member(tree, "cpu_percent")));
        cJSON_Delete(tree);
    }
    finish(made, sweep_report);
    const cJSON *arm = cJSON_GetArrayItem(json_member(made->report, "arms"), 1);
    assert_true(cJSON_IsNull(json_member(json_member(arm, "rate_mib_s"), "median")));
    char *text = json_print(made->report);
    assert_null(strcasestr(text, "inf,"));
    assert_null(strcasestr(text, "nan"));
    free(text);
    experiment_free(made);
}

/* Seed 2: 454146 pages, 77.311 s off, 81.606 s on, a file of 790 MiB. Restore times are not
 * computed anywhere, so there is no such formula to be upside down. */
static void report_26_formulas_are_the_right_way_up_with_their_units(void **state)
{
    (void)state;
    struct flag_parameters parameters;
    struct experiment *made =
        experiment_new("{'databases':['A'],'target':{'name':'disk','paths':['/backup']}}");
    flag_read(made->parameters, &parameters, NULL);
    flag_add_arms(&parameters, &made->plan);
    for (int block = 1; block <= BLOCKS; block++)
        for (int on = 0; on < 2; on++) {
            double pages = 454146;
            struct trial *trial = add_trial(made, on, block, pages * 8192 / MIB,
                                            (on ? 81.606 : 77.311) * (1 + 1e-5 * (block + on)));
            trial->file_bytes = (int64_t)(790 * MIB);
        }
    finish(made, flag_report);
    const cJSON *off = cJSON_GetArrayItem(json_member(made->report, "arms"), 0);
    const cJSON *row = cJSON_GetArrayItem(json_member(made->report, "overhead"), 0);
    const cJSON *speed = cJSON_GetArrayItem(json_member(made->report, "comparisons"), 0);
    expect_near(number_of(json_member(off, "rate_mib_s"), "median"), 45.8928, 0.003); /* MiB/s */
    expect_near(number_of(off, "compression_ratio"), 4.491, 0.001); /* data / file */
    expect_near(number_of(row, "ratio"), 81.606 / 77.311, 1e-4);    /* times: 1.0556 */
    expect_near(number_of(speed, "ratio"), 77.311 / 81.606, 1e-4);  /* speeds: 0.9474 */
    expect_near(number_of(json_member(off, "elapsed_s"), "median"), 77.311, 0.01);
    experiment_free(made);
}

/* --- which side ---------------------------------------------------------------------------------
 */

#define SHARE "{'name':'share','paths':['\\\\\\\\files\\\\sql']}"

static const cJSON *target_of(const struct experiment *made, int index)
{
    const cJSON *row = cJSON_GetArrayItem(json_member(made->report, "bottleneck"), 0);
    return cJSON_GetArrayItem(json_member(row, "targets"), index);
}

static struct experiment *measure_share(const char *targets, const double *rates, int count)
{
    char *parameters = mem_format("{'databases':['S'],'targets':[%s]}", targets);
    struct experiment *made = throughput_of(parameters);
    for (int arm = 0; arm < count; arm++)
        (void)measure(made, arm, rates[arm]);
    for (size_t t = 0; t < made->count; t++) {
        double busy = made->trials[t].arm == count - 1 ? 950 : 100; /* ms a second */
        char *waits = mem_format("[{'type':'BACKUPIO','ms':%.0f,'count':9}]",
                                 busy * made->trials[t].server_s);
        made->trials[t].waits = jobs_kit_json(waits);
        free(waits);
    }
    finish(made, throughput_report);
    free(parameters);
    return made;
}

/* BACKUPIO high, disks idle, 7 MB/s of the 119 MiB/s that gigabit carries. */
static void report_28_source_network_and_target_are_told_apart(void **state)
{
    (void)state;
    static const double alone[] = {200, 7};
    static const double both[] = {200, 190, 7};
    struct experiment *made = measure_share(SHARE, alone, 2);
    const cJSON *share = target_of(made, 0);
    assert_string_equal(cJSON_GetStringValue(json_member(share, "verdict")), "write");
    assert_true(says(json_member(share, "advice"), "tells the network from the disk"));
    experiment_free(made);

    made = measure_share("{'name':'local','paths':['D:\\\\Backup']}," SHARE, both, 3);
    share = target_of(made, 1);
    assert_string_equal(cJSON_GetStringValue(json_member(share, "verdict")), "write");
    assert_true(says(json_member(share, "evidence"), "A folder of this host took 1"));
    assert_true(says(json_member(share, "advice"), "Look at the network and at the file server"));
    assert_false(says(json_member(share, "advice"), "tells the network from the disk"));
    assert_false(says(json_member(target_of(made, 0), "evidence"), "A folder of this host"));
    experiment_free(made);
}

/* --- block blobs --------------------------------------------------------------------------------
 */

static void report_37_stripes_follow_from_50000_blocks_each(void **state)
{
    (void)state;
    static const struct {
        double bytes;
        int64_t maxtransfersize, stripes;
    } cases[] = {
        {48 * 1024 * MIB, 1048576, 1},
        {50000 * MIB, 1048576, 1},
        {50000 * MIB + 1, 0, 2},
        {TIB, 1048576, 21},
        {TIB, 4194304, 6},
        {TIB, 65536, 336},
        {0, 1048576, 1},
        {-1, 0, 1},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++)
        assert_int_equal(guard_blob_stripes((int64_t)cases[i].bytes, cases[i].maxtransfersize),
                         cases[i].stripes);
    for (int files = 20; files <= 21; files++) {
        char *parameters = mem_format("{'database':'S','buffercount':[100],'files':[%d]}", files);
        struct experiment *made = sweep_of(parameters);
        for (int block = 1; block <= BLOCKS; block++)
            for (int arm = 0; arm < 2; arm++)
                (void)add_trial(made, arm, block, 1024 * 1024, arm ? 1000 + block : 3000 + block);
        finish(made, sweep_report);
        const cJSON *notes = json_member(json_member(made->report, "recommendation"), "notes");
        assert_int_equal(says(notes, "needs at least 21 stripes"), files < 21);
        experiment_free(made);
        free(parameters);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_1_nothing_at_or_above_a_failed_memory_is_recommended),
        cmocka_unit_test(report_2_memory_is_told_with_what_a_restore_takes),
        cmocka_unit_test(report_10_compression_that_saves_nothing_is_told_with_its_cpu),
        cmocka_unit_test(report_16_a_hole_of_61_seconds_is_no_slow_disk),
        cmocka_unit_test(report_17_compression_is_recommended_with_a_question_only),
        cmocka_unit_test(report_25_no_time_gives_null_and_not_infinity),
        cmocka_unit_test(report_26_formulas_are_the_right_way_up_with_their_units),
        cmocka_unit_test(report_28_source_network_and_target_are_told_apart),
        cmocka_unit_test(report_37_stripes_follow_from_50000_blocks_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
