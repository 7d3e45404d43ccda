/* catalog_dmv.c: dynamic management views. */
#include <string.h>

#include "catalog.h"
#include "others.h"

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

static void put_foreign(struct filler *f, const struct sim_foreign *x, int64_t now)
{
    const struct sim_db *db = sim_db_find_locked(f->sim, x->database);
    int64_t left = x->end_us ? (x->end_us - now) / 1000 : 90000;

    tsql_row(f);
    tsql_put_int(f, "session_id", x->spid);
    tsql_put_int(f, "request_id", 0);
    tsql_put(f, "start_time", sim_time(VT_DATETIME, sim_ticks_local(f->sim, x->start_us)));
    tsql_put_text(f, "status", "suspended");
    tsql_put_text(f, "command", sim_foreign_command(x->kind));
    tsql_put_int(f, "database_id", db ? db->id : 1);
    tsql_put_int(f, "user_id", 1);
    tsql_put_int(f, "blocking_session_id", 0);
    tsql_put_text(f, "wait_type", sim_foreign_wait(x->kind));
    tsql_put_text(f, "last_wait_type", sim_foreign_wait(x->kind));
    tsql_put_int(f, "wait_time", 3);
    tsql_put(f, "percent_complete", sim_float(sim_foreign_percent(x, now)));
    tsql_put_int(f, "estimated_completion_time", left > 0 ? left : 0);
    tsql_put_int(f, "cpu_time", (now - x->start_us) / 15000);
    tsql_put_int(f, "total_elapsed_time", (now - x->start_us) / 1000);
    tsql_put_int(f, "reads", 0);
    tsql_put_int(f, "writes", 0);
    tsql_put_int(f, "logical_reads", 0);
    tsql_put_int(f, "row_count", 0);
}

static bool fill_requests(struct filler *f)
{
    bool all = all_sessions(f);
    pthread_mutex_lock(&f->sim->lock);
    int64_t now = sim_now_us_locked(f->sim);
    for (const struct session *s = f->sim->sessions; s; s = s->next)
        if (s == f->session || (all && s->command))
            put_request(f, s, now);
    for (int i = 0; all && i < f->sim->foreign_count; i++)
        if (!f->sim->foreigns[i].ended)
            put_foreign(f, &f->sim->foreigns[i], now);
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

/* A session of somebody else: it runs a request, or sits in a database. */
static void put_stranger(struct filler *f, int spid, const struct sim_db *db, bool runs)
{
    tsql_row(f);
    tsql_put_int(f, "session_id", spid);
    tsql_put(f, "login_time", sim_time(VT_DATETIME, sim_ticks_local(f->sim, f->sim->start_us)));
    tsql_put_text(f, "host_name", "ELSEWHERE");
    tsql_put_text(f, "program_name", "Microsoft SQL Server Management Studio - Query");
    tsql_put_text(f, "client_interface_name", ".Net SqlClient Data Provider");
    tsql_put_text(f, "login_name", "someone_else");
    tsql_put_text(f, "original_login_name", "someone_else");
    tsql_put_text(f, "status", runs ? "running" : "sleeping");
    tsql_put_int(f, "is_user_process", 1);
    tsql_put_text(f, "language", "us_english");
    tsql_put_int(f, "database_id", db ? db->id : 1);
    tsql_put_int(f, "open_transaction_count", 0);
}

static void put_strangers(struct filler *f)
{
    for (int i = 0; i < f->sim->foreign_count; i++) {
        const struct sim_foreign *x = &f->sim->foreigns[i];
        if (!x->ended)
            put_stranger(f, x->spid, sim_db_find_locked(f->sim, x->database), true);
    }
    for (int i = 0; i < f->sim->db_count; i++)
        if (f->sim->dbs[i]->held_by)
            put_stranger(f, f->sim->dbs[i]->held_by, f->sim->dbs[i], false);
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
    if (all)
        put_strangers(f);
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
        put_wait(f, i, &f->sim->waits[i], i >= idle ? tsql_up_ms_locked(f->sim) : 0);
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
            tsql_put_int(f, "sample_ms", tsql_up_ms_locked(f->sim));
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

/* What a log backup would take, or what runs now holds. */
static int64_t used_log_kib(const struct sim_db *db)
{
    return 8 * (db->log_pages > db->active_pages ? db->log_pages : db->active_pages);
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
        put_counter(f, "Databases", "Log File(s) Size (KB)", db->name, sim_db_pages(db, 1) * 8,
                    65792);
        put_counter(f, "Databases", "Log File(s) Used Size (KB)", db->name, used_log_kib(db),
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
    put_counter(f, "Buffer Manager", "Page life expectancy", "", tsql_up_ms_locked(f->sim) / 1000,
                65792);
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_sql_text(struct filler *f)
{
    tsql_row(f);
    tsql_put_text(f, "text", f->session->sql_text ? f->session->sql_text : "");
    return true;
}

/* clang-format off */
const struct view tsql_dmv_views[] = {
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
     "database_id:s,file_id:s<10,file_id:i@10,sample_ms:b,num_of_reads:b,num_of_bytes_read:b,io_stall_read_ms:b,"
     "io_stall_queued_read_ms:b@12,num_of_writes:b,num_of_bytes_written:b,io_stall_write_ms:b,"
     "io_stall_queued_write_ms:b@12,io_stall:b,size_on_disk_bytes:b,file_handle:x8", fill_file_stats},
    {"sys", "dm_os_performance_counters", 0, "VIEW SERVER STATE", -1,
     "object_name:c128,counter_name:c128,instance_name:c128,cntr_value:b,cntr_type:i", fill_counters},
    {"sys", "dm_exec_sql_text", 0, "VIEW SERVER STATE", 1, "dbid:s,objectid:i,text:n4000", fill_sql_text},
    {NULL, NULL, 0, NULL, 0, NULL, NULL},
};
/* clang-format on */
