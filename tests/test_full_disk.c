/* The disk of the results database is full while a job has something on the server: that is undone
 * at once, and the job goes on when there is room. */
#include "server/clock.h"
#include "server/mem.h"
#include "tests/flag_kit.h"
#include "tests/snapshot_kit.h"
#include "tests/store_vfs.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define RECONCILE "/v1/instances/sql01/reconcile"

/* Nothing can be written to the database from now on. */
static void fill_disk(void)
{
    vfs_reset();
    atomic_store(&vfs_faults.fail_count, INT_MAX / 2);
    atomic_store(&vfs_faults.fail_at, 1);
}

static void make_room(void)
{
    vfs_reset();
}

/* Looks until it is so; what is looked at changes by the daemon's doing alone. */
static void wait_for_flag(struct harness *house, bool on)
{
    int64_t until = clock_mono_ns() + INT64_C(20000000000);
    while (flag_is_on(house, 3042) != on && clock_mono_ns() < until)
        (void)usleep(1000); /* the next look, not a guess of how long it takes */
    assert_int_equal(flag_is_on(house, 3042), on);
}

static struct harness *house_with_flags(void)
{
    vfs_reset();
    struct harness *house = harness_start("{'time_scale':0,'noise':0}");
    harness_register(house, FLAG_ALLOW);
    return house;
}

/* A job whose second trial is held half-way, with its flag on; then the disk is full. Its id. */
static char *fill_disk_while_the_flag_is_on(struct harness *house)
{
    flag_fault(house, "{'do':'hold_at_percent','match':'BACKUP DATABASE [Sales]','percent':40,"
                      "'nth':2}");
    char *id = harness_submit(house, FLAG_JOB_PAIR);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    assert_true(flag_is_on(house, 3042));
    fill_disk();
    return id;
}

static void expect_state(struct harness *house, const char *id, const char *state)
{
    char *target = mem_format("/v1/jobs/%s", id);
    cJSON *job = harness_call(house, "GET", target, NULL, 200);
    assert_string_equal(text_at(job, "state"), state);
    cJSON_Delete(job);
    free(target);
}

static void expect_success(struct harness *house, const char *id)
{
    cJSON *job = harness_wait(house, id);
    if (strcmp(text_at(job, "state"), "succeeded") != 0)
        fail_msg("%s", cJSON_PrintUnformatted(job));
    assert_string_equal(text_at(job, "cleanup"), "done");
    cJSON_Delete(job);
    assert_false(flag_is_on(house, 3042));
    flag_expect_tidy(house);
}

static void the_flag_is_off_while_the_disk_is_still_full(void **state)
{
    (void)state;
    struct harness *house = house_with_flags();
    char *id = fill_disk_while_the_flag_is_on(house);
    sim_release(house->sim);
    wait_for_flag(house, false);
    flag_expect_tidy(house); /* the file came first */
    expect_state(house, id, "running");
    assert_int_equal(sim_count_statements(house->sim, "DBCC TRACEON"), 1);
    cJSON *answer = harness_call(house, "POST", RECONCILE, "{}", 200);
    const char *pending = text_at(answer, "pending");
    if (!strstr(pending, "the results database cannot be written"))
        fail_msg("%s", pending);
    cJSON_Delete(answer);
    make_room();
    expect_success(house, id);
    free(id);
    harness_stop(house);
}

static void a_shutdown_undoes_what_cannot_be_noted(void **state)
{
    (void)state;
    struct harness *house = house_with_flags();
    char *id = fill_disk_while_the_flag_is_on(house);
    harness_stop_daemon(house);
    assert_true(house->owing);
    assert_false(flag_is_on(house, 3042));
    flag_expect_tidy(house);
    make_room();
    sim_fault_clear(house->sim);
    harness_start_daemon(house);
    expect_success(house, id);
    harness_stop_daemon(house);
    assert_false(house->owing);
    harness_start_daemon(house);
    free(id);
    harness_stop(house);
}

/* The server was away when the disk was full and the daemon ended. */
static void a_start_on_a_full_disk_undoes_what_an_earlier_process_left(void **state)
{
    (void)state;
    struct harness *house = house_with_flags();
    char *id = fill_disk_while_the_flag_is_on(house);
    flag_fault(house, "{'do':'stop_listening'}");
    flag_fault(house, "{'do':'drop_all'}");
    harness_stop_daemon(house);
    assert_true(house->owing);
    sim_fault_clear(house->sim);
    flag_fault(house, "{'do':'listen'}");
    assert_true(flag_is_on(house, 3042));
    harness_start_daemon(house);
    wait_for_flag(house, false);
    expect_state(house, id, "running");
    assert_int_equal(sim_count_statements(house->sim, "DBCC TRACEON"), 1);
    make_room();
    expect_success(house, id);
    free(id);
    harness_stop(house);
}

/* Snapshots that are there now. */
static int count_snapshots(struct harness *house)
{
    return sim_count_statements(house->sim, "CREATE DATABASE [sweetspot_") -
           sim_count_statements(house->sim, "DROP DATABASE [sweetspot_");
}

/* Holds the drop of a table while a snapshot is there; the trial without one may be the first. */
static void hold_with_a_snapshot(struct harness *house)
{
    for (int drops = 1;; drops++) {
        assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_STATEMENTS, "DROP TABLE", drops, 20000),
                         0);
        assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
        if (count_snapshots(house) > 0)
            return;
        inject(house, "{'do':'hold_before','match':'DROP TABLE'}");
        sim_release(house->sim);
    }
}

/* The drop of the table is the first that cannot be noted; the snapshot is dropped all the same. */
static void a_snapshot_goes_though_the_drop_of_its_table_cannot_be_noted(void **state)
{
    (void)state;
    vfs_reset();
    struct harness *house = house_of("{'time_scale':0}", LINUX_ALLOW);
    const char *body = SNAPSHOTS(ON_ADVENTURE "," PLACES ",'snapshots':[0,1]", ONCE);
    inject(house, "{'do':'hold_before','match':'DROP TABLE'}");
    char *id = harness_submit(house, body);
    hold_with_a_snapshot(house);
    int dropped = sim_count_statements(house->sim, "DROP DATABASE [sweetspot_");
    fill_disk();
    sim_release(house->sim);
    assert_int_equal(sim_wait_for(house->sim, SIM_EVENT_STATEMENTS, "DROP DATABASE [sweetspot_",
                                  dropped + 1, 20000),
                     0);
    harness_stop_daemon(house);
    assert_true(house->owing);
    assert_int_equal(count_snapshots(house), 0);
    harness_start_daemon(house); /* which lets us look; there is still no room */
    expect_clean(house, "AdventureWorks");
    make_room();
    cJSON_Delete(harness_wait(house, id));
    expect_clean(house, "AdventureWorks");
    free(id);
    harness_stop(house);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_flag_is_off_while_the_disk_is_still_full),
        cmocka_unit_test(a_shutdown_undoes_what_cannot_be_noted),
        cmocka_unit_test(a_start_on_a_full_disk_undoes_what_an_earlier_process_left),
        cmocka_unit_test(a_snapshot_goes_though_the_drop_of_its_table_cannot_be_noted),
    };
    vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
