/* procs.c: stored procedures: dynamic SQL, prepared statements, settings. */
#include <stdlib.h>
#include <string.h>

#include "applock.h"

const char *sim_parameter_text(struct frame *f, const struct parameter *p)
{
    return p->value.is_null ? "" : sim_value_text(f->arena, &p->value, 0);
}

static bool bind_parameters(struct frame *child, const char *declared, struct parameter *params,
                            int n, const char *statement)
{
    struct session *s = child->session;
    struct parser p = {.arena = child->arena, .batch = declared};
    struct eval ev = {.session = s, .frame = child, .arena = child->arena};
    int count = 0;
    struct column_def *defs = tsql_parse_parameters(&p, &count);

    if (p.error)
        return sim_raise(s, p.error, 1, p.error_text, NULL);
    for (int i = 0; i < count; i++) {
        const struct parameter *given = NULL;
        for (int k = 0; k < n; k++)
            if (*params[k].name ? sim_text_is(params[k].name, defs[i].name) : k == i)
                given = &params[k];
        struct variable *v = sim_variable_add(child, defs[i].name, defs[i].type);
        v->output = defs[i].identity;
        if (given && !tsql_cast(&ev, &given->value, defs[i].type, &v->value))
            return false;
        if (!given)
            return sim_raise(s, 8178, 1,
                             sim_arena_printf(child->arena, "(%s)%s", declared, statement),
                             defs[i].name, NULL);
    }
    for (int k = 0; k < n; k++) {
        bool known = !*params[k].name && k < count;
        for (int i = 0; i < count; i++)
            known = known || sim_text_is(params[k].name, defs[i].name);
        if (!known)
            return *params[k].name ? sim_raise(s, 8145, 2, params[k].name, "", NULL)
                                   : sim_raise(s, 8144, 2, "", NULL);
    }
    return true;
}

static bool run_dynamic(struct frame *f, const char *text, const char *declared,
                        struct parameter *params, int n)
{
    struct session *s = f->session;
    struct frame child = {
        .session = s, .parent = f, .arena = f->arena, .batch = text, .in_procedure = true};
    const char *statement = s->statement;
    int error = s->error;

    bool good = bind_parameters(&child, declared, params, n, text);
    if (good) {
        s->error = 0;
        enum flow flow = sim_run_text(&child, text);
        good = flow != FLOW_CATCH && !s->attention && s->error == 0;
        if (good)
            s->error = error;
    }
    for (int i = 0; i < child.variable_count; i++)
        for (int k = 0; k < n; k++)
            if (params[k].output && child.variables[i].output &&
                (*params[k].name ? sim_text_is(params[k].name, child.variables[i].name) : k == i))
                params[k].value = child.variables[i].value;
    sim_frame_fini(&child);
    s->statement = statement;
    return good;
}

static bool sp_executesql(struct frame *f, struct parameter *params, int n, int *status)
{
    struct session *s = f->session;
    if (!n || (!params[0].value.is_null && !sim_type_is_text(&params[0].value.type)))
        return sim_raise(s, 214, 2, "@statement", "ntext/nchar/nvarchar", NULL);
    bool good = run_dynamic(f, sim_parameter_text(f, &params[0]),
                            n > 1 ? sim_parameter_text(f, &params[1]) : "",
                            params + (n > 1 ? 2 : n), n > 2 ? n - 2 : 0);
    *status = good ? 0 : s->error;
    return good;
}

static struct prepared *add_prepared(struct session *s, const char *text, const char *declared)
{
    s->prepared = sim_realloc(s->prepared, (size_t)(s->prepared_count + 1) * sizeof(*s->prepared));
    struct prepared *p = &s->prepared[s->prepared_count++];
    *p = (struct prepared){
        .handle = ++s->next_handle, .text = sim_dup(text), .parameters = sim_dup(declared)};
    return p;
}

static struct prepared *find_prepared(struct session *s, int64_t handle)
{
    for (int i = 0; i < s->prepared_count; i++)
        if (s->prepared[i].handle == handle)
            return &s->prepared[i];
    return NULL;
}

/* Columns of a lone SELECT, as sp_prepare tells them. */
static void describe(struct frame *f, const char *text, const char *declared)
{
    struct session *s = f->session;
    struct parser p = {.arena = f->arena, .batch = text},
                  d = {.arena = f->arena, .batch = declared};
    struct frame child = {.session = s, .arena = f->arena, .batch = text, .in_procedure = true};
    struct rowset *rows = NULL;
    struct stmt *st = tsql_parse(&p);
    int count = 0;
    struct column_def *defs = tsql_parse_parameters(&d, &count);

    if (!st || st->kind != S_SELECT || st->next || (count && !defs))
        return;
    for (int i = 0; i < count; i++)
        (void)sim_variable_add(&child, defs[i].name, defs[i].type);
    s->try_depth++; /* errors come when it is executed */
    if (tsql_query(&child, st->select, NULL, true, &rows)) {
        sim_reply_rows(s, rows);
        sim_reply_done(s, DONE_IN_PROC, DONE_COUNT, 0xC1, 0);
    }
    s->try_depth--;
    s->caught = false;
    s->error = 0;
}

static bool sp_prepare(struct frame *f, struct parameter *params, int n, int *status)
{
    struct session *s = f->session;
    if (n < 3)
        return sim_raise(s, 201, 4, "sp_prepare", "@stmt", NULL);
    const char *text = sim_parameter_text(f, &params[2]);
    struct parser p = {.arena = f->arena, .batch = text};
    (void)tsql_parse(&p);
    if (p.error) {
        sim_raise(s, p.error, 1, p.error_text, NULL);
        *status = 1;
        return sim_raise(s, 8180, 1, NULL);
    }
    params[0].value = sim_int(add_prepared(s, text, sim_parameter_text(f, &params[1]))->handle);
    describe(f, text, sim_parameter_text(f, &params[1]));
    return true;
}

static bool sp_execute(struct frame *f, struct parameter *params, int n, int *status)
{
    struct session *s = f->session;
    const struct prepared *p = n ? find_prepared(s, params[0].value.i) : NULL;
    if (!p)
        return sim_raise(s, 8179, 2, sim_num(s, n ? params[0].value.i : 0), NULL);
    bool good = run_dynamic(f, sim_arena_dup(f->arena, p->text),
                            sim_arena_dup(f->arena, p->parameters), params + 1, n - 1);
    *status = good ? 0 : s->error;
    return good;
}

static bool sp_prepexec(struct frame *f, struct parameter *params, int n, int *status)
{
    struct session *s = f->session;
    if (n < 3)
        return sim_raise(s, 201, 4, "sp_prepexec", "@stmt", NULL);
    const char *text = sim_parameter_text(f, &params[2]),
               *declared = sim_parameter_text(f, &params[1]);
    params[0].value = sim_int(add_prepared(s, text, declared)->handle);
    bool good = run_dynamic(f, text, declared, params + 3, n - 3);
    *status = good ? 0 : s->error;
    return good;
}

static bool sp_unprepare(struct frame *f, struct parameter *params, int n, int *status)
{
    struct session *s = f->session;
    struct prepared *p = n ? find_prepared(s, params[0].value.i) : NULL;
    (void)status;
    if (!p)
        return sim_raise(s, 8179, 3, sim_num(s, n ? params[0].value.i : 0), NULL);
    free(p->text);
    free(p->parameters);
    *p = s->prepared[--s->prepared_count];
    return true;
}

static bool sp_nothing(struct frame *f, struct parameter *params, int n, int *status)
{
    (void)f;
    (void)params;
    (void)n;
    (void)status;
    return true;
}

static bool sp_reset(struct frame *f, struct parameter *params, int n, int *status)
{
    (void)params;
    (void)n;
    (void)status;
    sim_session_reset(f->session);
    return true;
}

static bool sp_configure(struct frame *f, struct parameter *params, int n, int *status)
{
    struct session *s = f->session;
    struct sim *sim = s->sim;
    struct {
        const char *name;
        int *slot;
    } rows[] = {{"backup compression default", &sim->config_compression},
                {"backup checksum default", &sim->config_checksum},
                {"backup compression algorithm", &sim->config_algorithm},
                {"default trace enabled", &sim->config_trace},
                {"external rest endpoint enabled", &sim->config_rest}};
    const char *name = n ? sim_parameter_text(f, &params[0]) : "";
    if (n == 2 && !sim_may_server(s, "ALTER SETTINGS") && !s->sysadmin) {
        *status = 1;
        return sim_raise(s, 15247, 1, NULL);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && n == 2; i++)
        if (sim_text_is(rows[i].name, name) &&
            (rows[i].slot != &sim->config_rest || sim->major >= 17)) {
            pthread_mutex_lock(&sim->lock);
            int old = *rows[i].slot;
            *rows[i].slot = (int)params[1].value.i;
            pthread_mutex_unlock(&sim->lock);
            sim_raise(s, 15457, 1, rows[i].name, sim_num(s, old), sim_num(s, params[1].value.i),
                      NULL);
            return true;
        }
    if (sim_text_is(name, "show advanced options"))
        return true;
    *status = 1;
    return sim_raise(s, 15123, 1, name, NULL);
}

static bool xp_cmdshell(struct frame *f, struct parameter *params, int n, int *status)
{
    (void)params;
    (void)n;
    *status = 1;
    return sim_raise(f->session, 15281, 1, "procedure", "sys.xp_cmdshell", "xp_cmdshell", NULL);
}

static bool xp_instance_regread(struct frame *f, struct parameter *params, int n, int *status)
{
    (void)params;
    (void)n;
    *status = 2;
    sim_raise(f->session, 22001, 1, NULL);
    return true;
}

static bool sp_delete_history(struct frame *f, struct parameter *params, int n, int *status)
{
    struct sim *sim = f->session->sim;
    (void)status;
    if (!sim_in_role(f->session, "msdb", "db_owner"))
        return sim_raise(f->session, 229, 5, "EXECUTE", "sp_delete_database_backuphistory", "msdb",
                         "dbo", NULL);
    pthread_mutex_lock(&sim->lock);
    for (int i = 0; n && i < sim->set_count; i++)
        if (sim_text_is(sim->sets[i].database, sim_parameter_text(f, &params[0])))
            sim_replace(&sim->sets[i].database, "(deleted)");
    pthread_mutex_unlock(&sim->lock);
    return true;
}

static const struct procedure procedures[] = {
    {"sp_executesql", 0, sp_executesql},
    {"sp_prepare", 0, sp_prepare},
    {"sp_execute", 0, sp_execute},
    {"sp_prepexec", 0, sp_prepexec},
    {"sp_unprepare", 0, sp_unprepare},
    {"sp_reset_connection", 0, sp_reset},
    {"sp_configure", 0, sp_configure},
    {"sp_getapplock", 0, sim_sp_getapplock},
    {"sp_releaseapplock", 0, sim_sp_releaseapplock},
    {"sp_set_session_context", 13, sp_nothing},
    {"sp_delete_database_backuphistory", 0, sp_delete_history},
    {"sp_invoke_external_rest_endpoint", 17, sim_sp_invoke_rest},
    {"sp_add_job", 0, sim_sp_add_job},
    {"sp_add_jobstep", 0, sim_sp_add_jobstep},
    {"sp_add_jobserver", 0, sim_sp_add_jobserver},
    {"xp_fixeddrives", 0, sim_xp_fixeddrives},
    {"xp_fileexist", 0, sim_xp_fileexist},
    {"xp_dirtree", 0, sim_xp_dirtree},
    {"xp_delete_file", 0, sim_xp_delete_file},
    {"xp_delete_files", 15, sim_xp_delete_files},
    {"xp_instance_regread", 0, xp_instance_regread},
    {"xp_regread", 0, xp_instance_regread},
    {"xp_cmdshell", 0, xp_cmdshell},
};

static const struct procedure controls[] = {
    {"control", 0, sim_proc_control},
    {"files", 0, sim_proc_control_files},
    {"statements", 0, sim_proc_control_statements},
};

static const char *dotted(struct arena *arena, const struct name *n)
{
    struct bytes b = {0};
    for (int i = 0; i < n->count; i++)
        sim_bytes_printf(&b, "%s%s", i ? "." : "", n->part[i] ? n->part[i] : "");
    char *text = sim_arena_dup(arena, sim_bytes_str(&b));
    sim_bytes_fini(&b);
    return text;
}

bool sim_call(struct frame *f, const struct name *name, struct parameter *params, int n,
              int *status)
{
    struct session *s = f->session;
    const char *bare = name->part[name->count - 1], *outer = s->procedure;
    const char *outer_database = s->procedure_database;
    const char *database = name->count > 2 ? name->part[name->count - 3] : NULL;
    const struct procedure *p = NULL;
    bool own = database && sim_text_is(database, "sweetspot_sim");

    for (size_t i = 0; own && i < sizeof(controls) / sizeof(*controls); i++)
        if (sim_text_is(controls[i].name, bare))
            p = &controls[i];
    for (size_t i = 0; !own && i < sizeof(procedures) / sizeof(*procedures); i++)
        if (sim_text_is(procedures[i].name, bare) && s->sim->major >= procedures[i].since)
            p = &procedures[i];
    /* those of jobs are no system procedures: they are in msdb alone */
    if (sim_text_begins(bare, "sp_add_job") &&
        !sim_text_is(database ? database : s->database, "msdb"))
        p = NULL;
    if (!p || sim_fault_is_set(s->sim, SIM_HIDE, bare))
        return sim_raise(s, 2812, 62, dotted(f->arena, name), NULL);
    if (!own && !sim_may_execute(s, bare))
        return sim_raise(s, 229, 5, "EXECUTE", bare, "mssqlsystemresource", "sys", NULL);
    if (sim_text_begins(bare, "xp_"))
        s->procedure = bare;
    s->procedure_database = database;
    bool good = p->call(f, params, n, status);
    s->procedure_database = outer_database;
    s->procedure = outer;
    return good;
}
