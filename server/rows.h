#pragma once
/* Rows as tables: a row_shape lists the members of a struct in the order of a statement's columns
 * and parameters, and everything else (read, bind, free, collect) loops over it. Private to the
 * store_*.c files. Threads: none of its own. */
#include "server/db.h"

#include <stddef.h>

enum row_type {
    ROW_TEXT, /* char *, heap, owned by the row */
    ROW_INT,  /* int64_t */
    ROW_BOOL, /* bool */
};

struct row_field {
    enum row_type type;
    size_t offset;
};

struct row_shape {
    const struct row_field *fields;
    int count;
    size_t size; /* of the struct */
};

#define ROW_SHAPE(table, type)                                                                     \
    {                                                                                              \
        (table), (int)(sizeof(table) / sizeof((table)[0])), sizeof(type)                           \
    }

/* Reads the current row of use; members of columns that the statement lacks stay zero. */
void row_read(const struct row_shape *shape, const struct db_use *use, int columns, void *out_row);

/* Binds the first `count` members to the parameters from 1 on. */
void row_bind(const struct row_shape *shape, struct db_use *use, int count, const void *row);

/* Frees the texts and zeroes the row. */
void row_fini(const struct row_shape *shape, void *row);

/* Steps to one row, ends the use. 1: *out_row is filled; 0: there is none; -1: failed. */
MUST_CHECK int row_one(const struct row_shape *shape, struct db_use *use, int columns,
                       void *out_row, struct err *err);

/* Steps to the end, ends the use. *out_rows is a heap array (NULL when empty). */
MUST_CHECK int row_all(const struct row_shape *shape, struct db_use *use, int columns,
                       void **out_rows, size_t *out_count, struct err *err);
