#include "jobs/measure/trial.h"

#include "server/clock.h"
#include "server/limits.h"
#include "server/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 8192
#define MIB 1048576.0
#define DIGITS 6 /* significant ones of rates: more is noise */

/* --- arms --------------------------------------------------------------------------------- */

void arm_fini(struct arm *arm)
{
    if (!arm)
        return;
    free(arm->label);
    cJSON_Delete(arm->settings);
    *arm = (struct arm){0};
}

void arms_free(struct arm *arms, size_t count)
{
    for (size_t i = 0; arms && i < count; i++)
        arm_fini(&arms[i]);
    free(arms);
}

const char *arm_name(int index, char out[ARM_NAME_SIZE])
{
    (void)snprintf(out, ARM_NAME_SIZE, "a%d", index);
    return out;
}

int arm_index(const char *name)
{
    char again[ARM_NAME_SIZE];
    if (!name || name[0] != 'a' || strlen(name) >= ARM_NAME_SIZE)
        return -1;
    long index = strtol(name + 1, NULL, 10);
    if (index < 0 || index > LIMIT_TRIALS)
        return -1;
    /* written back it must be the same: no sign, no leading zero, nothing behind */
    return strcmp(arm_name((int)index, again), name) == 0 ? (int)index : -1;
}

/* --- JSON --------------------------------------------------------------------------------- */

static void add(cJSON *object, const char *name, cJSON *item)
{
    (void)cJSON_AddItemToObject(object, name, item); /* fails for NULL arguments only */
}

/* A whole number, or null for -1. */
static cJSON *known(int64_t value)
{
    return value == -1 ? cJSON_CreateNull() : cJSON_CreateNumber((double)value);
}

static cJSON *seconds(double value)
{
    return json_number(round(value * 1e6) / 1e6);
}

static cJSON *array_or_empty(const cJSON *array)
{
    return array ? cJSON_Duplicate(array, true) : cJSON_CreateArray();
}

static cJSON *copy_of(const cJSON *tree)
{
    return tree ? cJSON_Duplicate(tree, true) : NULL;
}

/* Reads the members the table knows and leaves the others alone: a later version may add some.
 * Texts are borrowed from the tree; objects and arrays are checked, and found by their name. */
static int read_known(const cJSON *tree, const struct json_field *fields, size_t field_count,
                      void *out, struct err *err)
{
    int rc = 0;
    struct json_faults faults = {0};
    if (!cJSON_IsObject(tree))
        return err_set(err, ERR_INPUT, 0, "an object is wanted");
    cJSON *object = cJSON_CreateObject();
    for (size_t i = 0; i < field_count; i++) {
        const cJSON *member = json_member(tree, fields[i].name);
        if (member)
            (void)cJSON_AddItemReferenceToObject(object, fields[i].name,
                                                 (cJSON *)(uintptr_t)member);
    }
    json_read(object, fields, field_count, "", out, &faults);
    if (faults.count > 0)
        rc = err_set(err, ERR_INPUT, 0, "%s %s", faults.items[0].pointer, faults.items[0].detail);
    json_faults_fini(&faults);
    cJSON_Delete(object);
    return rc;
}

cJSON *arm_to_json(const struct arm *arm)
{
    char name[ARM_NAME_SIZE];
    cJSON *tree = cJSON_CreateObject();
    add(tree, "arm", json_text(arm_name(arm->index, name)));
    add(tree, "label", json_text(arm->label));
    add(tree, "settings", arm->settings ? copy_of(arm->settings) : cJSON_CreateObject());
    add(tree, "baseline", cJSON_CreateBool(arm->baseline));
    add(tree, "against",
        arm->against < 0 ? cJSON_CreateNull() : json_text(arm_name(arm->against, name)));
    add(tree, "buffer_memory_mib", json_number(arm->buffer_memory_mib));
    return tree;
}

struct arm_members {
    const char *arm;
    const char *label;
    bool baseline;
    const char *against;
    double buffer_memory_mib;
};

/* clang-format off */
#define AT(member) offsetof(struct arm_members, member)
static const struct json_field arm_fields[] = {
    {.name = "arm",               .type = JSON_TEXT,   .offset = AT(arm),      .required = true},
    {.name = "label",             .type = JSON_TEXT,   .offset = AT(label),    .required = true},
    {.name = "settings",          .type = JSON_OBJECT, .offset = JSON_NO_OFFSET, .required = true},
    {.name = "baseline",          .type = JSON_BOOL,   .offset = AT(baseline), .required = true},
    {.name = "against",           .type = JSON_TEXT,   .offset = AT(against),           .nullable = true},
    {.name = "buffer_memory_mib", .type = JSON_NUMBER, .offset = AT(buffer_memory_mib), .nullable = true},
};
#undef AT
/* clang-format on */

int arm_from_json(const cJSON *tree, struct arm *out, struct err *err)
{
    struct arm_members members = {.buffer_memory_mib = NAN};
    if (read_known(tree, arm_fields, JSON_COUNT(arm_fields), &members, err) < 0)
        return err_wrap(err, "read an arm");
    int index = arm_index(members.arm);
    int against = members.against ? arm_index(members.against) : -1;
    if (index < 0 || (members.against && against < 0))
        return err_set(err, ERR_INPUT, 0, "read an arm: \"%s\" is no arm's name",
                       index < 0 ? members.arm : members.against);
    *out = (struct arm){.index = index,
                        .label = mem_copy(members.label),
                        .settings = copy_of(json_member(tree, "settings")),
                        .baseline = members.baseline,
                        .against = against,
                        .buffer_memory_mib = members.buffer_memory_mib};
    return 0;
}

/* --- trials ------------------------------------------------------------------------------- */

static const char *const status_names[] = {
    [TRIAL_OK] = "ok",
    [TRIAL_FAILED] = "failed",
    [TRIAL_CONTAMINATED] = "contaminated",
    [TRIAL_CANCELLED] = "cancelled",
    NULL,
};

struct trial trial_new(int64_t seq, int block, int arm, bool warmup)
{
    return (struct trial){.seq = seq,
                          .block = block,
                          .arm = arm,
                          .warmup = warmup,
                          .elapsed_s = NAN,
                          .server_s = NAN,
                          .pages = -1,
                          .bytes = -1,
                          .file_bytes = -1,
                          .peak_bytes = -1,
                          .cpu_s = NAN,
                          .cpu_count = -1,
                          .create_s = NAN};
}

void trial_fini(struct trial *trial)
{
    if (!trial)
        return;
    cJSON_Delete(trial->waits);
    cJSON_Delete(trial->reads_by_file);
    cJSON_Delete(trial->notes);
    free(trial->error_text);
    free(trial->error_step);
    *trial = trial_new(0, 0, 0, false);
}

void trials_free(struct trial *trials, size_t count)
{
    for (size_t i = 0; trials && i < count; i++)
        trial_fini(&trials[i]);
    free(trials);
}

void trial_note(struct trial *trial, const char *text)
{
    if (!trial->notes)
        trial->notes = cJSON_CreateArray();
    (void)cJSON_AddItemToArray(trial->notes, json_text(text));
}

/* The server's clock where the statement reports one, else ours. */
static double duration(const struct trial *trial)
{
    return isnan(trial->server_s) ? trial->elapsed_s : trial->server_s;
}

double trial_rate(const struct trial *trial)
{
    double taken = duration(trial);
    if (trial->bytes <= 0 || !(taken > 0))
        return NAN;
    return (double)trial->bytes / taken / MIB;
}

double trial_speed(const struct trial *trial)
{
    double taken = duration(trial);
    if (trial->pages == -1 && trial->bytes == -1)
        return taken > 0 ? 1 / taken : NAN;
    return trial_rate(trial);
}

bool trial_was_lost(const struct trial *trial)
{
    return trial->error_step && strcmp(trial->error_step, TRIAL_LOST_STEP) == 0;
}

bool trial_counts(const struct trial *trial)
{
    return trial->status == TRIAL_OK && !trial->warmup && trial_speed(trial) > 0;
}

static double cpu_percent(const struct trial *trial)
{
    if (trial->cpu_count <= 0 || !(trial->elapsed_s > 0))
        return NAN;
    return 100 * trial->cpu_s / (trial->elapsed_s * (double)trial->cpu_count);
}

static cJSON *error_to_json(const struct trial *trial)
{
    if (trial->error_number == 0 && !trial->error_text)
        return cJSON_CreateNull();
    cJSON *error = cJSON_CreateObject();
    add(error, "number",
        trial->error_number == 0 ? cJSON_CreateNull() : known(trial->error_number));
    add(error, "message", json_text(trial->error_text));
    add(error, "step", json_text(trial->error_step));
    return error;
}

cJSON *trial_to_json(const struct trial *trial)
{
    char name[ARM_NAME_SIZE];
    char time[CLOCK_TEXT_SIZE];
    cJSON *tree = cJSON_CreateObject();
    add(tree, "seq", known(trial->seq));
    add(tree, "block", known(trial->block));
    add(tree, "arm", json_text(arm_name(trial->arm, name)));
    add(tree, "warmup", cJSON_CreateBool(trial->warmup));
    add(tree, "status", json_text(status_names[trial->status]));
    add(tree, "started_at",
        trial->started_at == 0 ? cJSON_CreateNull()
                               : json_text(clock_format(trial->started_at, time)));
    add(tree, "elapsed_s", seconds(trial->elapsed_s));
    add(tree, "server_s", seconds(trial->server_s));
    add(tree, "pages", known(trial->pages));
    add(tree, "bytes", known(trial->bytes));
    add(tree, "rate_mib_s", json_rounded(trial_rate(trial), DIGITS));
    add(tree, "file_bytes", known(trial->file_bytes));
    if (trial->peak_bytes >= 0)
        add(tree, "peak_file_bytes", known(trial->peak_bytes));
    add(tree, "cpu_s", seconds(trial->cpu_s));
    add(tree, "cpu_count", known(trial->cpu_count));
    add(tree, "cpu_percent", json_rounded(cpu_percent(trial), DIGITS));
    add(tree, "waits", array_or_empty(trial->waits));
    add(tree, "reads_by_file", array_or_empty(trial->reads_by_file));
    add(tree, "create_s", seconds(trial->create_s));
    add(tree, "notes", array_or_empty(trial->notes));
    add(tree, "error", error_to_json(trial));
    return tree;
}

struct trial_members {
    int64_t seq, block;
    const char *arm;
    bool warmup;
    const char *status;
    const char *started_at;
    double elapsed_s, server_s;
    int64_t pages, bytes, file_bytes, peak_bytes;
    double cpu_s;
    int64_t cpu_count;
    double create_s;
    int64_t error_number;
    const char *error_text, *error_step;
};

/* clang-format off */
#define AT(member) offsetof(struct trial_members, member)
static const struct json_field error_fields[] = {
    {.name = "number",  .type = JSON_INT,  .offset = AT(error_number), .nullable = true},
    {.name = "message", .type = JSON_TEXT, .offset = AT(error_text),   .nullable = true},
    {.name = "step",    .type = JSON_TEXT, .offset = AT(error_step),   .nullable = true},
};

static const struct json_field trial_fields[] = {
    {.name = "seq",    .type = JSON_INT,  .offset = AT(seq),    .required = true, .min = 1, .max = INFINITY},
    {.name = "block",  .type = JSON_INT,  .offset = AT(block),  .required = true, .min = 0, .max = LIMIT_TRIALS},
    {.name = "arm",    .type = JSON_TEXT, .offset = AT(arm),    .required = true},
    {.name = "warmup", .type = JSON_BOOL, .offset = AT(warmup), .required = true},
    {.name = "status", .type = JSON_TEXT, .offset = AT(status), .required = true, .choices = status_names},
    {.name = "started_at",    .type = JSON_TEXT,   .offset = AT(started_at),    .nullable = true},
    {.name = "elapsed_s",     .type = JSON_NUMBER, .offset = AT(elapsed_s),     .nullable = true},
    {.name = "server_s",      .type = JSON_NUMBER, .offset = AT(server_s),      .nullable = true},
    {.name = "pages",         .type = JSON_INT,    .offset = AT(pages),         .nullable = true},
    {.name = "bytes",         .type = JSON_INT,    .offset = AT(bytes),         .nullable = true},
    {.name = "file_bytes",    .type = JSON_INT,    .offset = AT(file_bytes),    .nullable = true},
    {.name = "peak_file_bytes", .type = JSON_INT,  .offset = AT(peak_bytes),    .nullable = true},
    {.name = "cpu_s",         .type = JSON_NUMBER, .offset = AT(cpu_s),         .nullable = true},
    {.name = "cpu_count",     .type = JSON_INT,    .offset = AT(cpu_count),     .nullable = true},
    {.name = "waits",         .type = JSON_ARRAY,  .offset = JSON_NO_OFFSET},
    {.name = "reads_by_file", .type = JSON_ARRAY,  .offset = JSON_NO_OFFSET},
    {.name = "create_s",      .type = JSON_NUMBER, .offset = AT(create_s),      .nullable = true},
    {.name = "notes",         .type = JSON_ARRAY,  .offset = JSON_NO_OFFSET},
    {.name = "error",         .type = JSON_OBJECT, .offset = JSON_NO_OFFSET,    .nullable = true,
     .fields = error_fields,  .field_count = JSON_COUNT(error_fields)},
};
#undef AT
/* clang-format on */

static enum trial_status status_of(const char *name)
{
    int status = TRIAL_OK;
    while (strcmp(status_names[status], name) != 0)
        status++; /* the table let only known names through */
    return (enum trial_status)status;
}

int trial_from_json(const cJSON *tree, struct trial *out, struct err *err)
{
    struct trial_members in = {.elapsed_s = NAN,
                               .server_s = NAN,
                               .pages = -1,
                               .bytes = -1,
                               .file_bytes = -1,
                               .peak_bytes = -1,
                               .cpu_s = NAN,
                               .cpu_count = -1,
                               .create_s = NAN};
    int64_t started_at = 0;
    if (read_known(tree, trial_fields, JSON_COUNT(trial_fields), &in, err) < 0)
        return err_wrap(err, "read a trial");
    if (arm_index(in.arm) < 0)
        return err_set(err, ERR_INPUT, 0, "read a trial: \"%s\" is no arm's name", in.arm);
    if (in.started_at && !clock_parse(in.started_at, &started_at))
        return err_set(err, ERR_INPUT, 0, "read a trial: \"%s\" is no time", in.started_at);
    if (in.pages > INT64_MAX / PAGE_BYTES)
        return err_set(err, ERR_INPUT, 0, "read a trial: too many pages");
    struct trial trial = trial_new(in.seq, (int)in.block, arm_index(in.arm), in.warmup);
    trial.status = status_of(in.status);
    trial.started_at = started_at;
    trial.elapsed_s = in.elapsed_s;
    trial.server_s = in.server_s;
    trial.pages = in.pages;
    trial.bytes = in.pages >= 0 ? in.pages * PAGE_BYTES : in.bytes;
    trial.file_bytes = in.file_bytes;
    trial.peak_bytes = in.peak_bytes;
    trial.cpu_s = in.cpu_s;
    trial.cpu_count = in.cpu_count;
    trial.waits = copy_of(json_member(tree, "waits"));
    trial.reads_by_file = copy_of(json_member(tree, "reads_by_file"));
    trial.create_s = in.create_s;
    trial.notes = copy_of(json_member(tree, "notes"));
    trial.error_number = in.error_number;
    trial.error_text = mem_copy(in.error_text);
    trial.error_step = mem_copy(in.error_step);
    *out = trial;
    return 0;
}
