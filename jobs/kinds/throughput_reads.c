#include "jobs/kinds/throughput_reads.h"
#include "jobs/measure/tsql.h"
#include "jobs/member.h"
#include "server/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0
#define DIGITS 6
#define STANDS_OUT 1.1 /* as much longer a drive makes a read wait than the next one */

/* What was read of one file, or of all data files of one drive. */
struct tally {
    const char *name;   /* of the file or the drive; borrowed from the trials */
    const char *volume; /* NULL unknown */
    bool log;
    int files;
    double bytes;
    double stall_ms;
};

struct tallies {
    struct tally *items;
    size_t count;
    size_t capacity;
    double seconds; /* of all counted trials */
};

static struct tally *tally_of(struct tallies *tallies, const char *name)
{
    for (size_t i = 0; i < tallies->count; i++)
        if (strcmp(tallies->items[i].name, name) == 0)
            return &tallies->items[i];
    tallies->items =
        mem_grow(tallies->items, &tallies->capacity, tallies->count + 1, sizeof *tallies->items);
    tallies->items[tallies->count].name = name;
    return &tallies->items[tallies->count++];
}

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *number = json_member(object, name);
    return cJSON_IsNumber(number) ? number->valuedouble : 0;
}

static void add_trial(struct tallies *tallies, const struct trial *trial)
{
    tallies->seconds += isnan(trial->server_s) ? trial->elapsed_s : trial->server_s;
    const cJSON *read;
    cJSON_ArrayForEach(read, trial->reads_by_file) {
        const char *name = member_text(read, "file");
        if (!name)
            continue;
        struct tally *tally = tally_of(tallies, name);
        tally->volume = member_text(read, "volume");
        tally->log = cJSON_IsTrue(json_member(read, "log"));
        tally->bytes += number_of(read, "bytes");
        tally->stall_ms += number_of(read, "stall_ms");
    }
}

static struct tallies tallies_of_files(const struct bundle *bundle, int arm)
{
    struct tallies files = {0};
    for (size_t i = 0; i < bundle->trial_count; i++)
        if (bundle->trials[i].arm == arm && trial_counts(&bundle->trials[i]))
            add_trial(&files, &bundle->trials[i]);
    return files;
}

static struct tallies tallies_of_drives(const struct tallies *files)
{
    struct tallies drives = {.seconds = files->seconds};
    for (size_t i = 0; i < files->count; i++) {
        const struct tally *file = &files->items[i];
        if (file->log || !file->volume)
            continue;
        struct tally *drive = tally_of(&drives, file->volume);
        drive->files++;
        drive->bytes += file->bytes;
        drive->stall_ms += file->stall_ms;
    }
    return drives;
}

static double stall_of(const struct tally *tally)
{
    return tally->bytes > 0 ? tally->stall_ms / (tally->bytes / MIB) : NAN;
}

static void add_figures(cJSON *object, const struct tallies *tallies, const struct tally *tally)
{
    double rate = tallies->seconds > 0 ? tally->bytes / MIB / tallies->seconds : NAN;
    cJSON_AddItemToObject(object, "mib_s", json_rounded(rate, DIGITS));
    cJSON_AddItemToObject(object, "stall_ms_per_mib", json_rounded(stall_of(tally), DIGITS));
}

static cJSON *files_json(const struct tallies *files)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < files->count; i++) {
        const struct tally *file = &files->items[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToObject(item, "file", json_text(file->name));
        cJSON_AddItemToObject(item, "volume", json_text(file->volume));
        cJSON_AddBoolToObject(item, "log", file->log);
        add_figures(item, files, file);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

static cJSON *drives_json(const struct tallies *drives)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < drives->count; i++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToObject(item, "volume", json_text(drives->items[i].name));
        cJSON_AddNumberToObject(item, "data_files", drives->items[i].files);
        add_figures(item, drives, &drives->items[i]);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

/* The drive that makes a read wait longest, when it stands out. Bytes do not show it: every drive
 * delivers its files' share of the same backup. */
static const struct tally *slowest_of(const struct tallies *drives)
{
    const struct tally *slowest = NULL;
    double longest = 0;
    double next = 0;
    for (size_t i = 0; i < drives->count; i++) {
        double stall = stall_of(&drives->items[i]);
        if (isnan(stall))
            continue;
        if (stall > longest) {
            next = longest;
            longest = stall;
            slowest = &drives->items[i];
        } else {
            next = fmax(next, stall);
        }
    }
    return drives->count > 1 && longest >= STANDS_OUT * next ? slowest : NULL;
}

static bool is_log_beside_data(const struct tallies *files, const struct tallies *drives)
{
    for (size_t i = 0; i < files->count; i++)
        for (size_t d = 0; d < drives->count && files->items[i].log && files->items[i].volume; d++)
            if (strcmp(files->items[i].volume, drives->items[d].name) == 0)
                return true;
    return false;
}

void throughput_reads_make(const struct bundle *bundle, int arm, struct throughput_reads *out)
{
    struct tallies files = tallies_of_files(bundle, arm);
    struct tallies drives = tallies_of_drives(&files);
    const struct tally *slowest = slowest_of(&drives);
    *out = (struct throughput_reads){.files = files_json(&files),
                                     .drives = drives_json(&drives),
                                     .log_beside_data = is_log_beside_data(&files, &drives)};
    if (slowest)
        out->slowest_drive =
            member_text(cJSON_GetArrayItem(out->drives, (int)(slowest - drives.items)), "volume");
    free(files.items);
    free(drives.items);
}

void throughput_reads_fini(struct throughput_reads *reads)
{
    cJSON_Delete(reads->files);
    cJSON_Delete(reads->drives);
    *reads = (struct throughput_reads){0};
}

bool throughput_is_beside_data(const struct throughput_reads *reads, const char *folder)
{
    const cJSON *drive;
    cJSON_ArrayForEach(drive, reads->drives) {
        const char *volume = member_text(drive, "volume");
        if (volume && strcmp(volume, "/") != 0 && strcmp(folder, "NUL") != 0 &&
            tsql_path_is_allowed(folder, &volume, 1))
            return true;
    }
    return false;
}
