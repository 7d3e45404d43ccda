/* The simulator's BACKUP, seen through FreeTDS. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sim/testing.h"

/* pages, milliseconds and the printed rate of a 3014 */
static void numbers_of(const struct client_reply *r, long *pages, long *ms, double *rate)
{
    int seconds = 0, rest = 0;
    const struct client_message *m = client_find(r, 3014);
    assert_non_null(m);
    const char *p = strstr(m->text, "processed ");
    assert_non_null(p);
    assert_int_equal(
        sscanf(p, "processed %ld pages in %d.%3d seconds (%lf", pages, &seconds, &rest, rate), 4);
    *ms = seconds * 1000L + rest;
}

static void messages_come_in_order_one_at_a_time(void **state)
{
    static const int want[] = {3211, 3211, 3211, 4035, 4035, 3211, 3014};
    struct world w = world_start("{'time_scale':0}");
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
    world_stop(&w);
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
        (void)snprintf(scenario, sizeof(scenario),
                       "{'time_scale':0,'version':'%s','platform':'Windows'}", rows[i].version);
        struct world w = world_start(scenario);
        client_run(w.client, "BACKUP DATABASE [Sales] TO DISK = N'NUL'", &r);
        numbers_of(&r, &pages, &ms, &rate);
        double high = (double)pages * 8192 / (double)ms * 1000 / rows[i].unit;
        double low = (double)(pages * 8192 - 8192) / (double)ms * 1000 / rows[i].unit - 0.001;
        assert_true(rate > low && rate <= high);
        client_reply_free(&r);
        world_stop(&w);
    }
}

static void values_out_of_range_are_refused_by_number(void **state)
{
    static const struct {
        const char *options;
        int number;
    } rows[] = {
        {"BUFFERCOUNT = 0", 3250},
        {"BUFFERCOUNT = -1", 3250},
        {"MAXTRANSFERSIZE = 65535", 3250},
        {"MAXTRANSFERSIZE = 4194305", 3250},
        {"MAXTRANSFERSIZE = 100000", 3250},
        {"BLOCKSIZE = 1000", 3253},
        {"BLOCKSIZE = 256", 3250},
        {"BLOCKSIZE = 131072", 3250},
        {"STATS = 101", 3250},
        {"NOSUCH", 155},
        {"INIT, NOINIT", 3031},
        {"COMPRESSION (ALGORITHM = ZSTD)", 155},
        {"COMPRESSION (ALGORITHM = MS_XPRESS, LEVEL = LOW)", 155},
        {"BUFFERCOUNT = 5000, MAXTRANSFERSIZE = 4194304", 701},
        {"BUFFERCOUNT = 600, MAXTRANSFERSIZE = 4194304, COMPRESSION", 701},
    };
    struct world w = world_start("{'time_scale':0}");
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char sql[200];
        (void)snprintf(sql, sizeof(sql),
                       "BACKUP DATABASE [Sales] TO DISK = N'NUL' WITH COPY_ONLY, %s",
                       rows[i].options);
        world_refuses(&w, sql, rows[i].number);
    }
    world_backs_up(
        &w, "BACKUP DATABASE [Sales] TO DISK = N'NUL' WITH COPY_ONLY, BUFFERCOUNT = 600, "
            "MAXTRANSFERSIZE = 4194304, BLOCKSIZE = 65536, CHECKSUM, NAME = N'x', FORMAT, STATS");
    world_backs_up(
        &w, "BACKUP DATABASE [Sales] TO DISK = N'NUL', DISK = 'NUL' WITH COPY_ONLY, COMPRESSION "
            "(ALGORITHM = MS_XPRESS), MAXTRANSFERSIZE = 65537");
    world_stop(&w);
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
    struct world w =
        world_start("{'time_scale':0,'databases':[{'name':'Off','state':'OFFLINE'},"
                    "{'name':'Restoring','state':'RESTORING'},{'name':'Fresh','full':false},"
                    "{'name':'Simple','recovery':'SIMPLE'},"
                    "{'name':'Second','replica_role':'SECONDARY'}]}");
    (void)state;
    world_backs_up(&w, "BACKUP DATABASE Second TO DISK = N'NUL' WITH COPY_ONLY");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        world_refuses(&w, rows[i].sql, rows[i].number);
    world_refuses(&w, rows[0].sql, 3013);
    world_stop(&w);
}

static void editions_have_what_they_have(void **state)
{
    struct world w = world_start("{'time_scale':0,'edition':'Express'}");
    (void)state;
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COMPRESSION", 1844);
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH NO_COMPRESSION");
    world_stop(&w);
    w = world_start(
        "{'time_scale':0,'version':'10.0.6000.0','platform':'Windows','edition':'Standard'}");
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COMPRESSION", 1844);
    world_stop(&w);
    w = world_start("{'time_scale':0,'version':'17.0.1000.7','edition':'Standard'}");
    world_backs_up(
        &w,
        "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COMPRESSION (ALGORITHM = ZSTD, LEVEL = HIGH)");
    assert_string_equal(
        client_text(w.client, "SELECT compression_algorithm FROM msdb.dbo.backupset"), "ZSTD");
    world_stop(&w);
    w = world_start("{'time_scale':0,'version':'9.0.5000.0','platform':'Windows'}");
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COMPRESSION", 155);
    world_stop(&w);
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
    struct world w = world_start("{'time_scale':0}");
    char sql[9000] = "BACKUP DATABASE Sales TO DISK = N'NUL'";
    (void)state;
    for (int i = 0; i < 64; i++)
        (void)snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), ", DISK = N'NUL'");
    world_refuses(&w, sql, 3205);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        (void)snprintf(sql, sizeof(sql), "BACKUP DATABASE Sales TO %s WITH COPY_ONLY",
                       rows[i].device);
        world_refuses(&w, sql, rows[i].number);
    }
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'plain.bak' WITH COPY_ONLY");
    size_t n = 0;
    struct sim_left *files = sim_files(w.sim, &n);
    assert_int_equal(n, 1);
    assert_string_equal(files[0].path, BAK "plain.bak");
    assert_true(files[0].whole);
    sim_files_free(files, n);
    world_stop(&w);
}

static void media_must_fit_what_is_on_them(void **state)
{
    struct world w = world_start("{'time_scale':0}");
    struct client_reply r;
    (void)state;
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "m.bak'");
    client_run(w.client, "BACKUP DATABASE Sales TO DISK = N'" BAK "m.bak'", &r);
    assert_non_null(strstr(client_find(&r, 4035)->text, "on file 2"));
    client_reply_free(&r);
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "m.bak' WITH COMPRESSION", 3098);
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "m.bak', DISK = N'" BAK "n.bak'",
                  3231);
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "m.bak', DISK = N'" BAK
                       "n.bak' WITH FORMAT, COMPRESSION");
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK "n.bak'", 3132);
    assert_string_equal(
        client_text(w.client, "SELECT COUNT(*) FROM msdb.dbo.backupset s JOIN "
                              "msdb.dbo.backupmediafamily f ON f.media_set_id = s.media_set_id"),
        "4");
    world_stop(&w);
}

static void the_differential_base_and_the_chain_move_as_documented(void **state)
{
    struct world w = world_start("{'time_scale':0}");
    (void)state;
    uint64_t base = sim_differential_base(w.sim, "Sales"), log = sim_last_log_lsn(w.sim, "Sales");
    assert_true(base > 0 && log > 0);
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COPY_ONLY");
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'NUL' WITH DIFFERENTIAL, COPY_ONLY");
    world_backs_up(&w, "BACKUP LOG Sales TO DISK = N'NUL' WITH COPY_ONLY");
    assert_true(sim_differential_base(w.sim, "Sales") == base);
    assert_true(sim_last_log_lsn(w.sim, "Sales") == log);
    assert_string_equal(client_text(w.client,
                                    "SELECT STRING_AGG(CAST(is_copy_only AS char(1)) + type, ',') "
                                    "FROM msdb.dbo.backupset"),
                        "1D,0I,1L");
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'NUL'");
    assert_true(sim_differential_base(w.sim, "Sales") > base);
    assert_true(sim_last_log_lsn(w.sim, "Sales") == log);
    world_backs_up(&w, "BACKUP LOG Sales TO DISK = N'NUL'");
    assert_true(sim_last_log_lsn(w.sim, "Sales") > log);
    world_stop(&w);
}

static long ms_with(struct world *w, const char *options)
{
    char sql[200];
    struct client_reply r;
    long pages = 0, ms = 0;
    double rate = 0;
    (void)snprintf(sql, sizeof(sql), "BACKUP DATABASE Sales TO DISK = N'NUL' WITH COPY_ONLY%s",
                   options);
    client_run(w->client, sql, &r);
    numbers_of(&r, &pages, &ms, &rate);
    client_reply_free(&r);
    return ms;
}

static void the_sweet_spot_of_the_default_surface_is_100(void **state)
{
    static const int counts[] = {0, 7, 25, 50, 75, 100, 150, 200, 300, 400, 600};
    struct world w =
        world_start("{'time_scale':0,'noise':0,'databases':[{'name':'Sales','mib':20000}],"
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
    world_stop(&w);
}

static void noise_is_seeded_and_about_one_percent(void **state)
{
    double sum = 0, squares = 0;
    long first[20];
    (void)state;
    for (int round = 0; round < 2; round++) {
        struct world w =
            world_start("{'time_scale':0,'seed':42,'databases':[{'name':'Sales','mib':20000}],"
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
        world_stop(&w);
    }
    double sd = sqrt((squares - sum * sum / 20) / 19);
    assert_true(sd > 0.005 && sd < 0.018);
}

static void counters_and_history_follow(void **state)
{
    struct world w = world_start("{'time_scale':0,'utc_offset_minutes':120}");
    (void)state;
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'" BAK
                       "h.bak' WITH COPY_ONLY, COMPRESSION, NAME = N'run 1', "
                       "MAXTRANSFERSIZE = 4194304, BUFFERCOUNT = 50");
    struct client *c = w.client;
    assert_string_equal(
        client_text(
            c, "SELECT num_of_bytes_read FROM sys.dm_io_virtual_file_stats(DB_ID('Sales'), 1)"),
        "268435456");
    assert_string_equal(
        client_text(
            c, "SELECT num_of_reads FROM sys.dm_io_virtual_file_stats(5, NULL) WHERE file_id = 1"),
        "64");
    assert_string_equal(
        client_text(c, "SELECT waiting_tasks_count FROM sys.dm_exec_session_wait_stats WHERE "
                       "session_id = @@SPID AND wait_type = 'ASYNC_IO_COMPLETION'"),
        "1");
    assert_string_equal(client_text(c, "SELECT name + '|' + type + '|' + CAST(time_zone AS "
                                       "varchar(9)) FROM msdb.dbo.backupset"),
                        "run 1|D|8");
    assert_string_equal(
        client_text(
            c, "SELECT CASE WHEN backup_size / compressed_backup_size BETWEEN 4.4 AND 4.6 AND "
               "DATEPART(ms, backup_start_date) = 0 AND backup_finish_date >= backup_start_date "
               "AND backup_start_date <= GETDATE() THEN 1 ELSE 0 END FROM msdb.dbo.backupset"),
        "1");
    assert_string_equal(
        client_text(c, "SELECT process_user_time_ms / 100 % 2 * 0 + 1 FROM sys.dm_os_sys_info"),
        "1");
    world_stop(&w);
}

static void the_language_of_the_session_words_the_messages(void **state)
{
    static const struct {
        const char *language, *text;
    } rows[] = {{"Spanish", "procesó correctamente"},
                {"German", "erfolgreich"},
                {"Japanese", "正常に処理されました"}};
    struct world w = world_start("{'time_scale':0}");
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
    world_stop(&w);
}

static void windows_paths_compare_without_case(void **state)
{
    struct world w = world_start("{'time_scale':0,'platform':'Windows'}");
    (void)state;
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'D:\\Backup\\A.bak'");
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'd:\\backup\\a.BAK' WITH INIT");
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'D:\\Nowhere\\A.bak'", 3201);
    size_t n = 0;
    n = world_file_count(&w);
    assert_int_equal(n, 1);
    assert_string_equal(
        client_text(w.client,
                    "SELECT file_exists FROM sys.dm_os_file_exists(N'D:\\BACKUP\\A.bak')"),
        "1");
    world_stop(&w);
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
        cmocka_unit_test(the_sweet_spot_of_the_default_surface_is_100),
        cmocka_unit_test(noise_is_seeded_and_about_one_percent),
        cmocka_unit_test(counters_and_history_follow),
        cmocka_unit_test(the_language_of_the_session_words_the_messages),
        cmocka_unit_test(windows_paths_compare_without_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
