/* functions.h: tables of T-SQL functions, joined by functions.c. */
#pragma once

#include "eval.h"

enum result {
    R_INT,
    R_BIGINT,
    R_BIT,
    R_FLOAT,
    R_DATETIME,
    R_DATETIME2,
    R_OFFSET,
    R_DATE,
    R_GUID,
    R_VARIANT,
    R_NAME,    /* nvarchar(128) */
    R_TEXT,    /* nvarchar(4000) */
    R_VARCHAR, /* varchar(8000) */
    R_BINARY,
    R_ARG0,
    R_ARG2,
    R_TEXT0, /* text of the first argument's kind and length */
    R_LONG0, /* … of its kind, longest */
    R_CONCAT,
    R_MERGE,
};

extern const struct function tsql_text_functions[], tsql_math_functions[], tsql_time_functions[],
    tsql_server_functions[], tsql_hadr_functions[], tsql_json_functions[];

void tsql_set_text(struct eval *ev, struct value *out, const char *text); /* NULL = null */
bool tsql_as_text(struct eval *ev, const struct value *v, const char **out);
bool tsql_as_int(struct eval *ev, const struct value *v, int64_t *out);
