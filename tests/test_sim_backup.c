/* The simulator's BACKUP, seen through FreeTDS. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sim/client.h"
#include "tests/sim/sim.h"

#define BAK "/var/opt/mssql/backup/"

struct world {
    struct sim *sim;
    struct client *client;
};

static struct world start(const char *scenario)
{
    struct world w = {0};
    char error[SIM_ERROR_SIZE] = "";
    int number = 0;
    if (sim_start(scenario, &w.sim, error))
        fail_msg("%s", error);
    w.client = client_open(sim_port(w.sim), "sa", "Sweetspot-1", "", &number);
    if (!w.client)
        fail_msg("login failed with %d", number);
    return w;
}

static void stop(struct world *w)
{
    client_close(w->client);
    sim_stop(w->sim);
}

static void fault(struct world *w, const char *json)
{
    char error[SIM_ERROR_SIZE] = "";
    if (sim_fault(w->sim, json, error))
        fail_msg("%s", error);
}

static void check_error(struct world *w, const char *sql, int number)
{
    struct client_reply r;
    client_run(w->client, sql, &r);
    if (!client_find(&r, number) || client_find(&r, 3014))
        fail_msg("%s\n  gave %d (%s), not %d", sql, r.message_count ? r.messages[0].number : 0,
                 r.message_count ? r.messages[0].text : "nothing", number);
    client_reply_free(&r);
}

static void check_good(struct world *w, const char *sql)
{
    struct client_reply r;
    client_run(w->client, sql, &r);
    if (!client_find(&r, 3014) || r.failed)
        fail_msg("%s\n  gave %d (%s)", sql, r.message_count ? r.messages[0].number : 0,
                 r.message_count ? r.messages[0].text : "nothing");
    client_reply_free(&r);
}

static size_t file_count(struct world *w)
{
    size_t n = 0;
    struct sim_left *files = sim_files(w->sim, &n);
    sim_files_free(files, n);
    return n;
}

/* pages, milliseconds and the printed rate of a 3014 */
static void numbers_of(const struct client_reply *r, long *pages, long *ms, double *rate)
{
    int seconds = 0, rest = 0;
    const struct client_message *m = client_find(r, 3014);
    assert_non_null(m);
    const char *p = strstr(m->text, "processed ");
    assert_non_null(p);
    assert_int_equal(sscanf(p, "processed %ld pages in %d.%3d seconds (%lf", pages, &seconds, &rest, rate), 4);
    *ms = seconds * 1000L + rest;
}

static void messages_come_in_order_one_at_a_time(void **state)
{
    static const int want[] = {3211, 3211, 3211, 4035, 4035, 3211, 3014};
    struct world w = start("{'time_scale':0}");
    struct client_reply r;
    (void)state;
    client_run(w.client, "BACKUP DATABASE [Sales] TO DISK = N'NUL' WITH COPY_ONLY, STATS = 25", &r);
    assert_int_equal(r.message_count, 7);
    for (int i = 0; i < 7; i++) {
        assert_int_equal(r.messages[i].number, want[i]);
        assert_int_equal(r.messages[i].result, i);
    }
    assert_false(r.failed);
    client_reply_free(&r);
    stop(&w);
}

static void the_last_line_prints_what_the_arithmetic_says(void **state)
{
    static const struct {
        const char *version;
        double unit;
    } rows[] = {{"16.0.4100.1", 1048576}, {"10.0.5500.0", 1048576}, {"9.0.5000.0", 1000000}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char scenario[160];
        struct client_reply r;
        long pages = 0, ms = 0;
        double rate = 0;
        (void)snprintf(scenario, sizeof(scenario), "{'time_scale':0,'version':'%s','platform':'Windows'}", rows[i].version);
        struct world w = start(scenario);
        client_run(w.client, "BACKUP DATABASE [Sales] TO DISK = N'NUL'", &r);
        numbers_of(&r, &pages, &ms, &rate);
        double high = (double)pages * 8192 / (double)ms * 1000 / rows[i].unit;
        double low = (double)(pages * 8192 - 8192) / (double)ms * 1000 / rows[i].unit - 0.001;
        assert_true(rate > low && rate <= high);
        client_reply_free(&r);
        stop(&w);
    }
}

static void values_out_of_range_are_refused_by_number(void **state)
{
    static const struct {
        const char *options;
        int number;
    } rows[] = {
        {"BUFFERCOUNT = 0", 3250},       {"BUFFERCOUNT = -1", 3250},
        {"MAXTRANSFERSIZE = 65535", 3250}, {"MAXTRANSFERSIZE = 4194305", 3250},
        {"MAXTRANSFERSIZE = 100000", 3250}, {"BLOCKSIZE = 1000", 3253},
        {"BLOCKSIZE = 256", 3250},       {"BLOCKSIZE = 131072", 3250},
        {"STATS = 101", 3250},           {"NOSUCH", 155},
        {"INIT, NOINIT", 3031},          {"COMPRESSION (ALGORITHM = ZSTD)", 155},
        {"COMPRESSION (ALGORITHM = MS_XPRESS, LEVEL = LOW)", 155},
        {"BUFFERCOUNT = 5000, MAXTRANSFERSIZE = 4194304", 701},
        {"BUFFERCOUNT = 600, MAXTRANSFERSIZE = 4194304, COMPRESSION", 701},
    };
    struct world w = start("{'time_scale':0}");
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char sql[200];
        (void)snprintf(sql, sizeof(sql), "BACKUP DATABASE [Sales] TO DISK = N'NUL' WITH COPY_ONLY, %s", rows[i].options);
        check_error(&w, sql, rows[i].number);
    }
    check_good(&w, "BACKUP DATABASE [Sales] TO DISK = N'NUL' WITH COPY_ONLY, BUFFERCOUNT = 600, "
                   "MAXTRANSFERSIZE = 4194304, BLOCKSIZE = 65536, CHECKSUM, NAME = N'x', FORMAT, STATS");
    check_good(&w, "BACKUP DATABASE [Sales] TO DISK = N'NUL', DISK = 'NUL' WITH COPY_ONLY, COMPRESSION "
                   "(ALGORITHM = MS_XPRESS), MAXTRANSFERSIZE = 65537");
    stop(&w);
}

static void databases_that_cannot_be_backed_up_say_why(void **state)
{
    static const struct {
        const char *sql;
        int number;
    } rows[] = {
        {"BACKUP DATABASE [nosuch] TO DISK = N'NUL'", 911},
        {"BACKUP DATABASE tempdb TO DISK = N'NUL'", 3147},
        {"BACKUP LOG master TO DISK = N'NUL'", 3024},
        {"BACKUP DATABASE [Off] TO DISK = N'NUL'", 942},
        {"BACKUP DATABASE Restoring TO DISK = N'NUL'", 927},
        {"BACKUP DATABASE Fresh TO DISK = N'NUL' WITH DIFFERENTIAL", 3035},
        {"BACKUP LOG Fresh TO DISK = N'NUL'", 4214},
        {"BACKUP LOG Simple TO DISK = N'NUL'", 4208},
        {"BACKUP DATABASE Second TO DISK = N'NUL'", 3059},
        {"BEGIN TRAN; BACKUP DATABASE Simple TO DISK = N'NUL'", 3021},
        {"ROLLBACK; SET IMPLICIT_TRANSACTIONS ON; BACKUP DATABASE Simple TO DISK = N'NUL'", 3021},
    };
    struct world w = start("{'time_scale':0,'databases':[{'name':'Off','state':'OFFLINE'},"
                           "{'name':'Restoring','state':'RESTORING'},{'name':'Fresh','full':false},"
                           "{'name':'Simple','recovery':'SIMPLE'},"
                           "{'name':'Second','replica_role':'SECONDARY'}]}");
    (void)state;
    check_good(&w, "BACKUP DATABASE Second TO DISK = N'NUL' WITH COPY_ONLY");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check_error(&w, rows[i].sql, rows[i].number);
    check_error(&w, rows[0].sql, 3013);
    stop(&w);
}

static void editions_have_what_they_have(void **state)
{
    struct world w = start("{'time_scale':0,'edition':'Express'}");
    (void)state;
    check_error(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COMPRESSION", 1844);
    check_good(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH NO_COMPRESSION");
    stop(&w);
    w = start("{'time_scale':0,'version':'10.0.6000.0','platform':'Windows','edition':'Standard'}");
    check_error(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COMPRESSION", 1844);
    stop(&w);
    w = start("{'time_scale':0,'version':'17.0.1000.7','edition':'Standard'}");
    check_good(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COMPRESSION (ALGORITHM = ZSTD, LEVEL = HIGH)");
    assert_string_equal(client_text(w.client, "SELECT compression_algorithm FROM msdb.dbo.backupset"), "ZSTD");
    stop(&w);
    w = start("{'time_scale':0,'version':'9.0.5000.0','platform':'Windows'}");
    check_error(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COMPRESSION", 155);
    stop(&w);
}

static void devices_have_their_troubles(void **state)
{
    static const struct {
        const char *device;
        int number;
    } rows[] = {
        {"DISK = N'/nowhere/x.bak'", 3201},
        {"DISK = N'/root/x.bak'", 3201},
        {"DISK = N'" BAK "'", 3201},
        {"DISK = N'/dev/null'", 3634},
        {"DISK = N''", 3044},
        {"DISK = N'" BAK "a.bak', DISK = N'" BAK "a.bak'", 3201},
    };
    struct world w = start("{'time_scale':0}");
    char sql[9000] = "BACKUP DATABASE Sales TO DISK = N'NUL'";
    (void)state;
    for (int i = 0; i < 64; i++)
        (void)snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), ", DISK = N'NUL'");
    check_error(&w, sql, 3205);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        (void)snprintf(sql, sizeof(sql), "BACKUP DATABASE Sales TO %s WITH COPY_ONLY", rows[i].device);
        check_error(&w, sql, rows[i].number);
    }
    check_good(&w, "BACKUP DATABASE Sales TO DISK = N'plain.bak' WITH COPY_ONLY");
    size_t n = 0;
    struct sim_left *files = sim_files(w.sim, &n);
    assert_int_equal(n, 1);
    assert_string_equal(files[0].path, BAK "plain.bak");
    assert_true(files[0].whole);
    sim_files_free(files, n);
    stop(&w);
}

static void media_must_fit_what_is_on_them(void **state)
{
    struct world w = start("{'time_scale':0}");
    struct client_reply r;
    (void)state;
    check_good(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "m.bak'");
    client_run(w.client, "BACKUP DATABASE Sales TO DISK = N'" BAK "m.bak'", &r);
    assert_non_null(strstr(client_find(&r, 4035)->text, "on file 2"));
    client_reply_free(&r);
    check_error(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "m.bak' WITH COMPRESSION", 3098);
    check_error(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "m.bak', DISK = N'" BAK "n.bak'", 3231);
    check_good(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "m.bak', DISK = N'" BAK "n.bak' WITH FORMAT, COMPRESSION");
    check_error(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "n.bak'", 3132);
    assert_string_equal(client_text(w.client, "SELECT COUNT(*) FROM msdb.dbo.backupset s JOIN "
                                              "msdb.dbo.backupmediafamily f ON f.media_set_id = s.media_set_id"),
                        "4");
    stop(&w);
}

static void the_differential_base_and_the_chain_move_as_documented(void **state)
{
    struct world w = start("{'time_scale':0}");
    (void)state;
    uint64_t base = sim_differential_base(w.sim, "Sales"), log = sim_last_log_lsn(w.sim, "Sales");
    assert_true(base > 0 && log > 0);
    check_good(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COPY_ONLY");
    check_good(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH DIFFERENTIAL, COPY_ONLY");
    check_good(&w, "BACKUP LOG Sales TO DISK = N'NUL' WITH COPY_ONLY");
    assert_true(sim_differential_base(w.sim, "Sales") == base);
    assert_true(sim_last_log_lsn(w.sim, "Sales") == log);
    assert_string_equal(client_text(w.client, "SELECT STRING_AGG(CAST(is_copy_only AS char(1)) + type, ',') "
                                              "FROM msdb.dbo.backupset"), "1D,0I,1L");
    check_good(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'");
    assert_true(sim_differential_base(w.sim, "Sales") > base);
    assert_true(sim_last_log_lsn(w.sim, "Sales") == log);
    check_good(&w, "BACKUP LOG Sales TO DISK = N'NUL'");
    assert_true(sim_last_log_lsn(w.sim, "Sales") > log);
    stop(&w);
}

static void *run_compressed(void *client)
{
    struct client_reply r;
    client_run(client, "BACKUP DATABASE Sales TO DISK = N'" BAK "c.bak' WITH COMPRESSION, COPY_ONLY", &r);
    client_reply_free(&r);
    return NULL;
}

static void compressed_files_are_allocated_first_and_shrink(void **state)
{
    struct world w = start("{'time_scale':0,'faults':[{'do':'hold_at_percent','percent':10}]}");
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_compressed, w.client), 0);
    assert_int_equal(sim_wait_for(w.sim, SIM_EVENT_HELD, NULL, 1, 5000), 0);
    size_t n = 0;
    struct sim_left *files = sim_files(w.sim, &n);
    assert_int_equal(n, 1);
    assert_int_equal(files[0].size_bytes / 1048576, 320 / 3);
    assert_false(files[0].whole);
    sim_files_free(files, n);
    sim_release(w.sim);
    pthread_join(thread, NULL);
    files = sim_files(w.sim, &n);
    assert_true(files[0].size_bytes < 70 * 1048576);
    assert_true(files[0].whole);
    sim_files_free(files, n);
    stop(&w);
}

static void a_full_volume_gives_3202_and_leaves_a_part(void **state)
{
    struct world w = start("{'time_scale':0}");
    struct client_reply r;
    (void)state;
    fault(&w, "{'do':'fill_volume','path':'" BAK "','free_mib':100}");
    client_run(w.client, "BACKUP DATABASE Sales TO DISK = N'" BAK "f.bak'", &r);
    assert_int_equal(r.messages[0].number, 3202);
    assert_non_null(strstr(r.messages[0].text, "112("));
    assert_non_null(client_find(&r, 3013));
    client_reply_free(&r);
    size_t n = 0;
    struct sim_left *files = sim_files(w.sim, &n);
    assert_int_equal(n, 1);
    assert_false(files[0].whole);
    sim_files_free(files, n);
    assert_int_equal(sim_history_count(w.sim), 0);
    check_error(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "f.bak'", 3241);
    client_run(w.client, "EXEC master.dbo.xp_delete_file 0, N'" BAK "f.bak'", &r);
    assert_false(r.failed);
    client_reply_free(&r);
    n = file_count(&w);
    assert_int_equal(n, 1);
    client_run(w.client, "EXEC master.sys.xp_delete_files N'" BAK "*.bak'", &r);
    client_reply_free(&r);
    n = file_count(&w);
    assert_int_equal(n, 0);
    stop(&w);
}

static void *cancel_held(void *pointer)
{
    struct world *w = pointer;
    (void)sim_wait_for(w->sim, SIM_EVENT_HELD, NULL, 1, 5000);
    client_cancel(w->client);
    return NULL;
}

static void a_cancelled_backup_says_3204_and_moves_nothing(void **state)
{
    struct world w = start("{'time_scale':0,'faults':[{'do':'hold_at_percent','percent':60}]}");
    struct client_reply r;
    pthread_t thread;
    (void)state;
    uint64_t base = sim_differential_base(w.sim, "Sales");
    assert_int_equal(pthread_create(&thread, NULL, cancel_held, &w), 0);
    client_run(w.client, "BACKUP DATABASE Sales TO DISK = N'" BAK "g.bak'", &r);
    pthread_join(thread, NULL);
    assert_non_null(client_find(&r, 3204));
    assert_non_null(client_find(&r, 3013));
    assert_null(client_find(&r, 3014));
    client_reply_free(&r);
    assert_true(sim_differential_base(w.sim, "Sales") == base);
    assert_int_equal(sim_wait_for(w.sim, SIM_EVENT_BACKUPS, NULL, 0, 5000), 0);
    check_good(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "g.bak' WITH FORMAT");
    stop(&w);
}

static void errors_and_drops_can_be_put_into_a_backup(void **state)
{
    struct world w = start("{'time_scale':0}");
    struct client_reply r;
    int number = 0;
    (void)state;
    fault(&w, "{'do':'error','match':'BACKUP','nth':2,'number':3201,'state':7}");
    check_good(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'");
    check_error(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'", 3201);
    check_good(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'");
    fault(&w, "{'do':'error_at_percent','percent':30,'number':3202}");
    check_error(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'", 3202);
    fault(&w, "{'do':'error_after_4035'}");
    client_run(w.client, "BACKUP DATABASE Sales TO DISK = N'" BAK "l.bak'", &r);
    assert_non_null(client_find(&r, 4035));
    assert_non_null(client_find(&r, 3634));
    assert_null(client_find(&r, 3014));
    client_reply_free(&r);
    static const char *const drops[] = {"{'do':'drop_at_percent','percent':50}", "{'do':'drop_after_4035'}"};
    for (int i = 0; i < 2; i++) {
        fault(&w, drops[i]);
        client_run(w.client, "BACKUP DATABASE Sales TO DISK = N'NUL'", &r);
        assert_true(r.failed);
        assert_null(client_find(&r, 3014));
        assert_int_equal(client_find(&r, 4035) != NULL, i);
        client_reply_free(&r);
        client_close(w.client);
        w.client = client_open(sim_port(w.sim), "sa", "Sweetspot-1", "", &number);
        assert_non_null(w.client);
    }
    stop(&w);
}

static long ms_with(struct world *w, const char *options)
{
    char sql[200];
    struct client_reply r;
    long pages = 0, ms = 0;
    double rate = 0;
    (void)snprintf(sql, sizeof(sql), "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COPY_ONLY%s", options);
    client_run(w->client, sql, &r);
    numbers_of(&r, &pages, &ms, &rate);
    client_reply_free(&r);
    return ms;
}

static void the_sweet_spot_of_the_default_surface_is_100(void **state)
{
    static const int counts[] = {0, 7, 25, 50, 75, 100, 150, 200, 300, 400, 600};
    struct world w = start("{'time_scale':0,'noise':0,'databases':[{'name':'Sales','mib':20000}],"
                           "'volumes':[{'mount':'/','total_mib':900000,'used_mib':1}]}");
    double ms[11], best = 1e18;
    (void)state;
    for (int i = 0; i < 11; i++) {
        char options[60] = "";
        if (counts[i])
            (void)snprintf(options, sizeof(options), ", BUFFERCOUNT = %d", counts[i]);
        ms[i] = (double)ms_with(&w, options);
        best = ms[i] < best ? ms[i] : best;
    }
    for (int i = 0; i < 11; i++) {
        double missing = 1 - best / ms[i];
        if (counts[i] < 75)
            assert_true(missing > 0.05);
        else if (counts[i] == 75)
            assert_true(missing >= 0.035 && missing < 0.045);
        else if (counts[i] == 100)
            assert_true(missing > 0.01 && missing < 0.015);
        else
            assert_true(missing < 0.01);
    }
    assert_true(best / ms[0] > 0.4 && best / ms[0] < 0.5);
    stop(&w);
}

static void noise_is_seeded_and_about_one_percent(void **state)
{
    double sum = 0, squares = 0;
    long first[20];
    (void)state;
    for (int round = 0; round < 2; round++) {
        struct world w = start("{'time_scale':0,'seed':42,'databases':[{'name':'Sales','mib':20000}],"
                               "'volumes':[{'mount':'/','total_mib':900000,'used_mib':1}]}");
        for (int i = 0; i < 20; i++) {
            long ms = ms_with(&w, ", BUFFERCOUNT = 200");
            if (round == 0) {
                first[i] = ms;
                sum += log((double)ms);
                squares += log((double)ms) * log((double)ms);
            } else {
                assert_int_equal(first[i], ms);
            }
        }
        stop(&w);
    }
    double sd = sqrt((squares - sum * sum / 20) / 19);
    assert_true(sd > 0.005 && sd < 0.018);
}

static void counters_and_history_follow(void **state)
{
    struct world w = start("{'time_scale':0,'utc_offset_minutes':120}");
    (void)state;
    check_good(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "h.bak' WITH COPY_ONLY, COMPRESSION, NAME = N'run 1', "
                   "MAXTRANSFERSIZE = 4194304, BUFFERCOUNT = 50");
    struct client *c = w.client;
    assert_string_equal(client_text(c, "SELECT num_of_bytes_read FROM sys.dm_io_virtual_file_stats(DB_ID('Sales'), 1)"),
                        "268435456");
    assert_string_equal(client_text(c, "SELECT num_of_reads FROM sys.dm_io_virtual_file_stats(5, NULL) WHERE file_id = 1"), "64");
    assert_string_equal(client_text(c, "SELECT waiting_tasks_count FROM sys.dm_exec_session_wait_stats WHERE "
                                       "session_id = @@SPID AND wait_type = 'ASYNC_IO_COMPLETION'"), "1");
    assert_string_equal(client_text(c, "SELECT name + '|' + type + '|' + CAST(time_zone AS varchar(9)) FROM msdb.dbo.backupset"),
                        "run 1|D|8");
    assert_string_equal(client_text(c, "SELECT CASE WHEN backup_size / compressed_backup_size BETWEEN 4.4 AND 4.6 AND "
                                       "DATEPART(ms, backup_start_date) = 0 AND backup_finish_date >= backup_start_date "
                                       "AND backup_start_date <= GETDATE() THEN 1 ELSE 0 END FROM msdb.dbo.backupset"), "1");
    assert_string_equal(client_text(c, "SELECT process_user_time_ms / 100 % 2 * 0 + 1 FROM sys.dm_os_sys_info"), "1");
    stop(&w);
}

static void another_connection_sees_the_running_backup(void **state)
{
    struct world w = start("{'time_scale':0,'faults':[{'do':'hold_at_percent','percent':40}]}");
    int number = 0;
    pthread_t thread;
    (void)state;
    struct client *other = client_open(sim_port(w.sim), "sa", "Sweetspot-1", "", &number);
    assert_int_equal(pthread_create(&thread, NULL, run_compressed, w.client), 0);
    assert_int_equal(sim_wait_for(w.sim, SIM_EVENT_HELD, NULL, 1, 5000), 0);
    assert_string_equal(client_text(other, "SELECT CONCAT(command, ' ', CAST(percent_complete AS int)) FROM "
                                           "sys.dm_exec_requests WHERE command LIKE 'BACKUP%'"),
                        "BACKUP DATABASE 40");
    sim_release(w.sim);
    pthread_join(thread, NULL);
    fault(&w, "{'do':'foreign_backup'}");
    assert_string_equal(client_text(other, "SELECT session_id FROM sys.dm_exec_requests WHERE command = "
                                           "'BACKUP DATABASE'"), "50");
    client_close(other);
    stop(&w);
}

static void the_language_of_the_session_words_the_messages(void **state)
{
    static const struct {
        const char *language, *text;
    } rows[] = {{"Spanish", "procesó correctamente"}, {"German", "erfolgreich"}, {"Japanese", "正常に処理されました"}};
    struct world w = start("{'time_scale':0}");
    struct client_reply r;
    char sql[80];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(sql, sizeof(sql), "SET LANGUAGE %s", rows[i].language);
        client_run(w.client, sql, &r);
        client_reply_free(&r);
        client_run(w.client, "BACKUP DATABASE Sales TO DISK = N'NUL'", &r);
        assert_non_null(client_find(&r, 3014));
        assert_non_null(strstr(client_find(&r, 3014)->text, rows[i].text));
        client_reply_free(&r);
    }
    stop(&w);
}

static void windows_paths_compare_without_case(void **state)
{
    struct world w = start("{'time_scale':0,'platform':'Windows'}");
    (void)state;
    check_good(&w, "BACKUP DATABASE Sales TO DISK = N'D:\\Backup\\A.bak'");
    check_good(&w, "BACKUP DATABASE Sales TO DISK = N'd:\\backup\\a.BAK' WITH INIT");
    check_error(&w, "BACKUP DATABASE Sales TO DISK = N'D:\\Nowhere\\A.bak'", 3201);
    size_t n = 0;
    n = file_count(&w);
    assert_int_equal(n, 1);
    assert_string_equal(client_text(w.client, "SELECT file_exists FROM sys.dm_os_file_exists(N'D:\\BACKUP\\A.bak')"), "1");
    stop(&w);
}

static void the_control_procedure_makes_faults_from_outside(void **state)
{
    struct world w = start("{'time_scale':0}");
    struct client_reply r;
    (void)state;
    client_run(w.client, "EXEC sweetspot_sim.dbo.control N'{\"do\":\"error\",\"match\":\"BACKUP\",\"number\":3203}'", &r);
    assert_false(r.failed);
    client_reply_free(&r);
    check_error(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'", 3203);
    check_error(&w, "EXEC sweetspot_sim.dbo.control N'{\"do\":\"dance\"}'", 50000);
    stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_in_order_one_at_a_time),
        cmocka_unit_test(the_last_line_prints_what_the_arithmetic_says),
        cmocka_unit_test(values_out_of_range_are_refused_by_number),
        cmocka_unit_test(databases_that_cannot_be_backed_up_say_why),
        cmocka_unit_test(editions_have_what_they_have),
        cmocka_unit_test(devices_have_their_troubles),
        cmocka_unit_test(media_must_fit_what_is_on_them),
        cmocka_unit_test(the_differential_base_and_the_chain_move_as_documented),
        cmocka_unit_test(compressed_files_are_allocated_first_and_shrink),
        cmocka_unit_test(a_full_volume_gives_3202_and_leaves_a_part),
        cmocka_unit_test(a_cancelled_backup_says_3204_and_moves_nothing),
        cmocka_unit_test(errors_and_drops_can_be_put_into_a_backup),
        cmocka_unit_test(the_sweet_spot_of_the_default_surface_is_100),
        cmocka_unit_test(noise_is_seeded_and_about_one_percent),
        cmocka_unit_test(counters_and_history_follow),
        cmocka_unit_test(another_connection_sees_the_running_backup),
        cmocka_unit_test(the_language_of_the_session_words_the_messages),
        cmocka_unit_test(windows_paths_compare_without_case),
        cmocka_unit_test(the_control_procedure_makes_faults_from_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
