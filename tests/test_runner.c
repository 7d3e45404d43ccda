/* Carrying a job to its end, on a SQL Server that does what the test says: resuming, repeating,
 * leaving out, cleaning up. */
#include "jobs/event.h"
#include "jobs/runner.h"
#include "jobs/scheduler.h"
#include "jobs/upkeep.h"
#include "server/clock.h"
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

#define RUNNER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#define TO_DISK                                                                                    \
    "{'database':'Sales','buffercount':[50,100],'targets':[{'name':'d','paths':['/backup'],"       \
    "'files':2}]}"

/* Two repetitions and a warm-up of three arms make nine trials. */
static char *put_job(struct jobs_place *place, const char *parameters, const char *max_repetitions)
{
    const char *changes[] = {"/parameters",
                             parameters,
                             "/design",
                             "{'repetitions':2,'warmups':1,'seed':1}",
                             "/design/max_repetitions",
                             max_repetitions,
                             NULL};
    jobs_place_put_instance(place, "a", NULL);
    jobs_place_put_webhook(place, "all", "['*']", true);
    struct job_row row = jobs_place_job("a", changes);
    return jobs_place_put_job(place, &row);
}

/* Claims the job as the clock thread does, however long it would have to wait. */
static struct run *claim(struct jobs_place *place, const char *id)
{
    struct err err = {0};
    struct run *run = NULL;
    struct claim claim = {.now_ms = clock_wall_ms() + 3600000};
    jobs_place_claim(place, &claim);
    assert_true(claim.found);
    assert_string_equal(claim.row.id, id);
    kit_ok(run_new(&place->parts, &claim.row, &run, &err), &err);
    return run;
}

static void carry(struct jobs_place *place, const char *id)
{
    struct run *run = claim(place, id);
    runner_execute(run);
    assert_true(run->settled);
    run_free(run);
}

/* --- what is stored ------------------------------------------------------------------------ */

struct trials {
    const char *job;
    char **documents;
    size_t count;
};

static int trials_work(struct db *db, void *arg, struct err *err)
{
    struct trials *trials = arg;
    return store_trial_all(db, trials->job, &trials->documents, &trials->count, err);
}

/* How many trials of this status (NULL: any) are stored; their numbers must go up. */
static size_t count_trials(struct jobs_place *place, const char *id, const char *status)
{
    struct trials trials = {.job = id};
    struct err err = {0};
    size_t count = 0;
    int64_t last = 0;
    kit_ok(store_read(place->store, trials_work, &trials, &err), &err);
    for (size_t i = 0; i < trials.count; i++) {
        cJSON *tree = NULL;
        kit_ok(json_parse(trials.documents[i], strlen(trials.documents[i]), &tree, &err), &err);
        const char *own = cJSON_GetStringValue(json_member(tree, "status"));
        count += !status || strcmp(own, status) == 0;
        int64_t seq = (int64_t)cJSON_GetNumberValue(json_member(tree, "seq"));
        assert_true(seq > last);
        last = seq;
        cJSON_Delete(tree);
        free(trials.documents[i]);
    }
    free(trials.documents);
    return count;
}

static void expect_progress(struct jobs_place *place, const char *id, int64_t done, int64_t planned)
{
    struct job_row row = jobs_place_get_job(place, id);
    assert_int_equal(row.trials_done, done);
    assert_int_equal(row.trials_planned, planned);
    job_row_fini(&row);
}

static void expect_cleanup(struct jobs_place *place, const char *id, const char *cleanup)
{
    struct job_row row = jobs_place_get_job(place, id);
    assert_string_equal(row.cleanup, cleanup);
    job_row_fini(&row);
}

/* --- going well ---------------------------------------------------------------------------- */

static void runs_every_trial_and_leaves_nothing_behind(void **state)
{
    struct jobs_place *place = place_of(state);
    char *id = put_job(place, TO_DISK, "5");
    carry(place, id);
    jobs_place_expect_state(place, id, "succeeded", NULL);
    assert_int_equal(fake_backups(), 9);
    assert_int_equal(count_trials(place, id, "ok"), 9);
    assert_int_equal(fake_files(), 0);
    assert_int_equal(fake_overwritten(), 0);
    expect_progress(place, id, 9, 9);
    expect_cleanup(place, id, "done");
    free(id);
}

static void measures_where_no_view_of_the_server_may_be_read(void **state)
{
    struct jobs_place *place = place_of(state);
    fake_refuse_views();
    char *id = put_job(place, "{'database':'Sales','buffercount':[50]}", "5");
    carry(place, id);
    jobs_place_expect_state(place, id, "succeeded", NULL);
    expect_cleanup(place, id, "none");
    free(id);
}

static void confirms_the_winner_where_it_is_asked_to(void **state)
{
    struct jobs_place *place = place_of(state);
    char *id = put_job(place,
                       "{'database':'Sales','buffercount':[50],'confirm_on':{'name':'d',"
                       "'paths':['/backup']}}",
                       "5");
    carry(place, id);
    /* all arms are equally fast: the default stays, and nothing is to be confirmed */
    jobs_place_expect_state(place, id, "succeeded", NULL);
    assert_int_equal(fake_backups(), 6);
    expect_progress(place, id, 6, 6);
    free(id);
}

/* --- breaking off and going on ------------------------------------------------------------- */

struct script {
    int at;                    /* which BACKUP; 0: every one */
    const char *with;          /* or every one whose statement has these words */
    enum fake_outcome outcome; /* what it then does */
    struct run *run;           /* stopped just before, or NULL */
    enum run_stop why;
};

static enum fake_outcome follow(void *ctx, int n, const char *statement)
{
    const struct script *script = ctx;
    bool hit =
        script->with ? strstr(statement, script->with) != NULL : script->at == 0 || script->at == n;
    if (hit && script->run)
        run_stop(script->run, script->why);
    return hit ? script->outcome : FAKE_OK;
}

static void goes_on_from_its_stored_trials_wherever_it_broke_off(void **state)
{
    for (int at = 1; at <= 9; at++) {
        if (at > 1) {
            (void)tear_down(state);
            (void)set_up(state);
        }
        struct jobs_place *place = place_of(state);
        struct script script = {.at = at, .outcome = FAKE_BREAK};
        fake_set_on_backup(follow, &script);
        char *id = put_job(place, TO_DISK, "5");
        carry(place, id);
        jobs_place_expect_state(place, id, "waiting", "unreachable");
        expect_cleanup(place, id, "pending");
        assert_int_equal(count_trials(place, id, NULL), at);
        assert_int_equal(count_trials(place, id, "contaminated"), 1);
        assert_int_equal(fake_files(), 2); /* of the one that broke */
        carry(place, id);
        jobs_place_expect_state(place, id, "succeeded", NULL);
        assert_int_equal(fake_backups(), 9 + 1);
        assert_int_equal(count_trials(place, id, "ok"), 9);
        assert_int_equal(fake_overwritten(), 0);
        assert_int_equal(fake_files(), 0);
        expect_progress(place, id, 9, 9);
        expect_cleanup(place, id, "done");
        free(id);
    }
}

static void goes_on_after_the_process_died_in_a_backup(void **state)
{
    struct jobs_place *place = place_of(state);
    int64_t now = clock_wall_ms();
    struct script script = {.at = 4, .outcome = FAKE_BREAK};
    fake_set_on_backup(follow, &script);
    char *id = put_job(place, TO_DISK, "5");
    carry(place, id);
    struct job_row row = jobs_place_get_job(place, id); /* as a kill would have left it */
    mem_replace(&row.state, "running");
    mem_replace(&row.state_reason, NULL);
    jobs_place_update_job(place, &row);
    job_row_fini(&row);
    jobs_place_write(place, upkeep_recover_work, &now);
    carry(place, id);
    assert_int_equal(count_trials(place, id, "ok"), 9);
    assert_int_equal(fake_files(), 0);
    assert_int_equal(fake_overwritten(), 0);
    free(id);
}

static void stops_at_each_reason_and_removes_the_file_of_the_trial(void **state)
{
    static const struct {
        enum run_stop why;
        const char *state, *reason;
    } cases[] = {{RUN_CANCEL, "cancelled", NULL},
                 {RUN_OVERTIME, "timed_out", NULL},
                 {RUN_WINDOW, "waiting", "window"},
                 {RUN_SHUTDOWN, "queued", NULL}};
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        if (i > 0) {
            (void)tear_down(state);
            (void)set_up(state);
        }
        struct jobs_place *place = place_of(state);
        char *id = put_job(place, TO_DISK, "5");
        struct run *run = claim(place, id);
        struct script script = {.at = 3, .outcome = FAKE_DEADLOCK, .run = run, .why = cases[i].why};
        fake_set_on_backup(follow, &script);
        runner_execute(run);
        run_free(run);
        jobs_place_expect_state(place, id, cases[i].state, cases[i].reason);
        assert_int_equal(fake_backups(), 3);
        assert_int_equal(fake_files(), 0);
        expect_cleanup(place, id, "done");
        free(id);
    }
}

static void does_not_even_log_in_when_it_is_stopped_before(void **state)
{
    struct jobs_place *place = place_of(state);
    char *id = put_job(place, TO_DISK, "5");
    struct run *run = claim(place, id);
    run_stop(run, RUN_CANCEL);
    runner_execute(run);
    run_free(run);
    jobs_place_expect_state(place, id, "cancelled", NULL);
    assert_int_equal(fake_logins(), 0);
    free(id);
}

static void stop_in_delete(void *ctx, const char *path)
{
    (void)path;
    if (strstr(path, "_0_1.bak") == NULL) /* not while deleting is tried out */
        run_stop(ctx, RUN_CANCEL);
}

static void cleans_up_undisturbed_by_a_stop(void **state)
{
    struct jobs_place *place = place_of(state);
    char *id = put_job(place, TO_DISK, "5");
    struct run *run = claim(place, id);
    fake_set_on_delete(stop_in_delete, run);
    runner_execute(run);
    run_free(run);
    jobs_place_expect_state(place, id, "cancelled", NULL);
    assert_int_equal(fake_cancels(), 0);
    assert_int_equal(fake_backups(), 1);
    assert_int_equal(fake_files(), 0);
    expect_cleanup(place, id, "done");
    assert_int_equal(jobs_place_deliveries(place, "all", EVENT_CLEANUP_FAILED), 0);
    free(id);
}

static void tells_of_files_that_the_server_keeps(void **state)
{
    struct jobs_place *place = place_of(state);
    fake_keep_files();
    char *id = put_job(place, TO_DISK, "5");
    carry(place, id);
    jobs_place_expect_state(place, id, "succeeded", NULL);
    expect_cleanup(place, id, "failed");
    assert_int_equal(fake_files(), 1 + 2 * 9);
    assert_int_equal(fake_overwritten(), 0);
    assert_int_equal(jobs_place_deliveries(place, "all", EVENT_CLEANUP_FAILED), 1);
    free(id);
}

static void fails_at_once_and_holds_where_the_login_is_refused(void **state)
{
    struct jobs_place *place = place_of(state);
    fake_refuse_logins(ERR_SQL, 18456);
    char *id = put_job(place, TO_DISK, "5");
    carry(place, id);
    jobs_place_expect_state(place, id, "failed", NULL);
    assert_int_equal(fake_logins(), 1);
    struct claim none = {.now_ms = clock_wall_ms() + 3600000};
    struct job_row row = jobs_place_job("a", NULL);
    char *next = jobs_place_put_job(place, &row);
    jobs_place_claim(place, &none);
    assert_false(none.found);
    jobs_place_expect_state(place, next, "waiting", "unreachable");
    free(next);
    free(id);
}

static void counts_the_tries_anew_once_the_instance_answered(void **state)
{
    struct jobs_place *place = place_of(state);
    fake_refuse_logins(ERR_UNREACHABLE, 0);
    char *id = put_job(place, TO_DISK, "5");
    for (int i = 1; i <= 3; i++) {
        carry(place, id);
        struct job_row row = jobs_place_get_job(place, id);
        assert_int_equal(row.attempts, i);
        job_row_fini(&row);
    }
    assert_int_equal(jobs_place_deliveries(place, "all", EVENT_INSTANCE_UNREACHABLE), 1);
    fake_refuse_logins(ERR_NONE, 0);
    struct script script = {.at = 2, .outcome = FAKE_BREAK};
    fake_set_on_backup(follow, &script);
    carry(place, id);
    struct job_row row = jobs_place_get_job(place, id);
    assert_int_equal(row.attempts, 1);
    job_row_fini(&row);
    assert_int_equal(jobs_place_deliveries(place, "all", EVENT_INSTANCE_UNREACHABLE), 2);
    free(id);
}

/* --- failing and repeating ----------------------------------------------------------------- */

static void leaves_an_arm_out_once_it_failed(void **state)
{
    struct jobs_place *place = place_of(state);
    struct script script = {.with = "BUFFERCOUNT = 50,", .outcome = FAKE_NO_DEVICE};
    fake_set_on_backup(follow, &script);
    char *id = put_job(place, TO_DISK, "5");
    carry(place, id);
    jobs_place_expect_state(place, id, "succeeded", NULL);
    assert_int_equal(count_trials(place, id, "failed"), 1);
    assert_int_equal(fake_backups(), 6 + 1);
    expect_progress(place, id, 7, 7);
    free(id);
}

static void tries_nothing_as_big_as_what_ran_out_of_memory(void **state)
{
    struct jobs_place *place = place_of(state);
    struct script script = {.with = "BUFFERCOUNT = 50,", .outcome = FAKE_NO_MEMORY};
    fake_set_on_backup(follow, &script);
    const char *changes[] = {"/parameters", TO_DISK, "/design",
                             "{'repetitions':2,'warmups':1,'order':'sequential'}", NULL};
    jobs_place_put_instance(place, "a", NULL);
    struct job_row row = jobs_place_job("a", changes);
    char *id = jobs_place_put_job(place, &row);
    carry(place, id);
    jobs_place_expect_state(place, id, "succeeded", NULL);
    assert_int_equal(count_trials(place, id, "failed"), 1);
    assert_int_equal(fake_backups(), 3 + 1); /* the default thrice, 50 once, 100 never */
    free(id);
}

static void fails_when_every_trial_failed(void **state)
{
    struct jobs_place *place = place_of(state);
    struct script script = {.outcome = FAKE_NO_DEVICE};
    fake_set_on_backup(follow, &script);
    char *id = put_job(place, "{'database':'Sales','buffercount':[50]}", "5");
    carry(place, id);
    struct job_row row = jobs_place_get_job(place, id);
    assert_string_equal(row.state, "failed");
    assert_non_null(strstr(row.error, "3201"));
    job_row_fini(&row);
    free(id);
}

static void repeats_a_contaminated_trial(void **state)
{
    struct jobs_place *place = place_of(state);
    struct script script = {.at = 2, .outcome = FAKE_DEADLOCK};
    fake_set_on_backup(follow, &script);
    char *id = put_job(place, "{'database':'Sales','buffercount':[50]}", "5");
    carry(place, id);
    jobs_place_expect_state(place, id, "succeeded", NULL);
    assert_int_equal(count_trials(place, id, "contaminated"), 1);
    assert_int_equal(count_trials(place, id, "ok"), 6);
    expect_progress(place, id, 6, 6);
    free(id);
}

/* The winner is confirmed, so that steps are looked at twice; the arm that was given up comes last
 * in neither look. */
static enum fake_outcome contaminate_fifty(void *ctx, int n, const char *statement)
{
    (void)ctx;
    (void)n;
    return strstr(statement, "BUFFERCOUNT = 50,") ? FAKE_DEADLOCK : FAKE_OK;
}

static void gives_a_contaminated_arm_up_and_does_not_return_to_it(void **state)
{
    struct jobs_place *place = place_of(state);
    fake_set_on_backup(contaminate_fifty, NULL);
    const char *changes[] = {"/parameters", "{'database':'Sales','buffercount':[50]}", "/design",
                             "{'repetitions':1,'warmups':0,'max_repetitions':1}", NULL};
    jobs_place_put_instance(place, "a", NULL);
    struct job_row row = jobs_place_job("a", changes);
    char *id = jobs_place_put_job(place, &row);
    struct run *run = claim(place, id);
    struct err err = {0};
    runner_execute(run);
    run_free(run);
    assert_int_equal(count_trials(place, id, "contaminated"), 2); /* the first and its repeat */
    assert_int_equal(fake_backups(), 1 + 2);
    expect_progress(place, id, 1, 1);
    /* the same job once more from its stored trials: nothing is left to do */
    row = jobs_place_get_job(place, id);
    mem_replace(&row.state, "running");
    jobs_place_update_job(place, &row);
    kit_ok(run_new(&place->parts, &row, &run, &err), &err);
    runner_execute(run);
    run_free(run);
    assert_int_equal(fake_backups(), 1 + 2);
    free(id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNNER_TEST(runs_every_trial_and_leaves_nothing_behind),
        RUNNER_TEST(measures_where_no_view_of_the_server_may_be_read),
        RUNNER_TEST(confirms_the_winner_where_it_is_asked_to),
        RUNNER_TEST(goes_on_from_its_stored_trials_wherever_it_broke_off),
        RUNNER_TEST(goes_on_after_the_process_died_in_a_backup),
        RUNNER_TEST(stops_at_each_reason_and_removes_the_file_of_the_trial),
        RUNNER_TEST(does_not_even_log_in_when_it_is_stopped_before),
        RUNNER_TEST(cleans_up_undisturbed_by_a_stop),
        RUNNER_TEST(tells_of_files_that_the_server_keeps),
        RUNNER_TEST(fails_at_once_and_holds_where_the_login_is_refused),
        RUNNER_TEST(counts_the_tries_anew_once_the_instance_answered),
        RUNNER_TEST(leaves_an_arm_out_once_it_failed),
        RUNNER_TEST(tries_nothing_as_big_as_what_ran_out_of_memory),
        RUNNER_TEST(fails_when_every_trial_failed),
        RUNNER_TEST(repeats_a_contaminated_trial),
        RUNNER_TEST(gives_a_contaminated_arm_up_and_does_not_return_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
