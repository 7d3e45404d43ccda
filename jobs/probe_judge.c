/* What two samples around a trial say about it. Pure. */
#include "jobs/measure/guards.h"
#include "jobs/probe.h"
#include "server/json.h"
#include "server/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest waits of a trial that are kept, beside those that a kind always shows. */
#define WAITS_SHOWN 12

static const struct probe_wait *find_wait(const struct probe_sample *sample, const char *type)
{
    for (size_t i = 0; i < sample->wait_count; i++)
        if (strcmp(sample->waits[i].type, type) == 0)
            return &sample->waits[i];
    return NULL;
}

static int by_ms_down(const void *left, const void *right)
{
    int64_t a = ((const struct probe_wait *)left)->ms;
    int64_t b = ((const struct probe_wait *)right)->ms;
    return (a < b) - (a > b);
}

/* Waits that a server does all the time, in groups (domain.md 4.2; only where the whole instance
 * is sampled, and never a wait that backups or snapshots cause). */
static const char *const idle_waits[] = {
    "BROKER_",
    "CHECKPOINT_QUEUE",
    "CLR_AUTO_EVENT",
    "CLR_MANUAL_EVENT",
    "DIRTY_PAGE_POLL",
    "DISPATCHER_QUEUE",
    "FT_IFTS_SCHEDULER",
    "HADR_",
    "LAZYWRITER_SLEEP",
    "LOGMGR_QUEUE",
    "ONDEMAND_TASK_QUEUE",
    "PWAIT_",
    "QDS_",
    "REQUEST_FOR_DEADLOCK_SEARCH",
    "SERVER_IDLE_CHECK",
    "SLEEP_",
    "SOS_WORK_DISPATCHER",
    "SP_SERVER_DIAGNOSTICS",
    "SQLTRACE_",
    "WAITFOR",
    "WAIT_XTP_",
    "XE_",
};

static bool is_idle(const char *type)
{
    for (size_t i = 0; i < JSON_COUNT(idle_waits); i++)
        if (strncmp(type, idle_waits[i], strlen(idle_waits[i])) == 0)
            return true;
    return false;
}

static bool is_listed(const char *const *list, const char *type)
{
    for (; list && *list; list++)
        if (strcmp(*list, type) == 0)
            return true;
    return false;
}

static void add_wait(cJSON *list, const struct probe_wait *wait)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "type", wait->type);
    cJSON_AddNumberToObject(item, "ms", (double)wait->ms);
    cJSON_AddNumberToObject(item, "count", (double)wait->count);
    cJSON_AddItemToArray(list, item);
}

/* What grew between two samples; false when a counter went backwards (it was reset). */
static bool find_differences(const struct probe_sample *before, const struct probe_sample *after,
                             struct probe_wait *deltas, size_t *out_count)
{
    size_t count = 0;
    for (size_t i = 0; i < after->wait_count; i++) {
        struct probe_wait delta = after->waits[i];
        const struct probe_wait *old = find_wait(before, delta.type);
        delta.ms -= old ? old->ms : 0;
        delta.count -= old ? old->count : 0;
        if (delta.ms < 0 || delta.count < 0)
            return false;
        if (delta.ms > 0 && !(after->instance_waits && is_idle(delta.type)))
            deltas[count++] = delta;
    }
    *out_count = count;
    return true;
}

/* The longest differences first, and those that the kind always shows. */
static cJSON *wait_differences(const struct probe *probe, const struct probe_sample *before,
                               const struct probe_sample *after)
{
    struct probe_wait *deltas = mem_alloc(after->wait_count, sizeof *deltas);
    size_t count = 0;
    size_t shown = 0;
    cJSON *list = cJSON_CreateArray();
    bool comparable = before->instance_waits == after->instance_waits && after->wait_count > 0 &&
                      find_differences(before, after, deltas, &count);
    qsort(deltas, count, sizeof *deltas, by_ms_down);
    for (size_t i = 0; i < count && comparable; i++)
        if (shown < WAITS_SHOWN || is_listed(probe->always, deltas[i].type)) {
            add_wait(list, &deltas[i]);
            shown++;
        }
    for (const char *const *type = probe->always; type && *type && comparable; type++) {
        struct probe_wait none = {0};
        bool found = false;
        for (size_t i = 0; i < count; i++)
            found |= strcmp(deltas[i].type, *type) == 0;
        (void)snprintf(none.type, sizeof none.type, "%s", *type);
        if (!found)
            add_wait(list, &none);
    }
    free(deltas);
    return list;
}

static const struct probe_file *find_file(const struct probe_sample *sample, const char *name)
{
    for (size_t i = 0; i < sample->file_count; i++)
        if (strcmp(sample->files[i].name, name) == 0)
            return &sample->files[i];
    return NULL;
}

/* What each file delivered; a file whose counter went backwards is left out. */
static cJSON *read_differences(const struct probe_sample *before, const struct probe_sample *after)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < after->file_count; i++) {
        const struct probe_file *file = &after->files[i];
        const struct probe_file *old = find_file(before, file->name);
        if (!old || file->bytes < old->bytes || file->stall_ms < old->stall_ms)
            continue;
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "file", file->name);
        cJSON_AddItemToObject(item, "volume", json_text(file->volume[0] ? file->volume : NULL));
        cJSON_AddNumberToObject(item, "bytes", (double)(file->bytes - old->bytes));
        cJSON_AddNumberToObject(item, "stall_ms", (double)(file->stall_ms - old->stall_ms));
        cJSON_AddBoolToObject(item, "log", file->log);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static void contaminate(struct trial *trial, const char *note)
{
    if (trial->status == TRIAL_OK)
        trial->status = TRIAL_CONTAMINATED;
    trial_note(trial, note);
}

static void judge_foreign(const char *command, struct trial *trial)
{
    struct guards_input input = GUARDS_INPUT;
    input.moment = GUARDS_RUNNING;
    input.foreign = command[0] ? command : NULL;
    struct guards_answer answer = guards_judge(&input);
    if (answer.verdict == GUARDS_REPEAT)
        contaminate(trial, answer.text);
}

void probe_judge(const struct probe *probe, const struct probe_sample *before,
                 const struct probe_sample *after, struct trial *trial)
{
    if (before->cpu_ms >= 0 && after->cpu_ms >= before->cpu_ms)
        trial->cpu_s = (double)(after->cpu_ms - before->cpu_ms) / 1000;
    trial->cpu_count = after->cpu_count;
    trial->waits = wait_differences(probe, before, after);
    trial->reads_by_file = read_differences(before, after);
    if (before->started[0] && after->started[0] && strcmp(before->started, after->started) != 0)
        contaminate(trial, "the server was restarted during this trial");
    judge_foreign(before->foreign[0] ? before->foreign : after->foreign, trial);
    /* smaller: somebody cleaned msdb */
    if (before->foreign_set >= 0 && after->foreign_set > before->foreign_set)
        contaminate(trial, after->foreign_frozen
                               ? "a VSS snapshot froze the server's writes during this trial"
                               : "somebody else's backup ended during this trial");
}
