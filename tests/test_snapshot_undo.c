/* Undoing snapshots and tables: only ours, only what they are, as often as it is asked for. */
#include "jobs/run.h"
#include "jobs/snapshots.h"
#include "jobs/tables.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"
#include "tests/mssql_place.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OTHER "sweetspot_0193a1b2-0000-7000-8000-000000000001"

/* A run with a session, without a worker. */
struct scene {
    struct jobs_place *place;
    struct place *server;
    struct run *run;
};

static const char scenario[] =
    "{'time_scale':0,'databases':[{'name':'Sales','mib':8,'recovery':'SIMPLE'},"
    "{'name':'a]b','mib':8,'recovery':'SIMPLE'},{'name':'" OTHER "_1_1','mib':8},"
    "{'name':'Odd ]name','mib':8,'recovery':'SIMPLE'}]}";

static int set_up(void **state)
{
    struct scene *scene = mem_alloc(1, sizeof *scene);
    struct err err = {0};
    char port[16];
    scene->server = place_make(scenario);
    void *place = NULL;
    (void)jobs_place_set_up(&place);
    scene->place = place;
    (void)snprintf(port, sizeof port, "%d", sim_port(scene->server->sim));
    const char *const changes[] = {"/host",        "'127.0.0.1'", "/port",  port,
                                   "/encryption",  "'request'",   "/login", "'sa'",
                                   "/allow/paths", "['/tmp']",    NULL};
    assert_int_equal(setenv("SWEETSPOT_SECRET_TEST", PLACE_PASSWORD, 1), 0);
    jobs_place_put_instance(scene->place, "sql01", changes);
    struct job_row row = jobs_place_job("sql01", NULL);
    struct job_row copy = jobs_place_job("sql01", NULL);
    mem_replace(&copy.id, row.id);
    free(jobs_place_put_job(scene->place, &copy));
    if (run_new(&scene->place->parts, &row, &scene->run, &err) < 0 ||
        run_connect(scene->run, &err) < 0)
        fail_msg("%s", err.msg);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    void *place = scene->place;
    run_free(scene->run);
    (void)jobs_place_tear_down(&place);
    place_free(scene->server);
    free(scene);
    return 0;
}

static void run_sql(struct scene *scene, const char *sql)
{
    struct err err = {0};
    if (mssql_execute(run_session(scene->run), sql, NULL, NULL, &err) < 0)
        fail_msg("%s: %s", sql, err.msg);
}

/* Undoes all that is written down and returns how many stay behind. */
static int undo(struct scene *scene, const char *wanted_cleanup)
{
    struct err err = {0};
    const char *cleanup = NULL;
    cJSON *left = NULL;
    if (journal_undo(scene->run, &err) < 0 || journal_state(scene->run, &cleanup, &left, &err) < 0)
        fail_msg("%s", err.msg);
    int count = cJSON_GetArraySize(left);
    assert_string_equal(cleanup, wanted_cleanup);
    cJSON_Delete(left);
    return count;
}

static void write_down(struct scene *scene, const char *action, const char *object,
                       const char *prior)
{
    struct err err = {0};
    char *json = prior ? jobs_kit_text(prior) : NULL;
    if (journal_write(scene->run, action, object, json, &err) < 0)
        fail_msg("%s", err.msg);
    free(json);
}

/* Makes number `number` of trial 1 on Sales; its name. */
static char *make_snapshot(struct scene *scene, int number)
{
    struct snapshot_files files;
    struct err err = {0};
    double seconds;
    assert_int_equal(snapshot_files_read(scene->run, "Sales", &files, &err), 0);
    struct snapshot_order order = {.database = "Sales",
                                   .files = &files,
                                   .folder = "/tmp",
                                   .job = scene->run->row.id,
                                   .seq = "1",
                                   .number = number};
    if (snapshot_create(scene->run, &order, &seconds, &err) < 0)
        fail_msg("%s", err.msg);
    snapshot_files_fini(&files);
    return snapshot_name(scene->run->row.id, "1", number);
}

static void drops_what_was_made_and_finds_it_gone_the_second_time(void **state)
{
    struct scene *scene = *state;
    int before = sim_database_count(scene->server->sim);
    char *first = make_snapshot(scene, 1);
    char *second = make_snapshot(scene, 2);
    assert_int_equal(sim_database_count(scene->server->sim), before + 2);
    assert_int_equal(undo(scene, "done"), 0);
    assert_int_equal(sim_database_count(scene->server->sim), before);
    write_down(scene, JOURNAL_SNAPSHOT, first, NULL);
    write_down(scene, JOURNAL_SNAPSHOT, second, NULL);
    assert_int_equal(undo(scene, "done"), 0);
    free(first);
    free(second);
}

static void undoes_what_was_written_down_and_never_made(void **state)
{
    struct scene *scene = *state;
    char *snapshot = snapshot_name(scene->run->row.id, "9", 1);
    char *table = table_name(scene->run->row.id, "9");
    write_down(scene, JOURNAL_SNAPSHOT, snapshot, NULL);
    write_down(scene, JOURNAL_TABLE, table, "{'database':'Sales'}");
    write_down(scene, JOURNAL_TABLE, table, "{'database':'is gone'}");
    assert_int_equal(undo(scene, "done"), 0);
    assert_int_equal(sim_count_statements(scene->server->sim, "DROP"), 0);
    free(snapshot);
    free(table);
}

static void drops_a_suspect_snapshot_too(void **state)
{
    struct scene *scene = *state;
    int before = sim_database_count(scene->server->sim);
    char *name = make_snapshot(scene, 1);
    char *sql = mem_format("ALTER DATABASE [%s] SET EMERGENCY", name);
    struct snapshot_state found;
    struct err err = {0};
    run_sql(scene, sql);
    assert_int_equal(snapshot_look(scene->run, "1", &found, &err), 0);
    assert_string_equal(found.suspect, name);
    assert_int_equal(found.online, 0);
    snapshot_state_fini(&found);
    assert_int_equal(undo(scene, "done"), 0);
    assert_int_equal(sim_database_count(scene->server->sim), before);
    free(sql);
    free(name);
}

static void never_drops_a_database_that_is_no_snapshot(void **state)
{
    struct scene *scene = *state;
    int before = sim_database_count(scene->server->sim);
    write_down(scene, JOURNAL_SNAPSHOT, OTHER "_1_1", NULL); /* of the scenario, named as ours */
    assert_int_equal(undo(scene, "failed"), 1);
    assert_int_equal(sim_count_statements(scene->server->sim, "DROP"), 0);
    assert_int_equal(sim_database_count(scene->server->sim), before);
}

static void never_drops_what_is_not_named_as_ours(void **state)
{
    struct scene *scene = *state;
    static const char *const names[] = {
        "Sales", "sweetspot_1_1", OTHER, OTHER "_1", "msdb", OTHER "_1_1; DROP DATABASE Sales"};
    for (size_t i = 0; i < JSON_COUNT(names); i++)
        write_down(scene, JOURNAL_SNAPSHOT, names[i], NULL);
    write_down(scene, JOURNAL_TABLE, "Big", "{'database':'Sales'}");
    write_down(scene, JOURNAL_TABLE, OTHER "_1_1", "{'database':'Sales'}");
    write_down(scene, JOURNAL_TABLE, OTHER "_1", NULL);
    write_down(scene, JOURNAL_TABLE, OTHER "_1", "{}");
    assert_int_equal(undo(scene, "failed"), 10);
    assert_int_equal(sim_count_statements(scene->server->sim, "DROP"), 0);
}

static void drops_a_table_in_a_database_with_an_odd_name(void **state)
{
    struct scene *scene = *state;
    char *table = table_name(scene->run->row.id, "3");
    char *sql = mem_format("CREATE TABLE [a]]b].dbo.[%s] (id int)", table);
    struct err err = {0};
    assert_int_equal(table_reserve(scene->run, "a]b", table, &err), 0);
    run_sql(scene, sql);
    assert_int_equal(table_exists(scene->run, "a]b", "dbo", table, &err), 1);
    assert_int_equal(undo(scene, "done"), 0);
    assert_int_equal(table_exists(scene->run, "a]b", "dbo", table, &err), 0);
    free(sql);
    free(table);
}

static void keeps_the_intent_when_the_connection_breaks(void **state)
{
    struct scene *scene = *state;
    struct err err = {0};
    char error[SIM_ERROR_SIZE];
    int before = sim_database_count(scene->server->sim);
    char *name = make_snapshot(scene, 1);
    assert_int_equal(sim_fault(scene->server->sim, "{'do':'drop_before','match':'DROP'}", error),
                     0);
    assert_int_equal(journal_undo(scene->run, &err), -1);
    assert_int_equal(err.code, ERR_UNREACHABLE);
    assert_int_equal(sim_database_count(scene->server->sim), before + 1);
    assert_int_equal(undo(scene, "done"), 0); /* over a new session */
    assert_int_equal(sim_database_count(scene->server->sim), before);
    free(name);
}

/* --- a session that broke ------------------------------------------------------------------- */

#define LOOK "SELECT COUNT(*), COALESCE(HAS_PERMS_BY_NAME"

/* What the server is still at for a connection that is lost. */
struct ghost {
    struct mssql *session;
    struct sim *sim;
    pthread_t worker, watcher;
    int drops_meanwhile;
};

static void *work(void *arg)
{
    struct ghost *ghost = arg;
    struct err ignored; /* however it ends */
    (void)(mssql_execute(ghost->session, "BACKUP DATABASE [Sales] TO DISK = N'NUL' WITH COPY_ONLY",
                         NULL, NULL, &ignored) < 0);
    return NULL;
}

/* Lets it end when it was looked for a few times. */
static void *release(void *arg)
{
    struct ghost *ghost = arg;
    (void)sim_wait_for(ghost->sim, SIM_EVENT_STATEMENTS, LOOK, 3, 20000);
    ghost->drops_meanwhile = sim_count_statements(ghost->sim, "DROP");
    sim_release(ghost->sim);
    return NULL;
}

static void ghost_start(struct ghost *ghost, struct scene *scene)
{
    struct err err = {0};
    char error[SIM_ERROR_SIZE];
    ghost->sim = scene->server->sim;
    assert_int_equal(sim_fault(ghost->sim, "{'do':'hold_at_percent','match':'BACKUP'}", error), 0);
    assert_int_equal(run_open_session(scene->run, &ghost->session, &err), 0);
    assert_int_equal(pthread_create(&ghost->worker, NULL, work, ghost), 0);
    assert_int_equal(sim_wait_for(ghost->sim, SIM_EVENT_HELD, NULL, 1, 20000), 0);
    assert_int_equal(pthread_create(&ghost->watcher, NULL, release, ghost), 0);
}

static void waits_for_what_a_lost_session_is_still_at(void **state)
{
    struct scene *scene = *state;
    struct ghost ghost = {0};
    struct err err = {0};
    char error[SIM_ERROR_SIZE];
    char *name = make_snapshot(scene, 1);
    assert_int_equal(
        sim_fault(scene->server->sim, "{'do':'drop_before','match':'SELECT 1'}", error), 0);
    assert_int_equal(mssql_query(run_session(scene->run), "SELECT 1", NULL, 0, NULL, &err), -1);
    ghost_start(&ghost, scene);
    assert_int_equal(undo(scene, "done"), 0);
    (void)pthread_join(ghost.watcher, NULL);
    (void)pthread_join(ghost.worker, NULL);
    assert_int_equal(ghost.drops_meanwhile, 0);
    int looks = sim_count_statements(scene->server->sim, LOOK);
    assert_true(looks >= 3);
    assert_int_equal(undo(scene, "done"), 0); /* it is known to be gone */
    assert_int_equal(sim_count_statements(scene->server->sim, LOOK), looks);
    mssql_close(ghost.session);
    free(name);
}

static void refuse_drops(struct scene *scene, int number, int times)
{
    char error[SIM_ERROR_SIZE];
    char *fault = mem_format("{'do':'error','match':'DROP','number':%d,'times':%d,'text':'no'}",
                             number, times);
    assert_int_equal(sim_fault(scene->server->sim, fault, error), 0);
    free(fault);
}

static void tells_what_the_server_does_not_drop(void **state)
{
    struct scene *scene = *state;
    char *name = make_snapshot(scene, 1);
    refuse_drops(scene, 3701, -1);
    assert_int_equal(undo(scene, "failed"), 1);
    free(name);
}

static void drops_again_what_was_refused_in_passing(void **state)
{
    static const struct {
        int number;
        int times;
    } cases[] = {{3701, 1}, {1205, 3}, {1222, 3}, {3702, 3}};
    struct scene *scene = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *name = make_snapshot(scene, (int)i + 1);
        refuse_drops(scene, cases[i].number, cases[i].times);
        assert_int_equal(undo(scene, "done"), 0);
        free(name);
    }
}

static void keeps_what_is_in_use_written_down(void **state)
{
    struct scene *scene = *state;
    struct err err = {0};
    const char *cleanup = NULL;
    char *name = make_snapshot(scene, 1);
    refuse_drops(scene, 3702, -1);
    assert_int_equal(journal_undo(scene->run, &err), -1);
    assert_int_equal(err.code, ERR_TIMEOUT);
    assert_int_equal(journal_state(scene->run, &cleanup, NULL, &err), 0);
    assert_string_equal(cleanup, "pending");
    free(name);
}

/* --- a clean-up that is cut ----------------------------------------------------------------- */

/* Somebody who asked for the clean-up does not wait any longer: cancels what is held, again and
 * again. */
struct cutter {
    struct scene *scene;
    atomic_bool over;
    pthread_t thread;
};

static void *cut(void *arg)
{
    struct cutter *cutter = arg;
    struct sim *sim = cutter->scene->server->sim;
    while (!atomic_load(&cutter->over)) {
        if (sim_wait_for(sim, SIM_EVENT_HELD, NULL, 1, 20) == 0)
            mssql_cancel(run_session(cutter->scene->run));
    }
    return NULL;
}

/* What was not told for that reason is not told to have failed, and undone the next time. */
static void expect_kept(struct scene *scene, const char *const *held)
{
    struct cutter cutter = {.scene = scene};
    struct err err = {0};
    const char *cleanup = NULL;
    char error[SIM_ERROR_SIZE];
    for (; *held; held++) {
        char *fault = mem_format("{'do':'hold_before','match':'%s','times':-1}", *held);
        assert_int_equal(sim_fault(scene->server->sim, fault, error), 0);
        free(fault);
    }
    assert_int_equal(pthread_create(&cutter.thread, NULL, cut, &cutter), 0);
    int rc = journal_undo(scene->run, &err);
    atomic_store(&cutter.over, true);
    (void)pthread_join(cutter.thread, NULL);
    assert_int_equal(rc, -1);
    assert_int_equal(journal_state(scene->run, &cleanup, NULL, &err), 0);
    assert_string_equal(cleanup, "pending");
    sim_fault_clear(scene->server->sim);
    assert_int_equal(undo(scene, "done"), 0);
}

static void a_drop_of_a_snapshot_that_was_cancelled_is_not_a_refusal(void **state)
{
    static const char *const held[] = {"DROP DATABASE", NULL};
    int before = sim_database_count(((struct scene *)*state)->server->sim);
    free(make_snapshot(*state, 1));
    expect_kept(*state, held);
    assert_int_equal(sim_database_count(((struct scene *)*state)->server->sim), before);
}

static void a_drop_of_a_table_that_was_cancelled_is_not_a_refusal(void **state)
{
    static const char *const held[] = {"DROP TABLE", NULL};
    struct scene *scene = *state;
    char *table = table_name(scene->run->row.id, "1");
    char *sql = mem_format("CREATE TABLE [Sales].dbo.[%s] (id int)", table);
    write_down(scene, JOURNAL_TABLE, table, "{'database':'Sales'}");
    run_sql(scene, sql);
    expect_kept(scene, held);
    free(sql);
    free(table);
}

static void a_look_at_a_file_that_was_cancelled_is_not_a_refusal(void **state)
{
    static const char *const held[] = {"SELECT CONVERT(int, file_exists)",
                                       "EXEC master.dbo.xp_fileexist", NULL};
    struct scene *scene = *state;
    struct err err = {0};
    char *path = mem_format("/tmp/sweetspot_%s_1_1.bak", scene->run->row.id);
    assert_int_equal(run_read_facts(scene->run, &err), 0); /* how files are deleted here */
    write_down(scene, JOURNAL_FILE, path, NULL);
    expect_kept(scene, held);
    free(path);
}

static void finds_the_last_number_in_every_name_of_ours(void **state)
{
    struct scene *scene = *state;
    struct err err = {0};
    int64_t seq = -1;
    char *snapshot = snapshot_name(scene->run->row.id, "7", 2);
    char *table = table_name(scene->run->row.id, "12");
    char *file = mem_format("/sweetspot_x/sweetspot_%s_9_1.bak", scene->run->row.id);
    write_down(scene, JOURNAL_FILE, file, NULL);
    assert_int_equal(journal_last_seq(scene->run, &seq, &err), 0);
    assert_int_equal(seq, 9);
    write_down(scene, JOURNAL_TABLE, table, "{'database':'Sales'}");
    write_down(scene, JOURNAL_SNAPSHOT, snapshot, NULL);
    assert_int_equal(journal_last_seq(scene->run, &seq, &err), 0);
    assert_int_equal(seq, 12);
    free(snapshot);
    free(table);
    free(file);
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(drops_what_was_made_and_finds_it_gone_the_second_time),
        SCENE_TEST(undoes_what_was_written_down_and_never_made),
        SCENE_TEST(drops_a_suspect_snapshot_too),
        SCENE_TEST(never_drops_a_database_that_is_no_snapshot),
        SCENE_TEST(never_drops_what_is_not_named_as_ours),
        SCENE_TEST(drops_a_table_in_a_database_with_an_odd_name),
        SCENE_TEST(keeps_the_intent_when_the_connection_breaks),
        SCENE_TEST(waits_for_what_a_lost_session_is_still_at),
        SCENE_TEST(tells_what_the_server_does_not_drop),
        SCENE_TEST(drops_again_what_was_refused_in_passing),
        SCENE_TEST(keeps_what_is_in_use_written_down),
        SCENE_TEST(a_drop_of_a_snapshot_that_was_cancelled_is_not_a_refusal),
        SCENE_TEST(a_drop_of_a_table_that_was_cancelled_is_not_a_refusal),
        SCENE_TEST(a_look_at_a_file_that_was_cancelled_is_not_a_refusal),
        SCENE_TEST(finds_the_last_number_in_every_name_of_ours),
    };
    return cmocka_run_group_tests(tests, place_init, place_fini);
}
