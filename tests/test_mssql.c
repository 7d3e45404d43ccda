/* Batches: messages in their order, errors, cancel, broken connections. */
#include "server/buf.h"
#include "server/clock.h"
#include "server/mem.h"
#include "tests/mssql_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WAIT_MS 20000 /* never waited for when things go well */
#define BACKUP "BACKUP DATABASE [Sales] TO DISK = N'NUL' WITH COPY_ONLY, STATS = 10"

/* The session can still be used. */
static void assert_usable(struct place *place)
{
    struct mssql_rows *rows = NULL;
    assert_false(mssql_is_dead(place->session));
    int rc = mssql_query(place->session, "SELECT 1 + 1", NULL, 0, &rows, &place->err);
    if (rc < 0)
        fail_msg("%s", place->err.msg);
    assert_int_equal(mssql_int(rows, 0, 0, -1), 2);
    mssql_rows_free(rows);
}

static bool has_number(const struct place_batch *batch, int number)
{
    for (int i = 0; i < batch->count; i++)
        if (batch->numbers[i] == number)
            return true;
    return false;
}

/* --- messages ----------------------------------------------------------------------------------
 */

static void a_backup_tells_its_progress_then_its_files_then_its_success(void **state)
{
    struct place_batch batch = {.place = *state, .text = BACKUP};
    place_run(&batch);
    assert_int_equal(batch.rc, 0);
    assert_true(batch.count >= 3);
    int i = 0;
    while (i < batch.count && batch.numbers[i] == 3211)
        i++;
    assert_true(i > 0);
    int files = 0;
    for (; i < batch.count && (batch.numbers[i] == 4035 || batch.numbers[i] == 3211); i++)
        files += batch.numbers[i] == 4035;
    assert_true(files > 0);
    assert_int_equal(i, batch.count - 1);
    assert_int_equal(batch.numbers[i], 3014);
}

struct stream {
    struct place *place;
    int progress;       /* 3211 seen */
    bool while_running; /* one was seen before the backup was let go on */
    bool released;
};

static void release_at_first_progress(void *ctx, const struct mssql_message *message)
{
    struct stream *stream = ctx;
    if (message->number != 3211)
        return;
    stream->progress++;
    if (!stream->released &&
        sim_wait_for(stream->place->sim, SIM_EVENT_HELD, NULL, 1, WAIT_MS) == 0)
        stream->while_running = true;
    stream->released = true;
    sim_release(stream->place->sim);
}

static void progress_is_seen_while_the_backup_still_runs(void **state)
{
    struct place *place = *state;
    struct stream stream = {.place = place};
    place_fault(place, "{'do': 'hold_at_percent', 'percent': 55}");
    int rc = mssql_execute(place->session, BACKUP, release_at_first_progress, &stream, &place->err);
    assert_int_equal(rc, 0);
    assert_true(stream.while_running);
    assert_true(stream.progress > 5);
}

static void every_result_of_a_batch_is_taken(void **state)
{
    struct place_batch batch = {.place = *state,
                                .text = "SELECT 1 AS a; SELECT 2 AS b, 3 AS c; PRINT N'third'; "
                                        "SELECT name FROM sys.databases; PRINT N'last'"};
    place_run(&batch);
    assert_int_equal(batch.rc, 0);
    assert_int_equal(batch.count, 2);
    assert_usable(batch.place);
}

struct heard {
    int severity;
    struct buf text; /* of all messages */
};

static void hear(void *ctx, const struct mssql_message *message)
{
    struct heard *heard = ctx;
    heard->severity = message->severity;
    buf_add(&heard->text, message->text);
}

static void texts_arrive_whole_and_without_the_drivers_prefix(void **state)
{
    struct place *place = *state;
    struct heard heard = {0};
    int rc = mssql_execute(place->session, "PRINT N'[SQL Server] \xF0\x9F\x98\x80 sagt: \xC3\xBC'",
                           hear, &heard, &place->err);
    assert_int_equal(rc, 0);
    assert_string_equal(buf_text(&heard.text), "[SQL Server] \xF0\x9F\x98\x80 sagt: \xC3\xBC");
    assert_int_equal(heard.severity, 0);
    buf_fini(&heard.text);
}

/* --- errors ------------------------------------------------------------------------------------
 */

static void an_error_has_the_servers_number_and_text(void **state)
{
    static const struct {
        const char *text;
        int number;
    } cases[] = {
        {"SELECT 1 +", 102},
        {"SELEC 1", 2812},
        {"SELECT * FROM no_such_table", 208},
        {"BACKUP DATABASE [nowhere] TO DISK = N'NUL' WITH COPY_ONLY", 911},
        {"RAISERROR(N'mine', 16, 1)", 50000},
    };
    struct place_batch batch = {.place = *state};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        batch.text = cases[i].text;
        place_run(&batch);
        assert_int_equal(batch.rc, -1);
        assert_int_equal(batch.err.code, ERR_SQL);
        assert_int_equal(batch.err.detail, cases[i].number);
        assert_true(strlen(batch.err.msg) > 0);
        assert_true(has_number(&batch, cases[i].number));
        assert_usable(batch.place);
    }
}

static void the_cause_of_a_failed_backup_is_the_error(void **state)
{
    struct place_batch batch = {.place = *state, .text = BACKUP};
    place_fault(batch.place, "{'do': 'error_at_percent', 'percent': 40, 'number': 3202}");
    place_run(&batch);
    assert_int_equal(batch.rc, -1);
    assert_int_equal(batch.err.code, ERR_SQL);
    assert_int_equal(batch.err.detail, 3202);
    assert_true(has_number(&batch, 3211));
    assert_true(has_number(&batch, 3013));
    assert_false(has_number(&batch, 3014));
    assert_usable(batch.place);
}

static void an_error_after_the_files_is_not_missed(void **state)
{
    struct place_batch batch = {.place = *state, .text = BACKUP};
    place_fault(batch.place, "{'do': 'error_after_4035', 'number': 3634}");
    place_run(&batch);
    assert_int_equal(batch.rc, -1);
    assert_int_equal(batch.err.code, ERR_SQL);
    assert_int_equal(batch.err.detail, 3634);
    assert_usable(batch.place);
}

static void an_error_of_severity_20_ends_the_session(void **state)
{
    struct place_batch batch = {.place = *state, .text = "SELECT 17"};
    place_fault(batch.place,
                "{'do': 'error', 'match': 'SELECT 17', 'number': 823, 'severity': 24}");
    place_run(&batch);
    assert_int_equal(batch.rc, -1);
    assert_int_equal(batch.err.code, ERR_SQL);
    assert_int_equal(batch.err.detail, 823);
    assert_true(mssql_is_dead(batch.place->session));
}

static void what_is_not_utf8_is_not_sent(void **state)
{
    struct place_batch batch = {.place = *state, .text = "PRINT N'\xFF'"};
    place_run(&batch);
    assert_int_equal(batch.rc, -1);
    assert_int_equal(batch.err.code, ERR_INPUT);
    assert_usable(batch.place);
}

/* --- cancel ------------------------------------------------------------------------------------
 */

static void a_held_backup_is_cancelled_and_the_session_goes_on(void **state)
{
    struct place_batch batch = {.place = *state, .text = BACKUP};
    place_fault(batch.place, "{'do': 'hold_at_percent', 'percent': 50}");
    place_begin(&batch);
    assert_int_equal(sim_wait_for(batch.place->sim, SIM_EVENT_HELD, NULL, 1, WAIT_MS), 0);
    mssql_cancel(batch.place->session);
    place_end(&batch);
    assert_int_equal(batch.rc, -1);
    assert_int_equal(batch.err.code, ERR_CANCELLED);
    assert_false(has_number(&batch, 3014));
    assert_usable(batch.place);
    batch.text = BACKUP;
    place_run(&batch);
    assert_int_equal(batch.rc, 0);
}

static void a_batch_that_has_sent_nothing_yet_is_cancelled(void **state)
{
    struct place_batch batch = {.place = *state, .text = "SELECT 17"};
    place_fault(batch.place, "{'do': 'hold_before', 'match': 'SELECT 17'}");
    place_begin(&batch);
    assert_int_equal(sim_wait_for(batch.place->sim, SIM_EVENT_HELD, NULL, 1, WAIT_MS), 0);
    mssql_cancel(batch.place->session);
    place_end(&batch);
    assert_int_equal(batch.err.code, ERR_CANCELLED);
    assert_usable(batch.place);
}

/* Cancels as early as it can, again and again: none may be lost, whatever the driver is at. */
static void no_cancel_is_lost_however_early_it_comes(void **state)
{
    struct place *place = *state;
    place_fault(place, "{'do': 'hold_at_percent', 'percent': 10, 'times': -1}");
    for (int i = 0; i < 40; i++) {
        struct place_batch batch = {.place = place, .text = BACKUP};
        place_begin(&batch);
        if (i % 2)
            (void)sim_wait_for(place->sim, SIM_EVENT_BACKUPS, NULL, 1, WAIT_MS);
        else
            (void)sim_wait_for(place->sim, SIM_EVENT_STATEMENTS, "BACKUP", i + 1, WAIT_MS);
        mssql_cancel(place->session);
        place_end(&batch);
        assert_int_equal(batch.rc, -1);
        assert_int_equal(batch.err.code, ERR_CANCELLED);
    }
    sim_fault_clear(place->sim);
    assert_usable(place);
}

/* The driver loses a cancel that meets its reading thread between two packets. */
static void a_batch_that_talks_is_cancelled_between_its_messages(void **state)
{
    struct place *place = *state;
    struct buf text = {0};
    for (int i = 0; i < 100; i++)
        buf_add(&text, "RAISERROR(N'x', 0, 1) WITH NOWAIT; WAITFOR DELAY '00:00:00.001'; ");
    buf_add(&text, "WAITFOR DELAY '01:00'");
    for (int i = 1; i <= 20; i++) {
        struct place_batch batch = {.place = place, .text = buf_text(&text)};
        place_begin(&batch);
        (void)sim_wait_for(place->sim, SIM_EVENT_STATEMENTS, "RAISERROR", i, WAIT_MS);
        mssql_cancel(place->session);
        place_end(&batch);
        assert_int_equal(batch.rc, -1);
        assert_int_equal(batch.err.code, ERR_CANCELLED);
        assert_int_equal(sim_wait_for(place->sim, SIM_EVENT_ATTENTIONS, NULL, i, WAIT_MS), 0);
        assert_usable(place);
    }
    buf_fini(&text);
}

/* As a thread does that looks on and that the message waits for. */
static void cancel(void *ctx, const struct mssql_message *message)
{
    struct place *place = ctx;
    (void)message;
    mssql_cancel(place->session);
}

static void a_cancel_may_come_while_a_message_is_told(void **state)
{
    struct place *place = *state;
    place_fault(place, "{'do': 'hold_at_percent', 'percent': 50}"); /* it does not end by itself */
    assert_int_equal(mssql_execute(place->session, BACKUP, cancel, place, &place->err), -1);
    assert_int_equal(place->err.code, ERR_CANCELLED);
    assert_usable(place);
}

/* A batch whose cancel stays unanswered, and the message that is being told when its time is up. */
struct told {
    struct place *place;
    atomic_bool is_told, has_returned;
    bool was_left; /* who sent the batch had returned before the message was told */
};

static void tell_slowly(void *ctx, const struct mssql_message *message)
{
    struct told *told = ctx;
    (void)message;
    if (atomic_exchange(&told->is_told, true))
        return;
    mssql_cancel(told->place->session);
    clock_pass_ms(3600000); /* it is more than time to give up */
    (void)sim_wait_for(told->place->sim, SIM_EVENT_ATTENTIONS, NULL, 1, WAIT_MS);
    told->was_left = atomic_load(&told->has_returned);
}

static void who_gives_up_waits_for_the_message_that_is_told(void **state)
{
    struct told told = {.place = *state};
    struct place *place = told.place;
    clock_pass_ms(0);
    place_fault(place, "{'do': 'ignore_attention'}");
    place_fault(place, "{'do': 'hold_at_percent', 'percent': 50}");
    assert_int_equal(mssql_execute(place->session, BACKUP, tell_slowly, &told, &place->err), -1);
    atomic_store(&told.has_returned, true);
    clock_reset();
    assert_true(atomic_load(&told.is_told));
    assert_false(told.was_left);
    assert_int_equal(place->err.code, ERR_UNREACHABLE);
    assert_true(mssql_is_dead(place->session));
    sim_fault_clear(place->sim);
}

static void a_cancel_when_nothing_runs_changes_nothing(void **state)
{
    struct place *place = *state;
    mssql_cancel(place->session);
    assert_usable(place);
    mssql_cancel(place->session);
    mssql_cancel(place->session);
    assert_usable(place);
}

static void an_ignored_cancel_does_not_hold_its_caller(void **state)
{
    struct place_batch batch = {.place = *state, .text = BACKUP};
    place_fault(batch.place, "{'do': 'ignore_attention'}");
    place_fault(batch.place, "{'do': 'hold_at_percent', 'percent': 50}");
    place_begin(&batch);
    assert_int_equal(sim_wait_for(batch.place->sim, SIM_EVENT_HELD, NULL, 1, WAIT_MS), 0);
    int64_t begun = clock_mono_ns();
    for (int i = 0; i < 100; i++)
        mssql_cancel(batch.place->session);
    assert_in_range((clock_mono_ns() - begun) / 1000000, 0, 2000);
    assert_int_equal(sim_wait_for(batch.place->sim, SIM_EVENT_ATTENTIONS, NULL, 1, WAIT_MS), 0);
    sim_stop(batch.place->sim); /* the batch itself waits for an answer until the connection ends */
    batch.place->sim = NULL;
    place_end(&batch);
    assert_int_equal(batch.rc, -1); /* an error of the server may have come before the end */
    assert_true(mssql_is_dead(batch.place->session));
}

static void a_batch_is_left_alone_when_its_cancel_stays_unanswered(void **state)
{
    struct place_batch batch = {.place = *state, .text = BACKUP};
    place_fault(batch.place, "{'do': 'ignore_attention'}");
    place_fault(batch.place, "{'do': 'hold_at_percent', 'percent': 50}");
    mssql_set_query_seconds(batch.place->session, 1);
    place_begin(&batch);
    assert_int_equal(sim_wait_for(batch.place->sim, SIM_EVENT_HELD, NULL, 1, WAIT_MS), 0);
    mssql_cancel(batch.place->session);
    place_end(&batch);
    assert_int_equal(batch.rc, -1);
    assert_int_equal(batch.err.code, ERR_UNREACHABLE);
    assert_true(mssql_is_dead(batch.place->session));
    assert_true(mssql_gave_up(batch.place->session));
    /* its connection is dropped, and with it the server ends what it ran */
    assert_int_equal(sim_wait_for(batch.place->sim, SIM_EVENT_SESSIONS, NULL, 0, WAIT_MS), 0);
    mssql_cancel(batch.place->session); /* harmless */
    int count = batch.count;
    mssql_close(batch.place->session); /* its thread may free it */
    batch.place->session = NULL;
    sim_fault_clear(batch.place->sim);
    assert_int_equal(place_open(batch.place), 0);
    assert_usable(batch.place);
    assert_int_equal(batch.count, count); /* nobody listens any more */
}

/* --- broken connections -------------------------------------------------------------------------
 */

/* The canceller drops the connection, or who sent the batch does: it is given up all the same, also
 * when the batch comes back before its sender has seen why. */
static void whoever_sees_first_that_a_cancel_stays_unanswered_gives_up(void **state)
{
    struct place_batch batch = {.place = *state, .text = BACKUP};
    for (int i = 1; i <= 6; i++) {
        place_fault(batch.place, "{'do': 'ignore_attention'}");
        place_fault(batch.place, "{'do': 'hold_at_percent', 'percent': 50}");
        place_begin(&batch);
        assert_int_equal(sim_wait_for(batch.place->sim, SIM_EVENT_HELD, NULL, 1, WAIT_MS), 0);
        mssql_cancel(batch.place->session);
        clock_pass_ms(i % 2 ? 31000 : 29900);
        place_end(&batch);
        assert_int_equal(batch.rc, -1);
        assert_int_equal(batch.err.code, ERR_UNREACHABLE);
        assert_true(mssql_is_dead(batch.place->session));
        assert_true(mssql_gave_up(batch.place->session));
        mssql_close(batch.place->session);
        batch.place->session = NULL;
        assert_int_equal(sim_wait_for(batch.place->sim, SIM_EVENT_SESSIONS, NULL, 0, WAIT_MS), 0);
        sim_fault_clear(batch.place->sim);
        assert_int_equal(place_open(batch.place), 0);
    }
    clock_reset();
}

static void a_connection_dropped_in_a_backup_ends_the_session(void **state)
{
    struct place_batch batch = {.place = *state, .text = BACKUP};
    place_fault(batch.place, "{'do': 'drop_at_percent', 'percent': 50}");
    place_run(&batch);
    assert_int_equal(batch.rc, -1);
    assert_int_equal(batch.err.code, ERR_UNREACHABLE);
    assert_true(has_number(&batch, 3211));
    assert_true(mssql_is_dead(batch.place->session));
    /* and stays so */
    place_run(&batch);
    assert_int_equal(batch.err.code, ERR_UNREACHABLE);
    assert_int_equal(place_open(batch.place), 0);
    assert_usable(batch.place);
}

static void a_connection_dropped_anywhere_is_never_a_success(void **state)
{
    static const char *const faults[] = {"{'do': 'drop_before', 'match': 'BACKUP'}",
                                         "{'do': 'drop_after_4035'}",
                                         "{'do': 'drop_after', 'match': 'BACKUP'}"};
    struct place_batch batch = {.place = *state, .text = BACKUP};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        place_fault(batch.place, faults[i]);
        place_run(&batch);
        assert_int_equal(batch.rc, -1);
        assert_int_equal(batch.err.code, ERR_UNREACHABLE);
        assert_true(mssql_is_dead(batch.place->session));
        assert_int_equal(place_open(batch.place), 0);
    }
}

static void a_server_that_goes_away_ends_the_session(void **state)
{
    struct place_batch batch = {.place = *state, .text = "SELECT 1"};
    sim_stop(batch.place->sim);
    batch.place->sim = NULL;
    place_run(&batch);
    assert_int_equal(batch.rc, -1);
    assert_int_equal(batch.err.code, ERR_UNREACHABLE);
    assert_true(mssql_is_dead(batch.place->session));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_start, place_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_backup_tells_its_progress_then_its_files_then_its_success),
        TEST(progress_is_seen_while_the_backup_still_runs),
        TEST(every_result_of_a_batch_is_taken),
        TEST(texts_arrive_whole_and_without_the_drivers_prefix),
        TEST(an_error_has_the_servers_number_and_text),
        TEST(the_cause_of_a_failed_backup_is_the_error),
        TEST(an_error_after_the_files_is_not_missed),
        TEST(an_error_of_severity_20_ends_the_session),
        TEST(what_is_not_utf8_is_not_sent),
        TEST(a_held_backup_is_cancelled_and_the_session_goes_on),
        TEST(a_batch_that_has_sent_nothing_yet_is_cancelled),
        TEST(no_cancel_is_lost_however_early_it_comes),
        TEST(a_batch_that_talks_is_cancelled_between_its_messages),
        TEST(a_cancel_may_come_while_a_message_is_told),
        TEST(who_gives_up_waits_for_the_message_that_is_told),
        TEST(a_cancel_when_nothing_runs_changes_nothing),
        TEST(an_ignored_cancel_does_not_hold_its_caller),
        TEST(a_batch_is_left_alone_when_its_cancel_stays_unanswered),
        TEST(whoever_sees_first_that_a_cancel_stays_unanswered_gives_up),
        TEST(a_connection_dropped_in_a_backup_ends_the_session),
        TEST(a_connection_dropped_anywhere_is_never_a_success),
        TEST(a_server_that_goes_away_ends_the_session),
    };
    return cmocka_run_group_tests(tests, place_init, place_fini);
}
