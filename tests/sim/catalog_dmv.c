/* catalog_dmv.c: dynamic management views. */
#include <string.h>

#include "catalog.h"

static int64_t up_ms(struct sim *sim)
{
    return (sim_now_us_locked(sim) - sim->start_us) / 1000;
}

static bool fill_sys_info(struct filler *f)
{
    struct sim *sim = f->sim;
    pthread_mutex_lock(&sim->lock);
    int64_t up = up_ms(sim);
    tsql_row(f);
    tsql_put_int(f, "cpu_ticks", up * 2400000);
    tsql_put_int(f, "ms_ticks", up + 60000);
    tsql_put_int(f, "cpu_count", sim->cpu_count);
    tsql_put_int(f, "hyperthread_ratio", sim->cpu_count);
    tsql_put_int(f, "physical_memory_in_bytes", sim->memory_mib * 1048576);
    tsql_put_int(f, "physical_memory_kb", sim->memory_mib * 1024);
    tsql_put_int(f, "virtual_memory_kb", INT64_C(137438953344));
    tsql_put_int(f, "committed_kb", sim->memory_mib * 1024 / 4);
    tsql_put_int(f, "committed_target_kb", sim->memory_mib * 1024 * 3 / 4);
    tsql_put_int(f, "bpool_committed", sim->memory_mib * 128 / 4);
    tsql_put_int(f, "bpool_commit_target", sim->memory_mib * 128 * 3 / 4);
    tsql_put_int(f, "stack_size_in_bytes", 2093056);
    tsql_put_int(f, "max_workers_count",
                 512 + (sim->cpu_count > 4 ? (sim->cpu_count - 4) * 16 : 0));
    tsql_put_int(f, "scheduler_count", sim->cpu_count);
    tsql_put_int(f, "process_kernel_time_ms", sim->cpu_kernel_ms + up / 400);
    tsql_put_int(f, "process_user_time_ms", sim->cpu_user_ms + up / 200);
    tsql_put(f, "sqlserver_start_time", sim_time(VT_DATETIME, sim_ticks_local(sim, sim->start_us)));
    tsql_put_int(f, "sqlserver_start_time_ms_ticks", 60000);
    tsql_put_int(f, "time_source", 0);
    tsql_put_int(f, "virtual_machine_type", 1);
    tsql_put_text(f, "virtual_machine_type_desc", "HYPERVISOR");
    tsql_put_int(f, "softnuma_configuration", 0);
    tsql_put_int(f, "socket_count", 1);
    tsql_put_int(f, "cores_per_socket", sim->cpu_count);
    tsql_put_int(f, "numa_node_count", 1);
    tsql_put_int(f, "container_type", 0);
    tsql_put_text(f, "container_type_desc", "NONE");
    pthread_mutex_unlock(&sim->lock);
    return true;
}

static bool fill_process_memory(struct filler *f)
{
    int64_t kb = f->sim->memory_mib * 1024;
    tsql_row(f);
    tsql_put_int(f, "physical_memory_in_use_kb", kb / 4);
    tsql_put_int(f, "large_page_allocations_kb", 0);
    tsql_put_int(f, "locked_page_allocations_kb", 0);
    tsql_put_int(f, "total_virtual_address_space_kb", INT64_C(137438953344));
    tsql_put_int(f, "virtual_address_space_committed_kb", kb / 3);
    tsql_put_int(f, "virtual_address_space_available_kb", INT64_C(137430000000));
    tsql_put_int(f, "page_fault_count", 123456);
    tsql_put_int(f, "memory_utilization_percentage", 100);
    tsql_put_int(f, "available_commit_limit_kb", kb);
    tsql_put_int(f, "process_physical_memory_low", 0);
    tsql_put_int(f, "process_virtual_memory_low", 0);
    return true;
}

static bool fill_sys_memory(struct filler *f)
{
    int64_t kb = f->sim->memory_mib * 1024;
    tsql_row(f);
    tsql_put_int(f, "total_physical_memory_kb", kb);
    tsql_put_int(f, "available_physical_memory_kb", kb / 2);
    tsql_put_int(f, "total_page_file_kb", kb + 4194304);
    tsql_put_int(f, "available_page_file_kb", kb / 2 + 4194304);
    tsql_put_int(f, "system_cache_kb", kb / 8);
    tsql_put_int(f, "kernel_paged_pool_kb", 0);
    tsql_put_int(f, "kernel_nonpaged_pool_kb", 0);
    tsql_put_int(f, "system_high_memory_signal_state", 1);
    tsql_put_int(f, "system_low_memory_signal_state", 0);
    tsql_put_text(f, "system_memory_state_desc", "Available physical memory is high");
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

/* Others' sessions are seen with the right only. */
static bool all_sessions(struct filler *f)
{
    return f->sim->major >= 16 ? sim_may_server(f->session, "VIEW SERVER PERFORMANCE STATE")
                               : sim_may_server(f->session, "VIEW SERVER STATE");
}

static void put_request(struct filler *f, const struct session *s, int64_t now)
{
    bool self = s == f->session;
    tsql_row(f);
    tsql_put_int(f, "session_id", s->spid);
    tsql_put_int(f, "request_id", 0);
    tsql_put(f, "start_time", sim_time(VT_DATETIME, sim_ticks_local(f->sim, s->request_us)));
    tsql_put_text(f, "status", self ? "running" : "suspended");
    tsql_put_text(f, "command", s->command ? s->command : "SELECT");
    const struct sim_db *db = sim_db_find_locked(f->sim, s->database);
    tsql_put_int(f, "database_id", s->command_db ? s->command_db : db ? db->id : 1);
    tsql_put_int(f, "user_id", 1);
    tsql_put_int(f, "blocking_session_id", 0);
    if (!self)
        tsql_put_text(f, "wait_type", "BACKUPIO");
    tsql_put_int(f, "wait_time", self ? 0 : 1);
    tsql_put_text(f, "last_wait_type", self ? "MISCELLANEOUS" : "BACKUPIO");
    tsql_put(f, "percent_complete", sim_float(s->percent));
    tsql_put_int(f, "estimated_completion_time", s->remaining_ms);
    tsql_put_int(f, "cpu_time", s->cpu_ms);
    tsql_put_int(f, "total_elapsed_time", (now - s->request_us) / 1000);
    tsql_put_int(f, "reads", s->reads);
    tsql_put_int(f, "writes", 0);
    tsql_put_int(f, "logical_reads", s->reads);
    tsql_put_int(f, "row_count", 0);
    tsql_put(f, "sql_handle", sim_binary(sim_arena_printf(f->ev->arena, "%020d", s->spid), 20));
    tsql_put(f, "plan_handle", sim_binary(sim_arena_printf(f->ev->arena, "%020d", s->spid), 20));
}

static bool fill_requests(struct filler *f)
{
    bool all = all_sessions(f);
    pthread_mutex_lock(&f->sim->lock);
    int64_t now = sim_now_us_locked(f->sim);
    for (const struct session *s = f->sim->sessions; s; s = s->next)
        if (s == f->session || (all && s->command))
            put_request(f, s, now);
    if (all && f->sim->foreign_backup) {
        const struct sim_db *db = sim_db_find_locked(f->sim, f->sim->foreign_database);
        tsql_row(f);
        tsql_put_int(f, "session_id", 50);
        tsql_put_int(f, "request_id", 0);
        tsql_put(f, "start_time", sim_time(VT_DATETIME, sim_ticks_local(f->sim, now - 60000000)));
        tsql_put_text(f, "status", "suspended");
        tsql_put_text(f, "command", "BACKUP DATABASE");
        tsql_put_int(f, "database_id", db ? db->id : 5);
        tsql_put_text(f, "wait_type", "BACKUPIO");
        tsql_put(f, "percent_complete", sim_float(f->sim->foreign_percent));
        tsql_put_int(f, "estimated_completion_time", 90000);
        tsql_put_int(f, "cpu_time", 4000);
        tsql_put_int(f, "total_elapsed_time", 60000);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_sessions(struct filler *f)
{
    bool all = all_sessions(f);
    pthread_mutex_lock(&f->sim->lock);
    for (const struct session *s = f->sim->sessions; s; s = s->next) {
        if (!s->ready || (s != f->session && !all))
            continue;
        const struct sim_db *db = sim_db_find_locked(f->sim, s->database);
        tsql_row(f);
        tsql_put_int(f, "session_id", s->spid);
        tsql_put(f, "login_time", sim_time(VT_DATETIME, sim_ticks_local(f->sim, s->login_us)));
        tsql_put_text(f, "host_name", s->host);
        tsql_put_text(f, "program_name", s->program);
        tsql_put_text(f, "client_interface_name", s->interface);
        tsql_put_text(f, "login_name", s->login);
        tsql_put_text(f, "original_login_name", s->login);
        tsql_put_text(f, "status", s->command || s == f->session ? "running" : "sleeping");
        tsql_put_int(f, "cpu_time", s->cpu_ms);
        tsql_put_int(f, "memory_usage", 4);
        tsql_put_int(f, "reads", s->reads);
        tsql_put_int(f, "writes", 0);
        tsql_put_int(f, "logical_reads", s->reads);
        tsql_put_int(f, "is_user_process", 1);
        tsql_put_text(f, "language", "us_english");
        tsql_put_int(f, "database_id", db ? db->id : 1);
        tsql_put_int(f, "open_transaction_count", 0);
        tsql_put(f, "last_request_start_time",
                 sim_time(VT_DATETIME, sim_ticks_local(f->sim, s->request_us)));
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_connections(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    for (const struct session *s = f->sim->sessions; s; s = s->next) {
        if (!s->ready)
            continue;
        tsql_row(f);
        tsql_put_int(f, "session_id", s->spid);
        tsql_put_int(f, "most_recent_session_id", s->spid);
        tsql_put(f, "connect_time", sim_time(VT_DATETIME, sim_ticks_local(f->sim, s->login_us)));
        tsql_put_text(f, "net_transport", "TCP");
        tsql_put_text(f, "protocol_type", "TSQL");
        tsql_put_int(f, "protocol_version", s->tds_version);
        tsql_put_text(f, "encrypt_option", s->encrypted ? "TRUE" : "FALSE");
        tsql_put_text(f, "auth_scheme", "SQL");
        tsql_put_int(f, "net_packet_size", (int64_t)s->wire.packet_size);
        tsql_put_text(f, "client_net_address", "127.0.0.1");
        tsql_put_int(f, "client_tcp_port", s->port);
        tsql_put_text(f, "local_net_address", "127.0.0.1");
        tsql_put_int(f, "local_tcp_port", f->sim->port);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static void put_wait(struct filler *f, int i, const struct sim_wait *w, int64_t idle_ms)
{
    tsql_row(f);
    tsql_put_text(f, "wait_type", sim_wait_name(i));
    tsql_put_int(f, "waiting_tasks_count", w->tasks + idle_ms / 1000);
    tsql_put_int(f, "wait_time_ms", w->wait_ms + idle_ms);
    tsql_put_int(f, "max_wait_time_ms", idle_ms ? 1000 : w->max_ms);
    tsql_put_int(f, "signal_wait_time_ms", w->signal_ms);
}

static bool fill_waits(struct filler *f)
{
    int idle = sim_wait_index("SLEEP_TASK"); /* from here on they grow with the time */
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; sim_wait_name(i); i++)
        put_wait(f, i, &f->sim->waits[i], i >= idle ? up_ms(f->sim) : 0);
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_session_waits(struct filler *f)
{
    bool all = all_sessions(f);
    pthread_mutex_lock(&f->sim->lock);
    for (const struct session *s = f->sim->sessions; s; s = s->next)
        for (int i = 0; sim_wait_name(i) && (all || s == f->session); i++)
            if (s->waits[i].tasks) {
                put_wait(f, i, &s->waits[i], 0);
                tsql_put_int(f, "session_id", s->spid);
            }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool arg_matches(const struct filler *f, int i, int64_t v)
{
    return i >= f->arg_count || f->args[i].is_null || f->args[i].i == v;
}

static bool fill_file_stats(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    for (int d = 0; d < f->sim->db_count; d++)
        for (int i = 0; i < f->sim->dbs[d]->file_count; i++) {
            const struct sim_dbfile *x = &f->sim->dbs[d]->files[i];
            if (!arg_matches(f, 0, f->sim->dbs[d]->id) || !arg_matches(f, 1, x->id))
                continue;
            tsql_row(f);
            tsql_put_int(f, "database_id", f->sim->dbs[d]->id);
            tsql_put_int(f, "file_id", x->id);
            tsql_put_int(f, "sample_ms", up_ms(f->sim));
            tsql_put_int(f, "num_of_reads", x->reads);
            tsql_put_int(f, "num_of_bytes_read", x->read_bytes);
            tsql_put_int(f, "io_stall_read_ms", x->read_stall_ms);
            tsql_put_int(f, "io_stall_queued_read_ms", 0);
            tsql_put_int(f, "num_of_writes", x->writes);
            tsql_put_int(f, "num_of_bytes_written", x->write_bytes);
            tsql_put_int(f, "io_stall_write_ms", x->write_stall_ms);
            tsql_put_int(f, "io_stall_queued_write_ms", 0);
            tsql_put_int(f, "io_stall", x->read_stall_ms + x->write_stall_ms);
            tsql_put_int(f, "size_on_disk_bytes",
                         x->sparse ? x->sparse_bytes : x->pages * SIM_PAGE);
            tsql_put(f, "file_handle", sim_binary("\x08\x00", 2));
        }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_volume_stats(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    const struct sim_db *db =
        f->args[0].is_null ? NULL : sim_db_by_id_locked(f->sim, (int)f->args[0].i);
    for (int i = 0; db && i < db->file_count; i++) {
        const struct sim_volume *v = sim_volume_of_locked(f->sim, db->files[i].path);
        if (!v || f->args[1].is_null || f->args[1].i != db->files[i].id)
            continue;
        tsql_row(f);
        tsql_put_int(f, "database_id", db->id);
        tsql_put_int(f, "file_id", db->files[i].id);
        tsql_put_text(f, "volume_mount_point", v->mount);
        tsql_put_text(f, "volume_id",
                      f->sim->windows
                          ? sim_arena_printf(f->ev->arena, "\\\\?\\Volume{%c}\\", v->mount[0])
                          : "");
        tsql_put_text(f, "logical_volume_name", v->name);
        tsql_put_text(f, "file_system_type", f->sim->windows ? "NTFS" : "");
        tsql_put_int(f, "total_bytes", v->total_bytes);
        tsql_put_int(f, "available_bytes", sim_volume_free_locked(f->sim, v));
        tsql_put_int(f, "supports_compression", f->sim->windows);
        tsql_put_int(f, "supports_alternate_streams", f->sim->windows);
        tsql_put_int(f, "supports_sparse_files", 1);
        tsql_put_int(f, "is_read_only", 0);
        tsql_put_int(f, "is_compressed", 0);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_fixed_drives(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->volume_count; i++) {
        const struct sim_volume *v = &f->sim->volumes[i];
        tsql_row(f);
        tsql_put_text(f, "fixed_drive_path", v->mount);
        tsql_put_int(f, "drive_type", 3);
        tsql_put_text(f, "drive_type_desc", "DRIVE_FIXED");
        tsql_put_int(f, "free_space_in_bytes", sim_volume_free_locked(f->sim, v));
    }
    pthread_mutex_unlock(&f->sim->lock);
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

static void put_counter(struct filler *f, const char *object, const char *counter,
                        const char *instance, int64_t value, int type)
{
    const char *slash = strchr(f->sim->server_name, '\\');
    tsql_row(f);
    tsql_put_text(f, "object_name",
                  slash ? sim_arena_printf(f->ev->arena, "MSSQL$%s:%s", slash + 1, object)
                        : sim_arena_printf(f->ev->arena, "SQLServer:%s", object));
    tsql_put_text(f, "counter_name", counter);
    tsql_put_text(f, "instance_name", instance);
    tsql_put_int(f, "cntr_value", value);
    tsql_put_int(f, "cntr_type", type);
}

static bool fill_counters(struct filler *f)
{
    if (!f->sim->performance_counters)
        return true;
    pthread_mutex_lock(&f->sim->lock);
    for (int d = 0; d < f->sim->db_count; d++) {
        const struct sim_db *db = f->sim->dbs[d];
        int64_t bytes = 0;
        for (int i = 0; i < db->file_count; i++)
            bytes += db->files[i].read_bytes;
        put_counter(f, "Databases", "Backup/Restore Throughput/sec", db->name, bytes, 272696576);
        put_counter(f, "Databases", "Data File(s) Size (KB)", db->name, sim_db_pages(db, 0) * 8,
                    65792);
    }
    for (const struct session *s = f->sim->sessions; s; s = s->next)
        if (s->command && sim_text_begins(s->command, "BACKUP"))
            put_counter(f, "Backup Device", "Device Throughput Bytes/sec",
                        sim_arena_printf(f->ev->arena, "{%08X}1", (unsigned)s->spid),
                        (int64_t)(s->percent * 1e6), 272696576);
    put_counter(f, "Memory Manager", "Total Server Memory (KB)", "", f->sim->memory_mib * 256,
                65792);
    put_counter(f, "Memory Manager", "Target Server Memory (KB)", "", f->sim->memory_mib * 768,
                65792);
    put_counter(f, "Buffer Manager", "Page life expectancy", "", up_ms(f->sim) / 1000, 65792);
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_sql_text(struct filler *f)
{
    tsql_row(f);
    tsql_put_text(f, "text", f->session->sql_text ? f->session->sql_text : "");
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
const struct view tsql_dmv_views[] = {
    {"sys", "dm_os_sys_info", 0, "VIEW SERVER STATE", -1,
     "cpu_ticks:b,ms_ticks:b,cpu_count:i,hyperthread_ratio:i,stack_size_in_bytes:i,max_workers_count:i,"
     "scheduler_count:i,process_kernel_time_ms:b@10,process_user_time_ms:b@10,sqlserver_start_time:d@10,"
     "sqlserver_start_time_ms_ticks:b@10,time_source:i@10,physical_memory_kb:b@11,virtual_memory_kb:b@11,"
     "committed_kb:b@11,committed_target_kb:b@11,virtual_machine_type:i@10,virtual_machine_type_desc:n60@10,"
     "softnuma_configuration:i@13,socket_count:i@13,cores_per_socket:i@13,numa_node_count:i@13,"
     "container_type:i@15,container_type_desc:n60@15", fill_sys_info},
    {"sys", "dm_os_process_memory", 10, "VIEW SERVER STATE", -1,
     "physical_memory_in_use_kb:b,large_page_allocations_kb:b,locked_page_allocations_kb:b,"
     "total_virtual_address_space_kb:b,virtual_address_space_committed_kb:b,"
     "virtual_address_space_available_kb:b,page_fault_count:b,memory_utilization_percentage:i,"
     "available_commit_limit_kb:b,process_physical_memory_low:B,process_virtual_memory_low:B", fill_process_memory},
    {"sys", "dm_os_sys_memory", 10, "VIEW SERVER STATE", -1,
     "total_physical_memory_kb:b,available_physical_memory_kb:b,total_page_file_kb:b,"
     "available_page_file_kb:b,system_cache_kb:b,kernel_paged_pool_kb:b,kernel_nonpaged_pool_kb:b,"
     "system_high_memory_signal_state:B,system_low_memory_signal_state:B,system_memory_state_desc:n256", fill_sys_memory},
    {"sys", "dm_os_host_info", 14, NULL, -1,
     "host_platform:n256,host_distribution:n256,host_release:n256,host_service_pack_level:n256,host_sku:i,"
     "os_language_version:i,host_architecture:n256@15", fill_host_info},
    {"sys", "dm_os_windows_info", 10, "VIEW SERVER STATE", -1,
     "windows_release:n256,windows_service_pack_level:n256,windows_sku:i,os_language_version:i", fill_windows_info},
    {"sys", "dm_exec_requests", 0, NULL, -1,
     "session_id:s,request_id:i,start_time:d,status:n30,command:n32,sql_handle:x64,plan_handle:x64,"
     "database_id:s,user_id:i,blocking_session_id:s,wait_type:n60,wait_time:i,last_wait_type:n60,"
     "percent_complete:f,estimated_completion_time:b,cpu_time:i,total_elapsed_time:i,reads:b,writes:b,"
     "logical_reads:b,row_count:b", fill_requests},
    {"sys", "dm_exec_sessions", 0, NULL, -1,
     "session_id:s,login_time:d,host_name:n128,program_name:n128,client_interface_name:n32,"
     "login_name:n128,original_login_name:n128,status:n30,cpu_time:i,memory_usage:i,reads:b,writes:b,"
     "logical_reads:b,is_user_process:B,language:n128,last_request_start_time:d,database_id:s@11,"
     "open_transaction_count:i@11", fill_sessions},
    {"sys", "dm_exec_connections", 0, "VIEW SERVER STATE", -1,
     "session_id:i,most_recent_session_id:i,connect_time:d,net_transport:n40,protocol_type:n40,"
     "protocol_version:i,encrypt_option:n40,auth_scheme:n40,net_packet_size:i,client_net_address:v48,"
     "client_tcp_port:i,local_net_address:v48,local_tcp_port:i", fill_connections},
    {"sys", "dm_exec_session_wait_stats", 13, NULL, -1,
     "session_id:s,wait_type:n60,waiting_tasks_count:b,wait_time_ms:b,max_wait_time_ms:b,signal_wait_time_ms:b", fill_session_waits},
    {"sys", "dm_os_wait_stats", 0, "VIEW SERVER STATE", -1,
     "wait_type:n60,waiting_tasks_count:b,wait_time_ms:b,max_wait_time_ms:b,signal_wait_time_ms:b", fill_waits},
    {"sys", "dm_io_virtual_file_stats", 0, "VIEW SERVER STATE", 2,
     "database_id:s,file_id:s,sample_ms:b,num_of_reads:b,num_of_bytes_read:b,io_stall_read_ms:b,"
     "io_stall_queued_read_ms:b@12,num_of_writes:b,num_of_bytes_written:b,io_stall_write_ms:b,"
     "io_stall_queued_write_ms:b@12,io_stall:b,size_on_disk_bytes:b,file_handle:x8", fill_file_stats},
    {"sys", "dm_os_volume_stats", 10, "VIEW SERVER STATE", 2,
     "database_id:i,file_id:i,volume_mount_point:n512,volume_id:n512,logical_volume_name:n512,"
     "file_system_type:n512,total_bytes:b,available_bytes:b,supports_compression:t,"
     "supports_alternate_streams:t,supports_sparse_files:t,is_read_only:t,is_compressed:t", fill_volume_stats},
    {"sys", "dm_os_enumerate_fixed_drives", 14, "VIEW SERVER STATE", -1,
     "fixed_drive_path:n512,drive_type:i,drive_type_desc:n512,free_space_in_bytes:b", fill_fixed_drives},
    {"sys", "dm_os_file_exists", 14, NULL, 1,
     "file_exists:i,file_is_a_directory:i,parent_directory_exists:i", fill_file_exists},
    {"sys", "dm_os_performance_counters", 0, "VIEW SERVER STATE", -1,
     "object_name:c128,counter_name:c128,instance_name:c128,cntr_value:b,cntr_type:i", fill_counters},
    {"sys", "dm_exec_sql_text", 0, "VIEW SERVER STATE", 1, "dbid:s,objectid:i,text:n4000", fill_sql_text},
    {"sys", "dm_os_schedulers", 0, "VIEW SERVER STATE", -1,
     "parent_node_id:i,scheduler_id:i,cpu_id:s,status:n60,is_online:B", fill_schedulers},
    {NULL, NULL, 0, NULL, 0, NULL, NULL},
};
/* clang-format on */
