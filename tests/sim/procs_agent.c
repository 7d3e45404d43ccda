/* procs_agent.c: msdb's procedures that make jobs of SQL Server Agent, and the rows they leave. No
 * Agent runs them: a test reads a step's command from msdb.dbo.sysjobsteps and does what Agent
 * does. The rows are in tables of msdb that only these procedures and the views see, so that a
 * ROLLBACK brings them back as any others. */
#include <stdlib.h>
#include <string.h>

#include "catalog.h"
#include "procs.h"

struct field {
    const char *parameter; /* with its @; NULL: the procedure fills the column */
    const char *column;    /* NULL: it is not kept */
    enum vt base;
    int length;
    const char *otherwise; /* the default, NULL = null */
};

#define FIELD_MAX 32

struct agent_table {
    const char *name;
    const char *procedure;
    const struct field *fields;
};

/* clang-format off */
static const struct field job_fields[] = {
    {"@job_name", "name", VT_NVARCHAR, 128, NULL},
    {"@enabled", "enabled", VT_TINYINT, 0, "1"},
    {"@description", "description", VT_NVARCHAR, 512, "No description available."},
    {"@start_step_id", "start_step_id", VT_INT, 0, "1"},
    {"@category_name", NULL, VT_NVARCHAR, 128, NULL},
    {"@category_id", "category_id", VT_INT, 0, "0"},
    {"@owner_login_name", NULL, VT_NVARCHAR, 128, NULL},
    {"@notify_level_eventlog", "notify_level_eventlog", VT_INT, 0, "2"},
    {"@notify_level_email", "notify_level_email", VT_INT, 0, "0"},
    {"@notify_level_netsend", "notify_level_netsend", VT_INT, 0, "0"},
    {"@notify_level_page", "notify_level_page", VT_INT, 0, "0"},
    {"@notify_email_operator_name", NULL, VT_NVARCHAR, 128, NULL},
    {"@notify_netsend_operator_name", NULL, VT_NVARCHAR, 128, NULL},
    {"@notify_page_operator_name", NULL, VT_NVARCHAR, 128, NULL},
    {"@delete_level", "delete_level", VT_INT, 0, "0"},
    {"@job_id", "job_id", VT_GUID, 0, NULL},
    {"@originating_server", NULL, VT_NVARCHAR, 128, NULL},
    {NULL, NULL, VT_NULL, 0, NULL},
};
static const struct field step_fields[] = {
    {"@job_id", "job_id", VT_GUID, 0, NULL},
    {"@job_name", NULL, VT_NVARCHAR, 128, NULL},
    {"@step_id", "step_id", VT_INT, 0, NULL},
    {"@step_name", "step_name", VT_NVARCHAR, 128, NULL},
    {"@subsystem", "subsystem", VT_NVARCHAR, 40, "TSQL"},
    {"@command", "command", VT_NVARCHAR, -1, NULL},
    {"@additional_parameters", "additional_parameters", VT_NVARCHAR, -1, NULL},
    {"@cmdexec_success_code", "cmdexec_success_code", VT_INT, 0, "0"},
    {"@on_success_action", "on_success_action", VT_TINYINT, 0, "1"},
    {"@on_success_step_id", "on_success_step_id", VT_INT, 0, "0"},
    {"@on_fail_action", "on_fail_action", VT_TINYINT, 0, "2"},
    {"@on_fail_step_id", "on_fail_step_id", VT_INT, 0, "0"},
    {"@server", "server", VT_NVARCHAR, 128, NULL},
    {"@database_name", "database_name", VT_NVARCHAR, 128, NULL},
    {"@database_user_name", "database_user_name", VT_NVARCHAR, 128, NULL},
    {"@retry_attempts", "retry_attempts", VT_INT, 0, "0"},
    {"@retry_interval", "retry_interval", VT_INT, 0, "0"},
    {"@os_run_priority", "os_run_priority", VT_INT, 0, "0"},
    {"@output_file_name", "output_file_name", VT_NVARCHAR, 200, NULL},
    {"@flags", "flags", VT_INT, 0, "0"},
    {"@proxy_id", "proxy_id", VT_INT, 0, NULL},
    {"@proxy_name", NULL, VT_NVARCHAR, 128, NULL},
    {"@step_uid", "step_uid", VT_GUID, 0, NULL},
    {NULL, NULL, VT_NULL, 0, NULL},
};
static const struct field server_fields[] = {
    {"@job_id", "job_id", VT_GUID, 0, NULL},
    {"@job_name", NULL, VT_NVARCHAR, 128, NULL},
    {"@server_name", NULL, VT_NVARCHAR, 30, "(LOCAL)"},
    {"@automatic_post", NULL, VT_BIT, 0, "1"},
    {NULL, "server_id", VT_INT, 0, "0"},
    {NULL, NULL, VT_NULL, 0, NULL},
};
/* clang-format on */

/* Its names begin with a sign that no view's has. */
static const struct agent_table tables[] = {
    {"$sysjobs", "sp_add_job", job_fields},
    {"$sysjobsteps", "sp_add_jobstep", step_fields},
    {"$sysjobservers", "sp_add_jobserver", server_fields},
};
#define JOBS (&tables[0])
#define STEPS (&tables[1])
#define SERVERS (&tables[2])

static bool is_end(const struct field *field)
{
    return !field->parameter && !field->column;
}

/* --- rows ---------------------------------------------------------------------------------- */

static struct sim_table *find_locked(struct session *s, const struct agent_table *table,
                                     struct sim_db **out_db)
{
    struct name name = {.part = {"msdb", "dbo", table->name}, .count = 3};
    return sim_table_find_locked(s, &name, out_db);
}

/* The table, made when it is not there yet, and noted for a ROLLBACK. */
static struct sim_table *open_locked(struct frame *f, const struct agent_table *table)
{
    struct session *s = f->session;
    struct sim_db *db = NULL;
    struct sim_table *t = find_locked(s, table, &db);
    struct column_def defs[FIELD_MAX];
    int n = 0;

    sim_undo_note_locked(s, db, t, table->name);
    if (t)
        return t;
    for (const struct field *x = table->fields; !is_end(x); x++)
        if (x->column)
            defs[n++] =
                (struct column_def){.name = x->column, .type = sim_type(x->base, x->length)};
    t = sim_table_new(f, defs, n, table->name);
    t->id = s->sim->next_table_id++;
    db->tables = sim_realloc(db->tables, (size_t)(db->table_count + 1) * sizeof(*db->tables));
    db->tables[db->table_count++] = t;
    return t;
}

static void add_row_locked(struct sim_table *t, const struct field *fields,
                           const struct value *values)
{
    struct value *row = sim_alloc((size_t)(t->column_count + 1) * sizeof(*row));
    int c = 0;
    for (int i = 0; !is_end(&fields[i]); i++) {
        if (!fields[i].column)
            continue;
        row[c] = values[i];
        if (values[i].s && !values[i].is_null) {
            char *own = sim_alloc(values[i].len + 1);
            memcpy(own, values[i].s, values[i].len);
            row[c].s = own;
        }
        c++;
    }
    if (t->row_count == t->row_room) {
        t->row_room = t->row_room ? 2 * t->row_room : 4;
        t->rows = sim_realloc(t->rows, (size_t)t->row_room * sizeof(struct value *));
    }
    t->rows[t->row_count++] = row;
}

static int column_of(const struct sim_table *t, const char *column)
{
    for (int c = 0; c < t->column_count; c++)
        if (!strcmp(t->columns[c], column))
            return c;
    return -1;
}

/* How many rows have this value in the column; *out_row is the last of them. */
static int count_locked(struct frame *f, const struct sim_table *t, const char *column,
                        const struct value *v, const struct value **out_row)
{
    int error = 0, found = 0, c = t ? column_of(t, column) : -1;
    for (int i = 0; t && i < t->row_count; i++)
        if (!t->rows[i][c].is_null && sim_compare(f->arena, &t->rows[i][c], v, &error) == 0) {
            *out_row = t->rows[i];
            found++;
        }
    return found;
}

/* --- parameters ---------------------------------------------------------------------------- */

static int index_of(const struct field *fields, const char *parameter)
{
    for (int i = 0; !is_end(&fields[i]); i++)
        if (fields[i].parameter && sim_text_is(fields[i].parameter, parameter))
            return i;
    return -1;
}

/* The values of all fields: given or the default, as long as the parameter is, as any call has it.
 */
static bool bind(struct frame *f, const struct agent_table *table, const struct parameter *params,
                 int n, struct value values[FIELD_MAX])
{
    struct eval ev = {.session = f->session, .frame = f, .arena = f->arena};
    for (int i = 0; !is_end(&table->fields[i]); i++) {
        const struct field *x = &table->fields[i];
        struct type type = sim_type(x->base, x->length);
        struct value text = sim_text(x->otherwise);
        values[i] = sim_null(type);
        if (x->otherwise && !tsql_cast(&ev, &text, type, &values[i]))
            return false;
    }
    for (int k = 0; k < n; k++) {
        int i = *params[k].name ? index_of(table->fields, params[k].name) : k;
        if (i < 0)
            return sim_raise(f->session, 8145, 1, params[k].name, table->procedure, NULL);
        const struct field *x = &table->fields[i];
        if (!tsql_cast(&ev, &params[k].value, sim_type(x->base, x->length), &values[i]))
            return false;
    }
    return true;
}

static struct value *value_of(const struct agent_table *table, struct value *values,
                              const char *parameter)
{
    return &values[index_of(table->fields, parameter)];
}

static bool may_make_jobs(struct session *s, const char *procedure)
{
    static const char *const roles[] = {"SQLAgentUserRole", "SQLAgentReaderRole",
                                        "SQLAgentOperatorRole", "db_owner"};
    for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
        if (sim_in_role(s, "msdb", roles[i]))
            return true;
    return sim_raise(s, 229, 5, "EXECUTE", procedure, "msdb", "dbo", NULL);
}

/* The job that the call names, by id or name; its id is put into values. */
static bool find_job(struct frame *f, const struct agent_table *table, struct value *values)
{
    struct session *s = f->session;
    struct value *id = value_of(table, values, "@job_id");
    const struct value *name = value_of(table, values, "@job_name"), *row = NULL;
    if (id->is_null == name->is_null)
        return sim_raise(s, 14294, 1, "@job_id", "@job_name", NULL);
    const char *column = id->is_null ? "name" : "job_id";
    const struct value *wanted = id->is_null ? name : id;

    pthread_mutex_lock(&s->sim->lock);
    const struct sim_table *jobs = find_locked(s, JOBS, NULL);
    int found = count_locked(f, jobs, column, wanted, &row);
    if (found && id->is_null)
        *id = sim_guid(sim_arena_dupn(f->arena, row[column_of(jobs, "job_id")].s, 16));
    pthread_mutex_unlock(&s->sim->lock);
    if (found)
        return true;
    return sim_raise(s, 14262, 1, id->is_null ? "@job_name" : "@job_id",
                     sim_value_text(f->arena, wanted, 0), NULL);
}

static struct value new_guid(struct frame *f)
{
    uint8_t guid[16];
    pthread_mutex_lock(&f->session->sim->lock);
    sim_fill_guid_locked(f->session->sim, guid);
    pthread_mutex_unlock(&f->session->sim->lock);
    return sim_guid(sim_arena_dupn(f->arena, guid, sizeof guid));
}

/* --- the procedures ------------------------------------------------------------------------ */

bool sim_sp_add_job(struct frame *f, struct parameter *params, int n, int *status)
{
    struct session *s = f->session;
    struct value values[FIELD_MAX] = {{.is_null = true}};
    const struct value *row = NULL;

    *status = 1;
    if (!may_make_jobs(s, JOBS->procedure) || !bind(f, JOBS, params, n, values))
        return false;
    const struct value *name = value_of(JOBS, values, "@job_name");
    if (name->is_null)
        return sim_raise(s, 201, 4, JOBS->procedure, "@job_name", NULL);
    *value_of(JOBS, values, "@job_id") = new_guid(f);
    pthread_mutex_lock(&s->sim->lock);
    bool is_new = !count_locked(f, find_locked(s, JOBS, NULL), "name", name, &row);
    if (is_new)
        add_row_locked(open_locked(f, JOBS), JOBS->fields, values);
    pthread_mutex_unlock(&s->sim->lock);
    if (!is_new)
        return sim_raise(s, 14261, 1, "@name", sim_value_text(f->arena, name, 0), NULL);
    for (int k = 0; k < n; k++)
        if (params[k].output && sim_text_is(params[k].name, "@job_id"))
            params[k].value = *value_of(JOBS, values, "@job_id");
    *status = 0;
    return true;
}

/* On Linux Agent has T-SQL steps only. */
static bool is_subsystem(const struct sim *sim, const char *name)
{
    static const char *const names[] = {"CmdExec",      "PowerShell",      "ANALYSISQUERY", "SSIS",
                                        "Distribution", "ANALYSISCOMMAND", "LogReader",     "Merge",
                                        "QueueReader",  "Snapshot"};
    if (sim_text_is(name, "TSQL"))
        return true;
    for (size_t i = 0; sim->windows && i < sizeof(names) / sizeof(*names); i++)
        if (sim_text_is(name, names[i]))
            return true;
    return false;
}

static bool check_step(struct frame *f, struct value *values)
{
    static const char *const actions[] = {"@on_success_action", "@on_fail_action"};
    struct session *s = f->session;
    if (value_of(STEPS, values, "@step_name")->is_null)
        return sim_raise(s, 201, 4, STEPS->procedure, "@step_name", NULL);
    const struct value *subsystem = value_of(STEPS, values, "@subsystem");
    if (!is_subsystem(s->sim, sim_value_text(f->arena, subsystem, 0)))
        return sim_raise(s, 14234, 1, "@subsystem", "sp_enum_sqlagent_subsystems", NULL);
    for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
        const struct value *action = value_of(STEPS, values, actions[i]);
        if (action->is_null || action->i < 1 || action->i > 4)
            return sim_raise(s, 14266, 1, actions[i], "1, 2, 3, 4", NULL);
    }
    if (sim_text_is(sim_value_text(f->arena, subsystem, 0), "TSQL") &&
        value_of(STEPS, values, "@database_name")->is_null)
        *value_of(STEPS, values, "@database_name") = sim_text_n("master", 128);
    return true;
}

bool sim_sp_add_jobstep(struct frame *f, struct parameter *params, int n, int *status)
{
    struct session *s = f->session;
    struct value values[FIELD_MAX] = {{.is_null = true}};
    const struct value *row = NULL;

    *status = 1;
    if (!may_make_jobs(s, STEPS->procedure) || !bind(f, STEPS, params, n, values) ||
        !find_job(f, STEPS, values) || !check_step(f, values))
        return false;
    struct value *step_id = value_of(STEPS, values, "@step_id");
    *value_of(STEPS, values, "@step_uid") = new_guid(f);
    pthread_mutex_lock(&s->sim->lock);
    struct sim_table *t = open_locked(f, STEPS);
    int64_t next = 1 + count_locked(f, t, "job_id", value_of(STEPS, values, "@job_id"), &row);
    bool is_next = step_id->is_null || step_id->i == next;
    *step_id = sim_int(next);
    if (is_next)
        add_row_locked(t, STEPS->fields, values);
    pthread_mutex_unlock(&s->sim->lock);
    if (!is_next) /* steps are not moved here */
        return sim_raise(s, 14266, 1, "@step_id", sim_num(s, next), NULL);
    *status = 0;
    return true;
}

bool sim_sp_add_jobserver(struct frame *f, struct parameter *params, int n, int *status)
{
    struct session *s = f->session;
    struct value values[FIELD_MAX] = {{.is_null = true}};
    const struct value *row = NULL;

    *status = 1;
    if (!may_make_jobs(s, SERVERS->procedure) || !bind(f, SERVERS, params, n, values) ||
        !find_job(f, SERVERS, values))
        return false;
    const char *server = sim_value_text(f->arena, value_of(SERVERS, values, "@server_name"), 0);
    if (!sim_text_is(server, "(LOCAL)") && !sim_text_is(server, s->sim->server_name))
        return sim_raise(s, 14262, 1, "@server_name", server, NULL);
    const struct value *id = value_of(SERVERS, values, "@job_id");
    pthread_mutex_lock(&s->sim->lock);
    struct sim_table *t = open_locked(f, SERVERS);
    bool is_new = !count_locked(f, t, "job_id", id, &row);
    if (is_new)
        add_row_locked(t, SERVERS->fields, values);
    pthread_mutex_unlock(&s->sim->lock);
    if (!is_new)
        return sim_raise(s, 14269, 1, sim_value_text(f->arena, id, 0), server, NULL);
    *status = 0;
    return true;
}

/* --- the views ----------------------------------------------------------------------------- */

static bool fill(struct filler *f, const struct agent_table *table)
{
    pthread_mutex_lock(&f->sim->lock);
    const struct sim_table *t = find_locked(f->session, table, NULL);
    const struct rowset *rows = t ? tsql_table_rows_locked(f->ev->arena, t, false) : NULL;
    pthread_mutex_unlock(&f->sim->lock);
    for (int i = 0; rows && i < rows->row_count; i++) {
        tsql_row(f);
        for (int c = 0; c < rows->column_count; c++)
            tsql_put(f, rows->columns[c].name, rows->rows[i][c]);
    }
    return true;
}

bool sim_fill_jobs(struct filler *f)
{
    return fill(f, JOBS);
}

bool sim_fill_jobsteps(struct filler *f)
{
    return fill(f, STEPS);
}

bool sim_fill_jobservers(struct filler *f)
{
    return fill(f, SERVERS);
}
