/* backup_throughput from curl to report, against simulated servers. */
#include "server/mem.h"
#include "tests/harness.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static cJSON *get(struct harness *house, const char *id, const char *part)
{
    char *target = mem_format("/v1/jobs/%s/%s", id, part);
    cJSON *tree = harness_call(house, "GET", target, NULL, 200);
    free(target);
    return tree;
}

/* Runs a job to its end; the state must be this one. Returns its report. */
static cJSON *run_job(struct harness *house, const char *body, const char *state, char **out_id)
{
    *out_id = harness_submit(house, body);
    cJSON *job = harness_wait(house, *out_id);
    if (strcmp(text_at(job, "state"), state) != 0)
        fail_msg("%s %s", cJSON_PrintUnformatted(at(job, "error")), text_at(job, "state"));
    assert_true(strlen(text_at(job, "summary")) > 0);
    cJSON_Delete(job);
    return get(house, *out_id, "report");
}

static void expect_near(double value, double wanted, double by)
{
    if (!(fabs(value - wanted) <= by))
        fail_msg("%g instead of %g", value, wanted);
}

static void expect_no_files(struct harness *house)
{
    size_t left = 0;
    struct sim_left *files = sim_files(house->sim, &left);
    for (size_t i = 0; i < left; i++)
        assert_null(strstr(files[i].path, "sweetspot_"));
    sim_files_free(files, left);
}

/* --- seed 0 --------------------------------------------------------------------------------- */

/* 7527 pages of data and 2 of the log make the article's 7529. Its 46 MB/s are 10^6 bytes, so the
 * disk reads 43.869 MiB/s. The two disks take what makes the simulator's pipeline end after the
 * article's 3.300 s and 1.421 s; each backup has 2 ms to start in. */
#define SEED_0(version)                                                                            \
    "{'platform':'Windows','version':'" version "','edition':'Enterprise','time_scale':0,"         \
    "'noise':0,'surface':{'read_mib_s':43.9182,'floor':1},"                                        \
    "'databases':[{'name':'AdventureWorks','recovery':'SIMPLE','files':["                          \
    "{'name':'AW_Data','path':'C:\\\\Data\\\\AW.mdf','mib':60,'used_mib':58.8046875},"             \
    "{'name':'AW_Log','path':'C:\\\\Data\\\\AW.ldf','type':'LOG','mib':8,'used_mib':0.015625}]}]," \
    "'volumes':[{'mount':'C:\\\\','total_mib':65536,'used_mib':9000,'write_mib_s':19.7068},"       \
    "{'mount':'D:\\\\','total_mib':65536,'used_mib':9000,'write_mib_s':51.8134}],"                 \
    "'folders':['C:\\\\','C:\\\\Data','C:\\\\Temp','D:\\\\','D:\\\\Backup']}"

static void expect_seed_0(const char *scenario, const char *compression)
{
    char *id = NULL;
    struct harness *house = harness_start(scenario);
    harness_register(house, "'allow':{'paths':['C:\\\\Temp','D:\\\\Backup']},"
                            "'limits':{'min_free_disk_mib':1}");
    char *body = mem_format("{'kind':'backup_throughput','instance':'sql01',"
                            "'assume_free_mib':50000,'parameters':{"
                            "'databases':['AdventureWorks'],'compression':'%s','targets':["
                            "{'name':'same disk','paths':['C:\\\\Temp']},"
                            "{'name':'other disk','paths':['D:\\\\Backup']}]},"
                            "'design':{'repetitions':3,'warmups':0}}",
                            compression);
    cJSON *report = run_job(house, body, "succeeded", &id);
    const cJSON *row = at(report, "bottleneck/0");
    expect_near(number_at(row, "read_ceiling_mib_s"), 43.87, 0.01);
    expect_near(number_at(row, "targets/0/rate_mib_s"), 17.82, 0.01);
    expect_near(number_at(row, "targets/1/rate_mib_s"), 41.39, 0.01);
    expect_near(number_at(row, "targets/0/fraction_of_ceiling"), 0.406, 0.0005);
    expect_near(number_at(row, "targets/1/fraction_of_ceiling"), 0.944, 0.0005);
    assert_string_equal(text_at(row, "targets/0/verdict"), "write");
    /* the simulated disk takes little more than reading gives: the article's case is closer */
    assert_string_equal(text_at(row, "targets/1/verdict"), "balanced");
    cJSON *trials = get(house, id, "trials?limit=500");
    assert_int_equal(cJSON_GetArraySize(at(trials, "items")), 9);
    const cJSON *trial;
    cJSON_ArrayForEach(trial, at(trials, "items")) {
        assert_int_equal(number_at(trial, "pages"), 7529);
        assert_string_equal(text_at(trial, "status"), "ok");
    }
    expect_no_files(house);
    cJSON_Delete(trials);
    cJSON_Delete(report);
    free(body);
    free(id);
    harness_stop(house);
}

static void measures_the_figures_of_seed_0(void **state)
{
    (void)state;
    expect_seed_0(SEED_0("9.0.5000.0"), "default"); /* prints decimal MB, as in the article */
    expect_seed_0(SEED_0("16.0.4100.1"), "off");    /* prints MiB: the same rates */
}

/* --- names, statements, files ---------------------------------------------------------------- */

/* Quotes of both kinds are written as JSON's \u escapes: ' stands for " here. */
#define NAME_QUOTED "'a]b\\u0027c \\u0022d\\u0022'"
#define NAME_CJK "'数据库'"
#define NAME_EMOJI "'💾 prod.v2'"
#define ODD_DATABASES                                                                              \
    "'time_scale':0,'databases':[{'name':" NAME_QUOTED ",'mib':24},"                               \
    "{'name':" NAME_CJK ",'mib':16},{'name':" NAME_EMOJI ",'mib':16,'recovery':'SIMPLE'}]"

/* A platform, and the two folders of the striped target. */
struct place {
    const char *scenario, *first, *second;
    const char *first_device, *second_device;
};

static const struct place places[] = {
    {"{'platform':'Linux'," ODD_DATABASES "}", "/var/opt/mssql/backup", "/tmp",
     "DISK = N'/var/opt/mssql/backup/sweetspot_", "DISK = N'/tmp/sweetspot_"},
    {"{'platform':'Windows'," ODD_DATABASES "}", "D:\\\\Backup", "C:\\\\Temp",
     "DISK = N'D:\\Backup\\sweetspot_", "DISK = N'C:\\Temp\\sweetspot_"},
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* To NUL or to our two files, of one of the three databases, and nothing else. */
static void expect_backup(const char *text, const struct place *place)
{
    static const char *const names[] = {"BACKUP DATABASE [a]]b'c \"d\"] TO DISK",
                                        "BACKUP DATABASE [数据库] TO DISK",
                                        "BACKUP DATABASE [💾 prod.v2] TO DISK"};
    bool known = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        known |= begins(text, names[i]);
    bool discards = strstr(text, "DISK = N'NUL'") != NULL;
    bool striped = strstr(text, place->first_device) && strstr(text, place->second_device);
    if (!known || discards == striped || !strstr(text, "WITH COPY_ONLY, ") ||
        !strstr(text, "NO_COMPRESSION") || strstr(text, "INIT") || strstr(text, "FORMAT") ||
        strstr(text, "DIFFERENTIAL") || strstr(text, "BUFFERCOUNT"))
        fail_msg("%s", text);
}

/* Three databases, each to NUL and to two files, warmed up once and measured twice. */
static void expect_statements(struct harness *house, const struct place *place)
{
    size_t count = 0;
    int backups = 0;
    char **texts = sim_statements(house->sim, &count);
    for (size_t i = 0; i < count; i++) {
        assert_false(begins(texts[i], "RESTORE"));
        assert_true(!begins(texts[i], "BACKUP") || strstr(texts[i], "COPY_ONLY") != NULL);
        if (!begins(texts[i], "BACKUP") || begins(texts[i], "BACKUP DATABASE [model]"))
            continue;
        expect_backup(texts[i], place);
        backups++;
    }
    assert_int_equal(backups, 3 * 2 * 3);
    sim_texts_free(texts, count);
}

static char *odd_job(const struct place *place)
{
    return mem_format("{'kind':'backup_throughput','instance':'sql01','parameters':{"
                      "'databases':[" NAME_QUOTED "," NAME_CJK "," NAME_EMOJI "],"
                      "'targets':[{'name':'two disks','paths':['%s','%s'],'files':2}]},"
                      "'design':{'repetitions':2,'warmups':1}}",
                      place->first, place->second);
}

static void backs_up_oddly_named_databases_and_leaves_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char *id = NULL;
        struct harness *house = harness_start(places[i].scenario);
        uint64_t base = sim_differential_base(house->sim, "数据库");
        uint64_t log = sim_last_log_lsn(house->sim, "数据库");
        char *allow = mem_format("'allow':{'paths':['%s','%s']},'limits':{'min_free_disk_mib':1}",
                                 places[i].first, places[i].second);
        char *body = odd_job(&places[i]);
        harness_register(house, allow);
        cJSON *report = run_job(house, body, "succeeded", &id);
        expect_statements(house, &places[i]);
        expect_no_files(house);
        assert_string_equal(text_at(report, "bottleneck/0/database"), "a]b'c \"d\"");
        assert_string_equal(text_at(report, "bottleneck/2/database"), "💾 prod.v2");
        assert_string_equal(text_at(report, "arms/0/settings/target"), "NUL");
        assert_true(cJSON_IsTrue(at(report, "arms/2/baseline")));
        assert_true(number_at(report, "bottleneck/1/files/0/mib_s") > 0);
        assert_true(cJSON_IsTrue(at(report, "bottleneck/1/files/1/log")));
        assert_true(cJSON_IsTrue(at(report, "chain/differential_base_unchanged")));
        assert_true(cJSON_IsTrue(at(report, "chain/log_chain_unchanged")));
        assert_true(sim_differential_base(house->sim, "数据库") == base);
        assert_true(sim_last_log_lsn(house->sim, "数据库") == log);
        assert_int_equal(cJSON_GetArraySize(at(report, "left_behind")), 0);
        cJSON_Delete(report);
        free(allow);
        free(body);
        free(id);
        harness_stop(house);
    }
}

/* --- what people read ------------------------------------------------------------------------ */

#define PLAIN_JOB(parameters)                                                                      \
    "{'kind':'backup_throughput','instance':'sql01','parameters':{" parameters                     \
    "},'design':{'repetitions':4,'warmups':0,'seed':7}}"

static void the_first_line_tells_every_database(void **state)
{
    (void)state;
    char *id = NULL;
    struct harness *house = harness_start(NULL);
    harness_register(house, "'allow':{'paths':['/var/opt/mssql/backup']},"
                            "'limits':{'min_free_disk_mib':1}");
    cJSON *report = run_job(house,
                            PLAIN_JOB("'databases':['Sales','AdventureWorks'],'targets':"
                                      "[{'name':'disk','paths':['/var/opt/mssql/backup']}]"),
                            "succeeded", &id);
    char *target = mem_format("/v1/jobs/%s/report", id);
    char *markdown = harness_text(house, target, "text/markdown", 200);
    char *end = strchr(markdown, '\n');
    assert_non_null(end);
    *end = '\0';
    assert_non_null(strstr(markdown, "**Sales** to disk: "));
    assert_non_null(strstr(markdown, "**AdventureWorks** to disk: "));
    assert_non_null(strstr(end + 1, "| target | MiB/s |"));
    assert_non_null(strstr(end + 1, "| file | drive |"));
    cJSON_Delete(report);
    free(markdown);
    free(target);
    free(id);
    harness_stop(house);
}

/* The simulator compresses with three cores a stripe; a drive that reads much more than they take
 * leaves the CPU as what limits, to NUL as to a disk that is fast enough. */
static void compression_on_a_fast_disk_is_held_by_the_cpu(void **state)
{
    (void)state;
    char *id = NULL;
    struct harness *house = harness_start("{'time_scale':0,'surface':{'read_mib_s':6000}}");
    harness_register(house, "'allow':{'paths':['/var/opt/mssql/backup']},"
                            "'limits':{'min_free_disk_mib':1}");
    cJSON *report = run_job(house,
                            PLAIN_JOB("'databases':['Sales'],'compression':'on','targets':"
                                      "[{'name':'disk','paths':['/var/opt/mssql/backup']}]"),
                            "succeeded", &id);
    assert_string_equal(text_at(report, "bottleneck/0/targets/0/verdict"), "cpu");
    assert_true(number_at(report, "bottleneck/0/targets/0/compression_ratio") > 4);
    assert_true(cJSON_IsNull(at(report, "recommendation")));
    cJSON_Delete(report);
    free(id);
    harness_stop(house);
}

static void a_server_that_hides_waits_and_cpu_is_measured_all_the_same(void **state)
{
    (void)state;
    static const char *const hidden[] = {"dm_os_sys_info", "dm_exec_session_wait_stats",
                                         "dm_os_wait_stats", "dm_io_virtual_file_stats"};
    char *id = NULL;
    char error[SIM_ERROR_SIZE];
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        char *fault = mem_format("{'do':'hide','match':'%s'}", hidden[i]);
        if (sim_fault(house->sim, fault, error) != 0)
            fail_msg("%s", error);
        free(fault);
    }
    cJSON *report = run_job(house, PLAIN_JOB("'databases':['Sales']"), "succeeded", &id);
    assert_true(number_at(report, "bottleneck/0/read_ceiling_mib_s") > 0);
    assert_int_equal(cJSON_GetArraySize(at(report, "bottleneck/0/targets")), 0);
    assert_int_equal(cJSON_GetArraySize(at(report, "bottleneck/0/files")), 0);
    assert_true(cJSON_IsNull(at(report, "bottleneck/0/slowest_drive")));
    cJSON_Delete(report);
    free(id);
    harness_stop(house);
}

static void one_missing_database_refuses_the_whole_job(void **state)
{
    (void)state;
    struct harness *house = harness_start(NULL);
    harness_register(house, NULL);
    char *id = harness_submit(house, PLAIN_JOB("'databases':['Sales','Nowhere']"));
    cJSON *job = harness_wait(house, id);
    assert_string_equal(text_at(job, "state"), "failed");
    assert_int_equal(number_at(job, "error/number"), 911);
    assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 0);
    cJSON_Delete(job);
    free(id);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_the_figures_of_seed_0),
        cmocka_unit_test(backs_up_oddly_named_databases_and_leaves_nothing),
        cmocka_unit_test(the_first_line_tells_every_database),
        cmocka_unit_test(compression_on_a_fast_disk_is_held_by_the_cpu),
        cmocka_unit_test(a_server_that_hides_waits_and_cpu_is_measured_all_the_same),
        cmocka_unit_test(one_missing_database_refuses_the_whole_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
