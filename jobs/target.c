#include "jobs/target.h"
#include "jobs/measure/tsql.h"
#include "server/limits.h"

#include <stdio.h>
#include <string.h>

struct target {
    const char *name;
    const cJSON *paths;
    int64_t files;
};

/* clang-format off */
static const struct json_field path_shape = {.type = JSON_TEXT, .min = 1, .max = LIMIT_PATH_UTF16};
static const struct json_field target_fields[] = {
    {"name",  JSON_TEXT,  offsetof(struct target, name),  .required = true, .min = 1, .max = LIMIT_NAME_CHARS, .help = "for people"},
    {"paths", JSON_ARRAY, offsetof(struct target, paths), .required = true, .min = 1, .max = LIMIT_STRIPES, .help = "folders as the server sees them, or \"NUL\"", .shape = &path_shape},
    {"files", JSON_INT,   offsetof(struct target, files), .min = 1, .max = LIMIT_STRIPES, .help = "stripes, round the paths in turn"},
};
/* clang-format on */

static const char *const compressions[] = {"default",     "off",  "on", "MS_XPRESS",
                                           "QAT_DEFLATE", "ZSTD", NULL};

const struct json_field target_shape = {
    .type = JSON_OBJECT, .fields = target_fields, .field_count = JSON_COUNT(target_fields)};
const struct json_field compression_shape = {.type = JSON_TEXT, .choices = compressions};
const struct json_field database_shape = {.type = JSON_TEXT, .min = 1, .max = LIMIT_SQL_NAME_UTF16};

/* What people write for a place that is no folder of the server's. */
static const struct {
    const char *begins, *advice;
} no_folders[] = {
    {"/dev/null",
     "is no folder, whatever allow.paths says, and BACKUP cannot write there (error 3634); write "
     "\"NUL\", on Linux too"},
    {"http://", "is a URL; only folders (DISK) and \"NUL\" are measured"},
    {"https://", "is a URL; only folders (DISK) and \"NUL\" are measured"},
    {"s3://", "is a URL; only folders (DISK) and \"NUL\" are measured"},
};

/* NULL when the path may be a folder. */
static const char *why_no_folder(const char *path)
{
    for (size_t i = 0; i < JSON_COUNT(no_folders); i++)
        if (strncasecmp(path, no_folders[i].begins, strlen(no_folders[i].begins)) == 0)
            return no_folders[i].advice;
    return NULL;
}

const char *target_path_advice(const char *path)
{
    if (strstr(path, ".."))
        return "must not contain \"..\", which allow.paths never allow: write where it leads";
    if (strcasecmp(path, "NUL") == 0)
        return "is not below allow.paths; to discard write \"NUL\", in capitals";
    return "is not below the instance's allow.paths; add it there to allow it";
}

static void check_path(const cJSON *path, bool alone, const cJSON *allowed, const char *at,
                       struct json_faults *faults)
{
    const char *folders[LIMIT_PATHS];
    size_t count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, allowed) {
        if (cJSON_IsString(item) && count < JSON_COUNT(folders))
            folders[count++] = item->valuestring;
    }
    if (!cJSON_IsString(path))
        json_fault_add(faults, at, "must be a folder as the server sees it, or \"NUL\"");
    else if (strcmp(path->valuestring, "NUL") == 0 && !alone)
        json_fault_add(faults, at, "\"NUL\" cannot be mixed with other paths");
    else if (why_no_folder(path->valuestring))
        json_fault_add(faults, at, "%s", why_no_folder(path->valuestring));
    else if (strstr(path->valuestring, "..") ||
             !tsql_path_is_allowed(path->valuestring, folders, count))
        json_fault_add(faults, at, "%s", target_path_advice(path->valuestring));
}

void target_check(const cJSON *tree, const struct instance *instance, const char *pointer,
                  bool with_files, struct json_faults *faults)
{
    struct target target = {.files = 1};
    size_t index = 0;
    json_read(tree, target_fields, JSON_COUNT(target_fields), pointer, &target, faults);
    if (!with_files && json_member(tree, "files"))
        json_fault_add(faults, json_pointer(pointer, "files"),
                       "cannot stand beside the swept list \"files\"");
    const char *paths_at = json_pointer(pointer, "paths");
    char base[128]; /* json_pointer's buffers turn over inside the loop */
    (void)snprintf(base, sizeof base, "%s", paths_at);
    const cJSON *path;
    cJSON_ArrayForEach(path, target.paths)
        check_path(path, cJSON_GetArraySize(target.paths) == 1, instance->paths,
                   json_pointer_index(base, index++), faults);
}

void target_check_list(const cJSON *targets, const struct instance *instance, const char *pointer,
                       bool with_files, struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *target;
    cJSON_ArrayForEach(target, targets) {
        char at[128];
        (void)snprintf(at, sizeof at, "%s/%zu", pointer, index++);
        target_check(target, instance, at, with_files, faults);
        const cJSON *other;
        cJSON_ArrayForEach(other, targets) {
            if (other == target)
                break;
            if (cJSON_Compare(json_member(other, "name"), json_member(target, "name"), true))
                json_fault_add(faults, json_pointer(at, "name"),
                               "is another target's name already");
        }
    }
}

bool target_is_nul(const cJSON *target)
{
    const cJSON *first = cJSON_GetArrayItem(json_member(target, "paths"), 0);
    return cJSON_IsString(first) && strcmp(first->valuestring, "NUL") == 0;
}

bool compression_is_known(const char *word)
{
    for (size_t i = 0; compressions[i]; i++)
        if (strcmp(word, compressions[i]) == 0)
            return true;
    return false;
}

const char *compression_names(void)
{
    return "default, off, on, MS_XPRESS, QAT_DEFLATE, ZSTD";
}
