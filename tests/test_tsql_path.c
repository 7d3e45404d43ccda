/* Where backups may be written and which files may be deleted. */
#include "jobs/measure/tsql.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define JOB "0193a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"

static void backup_paths_keep_the_style_of_their_folder(void **state)
{
    (void)state;
    static const struct {
        const char *dir, *job, *seq, *wanted;
        int stripe;
    } cases[] = {
        {"D:\\Backup", "J", "7", "D:\\Backup\\sweetspot_J_7_1.bak", 1},
        {"D:\\Backup\\", "J", "7", "D:\\Backup\\sweetspot_J_7_2.bak", 2},
        {"D:\\", "J", "7", "D:\\sweetspot_J_7_1.bak", 1},
        {"\\\\srv\\share", "J", "7", "\\\\srv\\share\\sweetspot_J_7_1.bak", 1},
        {"/var/opt/mssql/backup", "{job}", "{seq}",
         "/var/opt/mssql/backup/sweetspot_{job}_{seq}_1.bak", 1},
        {"/", "J", "7", "/sweetspot_J_7_1.bak", 1},
        {"NUL", "J", "7", "NUL", 3},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *path = tsql_backup_path(cases[i].dir, cases[i].job, cases[i].seq, cases[i].stripe);
        assert_string_equal(path, cases[i].wanted);
        free(path);
    }
}

static void only_our_own_files_may_be_deleted(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool own;
    } cases[] = {
        {"D:\\Backup\\sweetspot_" JOB "_7_1.bak", true},
        {"/var/opt/mssql/backup/sweetspot_" JOB "_12_64.bak", true},
        {"\\\\srv\\share\\x\\sweetspot_" JOB "_1_1.bak", true},
        {"D:\\sweetspot_" JOB "_probe.bak", true},
        {"/sweetspot_" JOB "_probe.bak", true},
        {"sweetspot_" JOB "_7_1.bak", false},
        {"D:sweetspot_" JOB "_7_1.bak", false},
        {"backup/sweetspot_" JOB "_7_1.bak", false},
        {"//srv/share/sweetspot_" JOB "_7_1.bak", false},
        {"D:\\Backup\\sweetspot_" JOB "_7_1.bak\\", false},
        {"D:\\Backup\\sweetspot_" JOB "_7_1.bak ", false},
        {"D:\\Backup\\sweetspot_" JOB "_7_1.bak.bak", false},
        {"D:\\Backup\\sweetspot_" JOB "_7_1.trn", false},
        {"D:\\Backup\\sweetspot_" JOB "_7_.bak", false},
        {"D:\\Backup\\sweetspot_" JOB "__1.bak", false},
        {"D:\\Backup\\sweetspot_" JOB "_7.bak", false},
        {"D:\\Backup\\sweetspot_" JOB "_7_1_1.bak", false},
        {"D:\\Backup\\sweetspot_" JOB "_-7_1.bak", false},
        {"D:\\Backup\\sweetspot_" JOB "_12345678901234567890_1.bak", false},
        {"D:\\Backup\\sweetspot_not-a-uuid_7_1.bak", false},
        {"D:\\Backup\\sweetspot_0193A1B2-C3D4-7E5F-8A9B-0C1D2E3F4A5B_7_1.bak", false},
        {"D:\\Backup\\Sweetspot_" JOB "_7_1.bak", false},
        {"D:\\Backup\\my_sweetspot_" JOB "_7_1.bak", false},
        {"D:\\Backup\\..\\sweetspot_" JOB "_7_1.bak", false},
        {"D:\\Backup\\.. \\sweetspot_" JOB "_7_1.bak", false},
        {"D:\\Back*\\sweetspot_" JOB "_7_1.bak", false},
        {"D:\\Back?p\\sweetspot_" JOB "_7_1.bak", false},
        {"D:\\a:b\\sweetspot_" JOB "_7_1.bak", false},
        {"\\\\?\\D:\\sweetspot_" JOB "_7_1.bak", false},
        {"\\\\.\\D\\sweetspot_" JOB "_7_1.bak", false},
        {"D:\\a\nb\\sweetspot_" JOB "_7_1.bak", false},
        {"D:\\a\xFF\\sweetspot_" JOB "_7_1.bak", false},
        {"D:\\Backup\\", false},
        {"D:\\Backup\\Sales.bak", false},
        {"NUL", false},
        {"", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (tsql_is_own_file(cases[i].path) != cases[i].own)
            fail_msg("%s", cases[i].path);
}

static void paths_are_allowed_by_whole_components(void **state)
{
    (void)state;
    static const char *const allowed[] = {"D:\\Backup", "\\\\srv\\share\\db\\",
                                          "/var/opt/mssql/backup", "not/full"};
    static const struct {
        const char *path;
        bool allowed;
    } cases[] = {
        {"NUL", true},
        {"nul", false},
        {" NUL ", false},
        {"D:\\Backup", true},
        {"d:\\BACKUP\\", true},
        {"D:/Backup/x", true},
        {"D:\\Backup\\2026\\w", true},
        {"D:\\Backup2", false},
        {"D:\\Back", false},
        {"D:\\", false},
        {"E:\\Backup", false},
        {"D:\\Backup\\..", false},
        {"D:\\Backup\\..\\Windows", false},
        {"D:\\Backup\\.. \\Windows", false},
        {"D:\\Backup\\...\\Windows", false},
        {"D:\\Backup\\.\\x", false},
        {"D:\\Backup:stream", false},
        {"D:\\Backup\\*", false},
        {"D:Backup", false},
        {"\\\\SRV\\share\\DB\\x", true},
        {"\\\\srv\\share\\dbx", false},
        {"\\\\srv\\share", false},
        {"//srv/share/db", false},
        {"\\\\?\\D:\\Backup", false},
        {"/var/opt/mssql/backup", true},
        {"/var/opt/mssql/backup/", true},
        {"/var//opt/mssql/backup/x", true},
        {"/VAR/opt/mssql/backup", false},
        {"/var/opt/mssql", false},
        {"/var/opt/mssql/backup/../data", false},
        {"/var/opt/mssql/backup\\..\\data", false},
        {"/dev/null", false},
        {"not/full", false},
        {"", false},
        {"/", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (tsql_path_is_allowed(cases[i].path, allowed, COUNT(allowed)) != cases[i].allowed)
            fail_msg("%s", cases[i].path);
    assert_false(tsql_path_is_allowed("D:\\Backup", NULL, 0));
    assert_true(tsql_path_is_allowed("NUL", NULL, 0));
}

static void windows_paths_are_known_by_drive_or_server(void **state)
{
    (void)state;
    assert_true(tsql_path_is_windows("D:\\x"));
    assert_true(tsql_path_is_windows("d:"));
    assert_true(tsql_path_is_windows("\\\\srv\\share"));
    assert_false(tsql_path_is_windows("/var"));
    assert_false(tsql_path_is_windows("NUL"));
    assert_false(tsql_path_is_windows(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backup_paths_keep_the_style_of_their_folder),
        cmocka_unit_test(only_our_own_files_may_be_deleted),
        cmocka_unit_test(paths_are_allowed_by_whole_components),
        cmocka_unit_test(windows_paths_are_known_by_drive_or_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
