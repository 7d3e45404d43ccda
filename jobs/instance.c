#include "jobs/instance.h"
#include "jobs/measure/tsql.h"
#include "jobs/member.h"
#include "jobs/window.h"
#include "server/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const encryptions[] = {"require", "request", "off", NULL};
static const char *const environments[] = {"production", "test", "development", NULL};

#define PATH_CHARS 259 /* as LIMIT_PATH_UTF16 */
#define WINDOWS_MAX 50 /* the scheduler looks at all of them each time it hands out jobs */

/* A window as its table fills it; jobs/window.c looks at the time zone. */
struct window {
    const cJSON *days;
    const char *from, *to;
};

#define AT(member) offsetof(struct instance, member)
#define TABLE(table) .fields = (table), .field_count = JSON_COUNT(table)

/* clang-format off */
static const struct json_field limit_fields[] = {
    {"buffer_memory_mib", JSON_INT, AT(limits.buffer_memory_mib), .min = 1, .max = 1048576, .help = "most memory for backup buffers"},
    {"min_free_disk_mib", JSON_INT, AT(limits.min_free_disk_mib), .min = 0, .max = 1e12, .help = "free space that must stay on a backup volume"},
    {"job_minutes",       JSON_INT, AT(limits.job_minutes),       .min = 1, .max = 10080, .help = "longest run of one job"},
    {"read_mib",          JSON_INT, AT(limits.read_mib),          .min = 1, .max = 1e12, .help = "most data read by one job"},
    {"written_mib",       JSON_INT, AT(limits.written_mib),       .min = 0, .max = 1e12, .help = "most data written by one job"},
};
static const struct json_field allow_fields[] = {
    {"trace_flags", JSON_ARRAY, AT(trace_flags), .max = 100, .help = "trace flags a job may toggle"},
    {"paths",       JSON_ARRAY, AT(paths),       .max = LIMIT_PATHS, .help = "folders where backup files may be written"},
    {"custom_sql",  JSON_BOOL,  AT(custom_sql),  .help = "whether a job may bring its own workload"},
};
static const struct json_field fields[] = {
    {"host",            JSON_TEXT,   AT(host),            .required = true, .min = 1, .max = 255, .help = "name or address of the server"},
    {"port",            JSON_INT,    AT(port),            .min = 1, .max = 65535, .help = "TCP port"},
    {"login",           JSON_TEXT,   AT(login),           .required = true, .min = 1, .max = 128, .help = "SQL login"},
    {"password",        JSON_ANY,    AT(password),        .required = true, .help = "a reference: {\"env\": NAME} or {\"file\": NAME}"},
    {"encryption",      JSON_TEXT,   AT(encryption),      .max = 16, .choices = encryptions, .help = "TLS to the server"},
    {"ca_file",         JSON_TEXT,   AT(ca_file),         .nullable = true, .min = 1, .max = 4096, .help = "PEM file, or \"system\""},
    {"verify_host",     JSON_BOOL,   AT(verify_host),     .help = "check the host name in the certificate"},
    {"environment",     JSON_TEXT,   AT(environment),     .max = 16, .choices = environments, .help = "production asks for consent"},
    {"lanes",           JSON_ARRAY,  AT(lanes),           .max = 32, .help = "what instances share and must not measure on together"},
    {"windows",         JSON_ANY,    AT(windows),         .nullable = true, .help = "when jobs may run, or \"always\""},
    {"limits",          JSON_OBJECT, JSON_NO_OFFSET, TABLE(limit_fields), .help = "most a job may use"},
    {"allow",           JSON_OBJECT, JSON_NO_OFFSET, TABLE(allow_fields), .help = "what a job may do"},
    {"custom_login",    JSON_TEXT,   AT(custom_login),    .nullable = true, .min = 1, .max = 128, .help = "login of own workloads"},
    {"custom_password", JSON_ANY,    AT(custom_password), .nullable = true, .help = "a reference, as password"},
    {"labels",          JSON_OBJECT, AT(labels),          .help = "text members, for people"},
};
static const struct json_field window_fields[] = {
    {"days",      JSON_ARRAY, offsetof(struct window, days), .required = true, .min = 1, .max = 7, .help = "mon .. sun"},
    {"from",      JSON_TEXT,  offsetof(struct window, from), .required = true, .help = "HH:MM"},
    {"to",        JSON_TEXT,  offsetof(struct window, to),   .required = true, .help = "HH:MM, up to 24:00"},
    {"time_zone", JSON_TEXT,  JSON_NO_OFFSET,                .required = true, .help = "as in Europe/Berlin"},
};
/* clang-format on */

bool instance_name_is_valid(const char *name)
{
    size_t length = strlen(name);
    return length >= 1 && length <= LIMIT_NAME_CHARS &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == length;
}

static void set_defaults(struct instance *instance)
{
    *instance = (struct instance){
        .port = 1433,
        .encryption = "require",
        .environment = "production",
        .limits = {.buffer_memory_mib = 1024,
                   .min_free_disk_mib = 20480,
                   .job_minutes = 240,
                   .read_mib = 10000000,
                   .written_mib = 1000000},
    };
}

static bool is_text_up_to(const cJSON *item, size_t max)
{
    return cJSON_IsString(item) && *item->valuestring && json_characters(item->valuestring) <= max;
}

static void check_texts(const cJSON *array, const char *pointer, size_t max,
                        struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, array) {
        const char *at = json_pointer_index(pointer, index++);
        if (!is_text_up_to(item, max))
            json_fault_add(faults, at, "must be a text of 1 to %zu characters", max);
    }
}

static void check_paths(const cJSON *paths, struct json_faults *faults)
{
    check_texts(paths, "/allow/paths", PATH_CHARS, faults);
    size_t index = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, paths) {
        const char *at = json_pointer_index("/allow/paths", index++);
        if (!is_text_up_to(item, PATH_CHARS) || strcmp(item->valuestring, "NUL") == 0)
            continue; /* told already, or good */
        const char *path = item->valuestring;
        bool full = *path == '/' || tsql_path_is_windows(path);
        /* a folder is "below itself" only when its components are sound */
        if (!full || !tsql_path_is_allowed(path, &path, 1))
            json_fault_add(faults, at,
                           "must be a full path as the server sees it, without \"..\": "
                           "D:\\Backup, \\\\host\\share or /var/opt/mssql/backup");
    }
}

static void check_flags(const cJSON *flags, struct json_faults *faults)
{
    size_t index = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, flags) {
        const char *at = json_pointer_index("/allow/trace_flags", index++);
        if (!cJSON_IsNumber(item) || item->valuedouble < 1 || item->valuedouble > 32767 ||
            item->valuedouble != (double)(int)item->valuedouble)
            json_fault_add(faults, at, "must be a trace flag's number, 1 to 32767");
    }
}

/* True for HH:MM. */
static bool is_time_of_day(const char *text)
{
    return strlen(text) == 5 && text[0] >= '0' && text[0] <= '2' && text[1] >= '0' &&
           text[1] <= '9' && (text[0] < '2' || text[1] < '4') && text[2] == ':' && text[3] >= '0' &&
           text[3] <= '5' && text[4] >= '0' && text[4] <= '9';
}

static void check_days(const cJSON *days, const char *pointer, struct json_faults *faults)
{
    static const char *const names[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
    size_t index = 0;
    const cJSON *day;
    cJSON_ArrayForEach(day, days) {
        bool known = false;
        for (size_t i = 0; i < JSON_COUNT(names); i++)
            known |= cJSON_IsString(day) && strcmp(day->valuestring, names[i]) == 0;
        if (!known)
            json_fault_add(faults, json_pointer_index(pointer, index),
                           "must be one of mon, tue, wed, thu, fri, sat, sun");
        index++;
    }
}

/* last: one more text that is good, or NULL. */
static void check_time(const char *text, const char *last, const char *pointer,
                       struct json_faults *faults)
{
    if (text && !is_time_of_day(text) && (!last || strcmp(text, last) != 0))
        json_fault_add(faults, pointer, "must be HH:MM, 00:00 to %s", last ? last : "23:59");
}

/* index: of the window; its pointers are made anew, for json_pointer's buffers turn over. */
static void check_window(const cJSON *tree, size_t index, struct json_faults *faults)
{
    struct window window = {0}; /* what is unusable stays NULL, and was told */
    char pointer[32];
    char days_at[48];
    (void)snprintf(pointer, sizeof pointer, "/windows/%zu", index);
    (void)snprintf(days_at, sizeof days_at, "%s/days", pointer);
    json_read(tree, window_fields, JSON_COUNT(window_fields), pointer, &window, faults);
    check_days(window.days, days_at, faults);
    check_time(window.from, NULL, json_pointer(pointer, "from"), faults);
    check_time(window.to, "24:00", json_pointer(pointer, "to"), faults);
}

static void check_windows(const cJSON *windows, struct json_faults *faults)
{
    if (!windows || (cJSON_IsString(windows) && strcmp(windows->valuestring, "always") == 0))
        return;
    if (!cJSON_IsArray(windows)) {
        json_fault_add(faults, "/windows", "must be \"always\" or a list of windows");
        return;
    }
    if (cJSON_GetArraySize(windows) > WINDOWS_MAX) {
        json_fault_add(faults, "/windows", "must be at most %d windows", WINDOWS_MAX);
        return;
    }
    size_t index = 0;
    const cJSON *window;
    cJSON_ArrayForEach(window, windows) {
        check_window(window, index++, faults);
    }
}

/* What server/mssql takes as a host, and no "HOST:PORT": an IPv6 address has more than one colon.
 */
static bool host_is_fit(const char *host)
{
    size_t colons = 0;
    for (const char *at = host; *at; at++) {
        bool letter = (*at | 0x20) >= 'a' && (*at | 0x20) <= 'z';
        bool digit = *at >= '0' && *at <= '9';
        colons += *at == ':';
        if (!letter && !digit && !(*at & 0x80) && !strchr("-._:%", *at))
            return false;
    }
    return *host && colons != 1;
}

static void check_together(const struct instance *instance, struct json_faults *faults)
{
    if (instance->verify_host && !instance->ca_file)
        json_fault_add(faults, "/verify_host",
                       "needs ca_file: a PEM file or \"system\", else nothing can be verified");
    if (instance->ca_file && strcmp(instance->encryption, "require") != 0)
        json_fault_add(faults, "/ca_file", "needs \"encryption\": \"require\"");
    if (!instance->custom_login != !instance->custom_password)
        json_fault_add(faults, "/custom_login", "goes together with custom_password");
    if (instance->host && !host_is_fit(instance->host))
        json_fault_add(faults, "/host",
                       "must be a host name or an address, without port or instance");
}

/* Reads and checks everything but the references to secrets. */
static void read_tree(struct instance *out, struct json_faults *faults)
{
    json_read(out->tree, fields, JSON_COUNT(fields), "", out, faults);
    check_texts(out->lanes, "/lanes", LIMIT_NAME_CHARS, faults);
    check_windows(out->windows, faults);
    check_paths(out->paths, faults);
    check_flags(out->trace_flags, faults);
    member_check_labels(out->labels, faults);
    check_together(out, faults);
}

int instance_read(cJSON *tree, const struct secrets *secrets, struct instance *out,
                  struct json_faults *faults)
{
    size_t before = faults->count;
    set_defaults(out);
    out->tree = tree;
    read_tree(out, faults);
    if (cJSON_GetArraySize(out->windows) <= WINDOWS_MAX) /* each may mean a file to read */
        window_check(out->windows, "/windows", faults);
    if (out->password)
        secrets_check(secrets, out->password, "/password", faults);
    if (out->custom_password)
        secrets_check(secrets, out->custom_password, "/custom_password", faults);
    return faults->count == before ? 0 : -1;
}

void instance_fini(struct instance *instance)
{
    if (!instance)
        return;
    cJSON_Delete(instance->tree);
    *instance = (struct instance){0};
}

cJSON *instance_to_json(const struct instance *instance)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddItemToObject(tree, "host", json_text(instance->host));
    cJSON_AddNumberToObject(tree, "port", (double)instance->port);
    cJSON_AddItemToObject(tree, "login", json_text(instance->login));
    cJSON_AddItemToObject(tree, "password", member_copy_or(instance->password, cJSON_CreateNull()));
    cJSON_AddItemToObject(tree, "encryption", json_text(instance->encryption));
    cJSON_AddItemToObject(tree, "ca_file", json_text(instance->ca_file));
    cJSON_AddBoolToObject(tree, "verify_host", instance->verify_host);
    cJSON_AddItemToObject(tree, "environment", json_text(instance->environment));
    cJSON_AddItemToObject(tree, "lanes", member_copy_or(instance->lanes, cJSON_CreateArray()));
    cJSON_AddItemToObject(tree, "windows", member_copy_or(instance->windows, cJSON_CreateArray()));
    cJSON *limits = cJSON_AddObjectToObject(tree, "limits");
    for (size_t i = 0; i < JSON_COUNT(limit_fields); i++) {
        int64_t value;
        memcpy(&value, (const char *)instance + limit_fields[i].offset, sizeof value);
        cJSON_AddNumberToObject(limits, limit_fields[i].name, (double)value);
    }
    cJSON *allow = cJSON_AddObjectToObject(tree, "allow");
    cJSON_AddItemToObject(allow, "trace_flags",
                          member_copy_or(instance->trace_flags, cJSON_CreateArray()));
    cJSON_AddItemToObject(allow, "paths", member_copy_or(instance->paths, cJSON_CreateArray()));
    cJSON_AddBoolToObject(allow, "custom_sql", instance->custom_sql);
    cJSON_AddItemToObject(tree, "custom_login", json_text(instance->custom_login));
    cJSON_AddItemToObject(tree, "custom_password",
                          member_copy_or(instance->custom_password, cJSON_CreateNull()));
    cJSON_AddItemToObject(tree, "labels", member_copy_or(instance->labels, cJSON_CreateObject()));
    return tree;
}

int instance_load(const char *definition, struct instance *out, struct err *err)
{
    struct json_faults faults = {0};
    set_defaults(out);
    int rc = member_parse_own(definition, &out->tree, err);
    if (rc == 0)
        read_tree(out, &faults);
    if (rc < 0 || faults.count > 0)
        rc = err_set(err, ERR_STORE, 0, "a stored instance cannot be read: %s %s",
                     faults.count ? faults.items[0].pointer : "",
                     faults.count ? faults.items[0].detail : err->msg);
    json_faults_fini(&faults);
    if (rc < 0)
        instance_fini(out);
    return rc;
}

bool instance_is_production(const struct instance *instance)
{
    return strcmp(instance->environment, "production") == 0;
}
