/* catalog.c: from a name in FROM to columns and rows. */
#include "catalog.h"

#include <stdlib.h>
#include <string.h>

#include "others.h"

void tsql_row(struct filler *f)
{
    f->row = sim_rowset_row(f->ev->arena, f->rows);
}

void tsql_put(struct filler *f, const char *column, struct value v)
{
    for (int i = 0; i < f->rows->column_count; i++)
        if (!strcmp(f->rows->columns[i].name, column)) {
            struct type t = f->rows->columns[i].type;
            if (sim_convert(f->ev->arena, &v, t, 0, &f->row[i]))
                f->row[i] = sim_null(t);
            return;
        }
}

void tsql_put_text(struct filler *f, const char *column, const char *text)
{
    if (text)
        tsql_put(f, column, sim_text(sim_arena_dup(f->ev->arena, text)));
}

void tsql_put_int(struct filler *f, const char *column, int64_t v)
{
    tsql_put(f, column, sim_bigint(v));
}

void tsql_put_guid(struct filler *f, const char *column, const uint8_t guid[16])
{
    tsql_put(f, column, sim_guid(sim_arena_dupn(f->ev->arena, guid, 16)));
}

static struct type spec_type(const char *spec)
{
    static const struct {
        char letter;
        enum vt base;
    } letters[] = {{'i', VT_INT},       {'b', VT_BIGINT},    {'s', VT_SMALLINT}, {'t', VT_TINYINT},
                   {'B', VT_BIT},       {'n', VT_NVARCHAR},  {'c', VT_NVARCHAR}, {'v', VT_VARCHAR},
                   {'d', VT_DATETIME},  {'e', VT_DATETIME2}, {'g', VT_GUID},     {'N', VT_DECIMAL},
                   {'x', VT_VARBINARY}, {'V', VT_VARIANT},   {'f', VT_FLOAT}};
    int n = (int)strtol(spec + 1, NULL, 10);
    for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++)
        if (letters[i].letter == *spec) {
            struct type t = sim_type(letters[i].base, n);
            if (t.base == VT_DECIMAL)
                return sim_type_decimal(n ? n : 25, 0);
            t.fixed = *spec == 'c';
            return t;
        }
    return sim_type(VT_INT, 0);
}

/* Whether the version at the mark ('@' or '<') of a column is reached; absent = `otherwise`. */
static bool reached(const struct sim *sim, const char *spec, size_t len, char mark, bool otherwise)
{
    const char *at = memchr(spec, mark, len);
    char *end = NULL;
    if (!at)
        return otherwise;
    int version = (int)strtol(at + 1, &end, 10);
    return sim_is_since(sim, version, *end == '.' ? (int)strtol(end + 1, NULL, 10) : 0);
}

static bool has_column(const struct sim *sim, const char *spec, size_t len)
{
    return reached(sim, spec, len, '@', true) && !reached(sim, spec, len, '<', false);
}

static void add_columns(struct eval *ev, const struct view *view, struct rowset *rows)
{
    const char *p = view->columns;
    while (*p) {
        size_t whole = strcspn(p, ","), name = strcspn(p, ":");
        if (has_column(ev->session->sim, p, whole))
            sim_rowset_column(ev->arena, rows, sim_arena_dupn(ev->arena, p, name),
                              spec_type(p + name + 1));
        p += whole + (p[whole] == ',');
    }
}

static const struct view *find_view(const struct session *s, const char *schema, const char *name,
                                    bool is_call)
{
    const struct view *const tables[] = {tsql_sys_views,  tsql_dmv_views,  tsql_msdb_views,
                                         tsql_db_views,   tsql_hadr_views, tsql_os_views,
                                         tsql_trace_views};
    for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++)
        for (const struct view *v = tables[t]; v->name; v++)
            if (sim_text_is(v->schema, schema) && sim_text_is(v->name, name) &&
                sim_is_since(s->sim, v->since, 0) && (v->args >= 0) == is_call)
                return v;
    return NULL;
}

static const char *dotted(struct arena *arena, const struct name *n)
{
    struct bytes b = {0};
    for (int i = 0; i < n->count; i++)
        sim_bytes_printf(&b, "%s%s", i ? "." : "", n->part[i] ? n->part[i] : "");
    char *text = sim_arena_dup(arena, sim_bytes_str(&b));
    sim_bytes_fini(&b);
    return text;
}

static const char *upper(struct arena *arena, const char *name)
{
    char *text = sim_arena_printf(arena, "SYS.%s", name);
    if (sim_text_begins(name, "fn_"))
        text += 4; /* a function's name stands alone in the message */
    for (char *p = text; *p; p++)
        *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    return text;
}

/* Severities as a reader without the right sees them: 300 (which right), then 297. */
static bool refuse_view(struct session *s, const struct view *v)
{
    if (!strcmp(v->schema, "dbo"))
        return sim_raise(s, 229, 5, "SELECT", v->name, "msdb", "dbo", NULL);
    const char *right = v->right;
    if (!strcmp(right, "ALTER TRACE"))
        return sim_raise(s, 8189, 10, upper(&s->arena, v->name), NULL);
    if (sim_text_is(right, "VIEW SERVER STATE") && s->sim->major >= 16)
        right = "VIEW SERVER PERFORMANCE STATE";
    sim_raise(s, 300, 1, right, "server", "master", NULL);
    return sim_raise(s, 297, 1, NULL);
}

static bool may_read(struct session *s, const struct view *v)
{
    if (!strcmp(v->schema, "dbo"))
        return sim_may_select_msdb(s);
    if (!v->right)
        return true;
    if (sim_text_is(v->right, "VIEW SERVER STATE") && s->sim->major >= 16)
        return sim_may_server(s, "VIEW SERVER PERFORMANCE STATE") &&
               !sim_refused(s, "VIEW SERVER STATE");
    return sim_may_server(s, v->right);
}

static bool fill_view(struct eval *ev, const struct view *v, const struct from *from,
                      const char *database, bool describe, struct value *args, struct rowset **out)
{
    struct session *s = ev->session;
    struct rowset *rows = sim_rowset_new(ev->arena);

    if (v->args >= 0 && from->arg_count != v->args)
        return sim_raise_text(
            s, 313, 16, 3,
            sim_arena_printf(ev->arena,
                             "An insufficient number of arguments were supplied for "
                             "the procedure or function %s.",
                             v->name));
    add_columns(ev, v, rows);
    *out = rows;
    if (describe)
        return true;
    if (!may_read(s, v))
        return refuse_view(s, v);
    pthread_mutex_lock(&s->sim->lock);
    sim_moments_run_locked(s->sim, 0, 0);
    pthread_mutex_unlock(&s->sim->lock);
    struct filler f = {.ev = ev,
                       .session = s,
                       .sim = s->sim,
                       .rows = rows,
                       .args = args,
                       .arg_count = from->arg_count,
                       .database = database};
    return v->fill(&f);
}

static bool variable_table(struct eval *ev, const char *name, bool describe, struct rowset **out)
{
    const struct variable *v = sim_variable_find(ev->frame, name);
    if (!v || !v->table)
        return sim_raise_text(
            ev->session, 1087, 15, 2,
            sim_arena_printf(ev->arena, "Must declare the table variable \"%s\".", name));
    *out = tsql_table_rows_locked(ev->arena, v->table, describe);
    return true;
}

/* Its own database is entered already; another one may refuse. */
static bool may_enter(struct session *s, const struct name *n, const char *database)
{
    const char *real = NULL;
    if (n->count > 2 && n->part[n->count - 3] && !sim_text_is(database, s->database))
        return sim_database_open(s, database, &real);
    if (!sim_may_enter(s, database))
        return sim_raise(s, 916, 2, s->login, database, NULL);
    return true;
}

bool tsql_table(struct eval *ev, const struct from *f, bool describe, struct value *args,
                struct rowset **out)
{
    struct session *s = ev->session;
    struct sim *sim = s->sim;
    const struct name *n = &f->name;
    const char *name = n->part[n->count - 1];
    const char *schema = n->count > 1 ? n->part[n->count - 2] : NULL;
    const char *database = n->count > 2 ? n->part[n->count - 3] : NULL;
    const char *missing = dotted(ev->arena, n);
    const struct view *view = NULL;

    if (!name)
        return sim_raise(s, 208, 1, missing, NULL);
    if (name[0] == '@')
        return variable_table(ev, name, describe, out);
    if (!database)
        database = sim_arena_dup(ev->arena, s->database);
    pthread_mutex_lock(&sim->lock);
    const struct sim_db *db = sim_db_find_locked(sim, database);
    bool known = db != NULL;
    if (db)
        database = sim_arena_dup(ev->arena, db->name);
    pthread_mutex_unlock(&sim->lock);
    if (!known || n->count > 3)
        return sim_raise(s, known ? 208 : 911, 1, known ? missing : database, NULL);
    if (!may_enter(s, n, database))
        return false;
    if (sim_fault_is_set(sim, SIM_HIDE, name))
        return sim_raise(s, 208, 1, missing, NULL);
    bool msdb = sim_text_is(database, "msdb") && (!schema || sim_text_is(schema, "dbo"));
    bool old = !schema || (sim_text_is(schema, "dbo") && sim_text_is(database, "master"));
    if (schema && !sim_text_is(schema, "dbo"))
        view = find_view(s, schema, name, f->is_call);
    else if (msdb)
        view = find_view(s, "dbo", name, f->is_call);
    if (!view && !schema && sim_text_begins(name, "fn_"))
        view = find_view(s, "sys", name, f->is_call);
    if (!view && old && sim_text_begins(name, "sys")) /* sysdatabases, syslanguages … */
        view = find_view(s, "sys", name, f->is_call);
    if (view)
        return fill_view(ev, view, f, database, describe, args, out);
    pthread_mutex_lock(&sim->lock);
    const struct sim_table *table = f->is_call ? NULL : sim_table_find_locked(s, n, NULL);
    if (table)
        *out = tsql_table_rows_locked(ev->arena, table, describe);
    pthread_mutex_unlock(&sim->lock);
    return table ? true : sim_raise(s, 208, 1, missing, NULL);
}
