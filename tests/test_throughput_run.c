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
#define SEED_0                                                                                     \
    "{'platform':'Windows','version':'9.0.5000.0','edition':'Enterprise','time_scale':0,"          \
    "'noise':0,'surface':{'read_mib_s':43.9182,'floor':1},"                                        \
    "'databases':[{'name':'AdventureWorks','recovery':'SIMPLE','files':["                          \
    "{'name':'AW_Data','path':'C:\\\\Data\\\\AW.mdf','mib':60,'used_mib':58.8046875},"             \
    "{'name':'AW_Log','path':'C:\\\\Data\\\\AW.ldf','type':'LOG','mib':8,'used_mib':0.015625}]}]," \
    "'volumes':[{'mount':'C:\\\\','total_mib':65536,'used_mib':9000,'write_mib_s':19.7068},"       \
    "{'mount':'D:\\\\','total_mib':65536,'used_mib':9000,'write_mib_s':51.8134}],"                 \
    "'folders':['C:\\\\','C:\\\\Data','C:\\\\Temp','D:\\\\','D:\\\\Backup']}"

static void measures_the_figures_of_seed_0(void **state)
{
    (void)state;
    char *id = NULL;
    struct harness *house = harness_start(SEED_0);
    harness_register(house, "'allow':{'paths':['C:\\\\Temp','D:\\\\Backup']},"
                            "'limits':{'min_free_disk_mib':1}");
    cJSON *report =
        run_job(house,
                "{'kind':'backup_throughput','instance':'sql01','assume_free_mib':50000,"
                "'parameters':{'databases':['AdventureWorks'],'compression':'default','targets':["
                "{'name':'same disk','paths':['C:\\\\Temp']},"
                "{'name':'other disk','paths':['D:\\\\Backup']}]},"
                "'design':{'repetitions':3,'warmups':0}}",
                "succeeded", &id);
    const cJSON *row = at(report, "bottleneck/0");
    expect_near(number_at(row, "read_ceiling_mib_s"), 43.87, 0.01);
    expect_near(number_at(row, "targets/0/rate_mib_s"), 17.82, 0.01);
    expect_near(number_at(row, "targets/1/rate_mib_s"), 41.39, 0.01);
    expect_near(number_at(row, "targets/0/fraction_of_ceiling"), 0.406, 0.0005);
    expect_near(number_at(row, "targets/1/fraction_of_ceiling"), 0.944, 0.0005);
    assert_string_equal(text_at(row, "targets/0/verdict"), "write");
    assert_string_not_equal(text_at(row, "targets/1/verdict"), "write");
    cJSON *trials = get(house, id, "trials?limit=500");
    const cJSON *trial;
    cJSON_ArrayForEach(trial, at(trials, "items"))
    {
        assert_int_equal(number_at(trial, "pages"), 7529);
        assert_string_equal(text_at(trial, "status"), "ok");
    }
    expect_no_files(house);
    cJSON_Delete(trials);
    cJSON_Delete(report);
    free(id);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_the_figures_of_seed_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
