/* sp_getapplock and sp_releaseapplock of the simulator: who gets a lock, until when, and what a
 * wrong call gives. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sim/testing.h"

#define ASK(arguments)                                                                             \
    "DECLARE @rc int; EXEC @rc = master.sys.sp_getapplock " arguments "; SELECT @rc"
#define DROP(arguments)                                                                            \
    "DECLARE @rc int; EXEC @rc = master.sys.sp_releaseapplock " arguments "; SELECT @rc"
#define MINE(mode) ASK("N'a', '" mode "', 'Session', 0")

static struct client *another(struct world *w)
{
    int number = 0;
    struct client *client = client_open(sim_port(w->sim), "sa", "Sweetspot-1", "", &number);
    assert_non_null(client);
    return client;
}

static void answers(struct client *client, const char *sql, const char *want)
{
    const char *got = client_text(client, sql);
    if (strcmp(got, want) != 0)
        fail_msg("%s instead of %s: %s", got, want, sql);
}

static void a_lock_is_granted_counted_and_released(void **state)
{
    struct world w = world_start(NULL);
    struct client *other = another(&w);
    (void)state;
    answers(w.client, MINE("Exclusive"), "0");
    answers(other, MINE("Exclusive"), "-1");
    answers(w.client, MINE("Exclusive"), "0"); /* twice */
    answers(w.client, DROP("N'a', 'Session'"), "0");
    answers(other, MINE("Shared"), "-1");
    answers(w.client, DROP("@Resource = N'a', @LockOwner = N'Session'"), "0");
    answers(other, MINE("Exclusive"), "0");
    client_close(other);
    world_stop(&w);
}

static void modes_agree_as_locks_do(void **state)
{
    static const char *const names[] = {"IntentShared", "IntentExclusive", "Shared", "Update",
                                        "Exclusive"};
    static const char *const rows[] = {"yyyyn", "yynnn", "ynyyn", "ynynn", "nnnnn"};
    struct world w = world_start(NULL);
    struct client *other = another(&w);
    (void)state;
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 5; k++) {
            char sql[200];
            (void)snprintf(sql, sizeof sql, ASK("N'a', '%s', 'Session', 0"), names[i]);
            answers(w.client, sql, "0");
            (void)snprintf(sql, sizeof sql, ASK("N'a', '%s', 'Session', 0"), names[k]);
            answers(other, sql, rows[i][k] == 'y' ? "0" : "-1");
            if (rows[i][k] == 'y')
                answers(other, DROP("N'a', 'Session'"), "0");
            answers(w.client, DROP("N'a', 'Session'"), "0");
        }
    client_close(other);
    world_stop(&w);
}

static void several_modes_are_held_as_their_union(void **state)
{
    struct world w = world_start(NULL);
    struct client *other = another(&w);
    (void)state;
    answers(w.client, MINE("Shared"), "0");
    answers(w.client, MINE("Exclusive"), "0");
    answers(w.client, DROP("N'a', 'Session'"), "0");
    answers(other, MINE("Shared"), "-1"); /* the stronger one stays until the last release */
    answers(w.client, DROP("N'a', 'Session'"), "0");
    answers(other, MINE("Shared"), "0");
    client_close(other);
    world_stop(&w);
}

static void a_resource_is_a_database_a_principal_and_a_name(void **state)
{
    struct world w = world_start(NULL);
    struct client *other = another(&w);
    (void)state;
    answers(w.client, MINE("Exclusive"), "0");
    answers(other, ASK("N'A', 'Exclusive', 'Session', 0"), "0"); /* compared byte by byte */
    answers(other, ASK("N'a', 'Exclusive', 'Session', 0, 'db_owner'"), "0");
    world_runs(&w, "USE Sales");
    answers(w.client, ASK("N'x', 'Exclusive', 'Session', 0"), "0");
    answers(other, ASK("N'x', 'Exclusive', 'Session', 0"), "-1"); /* master's: by its name */
    answers(w.client,
            "DECLARE @rc int; EXEC @rc = sp_getapplock N'y', 'Exclusive', 'Session', 0; SELECT @rc",
            "0");
    answers(other, ASK("N'y', 'Exclusive', 'Session', 0"), "0"); /* that one was in Sales */
    client_close(other);
    world_stop(&w);
}

static void a_session_s_locks_end_with_it(void **state)
{
    struct world w = world_start(NULL);
    struct client *other = another(&w);
    (void)state;
    answers(other, MINE("Exclusive"), "0");
    client_close(other);
    assert_int_equal(sim_wait_for(w.sim, SIM_EVENT_SESSIONS, NULL, 1, 20000), 0);
    answers(w.client, MINE("Exclusive"), "0");
    world_stop(&w);
}

static void a_transaction_s_locks_end_with_it(void **state)
{
    static const char take[] = "BEGIN TRAN; " ASK("N'a', 'Exclusive', @LockTimeout = 0");
    static const char *const ends[] = {"COMMIT", "ROLLBACK"};
    struct world w = world_start(NULL);
    struct client *other = another(&w);
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        answers(w.client, take, "0");
        answers(other, MINE("Exclusive"), "-1");
        world_runs(&w, ends[i]);
        answers(other, MINE("Exclusive"), "0");
        answers(other, DROP("N'a', 'Session'"), "0");
    }
    client_close(other);
    world_stop(&w);
}

struct asking {
    struct client *client;
    const char *sql;
    char answer[16];
    pthread_t thread;
};

static void *ask(void *arg)
{
    struct asking *asking = arg;
    (void)snprintf(asking->answer, sizeof asking->answer, "%s",
                   client_text(asking->client, asking->sql));
    return NULL;
}

static void begin(struct asking *asking)
{
    assert_int_equal(pthread_create(&asking->thread, NULL, ask, asking), 0);
}

static void ends_with(struct asking *asking, const char *want)
{
    (void)pthread_join(asking->thread, NULL);
    assert_string_equal(asking->answer, want);
}

/* Until somebody stands in the queue for `a`, of which others may have a share meanwhile. */
static void until_it_waits(struct client *client)
{
    while (strcmp(client_text(client, MINE("Shared")), "0") == 0)
        answers(client, DROP("N'a', 'Session'"), "0");
}

static void who_waits_gets_it_in_turn(void **state)
{
    struct world w = world_start(NULL);
    struct asking asking = {.client = another(&w), .sql = ASK("N'a', 'Exclusive', 'Session'")};
    struct client *third = another(&w);
    (void)state;
    answers(w.client, MINE("Shared"), "0");
    begin(&asking);
    until_it_waits(third);
    answers(w.client, DROP("N'a', 'Session'"), "0");
    ends_with(&asking, "1");
    client_close(asking.client);
    client_close(third);
    world_stop(&w);
}

static void a_circle_is_a_deadlock(void **state)
{
    struct world w = world_start(NULL);
    struct asking asking = {.client = another(&w), .sql = ASK("N'a', 'Exclusive', 'Session'")};
    struct client *third = another(&w);
    (void)state;
    answers(w.client, MINE("Shared"), "0");
    answers(asking.client, ASK("N'b', 'Exclusive', 'Session', 0"), "0");
    begin(&asking);
    until_it_waits(third);
    answers(w.client, ASK("N'b', 'Exclusive', 'Session'"), "-3"); /* who closes the circle */
    answers(w.client, DROP("N'a', 'Session'"), "0");
    ends_with(&asking, "1");
    client_close(asking.client);
    client_close(third);
    world_stop(&w);
}

static void wrong_calls_say_so(void **state)
{
    static const struct {
        const char *sql;
        int number;
    } cases[] = {
        {ASK("N'a', 'Mine', 'Session', 0"), 15625},
        {ASK("N'a', 'Shared', 'Me', 0"), 15625},
        {ASK("N'a', 'Shared'"), 15626},
        {ASK("NULL, 'Shared', 'Session', 0"), 1224},
        {ASK("N'a', 'Shared', 'Session', -2"), 1227},
        {ASK("N'a', 'Shared', 'Session', 0, 'nobody'"), 1202},
        {ASK("@Resource = N'a', @LockOwner = 'Session'"), 201},
        {ASK("@Resource = N'a', @Mode = 'Shared'"), 8145},
        {DROP("N'a', 'Session'"), 1223},
        {DROP("N'a'"), 3918},
    };
    struct world w = world_start(NULL);
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct client_reply r;
        client_run(w.client, cases[i].sql, &r);
        if (!client_find(&r, cases[i].number))
            fail_msg("no %d: %s", cases[i].number, cases[i].sql);
        bool shown = cases[i].number >= 15000; /* the client hides what follows an error */
        if (shown && (r.row_count != 1 || strcmp(r.rows[0][0], "-999") != 0))
            fail_msg("not -999: %s", cases[i].sql);
        client_reply_free(&r);
    }
    world_stop(&w);
}

static void it_may_be_absent_or_refused(void **state)
{
    struct world w = world_start(NULL);
    (void)state;
    world_fault(&w, "{'do':'refuse_right','match':'EXECUTE sp_getapplock'}");
    world_refuses(&w, MINE("Exclusive"), 229);
    world_fault(&w, "{'do':'hide','match':'sp_getapplock'}");
    world_refuses(&w, MINE("Exclusive"), 2812);
    world_stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_is_granted_counted_and_released),
        cmocka_unit_test(modes_agree_as_locks_do),
        cmocka_unit_test(several_modes_are_held_as_their_union),
        cmocka_unit_test(a_resource_is_a_database_a_principal_and_a_name),
        cmocka_unit_test(a_session_s_locks_end_with_it),
        cmocka_unit_test(a_transaction_s_locks_end_with_it),
        cmocka_unit_test(who_waits_gets_it_in_turn),
        cmocka_unit_test(a_circle_is_a_deadlock),
        cmocka_unit_test(wrong_calls_say_so),
        cmocka_unit_test(it_may_be_absent_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
