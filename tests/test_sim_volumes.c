/* Which view sees which volume: a drive, a mount point, a share; and the rights that it takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/sim/testing.h"

#define THREE                                                                                      \
    ",'volumes':[{'mount':'C:\\\\','total_mib':1000,'used_mib':100,'name':'System'},"              \
    "{'mount':'C:\\\\Mount\\\\data\\\\','total_mib':5000,'used_mib':1000},"                        \
    "{'mount':'\\\\\\\\nas\\\\sql','total_mib':9000}],'folders':['C:\\\\','C:\\\\Data',"           \
    "'C:\\\\Mount','C:\\\\Mount\\\\data','\\\\\\\\nas\\\\sql'],'databases':[{'name':'Sales',"      \
    "'files':[{'name':'a','mib':10,'path':'C:\\\\Data\\\\a.mdf'},"                                 \
    "{'name':'b','mib':20,'path':'C:\\\\Mount\\\\data\\\\b.ndf'},"                                 \
    "{'name':'c','mib':30,'path':'\\\\\\\\nas\\\\sql\\\\c.ndf'},"                                  \
    "{'name':'l','type':'LOG','mib':10,'path':'C:\\\\Data\\\\l.ldf'}]}],"                          \
    "'logins':[{'name':'sa','password':'Sweetspot-1','sysadmin':true},"                            \
    "{'name':'low','password':'x'},{'name':'viewer','password':'x','permissions':"                 \
    "['VIEW SERVER STATE']}]}"

static void a_mount_point_is_seen_by_its_files_only(void **state)
{
    struct world w = world_start(VERSION("14.0.3465.1") THREE);
    struct client_reply r;
    (void)state;
    world_says(&w, "SELECT volume_mount_point FROM sys.dm_os_volume_stats(5, 1)", "C:\\");
    world_says(&w, "SELECT volume_mount_point FROM sys.dm_os_volume_stats(5, 2)",
               "C:\\Mount\\data\\");
    world_says(&w, "SELECT available_bytes / 1048576 FROM sys.dm_os_volume_stats(5, 2)", "3980");
    world_says(&w, "SELECT COUNT(*) FROM sys.dm_os_volume_stats(5, 3)", "0"); /* a share */
    world_says(&w,
               "SELECT COUNT(*) FROM sys.master_files f CROSS APPLY sys.dm_os_volume_stats("
               "f.database_id, f.file_id) v WHERE f.database_id = 5",
               "3");
    client_run(w.client, "SELECT fixed_drive_path FROM sys.dm_os_enumerate_fixed_drives", &r);
    assert_int_equal(r.row_count, 1);
    assert_string_equal(r.rows[0][0], "C:\\");
    client_reply_free(&r);
    client_run(w.client, "EXEC master.dbo.xp_fixeddrives", &r);
    assert_int_equal(r.row_count, 1);
    assert_string_equal(r.rows[0][0], "C");
    client_reply_free(&r);
    world_stop(&w);
}

static void a_share_takes_backups_until_it_is_full(void **state)
{
    struct world w = world_start(VERSION("16.0.4100.1") THREE);
    (void)state;
    world_backs_up(&w, "BACKUP DATABASE Sales TO DISK = N'\\\\nas\\sql\\s.bak' WITH COPY_ONLY");
    world_fault(&w, "{\"do\":\"fill_volume\",\"path\":\"\\\\\\\\nas\\\\sql\",\"free_mib\":5}");
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'\\\\nas\\sql\\t.bak' WITH COPY_ONLY",
                  3202);
    world_refuses(&w, "BACKUP DATABASE Sales TO DISK = N'\\\\nas\\other\\t.bak' WITH COPY_ONLY",
                  3201);
    world_stop(&w);
}

static void the_views_need_a_right_and_the_procedure_does_not(void **state)
{
    struct world w = world_start_as(VERSION("15.0.4360.2") THREE, "low", "x");
    (void)state;
    world_refuses(&w, "SELECT * FROM sys.dm_os_volume_stats(1, 1)", 300);
    world_refuses(&w, "SELECT * FROM sys.dm_os_enumerate_fixed_drives", 297);
    world_says(&w, "EXEC master.dbo.xp_fixeddrives", "C");
    world_stop(&w);
    w = world_start_as(VERSION("15.0.4360.2") THREE, "viewer", "x");
    world_says(&w, "SELECT COUNT(*) FROM sys.dm_os_volume_stats(5, 1)", "1");
    world_says(&w, "SELECT COUNT(*) FROM sys.dm_os_enumerate_fixed_drives", "1");
    world_stop(&w);
}

static void the_views_came_with_2008_r2_and_2017(void **state)
{
    struct world w = world_start(VERSION("10.0.6000.29") "}");
    (void)state;
    world_refuses(&w, "SELECT * FROM sys.dm_os_volume_stats(1, 1)", 208);
    world_says(&w, "EXEC master.dbo.xp_fixeddrives", "C");
    world_stop(&w);
    w = world_start(VERSION("10.50.6000.34") "}");
    world_says(&w, "SELECT file_system_type FROM sys.dm_os_volume_stats(1, 1)", "NTFS");
    world_refuses(&w, "SELECT * FROM sys.dm_os_enumerate_fixed_drives", 208);
    world_stop(&w);
    w = world_start(NULL); /* Linux: space, but no names */
    world_says(&w, "SELECT volume_mount_point FROM sys.dm_os_volume_stats(1, 1)", "(null)");
    world_says(&w, "SELECT total_bytes / 1048576 FROM sys.dm_os_volume_stats(1, 1)", "65536");
    world_stop(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mount_point_is_seen_by_its_files_only),
        cmocka_unit_test(a_share_takes_backups_until_it_is_full),
        cmocka_unit_test(the_views_need_a_right_and_the_procedure_does_not),
        cmocka_unit_test(the_views_came_with_2008_r2_and_2017),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
