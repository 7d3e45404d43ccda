/* rows.c: results under construction. */
#include "session.h"

struct rowset *sim_rowset_new(struct arena *arena)
{
    return sim_arena_alloc(arena, sizeof(struct rowset));
}

void sim_rowset_column(struct arena *arena, struct rowset *r, const char *name, struct type type)
{
    r->columns = sim_arena_grow(arena, r->columns, (size_t)r->column_count, sizeof(*r->columns));
    r->columns[r->column_count++] = (struct column){.name = name, .type = type};
}

struct value *sim_rowset_row(struct arena *arena, struct rowset *r)
{
    struct value *row = sim_arena_alloc(arena, (size_t)(r->column_count + 1) * sizeof(*row));
    for (int i = 0; i < r->column_count; i++)
        row[i] = sim_null(r->columns[i].type);
    r->rows = sim_arena_grow(arena, r->rows, (size_t)r->row_count, sizeof(*r->rows));
    r->rows[r->row_count++] = row;
    return row;
}
