/* undo.c: what ROLLBACK brings back. A table is copied before a transaction's first change. */
#include <stdlib.h>
#include <string.h>

#include "session.h"

struct undo {
    struct undo *next;
    int db_id;
    char *name;
    struct sim_table *copy; /* NULL: it did not exist */
};

static struct sim_table *copy_table(const struct sim_table *t)
{
    struct sim_table *c = sim_alloc(sizeof(*c));
    size_t n = (size_t)t->column_count + 1, rows = (size_t)t->row_count + 1;

    *c = *t;
    c->name = sim_dup(t->name);
    c->columns = sim_alloc(n * sizeof(char *));
    c->types = sim_alloc(n * sizeof(*c->types));
    c->not_null = sim_alloc(n * sizeof(bool));
    c->defaults = sim_alloc(n * sizeof(char *));
    c->rows = sim_alloc(rows * sizeof(struct value *));
    c->row_room = t->row_count + 1;
    for (int i = 0; i < t->column_count; i++) {
        c->columns[i] = sim_dup(t->columns[i]);
        c->types[i] = t->types[i];
        c->not_null[i] = t->not_null[i];
        c->defaults[i] = sim_dup(t->defaults[i]);
    }
    for (int r = 0; r < t->row_count; r++) {
        c->rows[r] = sim_alloc(n * sizeof(struct value));
        for (int i = 0; i < t->column_count; i++) {
            c->rows[r][i] = t->rows[r][i];
            if (t->rows[r][i].s) {
                char *own = sim_alloc(t->rows[r][i].len + 1);
                memcpy(own, t->rows[r][i].s, t->rows[r][i].len);
                c->rows[r][i].s = own;
            }
        }
    }
    return c;
}

void sim_undo_note_locked(struct session *s, struct sim_db *db, const struct sim_table *t,
                          const char *name)
{
    if (!s->transactions || !db)
        return;
    for (const struct undo *u = s->undo; u; u = u->next)
        if (u->db_id == db->id && sim_text_is(u->name, name))
            return;
    struct undo *u = sim_alloc(sizeof(*u));
    u->db_id = db->id;
    u->name = sim_dup(name);
    u->copy = t ? copy_table(t) : NULL;
    u->next = s->undo;
    s->undo = u;
}

static void put_back(struct sim *sim, struct undo *u)
{
    struct sim_db *db = sim_db_by_id_locked(sim, u->db_id);
    for (int i = 0; db && i < db->table_count; i++)
        if (sim_text_is(db->tables[i]->name, u->name)) {
            sim_table_drop_locked(db, db->tables[i]);
            break;
        }
    if (!db || !u->copy)
        return;
    db->tables = sim_realloc(db->tables, (size_t)(db->table_count + 1) * sizeof(*db->tables));
    db->tables[db->table_count++] = u->copy;
    u->copy = NULL;
}

void sim_undo_end_locked(struct session *s, bool restore)
{
    while (s->undo) {
        struct undo *u = s->undo;
        s->undo = u->next;
        if (restore)
            put_back(s->sim, u);
        sim_table_free(u->copy);
        free(u->name);
        free(u);
    }
}
