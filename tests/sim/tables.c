/* tables.c: CREATE TABLE, INSERT, UPDATE, DELETE, and what a transaction undoes. */
#include <stdlib.h>
#include <string.h>

#include "catalog.h"

static struct sim_db *table_db_locked(struct session *s, const struct name *name)
{
    const char *object = name->part[name->count - 1];
    if (object[0] == '#')
        return sim_db_by_id_locked(s->sim, 2);
    const char *database = name->count > 2 ? name->part[name->count - 3] : NULL;
    return sim_db_find_locked(s->sim, database ? database : s->database);
}

struct sim_table *sim_table_find_locked(struct session *s, const struct name *name,
                                        struct sim_db **out_db)
{
    const char *object = name->part[name->count - 1];
    struct sim_db *db = table_db_locked(s, name);

    if (out_db)
        *out_db = db;
    for (int i = 0; db && i < db->table_count; i++)
        if (sim_text_is(db->tables[i]->name, object) &&
            (!db->tables[i]->owner_spid || db->tables[i]->owner_spid == s->spid ||
             object[1] == '#'))
            return db->tables[i];
    return NULL;
}

static struct value copy_value(struct arena *arena, const struct value *v)
{
    struct value copy = *v;
    if (v->s && !v->is_null)
        copy.s = arena ? sim_arena_dupn(arena, v->s, v->len) : NULL;
    if (!arena && v->s && !v->is_null) {
        char *own = sim_alloc(v->len + 1);
        memcpy(own, v->s, v->len);
        copy.s = own;
    }
    if (v->is_null)
        copy.s = NULL;
    return copy;
}

struct rowset *tsql_table_rows_locked(struct arena *arena, const struct sim_table *t, bool describe)
{
    struct rowset *r = sim_rowset_new(arena);
    for (int c = 0; c < t->column_count; c++)
        sim_rowset_column(arena, r, sim_arena_dup(arena, t->columns[c]), t->types[c]);
    for (int i = 0; i < t->row_count && !describe; i++) {
        struct value *row = sim_rowset_row(arena, r);
        for (int c = 0; c < t->column_count; c++)
            row[c] = copy_value(arena, &t->rows[i][c]);
    }
    return r;
}

static void row_free(const struct sim_table *t, struct value *row)
{
    for (int c = 0; c < t->column_count; c++)
        free((void *)(uintptr_t)row[c].s);
    free(row);
}

void sim_table_free(struct sim_table *t)
{
    if (!t)
        return;
    for (int r = 0; r < t->row_count; r++)
        row_free(t, t->rows[r]);
    for (int c = 0; c < t->column_count; c++) {
        free(t->columns[c]);
        free(t->defaults[c]);
    }
    free(t->columns);
    free(t->defaults);
    free(t->types);
    free(t->not_null);
    free(t->rows);
    free(t->name);
    free(t);
}

void sim_table_drop_locked(struct sim_db *db, struct sim_table *table)
{
    for (int i = 0; i < db->table_count; i++)
        if (db->tables[i] == table) {
            db->tables[i] = db->tables[--db->table_count];
            break;
        }
    sim_table_free(table);
}

struct sim_table *sim_table_new(struct frame *f, const struct column_def *defs, int count,
                                const char *name)
{
    struct sim_table *t = sim_alloc(sizeof(*t));
    size_t n = (size_t)count;

    t->name = sim_dup(name);
    t->column_count = count;
    t->columns = sim_alloc((n + 1) * sizeof(char *));
    t->types = sim_alloc((n + 1) * sizeof(*t->types));
    t->not_null = sim_alloc((n + 1) * sizeof(bool));
    t->defaults = sim_alloc((n + 1) * sizeof(char *));
    t->identity = t->key = -1;
    t->next_identity = 1;
    for (int c = 0; c < count; c++) {
        struct value v = {0};
        t->columns[c] = sim_dup(defs[c].name);
        t->types[c] = defs[c].type;
        t->not_null[c] = defs[c].not_null || defs[c].identity;
        if (defs[c].identity)
            t->identity = c;
        if (defs[c].primary_key)
            t->key = c;
        if (defs[c].default_value && tsql_value(f, defs[c].default_value, &v) && !v.is_null)
            t->defaults[c] = sim_dup(sim_value_text(f->arena, &v, 121));
    }
    return t;
}

bool sim_create_table(struct frame *f, const struct stmt *st)
{
    struct session *s = f->session;
    const char *name = st->name.part[st->name.count - 1];
    struct sim_table *t = sim_table_new(f, st->columns, st->column_count, name);
    struct sim_db *db = NULL;

    t->owner_spid = name[0] == '#' && name[1] != '#' ? s->spid : 0;
    pthread_mutex_lock(&s->sim->lock);
    bool exists = sim_table_find_locked(s, &st->name, &db) != NULL;
    if (!exists && db) {
        sim_undo_note_locked(s, db, NULL, name);
        t->id = s->sim->next_table_id++;
        db->tables = sim_realloc(db->tables, (size_t)(db->table_count + 1) * sizeof(*db->tables));
        db->tables[db->table_count++] = t;
    }
    pthread_mutex_unlock(&s->sim->lock);
    if (!exists && db)
        return true;
    sim_table_free(t);
    return exists ? sim_raise(s, 2714, 6, name, NULL)
                  : sim_raise(s, 911, 1, st->name.part[0], NULL);
}

bool sim_drop_table(struct frame *f, const struct stmt *st)
{
    struct session *s = f->session;
    struct sim_db *db = NULL;

    pthread_mutex_lock(&s->sim->lock);
    struct sim_table *t = sim_table_find_locked(s, &st->name, &db);
    if (t) {
        sim_undo_note_locked(s, db, t, t->name);
        sim_table_drop_locked(db, t);
    }
    pthread_mutex_unlock(&s->sim->lock);
    if (t || st->if_exists)
        return true;
    return sim_raise(s, 3701, 5, "drop", "table", st->name.part[st->name.count - 1], NULL);
}

/* The target of a change: a table variable, or a table under the lock. */
static struct sim_table *target_locked(struct frame *f, const struct name *name)
{
    const char *object = name->part[name->count - 1];
    if (object[0] == '@') {
        const struct variable *v = sim_variable_find(f, object);
        return v ? v->table : NULL;
    }
    struct sim_db *db = NULL;
    struct sim_table *t = sim_table_find_locked(f->session, name, &db);
    if (t)
        sim_undo_note_locked(f->session, db, t, t->name);
    return t;
}

static bool find_columns(struct frame *f, const struct sim_table *t, const struct stmt *st,
                         int *map, int *count)
{
    *count = 0;
    if (!st->name_count) {
        for (int c = 0; c < t->column_count; c++)
            if (c != t->identity)
                map[(*count)++] = c;
        return true;
    }
    for (int i = 0; i < st->name_count; i++) {
        int at = -1;
        for (int c = 0; c < t->column_count; c++)
            if (sim_text_is(t->columns[c], st->names[i]))
                at = c;
        if (at < 0)
            return sim_raise(f->session, 207, 1, st->names[i], NULL);
        map[(*count)++] = at;
    }
    return true;
}

static bool store_value(struct frame *f, const struct sim_table *t, int c, const struct value *v,
                        struct value *out)
{
    struct session *s = f->session;
    struct value in = *v;
    struct type to = t->types[c];

    if (in.is_null && in.type.base == VT_NULL && in.type.length == 1 && t->defaults[c])
        in = sim_text(sim_arena_dup(f->arena, t->defaults[c])); /* DEFAULT */
    if (in.is_null && t->not_null[c])
        return sim_raise(s, 515, 2, t->columns[c], t->name, "INSERT", NULL);
    if (!in.is_null && sim_type_is_text(&to) && sim_type_is_text(&in.type) && to.length > 0 &&
        sim_utf16_len(in.s) > (size_t)to.length)
        return sim_raise(s, 2628, 1, t->name, t->columns[c],
                         sim_utf16_cut(f->arena, in.s, 0, (size_t)to.length), NULL);
    struct value converted = {0};
    int error = sim_convert(f->arena, &in, to, 0, &converted);
    if (error)
        return tsql_conversion_error(s, error, &in, to);
    *out = copy_value(NULL, &converted);
    return true;
}

static bool key_is_taken(struct frame *f, const struct sim_table *t, const struct value *row,
                         const struct value *except)
{
    int error = 0;
    for (int r = 0; t->key >= 0 && r < t->row_count; r++)
        if (t->rows[r] != except &&
            sim_compare(f->arena, &t->rows[r][t->key], &row[t->key], &error) == 0) {
            sim_raise(f->session, 2627, 1, t->name, sim_value_text(f->arena, &row[t->key], 0),
                      NULL);
            return true;
        }
    return false;
}

static bool insert_row(struct frame *f, struct sim_table *t, const struct value *in, const int *map,
                       int count)
{
    struct value *row = sim_alloc((size_t)(t->column_count + 1) * sizeof(*row));
    struct value missing = sim_null(sim_type(VT_NULL, 1));
    bool good = true;

    for (int c = 0; c < t->column_count && good; c++) {
        const struct value *v = &missing;
        struct value identity = sim_bigint(t->next_identity);
        for (int i = 0; i < count; i++)
            if (map[i] == c)
                v = &in[i];
        if (c == t->identity && v == &missing) {
            v = &identity;
            f->session->identity = t->next_identity++;
        }
        row[c] = sim_null(t->types[c]);
        good = store_value(f, t, c, v, &row[c]);
    }
    if (!good || key_is_taken(f, t, row, NULL)) {
        row_free(t, row);
        return false;
    }
    if (t->row_count == t->row_room) {
        t->row_room = t->row_room ? t->row_room * 2 : 8;
        t->rows = sim_realloc(t->rows, (size_t)t->row_room * sizeof(struct value *));
    }
    t->rows[t->row_count++] = row;
    return true;
}

bool sim_insert_rows(struct frame *f, const struct stmt *st, const struct rowset *rows,
                     int64_t *out_count)
{
    struct session *s = f->session;
    int map[1024], count = 0;
    bool good = false;

    pthread_mutex_lock(&s->sim->lock);
    struct sim_table *t = target_locked(f, &st->name);
    if (!t) {
        sim_raise(s, 208, 1, st->name.part[st->name.count - 1], NULL);
    } else if (t->column_count < 1024 && st->name_count < 1024 &&
               find_columns(f, t, st, map, &count)) {
        good = count == rows->column_count;
        if (!good)
            sim_raise(s, 213, 1, NULL);
        int before = t->row_count;
        for (int r = 0; r < rows->row_count && good; r++)
            good = insert_row(f, t, rows->rows[r], map, count);
        while (!good && t->row_count > before)
            row_free(t, t->rows[--t->row_count]);
        *out_count = t->row_count - before;
    }
    pthread_mutex_unlock(&s->sim->lock);
    return good;
}

/* The rows of a change's target, with where they stand in the table. */
static bool matching(struct frame *f, const struct stmt *st, struct eval *ev, struct scope *scope,
                     struct value ***origins, int *count)
{
    struct session *s = f->session;
    pthread_mutex_lock(&s->sim->lock);
    const struct sim_table *t = target_locked(f, &st->name);
    struct rowset *rows = t ? tsql_table_rows_locked(f->arena, t, false) : NULL;
    struct value **where =
        sim_arena_alloc(f->arena, (size_t)((t ? t->row_count : 0) + 1) * sizeof(*where));
    for (int r = 0; t && r < t->row_count; r++)
        where[r] = t->rows[r];
    pthread_mutex_unlock(&s->sim->lock);
    if (!rows)
        return sim_raise(s, 208, 1, st->name.part[st->name.count - 1], NULL);
    scope->sources = sim_arena_alloc(f->arena, sizeof(*scope->sources));
    scope->sources[0] = (struct source){.table = st->name.part[st->name.count - 1], .rows = rows};
    scope->source_count = 1;
    ev->scope = scope;
    if (st->where && !tsql_bind(ev, st->where))
        return false;
    for (int i = 0; i < st->arg_count; i++)
        if (!tsql_bind(ev, st->args[i].value))
            return false;
    for (int r = 0; r < rows->row_count; r++) {
        bool hit = true;
        scope->sources[0].row = rows->rows[r];
        if (st->where && !tsql_true(ev, st->where, &hit))
            return false;
        if (hit) {
            where[*count] = where[r];
            rows->rows[(*count)++] = rows->rows[r];
        }
    }
    *origins = where;
    return true;
}

static int find_row(const struct sim_table *t, const struct value *row)
{
    for (int r = 0; r < t->row_count; r++)
        if (t->rows[r] == row)
            return r;
    return -1;
}

static int column_index(const struct rowset *rows, const char *name)
{
    for (int c = 0; c < rows->column_count; c++)
        if (sim_text_is(rows->columns[c].name, name))
            return c;
    return -1;
}

static bool apply_locked(struct frame *f, struct sim_table *t, struct value *origin,
                         const struct value *row)
{
    int at = t ? find_row(t, origin) : -1;
    if (at < 0)
        return true; /* somebody else has deleted it */
    for (int c = 0; c < t->column_count; c++) {
        struct value v = {0};
        if (!store_value(f, t, c, &row[c], &v))
            return false;
        free((void *)(uintptr_t)origin[c].s);
        origin[c] = v;
    }
    return !key_is_taken(f, t, origin, origin);
}

bool sim_update(struct frame *f, const struct stmt *st, int64_t *out_count)
{
    struct eval ev = {.session = f->session, .frame = f, .arena = f->arena};
    struct scope scope = {0};
    struct value **origins = NULL;
    int count = 0;
    bool good = true;

    if (!matching(f, st, &ev, &scope, &origins, &count))
        return false;
    const struct rowset *rows = scope.sources[0].rows;
    for (int r = 0; r < count && good; r++) {
        struct value *row =
            sim_arena_alloc(f->arena, (size_t)(rows->column_count + 1) * sizeof(*row));
        memcpy(row, rows->rows[r], (size_t)rows->column_count * sizeof(*row));
        scope.sources[0].row = rows->rows[r];
        for (int a = 0; a < st->arg_count && good; a++) {
            int c = column_index(rows, st->args[a].name);
            if (c < 0)
                return sim_raise(f->session, 207, 1, st->args[a].name, NULL);
            good = tsql_eval(&ev, st->args[a].value, &row[c]);
        }
        pthread_mutex_lock(&f->session->sim->lock);
        good = good && apply_locked(f, target_locked(f, &st->name), origins[r], row);
        pthread_mutex_unlock(&f->session->sim->lock);
    }
    *out_count = count;
    return good;
}

bool sim_delete(struct frame *f, const struct stmt *st, int64_t *out_count)
{
    struct eval ev = {.session = f->session, .frame = f, .arena = f->arena};
    struct scope scope = {0};
    struct value **origins = NULL;
    int count = 0;

    if (!matching(f, st, &ev, &scope, &origins, &count))
        return false;
    pthread_mutex_lock(&f->session->sim->lock);
    struct sim_table *t = target_locked(f, &st->name);
    for (int i = 0; i < count && t; i++) {
        int at = find_row(t, origins[i]);
        if (at < 0)
            continue;
        row_free(t, t->rows[at]);
        memmove(&t->rows[at], &t->rows[at + 1], (size_t)(t->row_count - at - 1) * sizeof(*t->rows));
        t->row_count--;
    }
    pthread_mutex_unlock(&f->session->sim->lock);
    *out_count = count;
    return true;
}
