#pragma once
/* JSON from outside: one strict RFC 8259 scanner stands before cJSON, whose own leniency never
 * decides anything; then field tables read objects into structs and collect every fault with
 * its JSON pointer. JSON to outside: cJSON. Threads: any; trees belong to one owner. */
#include "server/err.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads one JSON text of exactly `length` bytes. Refused: invalid UTF-8, BOM, NUL (raw or
 * escaped), control characters, lone surrogates, duplicate members, nesting over LIMIT_JSON_DEPTH,
 * more than LIMIT_JSON_TOKENS tokens, numbers that are not finite, whole numbers beyond 2^53,
 * anything after the value. The caller frees *out_tree with cJSON_Delete. ERR_INPUT names the
 * byte, counted from 1 in its line (for duplicate members: the name), and what is wrong there. */
MUST_CHECK int json_parse(const char *text, size_t length, cJSON **out_tree, struct err *err);

/* The same with a limit of tokens of the caller's own, for texts that may be large. */
MUST_CHECK int json_parse_large(const char *text, size_t length, size_t token_max, cJSON **out_tree,
                                struct err *err);

/* The member of an object, exact case; NULL when it is absent. */
const cJSON *json_member(const cJSON *object, const char *name);

/* Characters of a text in UTF-8 (code points, as JSON Schema counts them), not its bytes. */
size_t json_characters(const char *text);

/* --- faults ------------------------------------------------------------------------------ */

struct json_fault {
    char *pointer; /* RFC 6901, "" for the whole document */
    char *detail;  /* "must be a positive integer" */
};

struct json_faults {
    struct json_fault *items; /* in the order found; at most LIMIT_JSON_FAULTS are kept */
    size_t count;
    size_t capacity;
};

/* Adds a fault. pointer is copied. */
void json_fault_add(struct json_faults *faults, const char *pointer, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* "base/name" with ~ and / of name escaped, in a static buffer of this thread that lives until
 * the fourth later call. Cut at a character when it is longer than 500 bytes. */
const char *json_pointer(const char *base, const char *name);
const char *json_pointer_index(const char *base, size_t index);

void json_faults_fini(struct json_faults *faults);

/* --- field tables ------------------------------------------------------------------------ */

enum json_type {
    JSON_TEXT,   /* const char *, borrowed from the tree; min..max is its length in characters */
    JSON_INT,    /* int64_t, never beyond 2^53; 5, 5.0 and 5e0 are alike; min..max is its value */
    JSON_NUMBER, /* double; min..max is its value */
    JSON_BOOL,   /* bool */
    JSON_OBJECT, /* const cJSON *, borrowed; its members are checked by `fields` when given */
    JSON_ARRAY,  /* const cJSON *, borrowed; min..max is its length */
    JSON_ANY,    /* const cJSON *, borrowed; the owner checks it */
};

struct json_field {
    const char *name;
    enum json_type type;
    size_t offset; /* of the member in the struct that is filled */
    bool required;
    bool nullable;              /* null means the same as absent */
    double min, max;            /* both 0: no limit; -INFINITY and INFINITY: open to that side */
    const char *const *choices; /* JSON_TEXT: NULL-terminated list of what is allowed, or NULL */
    const struct json_field *fields; /* JSON_OBJECT: table for its members, or NULL: any object */
    size_t field_count;              /* offsets in it are relative to the same struct */
    const char *help;                /* one line for people */
    /* Only told by json_schema; the owner checks it. JSON_ARRAY: what each item is; else what the
     * value is where the rest of this row says less. Its name is not used. */
    const struct json_field *shape;
    const char *or_word; /* this text instead of a value of this type, or NULL */
};

/* The offset of a JSON_OBJECT of which only the members are wanted. */
#define JSON_NO_OFFSET SIZE_MAX

#define JSON_COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Fills *out, whose defaults the caller has set, from object by the table. Absent members leave
 * *out as it is. Unknown members, wrong types, values out of range and missing required members
 * each add one fault below `pointer`; the text names the limit and, for an unknown member, the
 * nearest known name. An unusable member leaves *out untouched. */
void json_read(const cJSON *object, const struct json_field *fields, size_t field_count,
               const char *pointer, void *out, struct json_faults *faults);

/* The JSON Schema (2020-12) of an object with these fields: what it refuses json_read refuses, but
 * for what only the owner can know. The caller frees it. */
cJSON *json_schema(const struct json_field *fields, size_t field_count);

/* --- output ------------------------------------------------------------------------------ */

/* A number, or null when it is not finite: no NaN or Infinity ever leaves us. */
cJSON *json_number(double value);

/* The same, rounded to `digits` significant decimal digits (1..17). */
cJSON *json_rounded(double value, int digits);

/* A string, or null for NULL. Bytes that are not UTF-8 become U+FFFD: what SQL Server or a file
 * says must not make our answer unreadable. */
cJSON *json_text(const char *value);

/* cJSON_PrintUnformatted, but exact for whole numbers up to 2^53 (cJSON drops their last digit):
 * print trees with this only. Never NULL. The caller frees it with free(). */
char *json_print(const cJSON *tree);
