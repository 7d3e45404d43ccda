/* Databases that are not plain: what they say of themselves, who gets in, what BACKUP answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sim/testing.h"

static const char to_nul[] = " TO DISK = N'NUL'";

static void backup_refused(struct world *w, const char *what, const char *options, int number)
{
    char sql[200];
    struct client_reply r;

    (void)snprintf(sql, sizeof(sql), "BACKUP %s%s%s", what, to_nul, options);
    client_run(w->client, sql, &r);
    assert_int_equal(r.message_count, 2);
    if (!client_find(&r, number)) /* ODBC puts the severest first */
        fail_msg("%s gave %d, not %d", sql, r.messages[0].number, number);
    assert_non_null(client_find(&r, 3013));
    client_reply_free(&r);
}

static void a_read_only_database_is_backed_up_and_says_so(void **state)
{
    struct world w = world_start("{'time_scale':0,'databases':[{'name':'Old','read_only':true}]}");
    (void)state;
    world_says(&w,
               "SELECT CONCAT(is_read_only, ' ', DATABASEPROPERTYEX(name, 'Updateability')) FROM "
               "sys.databases WHERE name = 'Old'",
               "1 READ_ONLY");
    world_backs_up(&w, "BACKUP DATABASE Old TO DISK = N'NUL'");
    world_says(&w, "SELECT is_readonly FROM msdb.dbo.backupset", "1");
    world_stop(&w);
}

static void a_standby_database_can_be_read_and_not_backed_up(void **state)
{
    struct world w = world_start("{'time_scale':0,'databases':[{'name':'Warm','standby':true}]}");
    (void)state;
    world_says(&w,
               "SELECT CONCAT(is_in_standby, is_read_only, ' ', state_desc, ' ', "
               "DATABASEPROPERTYEX(name, 'Updateability')) FROM sys.databases WHERE name = 'Warm'",
               "11 ONLINE READ_ONLY");
    world_runs(&w, "USE Warm");
    world_says(&w, "SELECT COUNT(*) FROM Warm.sys.database_files", "2");
    backup_refused(&w, "DATABASE Warm", " WITH COPY_ONLY", 3036);
    world_stop(&w);
}

static void one_user_at_a_time(void **state)
{
    struct world w =
        world_start("{'time_scale':0,'databases':[{'name':'Held','user_access':'SINGLE_USER',"
                    "'held_by':61},{'name':'Solo','user_access':'SINGLE_USER'}]}");
    int number = 0;
    (void)state;
    world_says(&w,
               "SELECT CONCAT(user_access, ' ', user_access_desc, ' ', DATABASEPROPERTYEX(name, "
               "'UserAccess')) FROM sys.databases WHERE name = 'Held'",
               "1 SINGLE_USER SINGLE_USER");
    world_refuses(&w, "USE Held", 924);
    world_refuses(&w, "SELECT * FROM Held.sys.database_files", 924);
    backup_refused(&w, "DATABASE Held", "", 924);
    world_says(&w, "SELECT HAS_DBACCESS('Held')", "0");
    world_says(&w, "SELECT database_id FROM sys.dm_exec_sessions WHERE session_id = 61", "5");

    struct client *other = client_open(sim_port(w.sim), "sa", "Sweetspot-1", "", &number);
    world_backs_up(&w, "BACKUP DATABASE Solo TO DISK = N'NUL'");
    assert_string_equal(client_text(other, "USE Solo; SELECT DB_NAME()"), "Solo");
    backup_refused(&w, "DATABASE Solo", "", 924);
    assert_string_equal(client_text(other, "BACKUP DATABASE Solo TO DISK = N'NUL'; SELECT 1"),
                        "1"); /* it is the one user */
    assert_string_equal(client_text(other, "USE master; SELECT DB_NAME()"), "master");
    world_backs_up(&w, "BACKUP DATABASE Solo TO DISK = N'NUL'");
    client_close(other);

    world_runs(&w, "KILL 61");
    world_runs(&w, "USE Held");
    world_stop(&w);
}

static void restricted_users_are_owners_and_creators(void **state)
{
    static const char scenario[] =
        "{'time_scale':0,'databases':[{'name':'Closed','user_access':'RESTRICTED_USER'}],'logins':["
        "{'name':'reader','password':'x','roles':{'Closed':['db_datareader']}},"
        "{'name':'owner','password':'x','roles':{'Closed':['db_owner']}}]}";
    (void)state;
    struct world w = world_start_as(scenario, "reader", "x");
    world_refuses(&w, "USE Closed", 923);
    world_stop(&w);
    w = world_start_as(scenario, "owner", "x");
    world_runs(&w, "USE Closed");
    world_says(&w, "SELECT user_access_desc FROM sys.databases WHERE name = 'Closed'",
               "RESTRICTED_USER");
    world_backs_up(&w, "BACKUP DATABASE Closed TO DISK = N'NUL'");
    world_stop(&w);
}

#define TWO_ROLES                                                                                  \
    ",'availability_groups':[{'name':'Here','partner':'OTHER','backup_preference':'PRIMARY'},"     \
    "{'name':'There','partner':'OTHER','secondary_connections':'%s'}],'databases':["               \
    "{'name':'P','replica_role':'PRIMARY','availability_group':'Here'},"                           \
    "{'name':'S','replica_role':'SECONDARY','availability_group':'There'},{'name':'Alone'}]}"

static struct world two_roles(const char *start, const char *connections)
{
    char scenario[800];
    (void)snprintf(scenario, sizeof(scenario), TWO_ROLES, connections);
    char whole[1000];
    (void)snprintf(whole, sizeof(whole), "%s%s", start, scenario);
    return world_start(whole);
}

static void a_secondary_takes_copies_and_logs(void **state)
{
    struct world w = two_roles(VERSION("15.0.4360.2"), "ALL");
    (void)state;
    backup_refused(&w, "DATABASE S", "", 3059);
    backup_refused(&w, "DATABASE S", " WITH DIFFERENTIAL", 3059);
    backup_refused(&w, "LOG S", " WITH COPY_ONLY", 3059);
    world_backs_up(&w, "BACKUP DATABASE S TO DISK = N'NUL' WITH COPY_ONLY");
    world_backs_up(&w, "BACKUP LOG S TO DISK = N'NUL'");
    world_backs_up(&w, "BACKUP DATABASE P TO DISK = N'NUL'");
    world_stop(&w);
    w = two_roles(VERSION("17.0.1000.7"), "ALL"); /* 2025 lifts it for full and differential ones */
    world_backs_up(&w, "BACKUP DATABASE S TO DISK = N'NUL'");
    world_backs_up(&w, "BACKUP DATABASE S TO DISK = N'NUL' WITH DIFFERENTIAL");
    world_stop(&w);
}

static void the_views_tell_the_roles(void **state)
{
    static const struct {
        const char *sql, *want;
    } rows[] = {
        {"SELECT SERVERPROPERTY('IsHadrEnabled')", "1"},
        {"SELECT COUNT(*) FROM sys.databases WHERE replica_id IS NOT NULL", "2"},
        {"SELECT COUNT(*) FROM sys.databases d JOIN sys.availability_databases_cluster c ON "
         "c.group_database_id = d.group_database_id AND c.database_name = d.name",
         "2"},
        {"SELECT r.role_desc FROM sys.databases d JOIN sys.dm_hadr_availability_replica_states r "
         "ON r.replica_id = d.replica_id WHERE d.name = 'S'",
         "SECONDARY"},
        {"SELECT r.role FROM sys.databases d JOIN sys.dm_hadr_availability_replica_states r ON "
         "r.replica_id = d.replica_id WHERE d.name = 'P'",
         "1"},
        /* the primary sees its partner, the secondary does not */
        {"SELECT COUNT(*) FROM sys.dm_hadr_availability_replica_states", "3"},
        {"SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE is_local = 0", "1"},
        {"SELECT is_primary_replica FROM sys.dm_hadr_database_replica_states WHERE database_id = "
         "DB_ID('S')",
         "0"},
        {"SELECT a.name FROM sys.availability_groups a JOIN sys.availability_replicas r ON "
         "r.group_id = a.group_id JOIN sys.databases d ON d.replica_id = r.replica_id WHERE d.name "
         "= 'S'",
         "There"},
        {"SELECT COUNT(*) FROM sys.availability_replicas WHERE replica_server_name = 'OTHER'", "2"},
        {"SELECT CONCAT(sys.fn_hadr_is_primary_replica('P'), sys.fn_hadr_is_primary_replica('S'), "
         "ISNULL(CAST(sys.fn_hadr_is_primary_replica('Alone') AS char(1)), 'n'))",
         "10n"},
        {"SELECT CONCAT(sys.fn_hadr_backup_is_preferred_replica('P'), "
         "sys.fn_hadr_backup_is_preferred_replica('S'), "
         "sys.fn_hadr_backup_is_preferred_replica('Alone'))",
         "111"},
        {"SELECT CONCAT(is_read_only, ' ', DATABASEPROPERTYEX('S', 'Updateability')) FROM "
         "sys.databases WHERE name = 'S'",
         "0 READ_ONLY"},
    };
    struct world w = two_roles(VERSION("14.0.3465.1"), "ALL");
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        world_says(&w, rows[i].sql, rows[i].want);
    world_stop(&w);
}

static void each_version_has_its_columns(void **state)
{
    struct world w = two_roles(VERSION("11.0.7001.0"), "ALL");
    (void)state;
    world_refuses(&w, "SELECT is_primary_replica FROM sys.dm_hadr_database_replica_states", 207);
    world_refuses(&w, "SELECT sys.fn_hadr_is_primary_replica('P')", 4121);
    world_says(&w, "SELECT sys.fn_hadr_backup_is_preferred_replica('P')", "1");
    world_stop(&w);
    w = world_start(VERSION("10.50.6000.34") "}");
    world_refuses(&w, "SELECT replica_id FROM sys.databases", 207);
    world_refuses(&w, "SELECT * FROM sys.availability_groups", 208);
    world_says(&w, "SELECT SERVERPROPERTY('IsHadrEnabled')", "(null)");
    world_stop(&w);
    w = world_start(NULL);
    world_says(&w, "SELECT SERVERPROPERTY('IsHadrEnabled')", "0");
    world_says(&w, "SELECT sys.fn_hadr_backup_is_preferred_replica('Sales')", "1");
    world_stop(&w);
}

static void secondaries_that_are_not_readable_refuse_by_number(void **state)
{
    static const struct {
        const char *connections;
        int number;
    } rows[] = {{"NO", 976}, {"READ_ONLY", 978}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct world w = two_roles(VERSION("16.0.4100.1"), rows[i].connections);
        int number = 0;
        world_refuses(&w, "USE S", rows[i].number);
        world_refuses(&w, "SELECT * FROM S.sys.database_files", rows[i].number);
        world_says(&w, "SELECT HAS_DBACCESS('S')", "0");
        world_says(&w, "SELECT state_desc FROM sys.databases WHERE name = 'S'", "ONLINE");
        world_says(&w, "SELECT COUNT(*) FROM sys.master_files WHERE database_id = DB_ID('S')", "2");
        world_backs_up(&w, "BACKUP DATABASE S TO DISK = N'NUL' WITH COPY_ONLY");
        struct client *intent = client_open(sim_port(w.sim), "sa", "Sweetspot-1",
                                            "ApplicationIntent=ReadOnly;", &number);
        assert_non_null(intent);
        assert_string_equal(client_text(intent, "SELECT HAS_DBACCESS('S')"), i ? "1" : "0");
        client_close(intent);
        world_stop(&w);
    }
    struct world w =
        world_start("{'databases':[{'name':'Lost','replica_role':'RESOLVING'}],'time_scale':0}");
    world_refuses(&w, "USE Lost", 983);
    backup_refused(&w, "DATABASE Lost", " WITH COPY_ONLY", 983);
    world_says(&w, "SELECT role_desc FROM sys.dm_hadr_availability_replica_states", "RESOLVING");
    world_stop(&w);
}

static void a_mirror_is_restoring_and_refuses_all(void **state)
{
    static const char scenario[] =
        VERSION("9.0.5000.0") ",'databases':[{'name':'M','mirroring':{'role':'MIRROR'}},"
                              "{'name':'P','mirroring':{'role':'PRINCIPAL','state':'SYNCHRONIZING'}"
                              "},{'name':'N'}],"
                              "'logins':[{'name':'sa','password':'Sweetspot-1','sysadmin':true},{'"
                              "name':'reader',"
                              "'password':'x','permissions':['VIEW ANY DEFINITION']}]}";
    struct world w = world_start(scenario);
    (void)state;
    world_says(&w, "SELECT state_desc FROM sys.databases WHERE name = 'M'", "RESTORING");
    world_refuses(&w, "USE M", 954);
    world_refuses(&w, "SELECT * FROM M.sys.database_files", 954);
    backup_refused(&w, "DATABASE M", " WITH COPY_ONLY", 954);
    world_backs_up(&w, "BACKUP DATABASE P TO DISK = N'NUL'");
    world_says(&w, "SELECT mirroring_role_desc FROM sys.database_mirroring WHERE database_id = 5",
               "MIRROR");
    world_says(&w, "SELECT mirroring_state FROM sys.database_mirroring WHERE database_id = 6", "2");
    world_says(&w, "SELECT COUNT(*) FROM sys.database_mirroring WHERE mirroring_guid IS NOT NULL",
               "2");
    world_stop(&w);
    w = world_start_as(scenario, "reader", "x"); /* the mirror's row is for sysadmin */
    world_says(&w, "SELECT COUNT(*) FROM sys.database_mirroring WHERE mirroring_guid IS NOT NULL",
               "1");
    world_stop(&w);
}

static void snapshots_are_made_where_the_server_makes_them(void **state)
{
    static const char scenario[] = VERSION(
        "14.0.3465.1") ",'databases':[{'name':'Good','mirroring':{'role':'MIRROR'}},"
                       "{'name':'Late','mirroring':{'role':'MIRROR','state':'SYNCHRONIZING'}},"
                       "{'name':'Fast','files':[{'name':'Fast'},{'name':'l','type':'LOG'},"
                       "{'name':'m','type':'MEMORY_OPTIMIZED'}]},{'name':'S','replica_role':'"
                       "SECONDARY'}]}";
    static const char snap[] =
        "CREATE DATABASE %s_ss ON (NAME = %s, FILENAME = 'C:\\Temp\\%s.ss') AS SNAPSHOT OF %s";
    static const struct {
        const char *database;
        int number;
    } rows[] = {{"Good", 0}, {"Late", 1822}, {"Fast", 1823}, {"S", 0}};
    struct world w = world_start(scenario);
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char sql[240];
        const char *d = rows[i].database;
        (void)snprintf(sql, sizeof(sql), snap, d, d, d, d);
        if (rows[i].number)
            world_refuses(&w, sql, rows[i].number);
        else
            world_runs(&w, sql);
    }
    world_says(&w, "SELECT COUNT(*) FROM sys.databases WHERE source_database_id IS NOT NULL", "2");
    world_stop(&w);
}

static void groups_need_2012_and_one_role(void **state)
{
    static const char mixed[] = "{'databases':[{'name':'A','replica_role':'SECONDARY'},"
                                "{'name':'B','replica_role':'PRIMARY'}]}";
    const char *const wrong[] = {
        "{'version':'10.0.5500.0','databases':[{'name':'S','replica_role':'SECONDARY'}]}",
        mixed,
        "{'databases':[{'name':'A','replica_role':'LEADER'}]}",
        "{'databases':[{'name':'A','user_access':'NOBODY'}]}",
        "{'databases':[{'name':'A','recovery':'SIMPLE','mirroring':{}}]}",
        "{'availability_groups':[{'name':'A'},{'name':'A'}]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct sim *sim = NULL;
        char error[SIM_ERROR_SIZE] = "";
        assert_int_equal(sim_start(wrong[i], &sim, error), -1);
        assert_true(error[0] != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_only_database_is_backed_up_and_says_so),
        cmocka_unit_test(a_standby_database_can_be_read_and_not_backed_up),
        cmocka_unit_test(one_user_at_a_time),
        cmocka_unit_test(restricted_users_are_owners_and_creators),
        cmocka_unit_test(a_secondary_takes_copies_and_logs),
        cmocka_unit_test(the_views_tell_the_roles),
        cmocka_unit_test(each_version_has_its_columns),
        cmocka_unit_test(secondaries_that_are_not_readable_refuse_by_number),
        cmocka_unit_test(a_mirror_is_restoring_and_refuses_all),
        cmocka_unit_test(snapshots_are_made_where_the_server_makes_them),
        cmocka_unit_test(groups_need_2012_and_one_role),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
