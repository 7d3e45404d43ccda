#include "server/buf.h"
#include "server/json.h"
#include "server/json_scan.h"
#include "server/limits.h"
#include "server/mem.h"
#include "server/suggest.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTER_BYTES 501            /* with the NUL */
#define POINTER_COUNT 4              /* alive at the same time, per thread */
#define WHOLE_MAX 9007199254740992.0 /* 2^53 */

/* --- faults and pointers ------------------------------------------------------------------- */

void json_fault_add(struct json_faults *faults, const char *pointer, const char *format, ...)
{
    if (faults->count >= LIMIT_JSON_FAULTS)
        return;
    va_list args;
    char *detail = NULL;
    va_start(args, format);
    int length = vasprintf(&detail, format, args);
    va_end(args);
    if (length < 0)
        abort(); /* no memory, as in mem.c */
    faults->items =
        mem_grow(faults->items, &faults->capacity, faults->count + 1, sizeof *faults->items);
    faults->items[faults->count++] =
        (struct json_fault){.pointer = mem_copy(pointer), .detail = detail};
}

void json_faults_fini(struct json_faults *faults)
{
    if (!faults)
        return;
    for (size_t i = 0; i < faults->count; i++) {
        free(faults->items[i].pointer);
        free(faults->items[i].detail);
    }
    free(faults->items);
    *faults = (struct json_faults){0};
}

static char *next_pointer(void)
{
    static _Thread_local char pointers[POINTER_COUNT][POINTER_BYTES];
    static _Thread_local unsigned next;
    return pointers[next++ % POINTER_COUNT];
}

const char *json_pointer(const char *base, const char *name)
{
    char *out = next_pointer();
    size_t used = 0;
    size_t left = strlen(name);
    if (snprintf(out, POINTER_BYTES, "%s/", base) >= POINTER_BYTES)
        return out;
    used = strlen(out);
    while (left > 0) {
        size_t bytes = json_utf8_length(name, left);
        bytes += bytes == 0;
        const char *part = *name == '~' ? "~0" : *name == '/' ? "~1" : name;
        size_t part_bytes = part == name ? bytes : 2;
        if (used + part_bytes >= POINTER_BYTES)
            break;
        memcpy(out + used, part, part_bytes);
        used += part_bytes;
        name += bytes;
        left -= bytes;
    }
    out[used] = '\0';
    return out;
}

const char *json_pointer_index(const char *base, size_t index)
{
    char *out = next_pointer();
    (void)snprintf(out, POINTER_BYTES, "%s/%zu", base, index);
    return out;
}

/* --- what is wanted, in words -------------------------------------------------------------- */

static bool has_limits(const struct json_field *field)
{
    return field->min != 0 || field->max != 0; /* exactly 0 as the table says */
}

/* A limit in plain digits: %g alone gives large whole ones an exponent. */
static void add_limit(struct buf *out, double limit)
{
    buf_format(out, fabs(limit) < 1e17 && trunc(limit) == limit ? "%.0f" : "%.15g", limit);
}

/* " of 1 to 64 characters", " from 1 to 100", " of at least 1": before is " of " or " from ". */
static void describe_range(struct buf *out, const struct json_field *field, const char *before,
                           const char *unit)
{
    if (!has_limits(field) || (isinf(field->min) && isinf(field->max)))
        return;
    bool open_below = isinf(field->min) || (*unit && field->min <= 0);
    if (field->min == field->max) {
        buf_add(out, " of exactly ");
    } else if (isinf(field->max)) {
        buf_add(out, " of at least ");
    } else if (open_below) {
        buf_add(out, " of at most ");
    } else {
        buf_add(out, before);
        add_limit(out, field->min);
        buf_add(out, " to ");
    }
    add_limit(out, isinf(field->max) ? field->min : field->max);
    buf_add(out, unit);
}

static void describe_choices(struct buf *out, const char *const *choices)
{
    buf_add(out, "one of ");
    for (size_t i = 0; choices[i]; i++)
        buf_format(out, "%s\"%s\"", i > 0 ? ", " : "", choices[i]);
}

static void describe(struct buf *out, const struct json_field *field)
{
    switch (field->type) {
    case JSON_TEXT:
        if (field->choices) {
            describe_choices(out, field->choices);
            break;
        }
        buf_add(out, "a text");
        describe_range(out, field, " of ", " characters");
        break;
    case JSON_INT:
        buf_add(out, has_limits(field) ? "a whole number" : "a whole number up to 2^53");
        describe_range(out, field, " from ", "");
        break;
    case JSON_NUMBER:
        buf_add(out, "a number");
        describe_range(out, field, " from ", "");
        break;
    case JSON_BOOL:
        buf_add(out, "true or false");
        break;
    case JSON_OBJECT:
        buf_add(out, "an object");
        break;
    case JSON_ARRAY:
        buf_add(out, "a list");
        describe_range(out, field, " of ", " items");
        break;
    case JSON_ANY:
        break;
    }
}

static void refuse(struct json_faults *faults, const char *pointer, const struct json_field *field,
                   const cJSON *value)
{
    struct buf wanted = {0};
    struct suggest suggest = SUGGEST_FOR(cJSON_IsString(value) ? value->valuestring : "");
    describe(&wanted, field);
    if (field->nullable)
        buf_add(&wanted, ", or null");
    for (size_t i = 0; field->choices && field->choices[i]; i++)
        suggest_offer(&suggest, field->choices[i]);
    if (suggest.best)
        buf_format(&wanted, "; did you mean \"%s\"?", suggest.best);
    json_fault_add(faults, pointer, "must be %s", buf_text(&wanted));
    buf_fini(&wanted);
}

/* --- values -------------------------------------------------------------------------------- */

static bool in_range(const struct json_field *field, double value)
{
    return !has_limits(field) || (value >= field->min && value <= field->max);
}

size_t json_characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

static bool is_choice(const struct json_field *field, const char *text)
{
    if (!field->choices)
        return true;
    size_t i = 0;
    while (field->choices[i] && strcmp(field->choices[i], text) != 0)
        i++;
    return field->choices[i] != NULL;
}

static bool is_usable(const struct json_field *field, const cJSON *value)
{
    switch (field->type) {
    case JSON_TEXT:
        return cJSON_IsString(value) && is_choice(field, value->valuestring) &&
               in_range(field, (double)json_characters(value->valuestring));
    case JSON_INT:
        return cJSON_IsNumber(value) && trunc(value->valuedouble) == value->valuedouble &&
               fabs(value->valuedouble) <= WHOLE_MAX && in_range(field, value->valuedouble);
    case JSON_NUMBER:
        return cJSON_IsNumber(value) && in_range(field, value->valuedouble);
    case JSON_BOOL:
        return cJSON_IsBool(value);
    case JSON_OBJECT:
        return cJSON_IsObject(value);
    case JSON_ARRAY:
        return cJSON_IsArray(value) && in_range(field, cJSON_GetArraySize(value));
    case JSON_ANY:
        return true;
    }
    return false;
}

static void put(const struct json_field *field, const cJSON *value, char *at)
{
    switch (field->type) {
    case JSON_TEXT:
        *(const char **)(void *)at = value->valuestring;
        break;
    case JSON_INT:
        *(int64_t *)(void *)at = (int64_t)value->valuedouble;
        break;
    case JSON_NUMBER:
        *(double *)(void *)at = value->valuedouble;
        break;
    case JSON_BOOL:
        *(bool *)at = cJSON_IsTrue(value);
        break;
    case JSON_OBJECT:
    case JSON_ARRAY:
    case JSON_ANY:
        *(const cJSON **)(void *)at = value;
        break;
    }
}

/* --- objects ------------------------------------------------------------------------------- */

static void refuse_unknown(const cJSON *member, const struct json_field *fields, size_t count,
                           const char *pointer, struct json_faults *faults)
{
    if (faults->count >= LIMIT_JSON_FAULTS)
        return; /* it would be dropped, and thousands of suggestions cost */
    struct suggest suggest = SUGGEST_FOR(member->string);
    struct buf known = {0};
    for (size_t i = 0; i < count; i++) {
        suggest_offer(&suggest, fields[i].name);
        buf_format(&known, "%s\"%s\"", i > 0 ? ", " : "", fields[i].name);
    }
    if (suggest.best)
        json_fault_add(faults, json_pointer(pointer, member->string),
                       "is unknown; did you mean \"%s\"?", suggest.best);
    else
        json_fault_add(faults, json_pointer(pointer, member->string), "is unknown; known here: %s",
                       count > 0 ? buf_text(&known) : "nothing");
    buf_fini(&known);
}

static const struct json_field *find_field(const struct json_field *fields, size_t count,
                                           const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    }
    return NULL;
}

/* Recursion (through json_read): as deep as the tables are nested. */
static void read_field(const cJSON *object, const struct json_field *field, const char *base,
                       char *out, struct json_faults *faults)
{
    const cJSON *value = json_member(object, field->name);
    char pointer[POINTER_BYTES]; /* the rotating ones would not live through the recursion */
    (void)snprintf(pointer, sizeof pointer, "%s", json_pointer(base, field->name));
    if (!value && field->required)
        json_fault_add(faults, pointer, "is required");
    if (!value || (cJSON_IsNull(value) && field->nullable))
        return;
    if (!is_usable(field, value)) {
        refuse(faults, pointer, field, value);
        return;
    }
    if (field->offset != JSON_NO_OFFSET)
        put(field, value, out + field->offset);
    if (field->type == JSON_OBJECT && field->fields)
        json_read(value, field->fields, field->field_count, pointer, out, faults);
}

void json_read(const cJSON *object, const struct json_field *fields, size_t field_count,
               const char *pointer, void *out, struct json_faults *faults)
{
    char base[POINTER_BYTES];
    (void)snprintf(base, sizeof base, "%s", pointer);
    if (!cJSON_IsObject(object)) {
        json_fault_add(faults, base, "must be an object");
        return;
    }
    const cJSON *member = NULL;
    cJSON_ArrayForEach(member, object) {
        if (!find_field(fields, field_count, member->string))
            refuse_unknown(member, fields, field_count, base, faults);
    }
    for (size_t i = 0; i < field_count; i++)
        read_field(object, &fields[i], base, out, faults);
}
