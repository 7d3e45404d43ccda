/* However a job of trace_flag ends, the flag is as it was: prior states x what can happen. */
#include "jobs/ending.h"
#include "server/mem.h"
#include "tests/flag_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum prior { OFF, ON, ON_AT_STARTUP };

struct house_and_job {
    struct harness *house;
    const char *id;
};

static void nothing(const struct house_and_job *it)
{
    (void)it;
}

static void cancel(const struct house_and_job *it)
{
    char *target = mem_format("/v1/jobs/%s/cancel", it->id);
    cJSON_Delete(harness_call(it->house, "POST", target, NULL, 202));
    free(target);
}

static void stop_and_start_daemon(const struct house_and_job *it)
{
    harness_stop_daemon(it->house);
    sim_fault_clear(it->house->sim);
    harness_start_daemon(it->house);
}

/* The connection breaks and no new one is let in, so that nothing can be cleaned up. */
static void lose_server(const struct house_and_job *it)
{
    flag_fault(it->house, "{'do':'stop_listening'}");
    flag_fault(it->house, "{'do':'drop_at_percent','percent':60}");
    sim_release(it->house->sim);
    cJSON_Delete(harness_wait_state(it->house, it->id, "waiting", "unreachable"));
    harness_stop_daemon(it->house);
}

static void find_server_again(const struct house_and_job *it)
{
    flag_fault(it->house, "{'do':'listen'}");
    harness_start_daemon(it->house);
}

static void lose_connection(const struct house_and_job *it)
{
    lose_server(it);
    find_server_again(it);
}

static void lose_server_which_restarts(const struct house_and_job *it)
{
    lose_server(it);
    flag_fault(it->house, "{'do':'restart'}");
    find_server_again(it);
}

static void lose_server_which_restarts_and_is_given_the_flag(const struct house_and_job *it)
{
    lose_server(it);
    flag_fault(it->house, "{'do':'restart'}");
    flag_fault(it->house, "{'do':'trace_flag','number':3042}");
    find_server_again(it);
}

static void somebody_turns_it_on(const struct house_and_job *it)
{
    flag_fault(it->house, "{'do':'trace_flag','number':3042}");
}

static void somebody_turns_it_off(const struct house_and_job *it)
{
    flag_fault(it->house, "{'do':'trace_flag','number':3042,'on':false}");
}

static void fail_backup(const struct house_and_job *it)
{
    flag_fault(it->house,
               "{'do':'error_at_percent','percent':60,'number':942}"); /* offline: hopeless */
}

/* held: the n-th backup of Sales is held while it happens: 1 is off, 2 is on; 0: none. */
static const struct {
    const char *name;
    enum prior prior;
    int held;
    void (*event)(const struct house_and_job *);
    const char *state;
    bool on_at_the_end;
} cases[] = {
    {"off, success", OFF, 0, nothing, "succeeded", false},
    {"on, success", ON, 0, nothing, "succeeded", true},
    {"startup, success", ON_AT_STARTUP, 0, nothing, "succeeded", true},
    {"off, fails while on", OFF, 2, fail_backup, "failed", false},
    {"on, fails while off", ON, 1, fail_backup, "failed", true},
    {"on, fails while on", ON, 2, fail_backup, "failed", true},
    {"off, cancelled while on", OFF, 2, cancel, "cancelled", false},
    {"on, cancelled while off", ON, 1, cancel, "cancelled", true},
    {"on, cancelled while on", ON, 2, cancel, "cancelled", true},
    {"off, daemon restarts while on", OFF, 2, stop_and_start_daemon, "succeeded", false},
    {"on, daemon restarts while off", ON, 1, stop_and_start_daemon, "succeeded", true},
    {"off, connection lost while on", OFF, 2, lose_connection, "succeeded", false},
    {"on, connection lost while off", ON, 1, lose_connection, "succeeded", true},
    {"off, server restarts while on", OFF, 2, lose_server_which_restarts, "succeeded", false},
    {"on, server restarts while off", ON, 1, lose_server_which_restarts, "succeeded", false},
    {"startup, server restarts while off", ON_AT_STARTUP, 1, lose_server_which_restarts,
     "succeeded", true},
    {"off, set after a restart while on", OFF, 2, lose_server_which_restarts_and_is_given_the_flag,
     "succeeded", true},
    {"off, turned on while off", OFF, 1, somebody_turns_it_on, "succeeded", true},
    {"off, turned off while on", OFF, 2, somebody_turns_it_off, "succeeded", false},
    {"on, turned on while off", ON, 1, somebody_turns_it_on, "succeeded", true},
    {"on, turned off while on", ON, 2, somebody_turns_it_off, "succeeded", false},
};

static void run_case(size_t i)
{
    struct harness *house = harness_start(cases[i].prior == ON_AT_STARTUP
                                              ? "{'time_scale':0,'noise':0,'trace_flags':[3042]}"
                                              : "{'time_scale':0,'noise':0}");
    harness_register(house, FLAG_ALLOW);
    if (cases[i].prior == ON)
        flag_fault(house, "{'do':'trace_flag','number':3042}");
    char *hold = mem_format("{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]',"
                            "'percent':40,'nth':%d}",
                            cases[i].held);
    if (cases[i].held)
        flag_fault(house, hold);
    char *id = harness_submit(house, FLAG_JOB_PAIR);
    struct house_and_job it = {house, id};
    if (cases[i].held) {
        assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
        assert_int_equal(flag_is_on(house, 3042), cases[i].held == 2);
    }
    cases[i].event(&it);
    sim_release(house->sim);
    cJSON *job = harness_wait(house, id);
    if (strcmp(text_at(job, "state"), cases[i].state) != 0)
        fail_msg("%s: %s", cases[i].name, cJSON_PrintUnformatted(job));
    assert_string_equal(text_at(job, "cleanup"), "done");
    if (flag_is_on(house, 3042) != cases[i].on_at_the_end)
        fail_msg("%s: the flag is %s", cases[i].name, cases[i].on_at_the_end ? "off" : "on");
    flag_expect_tidy(house);
    cJSON_Delete(job);
    free(hold);
    free(id);
    harness_stop(house);
}

static void the_flag_ends_as_it_was_whatever_happens(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_case(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_flag_ends_as_it_was_whatever_happens),
    };
    ending_set_first_retry(100); /* a server that was lost is found again at the next try */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
