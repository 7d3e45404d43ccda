/* The states of a job: every move of the table, tried from every state. */
#include "jobs/state.h"
#include "server/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NOW 1700000000000

static const char *const names[JOB_STATE_COUNT] = {
    "queued", "waiting", "running", "succeeded", "inconclusive", "failed", "cancelled", "timed_out",
};

/* clang-format off */
/* The contract, said once more: from (row) to (column), in the order of names. */
static const char *const allowed[JOB_STATE_COUNT] = {
    /* q w r s i f c t */
    "  - x x - - x x x", /* queued */
    "  x x x - - x x x", /* waiting */
    "  x x - x x x x x", /* running */
    "  - - - - - - - -",
    "  - - - - - - - -",
    "  - - - - - - - -",
    "  - - - - - - - -",
    "  - - - - - - - -",
};
/* clang-format on */

static bool is_allowed(int from, int to)
{
    return allowed[from][2 + 2 * to] == 'x';
}

static void move(int from, int to, const char *reason)
{
    struct job_row row = {.state = mem_copy(names[from]), .phase = mem_copy("measuring")};
    job_move(&row, (enum job_state)to, reason, NOW);
    assert_string_equal(row.state, names[to]);
    if (reason)
        assert_string_equal(row.state_reason, reason);
    else
        assert_null(row.state_reason);
    assert_int_equal(row.started_at, to == JOB_RUNNING ? NOW : 0);
    assert_int_equal(row.finished_at, to >= JOB_SUCCEEDED ? NOW : 0);
    assert_true((row.phase != NULL) == (to == JOB_RUNNING));
    job_row_fini(&row);
}

/* Whether the move ends the process; tried in a child. */
static bool aborts(int from, int to, const char *reason)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGABRT, SIG_DFL);
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        (void)dup2(null, STDERR_FILENO);
        struct job_row row = {.state = mem_copy(names[from])};
        job_move(&row, (enum job_state)to, reason, NOW);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void makes_every_move_of_the_table_and_no_other(void **state)
{
    (void)state;
    for (int from = 0; from < JOB_STATE_COUNT; from++)
        for (int to = 0; to < JOB_STATE_COUNT; to++) {
            const char *reason = to == JOB_WAITING ? "window" : NULL;
            if (is_allowed(from, to))
                move(from, to, reason);
            else if (!aborts(from, to, reason))
                fail_msg("%s may go to %s", names[from], names[to]);
        }
}

static void wants_a_known_reason_for_waiting_and_only_for_it(void **state)
{
    (void)state;
    static const char *const reasons[] = {"window",     "instance_busy", "lane_busy",
                                          "not_before", "unreachable",   "cleanup_pending",
                                          "paused"};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        assert_true(job_reason_is_known(reasons[i]));
        move(JOB_QUEUED, JOB_WAITING, reasons[i]);
    }
    assert_false(job_reason_is_known("bored"));
    assert_false(job_reason_is_known(""));
    assert_true(aborts(JOB_QUEUED, JOB_WAITING, NULL));
    assert_true(aborts(JOB_QUEUED, JOB_WAITING, "bored"));
    assert_true(aborts(JOB_QUEUED, JOB_RUNNING, "window"));
}

static void knows_each_state_by_its_name(void **state)
{
    (void)state;
    for (int i = 0; i < JOB_STATE_COUNT; i++) {
        assert_string_equal(job_state_name((enum job_state)i), names[i]);
        assert_int_equal(job_state_by_name(names[i]), i);
        assert_int_equal(job_state_is_end((enum job_state)i), i >= JOB_SUCCEEDED);
    }
    assert_int_equal(job_state_by_name("asleep"), JOB_STATE_COUNT);
    assert_false(job_state_is_end(JOB_STATE_COUNT));
}

static void keeps_the_first_start_when_a_job_is_resumed(void **state)
{
    (void)state;
    struct job_row row = {.state = mem_copy("queued"), .started_at = 5};
    job_move(&row, JOB_RUNNING, NULL, NOW);
    assert_int_equal(row.started_at, 5);
    job_row_fini(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_every_move_of_the_table_and_no_other),
        cmocka_unit_test(wants_a_known_reason_for_waiting_and_only_for_it),
        cmocka_unit_test(knows_each_state_by_its_name),
        cmocka_unit_test(keeps_the_first_start_when_a_job_is_resumed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
