/* What people reported from the field, where a job's body alone tells: it is refused with its place
 * and with what to do instead, before anything is sent (the numbers are those of the list of such
 * reports). */
#include "server/buf.h"
#include "server/mem.h"
#include "tests/sweep_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THROUGHPUT(databases, targets)                                                             \
    "{'kind':'backup_throughput','instance':'sql01','parameters':{'databases':[" databases         \
    "],'targets':[" targets "]}}"
#define FLAG(databases, target)                                                                    \
    "{'kind':'trace_flag','instance':'sql01','parameters':{'databases':[" databases                \
    "],'target':" target "}}"

/* POST is answered 400 with one fault at this place that says this. */
static void expect_refusal(struct harness *house, const char *body, const char *pointer,
                           const char *words)
{
    cJSON *problem = harness_call(house, "POST", "/v1/jobs", body, 400);
    assert_string_equal(text_at(problem, "errors/0/pointer"), pointer);
    if (!strstr(text_at(problem, "errors/0/detail"), words))
        fail_msg("no \"%s\" in %s", words, text_at(problem, "errors/0/detail"));
    cJSON_Delete(problem);
}

static struct harness *house_of(const char *extra)
{
    struct harness *house = harness_start(NULL);
    harness_register(house, extra);
    return house;
}

/* 600 buffers of 4 MiB, three sets when compressed: 7 GiB and not 2.3. */
static void report_1_buffers_are_counted_with_their_sets_before_anything_runs(void **state)
{
    (void)state;
    struct harness *house = house_of("'limits':{'buffer_memory_mib':4096}");
    expect_refusal(
        house, SWEEP(",'buffercount':[600],'maxtransfersize':[4194304],'compression':['on']", ""),
        "/parameters/buffercount/0", "7200 MiB");
    assert_int_equal(sim_count_statements(house->sim, "BACKUP"), 0);
    cJSON_Delete(sweep_run(house, SWEEP(",'buffercount':[600],'maxtransfersize':[4194304]", SHORT),
                           NULL)); /* 2400 */
    harness_stop(house);
}

/* Also where somebody allowed /dev. */
static void report_4_dev_null_is_refused_with_the_advice_to_use_nul(void **state)
{
    (void)state;
    static const char words[] = "write \"NUL\"";
    struct harness *house = house_of("'allow':{'paths':['/dev'],'trace_flags':[3042]}");
    expect_refusal(house,
                   SWEEP(",'buffercount':[50],'targets':[{'name':'x','paths':['/dev/null']}]", ""),
                   "/parameters/targets/0/paths/0", words);
    expect_refusal(house,
                   SWEEP(",'buffercount':[50],'confirm_on':{'name':'x','paths':['/dev/null']}", ""),
                   "/parameters/confirm_on/paths/0", words);
    expect_refusal(house, THROUGHPUT("'Sales'", "{'name':'x','paths':['/dev/null']}"),
                   "/parameters/targets/0/paths/0", words);
    expect_refusal(house, FLAG("'Sales'", "{'name':'x','paths':['/dev/null']}"),
                   "/parameters/target/paths/0", words);
    harness_stop(house);
}

/* SQL Server takes 65537, against its documentation; we measure what the documentation has, and
 * name the size that does the same. */
static void report_6_131072_is_named_where_scripts_use_65537(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL);
    expect_refusal(house, SWEEP(",'maxtransfersize':[131072,65537]", ""),
                   "/parameters/maxtransfersize/1", "131072 does the same");
    harness_stop(house);
}

/* Page blobs take no MAXTRANSFERSIZE (3291), block blobs up to 20 MB, S3 from 5 MB: only disks and
 * NUL are measured, and their range is checked. */
static void report_7_8_ranges_are_those_of_the_device(void **state)
{
    (void)state;
    static const char *const urls[] = {"https://a.blob.example.net/b", "S3://bucket/b",
                                       "http://a/b"};
    static const char *const sizes[] = {"65535", "32768", "4194305", "4259840", "20971520"};
    struct harness *house = house_of(NULL);
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        char *body = mem_format(
            SWEEP(",'buffercount':[50],'targets':[{'name':'x','paths':['%s']}]", ""), urls[i]);
        expect_refusal(house, body, "/parameters/targets/0/paths/0", "is a URL");
        free(body);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *body = mem_format(SWEEP(",'maxtransfersize':[%s]", ""), sizes[i]);
        expect_refusal(house, body, "/parameters/maxtransfersize/0", "65536 to 4194304");
        free(body);
    }
    cJSON *job =
        sweep_run(house, SWEEP(",'maxtransfersize':['default',65536,4194304]", SHORT), NULL);
    assert_string_not_equal(text_at(job, "state"), "failed");
    cJSON_Delete(job);
    harness_stop(house);
}

static void add_list(struct buf *out, const char *name, int count, int step)
{
    buf_format(out, ",'%s':[", name);
    for (int i = 1; i <= count; i++)
        buf_format(out, "%s%d", i > 1 ? "," : "", i * step);
    buf_add(out, "]");
}

/* 20 x 20 x 6: the cross product of which somebody wrote that it took a very long time. */
static void report_30_a_grid_of_2400_is_refused_with_its_count(void **state)
{
    (void)state;
    struct buf body = {0};
    struct harness *house = house_of(NULL);
    buf_add(&body, "{'kind':'backup_sweep','instance':'sql01','parameters':{'database':'Sales'");
    add_list(&body, "buffercount", 20, 5);
    add_list(&body, "maxtransfersize", 20, 65536);
    add_list(&body, "files", 6, 1);
    buf_add(&body, "}}");
    expect_refusal(house, buf_text(&body), "/parameters", "makes 2406 arms; the limit is 256");
    buf_fini(&body);
    expect_refusal(house, SWEEP(",'buffercount':[1,2,3]", ",'design':{'repetitions':101}"),
                   "/design/repetitions", "100");
    harness_stop(house);
}

/* Before the first backup has ended, the job says how many there will be. */
static void report_30_the_planned_count_is_shown_first(void **state)
{
    (void)state;
    struct harness *house = house_of(NULL);
    sweep_fault(house->sim, "{'do':'hold_before','match':'BACKUP'}");
    char *id = harness_submit(house, SWEEP(",'buffercount':['default',10,20,40,60,80,100,150,200,"
                                           "300,400,600]",
                                           ",'design':{'repetitions':5,'warmups':1}"));
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    char *target = mem_format("/v1/jobs/%s", id);
    cJSON *job = harness_call(house, "GET", target, NULL, 200);
    assert_int_equal(number_at(job, "progress/trials_planned"), 72);
    assert_int_equal(number_at(job, "progress/trials_done"), 0);
    cJSON_Delete(job);
    char *cancel = mem_format("/v1/jobs/%s/cancel", id);
    cJSON_Delete(harness_call(house, "POST", cancel, NULL, 202));
    sim_release(house->sim);
    cJSON_Delete(harness_wait(house, id));
    free(cancel);
    free(target);
    free(id);
    harness_stop(house);
}

static void report_35_no_job_takes_more_than_32_databases(void **state)
{
    (void)state;
    struct buf names = {0};
    struct harness *house = house_of("'allow':{'paths':['/b'],'trace_flags':[3042]}");
    for (int i = 1; i <= 33; i++)
        buf_format(&names, "%s'db%d'", i > 1 ? "," : "", i);
    char *throughput = mem_format(THROUGHPUT("%s", ""), buf_text(&names));
    char *flag = mem_format(FLAG("%s", "{'name':'x','paths':['/b']}"), buf_text(&names));
    expect_refusal(house, throughput, "/parameters/databases", "32");
    expect_refusal(house, flag, "/parameters/databases", "32");
    free(flag);
    free(throughput);
    buf_fini(&names);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_1_buffers_are_counted_with_their_sets_before_anything_runs),
        cmocka_unit_test(report_4_dev_null_is_refused_with_the_advice_to_use_nul),
        cmocka_unit_test(report_6_131072_is_named_where_scripts_use_65537),
        cmocka_unit_test(report_7_8_ranges_are_those_of_the_device),
        cmocka_unit_test(report_30_a_grid_of_2400_is_refused_with_its_count),
        cmocka_unit_test(report_30_the_planned_count_is_shown_first),
        cmocka_unit_test(report_35_no_job_takes_more_than_32_databases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
