/* Before a run measures: what an earlier one left on the server is removed, what the instance
 * allows is looked at again, and what seems to bring the server down is not tried again. */
#include "jobs/cleanup.h"
#include "jobs/runner.h"
#include "jobs/scheduler.h"
#include "server/clock.h"
#include "server/ids.h"
#include "server/mem.h"
#include "tests/fake_mssql.h"
#include "tests/jobs_kit.h"
#include "tests/store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct jobs_place *place_of(void **state)
{
    return *state;
}

static int set_up(void **state)
{
    fake_reset();
    return jobs_place_set_up(state);
}

static int tear_down(void **state)
{
    int rc = jobs_place_tear_down(state);
    fake_reset();
    return rc;
}

#define BEFORE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static char *put_job(struct jobs_place *place)
{
    static const char *const changes[] = {
        "/parameters",
        "{'database':'Sales','buffercount':[50],'targets':[{'name':'d','paths':['/backup']}]}",
        "/design",
        "{'repetitions':2,'warmups':0,'seed':1}",
        NULL,
    };
    struct job_row row = jobs_place_job("a", changes);
    return jobs_place_put_job(place, &row);
}

static void carry(struct jobs_place *place, const char *id)
{
    struct err err = {0};
    struct run *run = NULL;
    struct claim claim = {.now_ms = clock_wall_ms() + 3600000}; /* however long it would wait */
    jobs_place_claim(place, &claim);
    assert_true(claim.found);
    assert_string_equal(claim.row.id, id);
    kit_ok(run_new(&place->parts, &claim.row, &run, &err), &err);
    runner_execute(run);
    assert_true(run->settled);
    run_free(run);
}

static void clean(struct jobs_place *place, const char *id)
{
    struct err err = {0};
    struct run *run = NULL;
    struct job_row row = jobs_place_get_job(place, id);
    kit_ok(run_new(&place->parts, &row, &run, &err), &err);
    cleanup_run(run);
    run_free(run);
}

static int intent_work(struct db *db, void *arg, struct err *err)
{
    return store_intent_insert(db, arg, err);
}

/* A file of this job on the server, written down and not undone. */
static void leave_file(struct jobs_place *place, const char *job)
{
    struct err err = {0};
    struct mssql *session = NULL;
    struct mssql_target target = {.host = "127.0.0.1"};
    char id[IDS_TEXT_SIZE];
    struct intent_row row = {.id = mem_copy(ids_new(id)),
                             .job = mem_copy(job),
                             .instance = mem_copy("a"),
                             .action = mem_copy("file"),
                             .object = mem_format("/backup/sweetspot_%s_0_1.bak", job),
                             .state = mem_copy("open")};
    char *batch = mem_format("BACKUP DATABASE [model] TO DISK = N'%s'", row.object);
    jobs_place_write(place, intent_work, &row);
    kit_ok(mssql_open(&target, &session, &err), &err);
    kit_ok(mssql_execute(session, batch, NULL, NULL, &err), &err);
    mssql_close(session);
    free(batch);
    intent_row_fini(&row);
}

static void expect_cleanup(struct jobs_place *place, const char *id, const char *cleanup)
{
    struct job_row row = jobs_place_get_job(place, id);
    assert_string_equal(row.cleanup, cleanup);
    job_row_fini(&row);
}

static void deletes_a_file_of_before_there_was_a_plan(void **state)
{
    struct jobs_place *place = place_of(state);
    jobs_place_put_instance(place, "a", NULL);
    char *id = put_job(place);
    leave_file(place, id);
    assert_int_equal(fake_files(), 1);
    carry(place, id);
    assert_int_equal(fake_files(), 0);
    expect_cleanup(place, id, "done");
    free(id);
}

static void removes_what_an_ended_job_could_not(void **state)
{
    struct jobs_place *place = place_of(state);
    jobs_place_put_instance(place, "a", NULL);
    struct job_row row = jobs_place_job("a", NULL);
    mem_replace(&row.state, "cancelled");
    mem_replace(&row.cleanup, "pending");
    char *ended = jobs_place_put_job(place, &row);
    leave_file(place, ended);
    char *id = put_job(place);
    struct claim claim = {.now_ms = clock_wall_ms()};
    struct err err = {0};
    kit_ok(scheduler_claim(place->store, &claim, &err), &err);
    assert_false(claim.found);
    assert_true(claim.needs_cleanup);
    jobs_place_expect_state(place, id, "waiting", "cleanup_pending");
    clean(place, ended);
    assert_int_equal(fake_files(), 0);
    carry(place, id);
    assert_int_equal(fake_files(), 0);
    expect_cleanup(place, ended, "done");
    jobs_place_expect_state(place, ended, "cancelled", NULL);
    jobs_place_expect_state(place, id, "succeeded", NULL);
    free(ended);
    free(id);
}

static void refuses_what_the_instance_does_not_allow_any_more(void **state)
{
    static const char *const narrower[][3] = {
        {"/allow/paths", "['/elsewhere']", NULL},
        {"/limits/buffer_memory_mib", "10", NULL},
    };
    for (size_t i = 0; i < JSON_COUNT(narrower); i++) {
        if (i > 0) {
            (void)tear_down(state);
            (void)set_up(state);
        }
        struct jobs_place *place = place_of(state);
        jobs_place_put_instance(place, "a", NULL);
        char *id = put_job(place);
        leave_file(place, id);
        jobs_place_put_instance(place, "a", narrower[i]);
        carry(place, id);
        jobs_place_expect_state(place, id, "failed", NULL);
        assert_int_equal(fake_backups(), 0);
        assert_int_equal(fake_files(), 0); /* what was there before is removed all the same */
        free(id);
    }
}

struct lossy {
    const char *words; /* in the BACKUPs in which the connection breaks */
    int count;         /* of them */
};

static enum fake_outcome lose(void *ctx, int n, const char *statement)
{
    struct lossy *lossy = ctx;
    (void)n;
    if (!strstr(statement, lossy->words))
        return FAKE_OK;
    lossy->count++;
    return FAKE_BREAK;
}

static void leaves_out_what_lost_the_connection_twice(void **state)
{
    struct jobs_place *place = place_of(state);
    struct lossy lossy = {.words = "BUFFERCOUNT"};
    fake_set_on_backup(lose, &lossy);
    jobs_place_put_instance(place, "a", NULL);
    char *id = put_job(place);
    carry(place, id);
    jobs_place_expect_state(place, id, "waiting", "unreachable");
    carry(place, id);
    jobs_place_expect_state(place, id, "waiting", "unreachable");
    carry(place, id);
    jobs_place_expect_state(place, id, "succeeded", NULL);
    assert_int_equal(lossy.count, 2);
    assert_int_equal(fake_files(), 0);
    free(id);
}

/* From this backup on somebody else has the memory. */
static enum fake_outcome take_memory(void *ctx, int n, const char *statement)
{
    (void)ctx;
    (void)statement;
    if (n == 4)
        fake_set_free_memory(399);
    return FAKE_OK;
}

static void begins_nothing_that_the_server_has_no_memory_for_any_more(void **state)
{
    struct jobs_place *place = place_of(state);
    static const char *const changes[] = {
        "/parameters", "{'database':'Sales','buffercount':[50,100]}", "/design",
        "{'repetitions':2,'warmups':1,'order':'sequential'}", NULL};
    fake_set_on_backup(take_memory, NULL);
    jobs_place_put_instance(place, "a", NULL);
    struct job_row row = jobs_place_job("a", changes);
    char *id = jobs_place_put_job(place, &row);
    carry(place, id);
    row = jobs_place_get_job(place, id);
    assert_string_equal(row.state, "succeeded");
    assert_int_equal(fake_backups(), 3 + 3 + 1);      /* 100 had its warm-up before */
    assert_int_equal(row.trials_done, 3 + 3 + 1 + 1); /* and one that failed: it was not begun */
    job_row_fini(&row);
    free(id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BEFORE_TEST(deletes_a_file_of_before_there_was_a_plan),
        BEFORE_TEST(removes_what_an_ended_job_could_not),
        BEFORE_TEST(leaves_out_what_lost_the_connection_twice),
        BEFORE_TEST(refuses_what_the_instance_does_not_allow_any_more),
        BEFORE_TEST(begins_nothing_that_the_server_has_no_memory_for_any_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
