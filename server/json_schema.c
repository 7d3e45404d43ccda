/* Field tables as JSON Schema, so that what is documented is what is checked. */
#include "server/json.h"

#include <math.h>

static const char *type_name(enum json_type type)
{
    switch (type) {
    case JSON_TEXT:
        return "string";
    case JSON_INT:
        return "integer";
    case JSON_NUMBER:
        return "number";
    case JSON_BOOL:
        return "boolean";
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_ANY:
        return NULL;
    }
    return NULL;
}

/* What a limit of this type is called. */
static const struct {
    enum json_type type;
    const char *low, *high;
} limit_names[] = {
    {JSON_TEXT, "minLength", "maxLength"},
    {JSON_INT, "minimum", "maximum"},
    {JSON_NUMBER, "minimum", "maximum"},
    {JSON_ARRAY, "minItems", "maxItems"},
};

static void add_limits(cJSON *schema, const struct json_field *field)
{
    bool has_limits = field->min != 0 || field->max != 0; /* exactly 0 as the table says */
    for (size_t i = 0; has_limits && i < JSON_COUNT(limit_names); i++) {
        if (limit_names[i].type != field->type)
            continue;
        if (!isinf(field->min))
            cJSON_AddItemToObject(schema, limit_names[i].low, json_number(field->min));
        if (!isinf(field->max))
            cJSON_AddItemToObject(schema, limit_names[i].high, json_number(field->max));
    }
}

static void add_type(cJSON *schema, const struct json_field *field)
{
    const char *name = type_name(field->type);
    if (!name)
        return;
    if (!field->nullable) {
        cJSON_AddItemToObject(schema, "type", json_text(name));
        return;
    }
    cJSON *types = cJSON_AddArrayToObject(schema, "type");
    cJSON_AddItemToArray(types, json_text(name));
    cJSON_AddItemToArray(types, json_text("null"));
}

static void add_choices(cJSON *schema, const struct json_field *field)
{
    if (!field->choices)
        return;
    cJSON *choices = cJSON_AddArrayToObject(schema, "enum");
    for (size_t i = 0; field->choices[i]; i++)
        cJSON_AddItemToArray(choices, json_text(field->choices[i]));
    if (field->nullable)
        cJSON_AddItemToArray(choices, cJSON_CreateNull());
}

static void add_members(cJSON *schema, const struct json_field *fields, size_t count);

/* This word, or what the schema says; takes it over. */
static cJSON *or_word(cJSON *schema, const char *word)
{
    cJSON *either = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(either, "anyOf");
    cJSON *only = cJSON_CreateObject();
    cJSON_AddItemToObject(only, "const", json_text(word));
    cJSON_AddItemToArray(list, only);
    cJSON_AddItemToArray(list, schema);
    return either;
}

/* Recursion: as deep as the tables are nested. */
static cJSON *value_schema(const struct json_field *field)
{
    const struct json_field *shape =
        field->shape && field->type != JSON_ARRAY ? field->shape : NULL;
    struct json_field told = shape ? *shape : *field;
    told.nullable = field->nullable;
    cJSON *schema = cJSON_CreateObject();
    add_type(schema, &told);
    add_limits(schema, &told);
    add_choices(schema, &told);
    if (told.type == JSON_ARRAY && told.shape)
        cJSON_AddItemToObject(schema, "items", value_schema(told.shape));
    if (told.type == JSON_OBJECT && told.fields)
        add_members(schema, told.fields, told.field_count);
    return told.or_word ? or_word(schema, told.or_word) : schema;
}

static cJSON *field_schema(const struct json_field *field)
{
    cJSON *schema = value_schema(field);
    if (field->help)
        cJSON_AddItemToObject(schema, "description", json_text(field->help));
    return schema;
}

static void add_members(cJSON *schema, const struct json_field *fields, size_t count)
{
    cJSON *properties = cJSON_AddObjectToObject(schema, "properties");
    cJSON *required = cJSON_CreateArray();
    for (size_t i = 0; i < count; i++) {
        cJSON_AddItemToObject(properties, fields[i].name, field_schema(&fields[i]));
        if (fields[i].required)
            cJSON_AddItemToArray(required, json_text(fields[i].name));
    }
    if (cJSON_GetArraySize(required) > 0)
        cJSON_AddItemToObject(schema, "required", required);
    else
        cJSON_Delete(required);
    cJSON_AddFalseToObject(schema, "additionalProperties");
}

cJSON *json_schema(const struct json_field *fields, size_t field_count)
{
    cJSON *schema = cJSON_CreateObject();
    cJSON_AddStringToObject(schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
    cJSON_AddStringToObject(schema, "type", "object");
    add_members(schema, fields, field_count);
    return schema;
}
