/* catalog_trace.c: the default trace. It keeps five files, of which the last one is written;
 * reading begins with the file that is named and goes on with the later ones. */
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "others.h"

#define TRACE_FILES 5

enum { EVENT_SERVER = 18, EVENT_DATA_GROWS = 92, EVENT_LOG_GROWS = 93, EVENT_BACKUP = 115 };

static const char *trace_path(struct filler *f, int number)
{
    const char *folder = f->sim->windows ? "C:\\Data\\" : "/var/opt/mssql/log/";
    if (number == 0) /* the name that its maker gave it */
        return sim_arena_printf(f->ev->arena, "%slog.trc", folder);
    return sim_arena_printf(f->ev->arena, "%slog_%d.trc", folder, number);
}

static int first_file(const struct sim *sim)
{
    return sim->trace_number > TRACE_FILES ? sim->trace_number - TRACE_FILES + 1 : 1;
}

static bool fill_traces(struct filler *f)
{
    struct sim *sim = f->sim;

    pthread_mutex_lock(&sim->lock);
    if (sim->config_trace) {
        struct value start = sim_time(VT_DATETIME, sim_ticks_local(sim, sim->trace_start_us));
        tsql_row(f);
        tsql_put_int(f, "id", 1);
        tsql_put_int(f, "status", 1);
        tsql_put_text(f, "path", trace_path(f, sim->trace_number));
        tsql_put_int(f, "max_size", 20);
        tsql_put_int(f, "max_files", TRACE_FILES);
        tsql_put_int(f, "is_rowset", 0);
        tsql_put_int(f, "is_rollover", 1);
        tsql_put_int(f, "is_shutdown", 0);
        tsql_put_int(f, "is_default", 1);
        tsql_put_int(f, "buffer_count", 2);
        tsql_put_int(f, "buffer_size", 1024);
        tsql_put_int(f, "file_position", 1048576);
        tsql_put(f, "start_time", start);
        tsql_put(f, "last_event_time", start);
        tsql_put_int(f, "event_count", sim->growth_count + sim->set_count + 1);
    }
    pthread_mutex_unlock(&sim->lock);
    return true;
}

static void put_event(struct filler *f, int class, int64_t start_ticks)
{
    tsql_row(f);
    tsql_put_int(f, "EventClass", class);
    tsql_put(f, "StartTime", sim_time(VT_DATETIME, start_ticks));
    tsql_put_text(f, "ServerName", f->sim->server_name);
    tsql_put_int(f, "IsSystem", class == EVENT_SERVER);
    tsql_put_int(f, "EventSequence", f->rows->row_count);
    tsql_put_text(f, "LoginName", class == EVENT_SERVER ? "" : "someone_else");
}

static void put_growth(struct filler *f, const struct sim_growth *g)
{
    put_event(f, g->log ? EVENT_LOG_GROWS : EVENT_DATA_GROWS, sim_ticks_local(f->sim, g->start_us));
    tsql_put(f, "EndTime",
             sim_time(VT_DATETIME, sim_ticks_local(f->sim, g->start_us + g->took_us)));
    tsql_put_int(f, "Duration", g->took_us);
    tsql_put_int(f, "IntegerData", g->pages);
    tsql_put_int(f, "DatabaseID", g->database_id);
    tsql_put_text(f, "DatabaseName", g->database);
    tsql_put_text(f, "FileName", g->file);
    tsql_put_int(f, "SPID", 55);
}

static void put_backup(struct filler *f, const struct sim_set *x)
{
    put_event(f, EVENT_BACKUP, x->start_ticks);
    tsql_put_int(f, "EventSubClass", x->type == 'L' ? 3 : 1);
    tsql_put_text(f, "DatabaseName", x->database);
    tsql_put_text(f, "LoginName", x->user);
    tsql_put_int(f, "Success", 1);
}

/* The numbers of the files to read; false when the first one does not exist. */
static bool range_locked(struct filler *f, int *first, int *last)
{
    const char *path = f->args[0].is_null || !f->args[0].s ? "" : f->args[0].s;
    int64_t count = f->args[1].is_null ? 0 : f->args[1].i;

    *last = f->sim->trace_number;
    *first = sim_path_same(f->sim, trace_path(f, 0), path) ? first_file(f->sim) : 0;
    for (int i = first_file(f->sim); i <= *last; i++)
        if (sim_path_same(f->sim, trace_path(f, i), path))
            *first = i;
    if (count > 0 && *first + count - 1 < *last)
        *last = *first + (int)count - 1;
    return *first > 0;
}

static bool fill_trace_table(struct filler *f)
{
    struct sim *sim = f->sim;
    int first = 0, last = 0;

    pthread_mutex_lock(&sim->lock);
    bool known = range_locked(f, &first, &last);
    if (known && last == sim->trace_number)
        put_event(f, EVENT_SERVER, sim_ticks_local(sim, sim->trace_start_us));
    for (int i = 0; known && i < sim->growth_count; i++)
        if (sim->growths[i].trace_file >= first && sim->growths[i].trace_file <= last)
            put_growth(f, &sim->growths[i]);
    for (int i = 0; known && last == sim->trace_number && i < sim->set_count; i++)
        put_backup(f, &sim->sets[i]);
    pthread_mutex_unlock(&sim->lock);
    return known ? true
                 : sim_raise(f->session, 567, 5, f->args[0].s ? f->args[0].s : "(null)", NULL);
}

/* clang-format off */
const struct view tsql_trace_views[] = {
    {"sys", "traces", 0, "ALTER TRACE", -1,
     "id:i,status:i,path:n260,max_size:b,stop_time:d,max_files:i,is_rowset:B,is_rollover:B,is_shutdown:B,"
     "is_default:B,buffer_count:i,buffer_size:i,file_position:b,reader_spid:i,start_time:d,"
     "last_event_time:d,event_count:b,dropped_event_count:i", fill_traces},
    {"sys", "fn_trace_gettable", 0, "ALTER TRACE", 2,
     "TextData:n4000,DatabaseID:i,TransactionID:b,HostName:n256,ApplicationName:n256,LoginName:n256,SPID:i,"
     "Duration:b,StartTime:d,EndTime:d,Reads:b,Writes:b,CPU:i,Severity:i,EventSubClass:i,ObjectID:i,"
     "Success:i,IntegerData:i,ServerName:n256,EventClass:i,State:i,Error:i,ObjectName:n256,"
     "DatabaseName:n256,FileName:n256,SessionLoginName:n256,IsSystem:i,EventSequence:b", fill_trace_table},
    {NULL, NULL, 0, NULL, 0, NULL, NULL},
};
/* clang-format on */
