#include "server/rows.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

static char **text_at(void *row, const struct row_field *field)
{
    return (char **)(void *)((char *)row + field->offset);
}

void row_read(const struct row_shape *shape, const struct db_use *use, int columns, void *out_row)
{
    memset(out_row, 0, shape->size);
    for (int i = 0; i < columns; i++) {
        const struct row_field *field = &shape->fields[i];
        void *member = (char *)out_row + field->offset;
        switch (field->type) {
        case ROW_TEXT:
            *text_at(out_row, field) = db_take_text(use, i);
            break;
        case ROW_INT:
            *(int64_t *)member = db_int(use, i);
            break;
        case ROW_BOOL:
            *(bool *)member = db_int(use, i) != 0;
            break;
        }
    }
}

void row_bind(const struct row_shape *shape, struct db_use *use, int count, const void *row)
{
    for (int i = 0; i < count; i++) {
        const struct row_field *field = &shape->fields[i];
        const void *member = (const char *)row + field->offset;
        switch (field->type) {
        case ROW_TEXT:
            db_bind_text(use, i + 1, *(char *const *)member);
            break;
        case ROW_INT:
            db_bind_int(use, i + 1, *(const int64_t *)member);
            break;
        case ROW_BOOL:
            db_bind_int(use, i + 1, *(const bool *)member);
            break;
        }
    }
}

void row_fini(const struct row_shape *shape, void *row)
{
    if (!row)
        return;
    for (int i = 0; i < shape->count; i++) {
        if (shape->fields[i].type == ROW_TEXT)
            free(*text_at(row, &shape->fields[i]));
    }
    memset(row, 0, shape->size);
}

int row_one(const struct row_shape *shape, struct db_use *use, int columns, void *out_row,
            struct err *err)
{
    int step = db_step(use, err);
    if (step == 1)
        row_read(shape, use, columns, out_row);
    db_done(use);
    return step;
}

int row_all(const struct row_shape *shape, struct db_use *use, int columns, void **out_rows,
            size_t *out_count, struct err *err)
{
    char *rows = NULL;
    size_t count = 0;
    size_t capacity = 0;
    int step;
    while ((step = db_step(use, err)) == 1) {
        rows = mem_grow(rows, &capacity, count + 1, shape->size);
        row_read(shape, use, columns, rows + count * shape->size);
        count++;
    }
    db_done(use);
    if (step < 0) {
        for (size_t i = 0; i < count; i++)
            row_fini(shape, rows + i * shape->size);
        free(rows);
        return -1;
    }
    *out_rows = rows;
    *out_count = count;
    return 0;
}
