/* catalog_os.c: the machine: memory, processors, volumes, files. */
#include <string.h>

#include "catalog.h"

int64_t tsql_up_ms_locked(const struct sim *sim)
{
    return (sim_now_us_locked(sim) - sim->start_us) / 1000;
}

/* What the memory manager has, and what it would take. Before 2012 both are counted in buffers of
 * 8 KB, and physical memory in bytes. */
static void put_memory(struct filler *f)
{
    const struct sim *sim = f->sim;
    int64_t kb = sim->memory_mib * 1024, have = sim->server_memory_mib * 1024;
    int64_t target = kb * 3 / 4;
    bool locked = sim->memory_model == 2;

    tsql_put_int(f, "physical_memory_in_bytes", kb * 1024);
    tsql_put_int(f, "physical_memory_kb", kb);
    tsql_put_int(f, "virtual_memory_in_bytes", INT64_C(8796092891136));
    tsql_put_int(f, "virtual_memory_kb", INT64_C(137438953344));
    tsql_put_int(f, "bpool_committed", have / 8);
    tsql_put_int(f, "bpool_commit_target", target / 8);
    tsql_put_int(f, "bpool_visible", target / 8);
    tsql_put_int(f, "committed_kb", have);
    tsql_put_int(f, "committed_target_kb", target);
    tsql_put_int(f, "visible_target_kb", target);
    tsql_put_int(f, "sql_memory_model", locked ? 2 : 1);
    tsql_put_text(f, "sql_memory_model_desc", locked ? "LOCK_PAGES" : "CONVENTIONAL");
}

static void put_machine(struct filler *f, int64_t up)
{
    const struct sim *sim = f->sim;

    tsql_put_int(f, "cpu_ticks", up * 2400000);
    tsql_put_int(f, "ms_ticks", up + 60000);
    tsql_put_int(f, "cpu_count", sim->cpu_count);
    tsql_put_int(f, "hyperthread_ratio", sim->cpu_count);
    tsql_put_int(f, "stack_size_in_bytes", 2093056);
    tsql_put_int(f, "max_workers_count",
                 512 + (sim->cpu_count > 4 ? (sim->cpu_count - 4) * 16 : 0));
    tsql_put_int(f, "scheduler_count", sim->cpu_count);
    tsql_put_int(f, "time_source", 0);
    tsql_put_int(f, "virtual_machine_type", 1);
    tsql_put_text(f, "virtual_machine_type_desc", "HYPERVISOR");
    tsql_put_int(f, "softnuma_configuration", 0);
    tsql_put_int(f, "socket_count", 1);
    tsql_put_int(f, "cores_per_socket", sim->cpu_count);
    tsql_put_int(f, "numa_node_count", 1);
    tsql_put_int(f, "container_type", 0);
    tsql_put_text(f, "container_type_desc", "NONE");
}

static bool fill_sys_info(struct filler *f)
{
    struct sim *sim = f->sim;
    pthread_mutex_lock(&sim->lock);
    int64_t up = tsql_up_ms_locked(sim);
    tsql_row(f);
    put_machine(f, up);
    put_memory(f);
    tsql_put_int(f, "process_kernel_time_ms", sim->cpu_kernel_ms + up / 400);
    tsql_put_int(f, "process_user_time_ms", sim->cpu_user_ms + up / 200);
    tsql_put(f, "sqlserver_start_time", sim_time(VT_DATETIME, sim_ticks_local(sim, sim->start_us)));
    tsql_put_int(f, "sqlserver_start_time_ms_ticks", 60000);
    pthread_mutex_unlock(&sim->lock);
    return true;
}

static bool fill_process_memory(struct filler *f)
{
    int64_t kb = f->sim->memory_mib * 1024, have = f->sim->server_memory_mib * 1024;
    bool low = f->sim->free_memory_mib < 64;

    tsql_row(f);
    tsql_put_int(f, "physical_memory_in_use_kb", have);
    tsql_put_int(f, "large_page_allocations_kb", 0);
    tsql_put_int(f, "locked_page_allocations_kb", f->sim->memory_model == 2 ? have : 0);
    tsql_put_int(f, "total_virtual_address_space_kb", INT64_C(137438953344));
    tsql_put_int(f, "virtual_address_space_reserved_kb", kb * 2);
    tsql_put_int(f, "virtual_address_space_committed_kb", have + have / 3);
    tsql_put_int(f, "virtual_address_space_available_kb", INT64_C(137430000000));
    tsql_put_int(f, "page_fault_count", 123456);
    tsql_put_int(f, "memory_utilization_percentage", 100);
    tsql_put_int(f, "available_commit_limit_kb", kb);
    tsql_put_int(f, "process_physical_memory_low", low);
    tsql_put_int(f, "process_virtual_memory_low", 0);
    return true;
}

/* Windows signals low memory under 64 MB and high memory above three times as much. */
static bool fill_sys_memory(struct filler *f)
{
    int64_t kb = f->sim->memory_mib * 1024, available = f->sim->free_memory_mib * 1024;
    bool low = available < 65536, high = available >= 3 * 65536;

    tsql_row(f);
    tsql_put_int(f, "total_physical_memory_kb", kb);
    tsql_put_int(f, "available_physical_memory_kb", available);
    tsql_put_int(f, "total_page_file_kb", kb + 4194304);
    tsql_put_int(f, "available_page_file_kb", available + 4194304);
    tsql_put_int(f, "system_cache_kb", kb / 8);
    tsql_put_int(f, "kernel_paged_pool_kb", 0);
    tsql_put_int(f, "kernel_nonpaged_pool_kb", 0);
    tsql_put_int(f, "system_high_memory_signal_state", high);
    tsql_put_int(f, "system_low_memory_signal_state", low);
    tsql_put_text(f, "system_memory_state_desc",
                  high  ? "Available physical memory is high"
                  : low ? "Available physical memory is low"
                        : "Physical memory usage is steady");
    return true;
}

/* A mount point is seen; a share is not. On Linux the names are null (Books Online). */
static bool fill_volume_stats(struct filler *f)
{
    bool windows = f->sim->windows;

    pthread_mutex_lock(&f->sim->lock);
    const struct sim_db *db =
        f->args[0].is_null ? NULL : sim_db_by_id_locked(f->sim, (int)f->args[0].i);
    for (int i = 0; db && i < db->file_count; i++) {
        const struct sim_volume *v = sim_volume_of_locked(f->sim, db->files[i].path);
        if (!v || v->kind == SIM_SHARE || f->args[1].is_null || f->args[1].i != db->files[i].id)
            continue;
        tsql_row(f);
        tsql_put_int(f, "database_id", db->id);
        tsql_put_int(f, "file_id", db->files[i].id);
        if (windows) {
            tsql_put_text(f, "volume_mount_point", v->mount);
            tsql_put_text(f, "volume_id",
                          sim_arena_printf(f->ev->arena,
                                           "\\\\?\\Volume{5e1b0a52-0000-4000-8000-%012d}\\",
                                           (int)(v - f->sim->volumes) + 1));
            tsql_put_text(f, "logical_volume_name", v->name);
            tsql_put_text(f, "file_system_type", "NTFS");
        }
        tsql_put_int(f, "total_bytes", v->total_bytes);
        tsql_put_int(f, "available_bytes", sim_volume_free_locked(f->sim, v));
        tsql_put_int(f, "supports_compression", windows);
        tsql_put_int(f, "supports_alternate_streams", windows);
        tsql_put_int(f, "supports_sparse_files", 1);
        tsql_put_int(f, "is_read_only", 0);
        tsql_put_int(f, "is_compressed", 0);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

/* Volumes with a letter; on Linux, where there are none, whatever is mounted. */
static bool fill_fixed_drives(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->volume_count; i++) {
        const struct sim_volume *v = &f->sim->volumes[i];
        if (v->kind != SIM_DRIVE)
            continue;
        tsql_row(f);
        tsql_put_text(f, "fixed_drive_path", v->mount);
        tsql_put_int(f, "drive_type", 3);
        tsql_put_text(f, "drive_type_desc", "DRIVE_FIXED");
        tsql_put_int(f, "free_space_in_bytes", sim_volume_free_locked(f->sim, v));
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_host_info(struct filler *f)
{
    tsql_row(f);
    tsql_put_text(f, "host_platform", f->sim->windows ? "Windows" : "Linux");
    tsql_put_text(f, "host_distribution",
                  f->sim->windows ? "Windows Server 2022 Standard" : "Debian GNU/Linux");
    tsql_put_text(f, "host_release", f->sim->windows ? "10.0" : "12");
    tsql_put_text(f, "host_service_pack_level", "");
    tsql_put_int(f, "host_sku", f->sim->windows ? 7 : 0);
    tsql_put_int(f, "os_language_version", f->sim->windows ? 1033 : 0);
    if (!f->sim->windows)
        f->row[4].is_null = f->rows->column_count > 4;
    tsql_put_text(f, "host_architecture", "X64");
    return true;
}

static bool fill_windows_info(struct filler *f)
{
    tsql_row(f);
    tsql_put_text(f, "windows_release", f->sim->windows ? "10.0" : "6.2");
    tsql_put_text(f, "windows_service_pack_level", "");
    tsql_put_int(f, "windows_sku", f->sim->windows ? 7 : 4);
    tsql_put_int(f, "os_language_version", 1033);
    return true;
}

static bool fill_file_exists(struct filler *f)
{
    const char *path = f->args[0].is_null || !f->args[0].s ? "" : f->args[0].s;
    pthread_mutex_lock(&f->sim->lock);
    const char *parent = sim_parent_folder(f->sim, f->ev->arena, path);
    bool folder = sim_folder_find_locked(f->sim, path) != NULL;
    bool file = sim_vfile_find_locked(f->sim, path) != NULL;
    for (int d = 0; d < f->sim->db_count; d++)
        for (int i = 0; i < f->sim->dbs[d]->file_count; i++)
            file = file || sim_path_same(f->sim, f->sim->dbs[d]->files[i].path, path);
    tsql_row(f);
    tsql_put_int(f, "file_exists", file);
    tsql_put_int(f, "file_is_a_directory", folder);
    tsql_put_int(f, "parent_directory_exists", sim_folder_find_locked(f->sim, parent) != NULL);
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_schedulers(struct filler *f)
{
    for (int i = 0; i < f->sim->cpu_count; i++) {
        tsql_row(f);
        tsql_put_int(f, "scheduler_id", i);
        tsql_put_int(f, "cpu_id", i);
        tsql_put_text(f, "status", "VISIBLE ONLINE");
        tsql_put_int(f, "is_online", 1);
        tsql_put_int(f, "parent_node_id", 0);
    }
    return true;
}

/* clang-format off */
const struct view tsql_os_views[] = {
    {"sys", "dm_os_sys_info", 0, "VIEW SERVER STATE", -1,
     "cpu_ticks:b,ms_ticks:b,cpu_count:i,hyperthread_ratio:i,physical_memory_in_bytes:b<11,"
     "virtual_memory_in_bytes:b<11,bpool_committed:i<11,bpool_commit_target:i<11,bpool_visible:i<11,"
     "physical_memory_kb:b@11,virtual_memory_kb:b@11,committed_kb:b@11,committed_target_kb:b@11,"
     "visible_target_kb:b@11,stack_size_in_bytes:i,max_workers_count:i,"
     "scheduler_count:i,process_kernel_time_ms:b@1050,process_user_time_ms:b@1050,sqlserver_start_time:d@10,"
     "sqlserver_start_time_ms_ticks:b@10,time_source:i@1050,virtual_machine_type:i@1050,"
     "virtual_machine_type_desc:n60@1050,softnuma_configuration:i@13,sql_memory_model:i@13.4001,"
     "sql_memory_model_desc:n120@13.4001,socket_count:i@13.5026,cores_per_socket:i@13.5026,"
     "numa_node_count:i@13.5026,container_type:i@15,container_type_desc:n60@15", fill_sys_info},
    {"sys", "dm_os_process_memory", 10, "VIEW SERVER STATE", -1,
     "physical_memory_in_use_kb:b,large_page_allocations_kb:b,locked_page_allocations_kb:b,"
     "total_virtual_address_space_kb:b,virtual_address_space_reserved_kb:b,"
     "virtual_address_space_committed_kb:b,"
     "virtual_address_space_available_kb:b,page_fault_count:b,memory_utilization_percentage:i,"
     "available_commit_limit_kb:b,process_physical_memory_low:B,process_virtual_memory_low:B", fill_process_memory},
    {"sys", "dm_os_sys_memory", 10, "VIEW SERVER STATE", -1,
     "total_physical_memory_kb:b,available_physical_memory_kb:b,total_page_file_kb:b,"
     "available_page_file_kb:b,system_cache_kb:b,kernel_paged_pool_kb:b,kernel_nonpaged_pool_kb:b,"
     "system_high_memory_signal_state:B,system_low_memory_signal_state:B,system_memory_state_desc:n256", fill_sys_memory},
    {"sys", "dm_os_volume_stats", 1050, "VIEW SERVER STATE", 2,
     "database_id:i,file_id:i,volume_mount_point:n512,volume_id:n512,logical_volume_name:n512,"
     "file_system_type:n512,total_bytes:b,available_bytes:b,supports_compression:t,"
     "supports_alternate_streams:t,supports_sparse_files:t,is_read_only:t,is_compressed:t", fill_volume_stats},
    {"sys", "dm_os_enumerate_fixed_drives", 14, "VIEW SERVER STATE", -1,
     "fixed_drive_path:n512,drive_type:i,drive_type_desc:n512,free_space_in_bytes:b", fill_fixed_drives},
    {"sys", "dm_os_host_info", 14, NULL, -1,
     "host_platform:n256,host_distribution:n256,host_release:n256,host_service_pack_level:n256,host_sku:i,"
     "os_language_version:i,host_architecture:n256@15", fill_host_info},
    {"sys", "dm_os_windows_info", 10, "VIEW SERVER STATE", -1,
     "windows_release:n256,windows_service_pack_level:n256,windows_sku:i,os_language_version:i", fill_windows_info},
    {"sys", "dm_os_file_exists", 14, NULL, 1,
     "file_exists:i,file_is_a_directory:i,parent_directory_exists:i", fill_file_exists},
    {"sys", "dm_os_schedulers", 0, "VIEW SERVER STATE", -1,
     "parent_node_id:i,scheduler_id:i,cpu_id:s,status:n60,is_online:B", fill_schedulers},
    {NULL, NULL, 0, NULL, 0, NULL, NULL},
};
/* clang-format on */
