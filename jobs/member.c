#include "jobs/member.h"
#include "server/clock.h"
#include "server/limits.h"

#include <math.h>
#include <string.h>

#define WHOLE_MAX 9007199254740992.0 /* 2^53: what a double counts exactly */

void member_check_labels(const cJSON *labels, struct json_faults *faults)
{
    int count = 0;
    const cJSON *label;
    cJSON_ArrayForEach(label, labels) {
        size_t length = json_characters(label->string);
        count++;
        if (length == 0 || length > LIMIT_LABEL_KEY_CHARS || strchr(label->string, ':'))
            json_fault_add(faults, json_pointer("/labels", label->string),
                           "must have a name of 1 to %d characters without \":\", else "
                           "?label=name:value cannot find it",
                           LIMIT_LABEL_KEY_CHARS);
        else if (!cJSON_IsString(label) || json_characters(label->valuestring) > LIMIT_LABEL_CHARS)
            json_fault_add(faults, json_pointer("/labels", label->string),
                           "must be a text of at most %d characters", LIMIT_LABEL_CHARS);
    }
    if (count > LIMIT_LABELS)
        json_fault_add(faults, "/labels", "must have at most %d members", LIMIT_LABELS);
}

cJSON *member_copy_or(const cJSON *value, cJSON *fallback)
{
    if (!value)
        return fallback;
    cJSON_Delete(fallback);
    return cJSON_Duplicate(value, true);
}

cJSON *member_number_or_null(int64_t value)
{
    return value < 0 ? cJSON_CreateNull() : cJSON_CreateNumber((double)value);
}

cJSON *member_time_or_null(int64_t wall_ms)
{
    char text[CLOCK_TEXT_SIZE];
    return wall_ms ? cJSON_CreateString(clock_format(wall_ms, text)) : cJSON_CreateNull();
}

int64_t member_int(const cJSON *object, const char *name, int64_t missing)
{
    const cJSON *member = json_member(object, name);
    bool fits = cJSON_IsNumber(member) && fabs(member->valuedouble) <= WHOLE_MAX;
    return fits ? (int64_t)member->valuedouble : missing;
}

int member_parse_own(const char *document, cJSON **out_tree, struct err *err)
{
    cJSON *tree = cJSON_ParseWithOpts(document, NULL, true);
    if (!tree)
        return err_set(err, ERR_STORE, 0, "a stored document is no JSON");
    *out_tree = tree;
    return 0;
}

const char *member_text(const cJSON *object, const char *name)
{
    const cJSON *member = json_member(object, name);
    return cJSON_IsString(member) ? member->valuestring : NULL;
}

void member_add_text_once(cJSON *array, const char *text)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, array) {
        if (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0)
            return;
    }
    cJSON_AddItemToArray(array, json_text(text));
}

bool member_is_same_database(const char *name, const char *other)
{
    return strcasecmp(name, other) == 0;
}
