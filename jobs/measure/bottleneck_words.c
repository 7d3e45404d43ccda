/* The verdict in words: the figures it rests on, and what to do about it. */
#include "jobs/measure/bottleneck_parts.h"

#include "server/mem.h"

#include <math.h>
#include <stdlib.h>

static void add(cJSON *list, char *text)
{
    (void)cJSON_AddItemToArray(list, json_text(text));
    free(text);
}

/* --- evidence ------------------------------------------------------------------------------- */

static void say_rate(const struct bottleneck_profile *profile,
                     const struct bottleneck_verdict *verdict)
{
    if (isnan(verdict->fraction))
        return;
    add(verdict->evidence,
        mem_format("%.4g MiB/s is %.1f %% (%.1f to %.1f) of the %.4g MiB/s that the same backup "
                   "to NUL gives.",
                   profile->rate.value, 100 * verdict->fraction, 100 * verdict->low,
                   100 * verdict->high, profile->ceiling.value));
    if (isnan(profile->rate.low) || isnan(profile->ceiling.low))
        add(verdict->evidence,
            mem_copy("One run alone has no interval: a spread of 3 % is assumed."));
}

static void say_waits(const struct bottleneck_profile *profile,
                      const struct bottleneck_verdict *verdict)
{
    if (!profile->discards && !isnan(profile->write_wait))
        add(verdict->evidence,
            mem_format("A writing thread waited %.0f %% of the time for the backup file "
                       "(BACKUPIO).",
                       100 * bottleneck_write_share(profile)));
    if (!isnan(profile->buffer_wait) && !isnan(profile->read_wait))
        add(verdict->evidence,
            mem_format("Waits for a buffer (BACKUPBUFFER) make %.0f %% of the time, waits for the "
                       "data files (ASYNC_IO_COMPLETION) %.0f %%; the latter are long in every "
                       "backup.",
                       100 * profile->buffer_wait, 100 * profile->read_wait));
}

static void say_cpu(const struct bottleneck_profile *profile,
                    const struct bottleneck_verdict *verdict)
{
    if (isnan(profile->cpu_cores) || profile->cpu_count < 1)
        return;
    add(verdict->evidence,
        mem_format("The server kept %.2g of %d core%s busy; a backup like this "
                   "has %d threads.",
                   profile->cpu_cores, profile->cpu_count, profile->cpu_count == 1 ? "" : "s",
                   bottleneck_threads(profile)));
}

static void say_ratio(const struct bottleneck_profile *profile,
                      const struct bottleneck_verdict *verdict)
{
    if (!profile->compressed || !(profile->ratio > 0) || !(profile->rate.value > 0))
        return;
    add(verdict->evidence,
        mem_format("The file has 1/%.2f of the data: the target took %.4g MiB/s.", profile->ratio,
                   profile->rate.value / profile->ratio));
}

void bottleneck_add_evidence(const struct bottleneck_profile *profile, unsigned signs,
                             struct bottleneck_verdict *verdict)
{
    say_rate(profile, verdict);
    say_waits(profile, verdict);
    say_cpu(profile, verdict);
    say_ratio(profile, verdict);
    if (signs & SIGN_BESIDE_DATA)
        add(verdict->evidence, mem_copy("The target is on a drive with data files."));
    if (signs & SIGN_LOCAL_FASTER)
        add(verdict->evidence,
            mem_format("A folder of this host took %.4g MiB/s of the same data in this job.",
                       profile->layout.local_mib_s));
    if (signs & SIGN_SLOWEST_DRIVE)
        add(verdict->evidence, mem_format("Of the drives with data files, %s delivers slowest.",
                                          profile->layout.slowest_drive));
    if (signs & SIGN_GROWN)
        add(verdict->evidence,
            mem_format("The default trace, which begins %s, holds %lld growths of data files.",
                       profile->layout.growths_since ? profile->layout.growths_since
                                                     : "at a time not known",
                       (long long)profile->layout.growths));
}

/* --- advice --------------------------------------------------------------------------------- */

#define ON(verdict) (1U << (verdict))
#define READ ON(BOTTLENECK_READ)
#define WRITE ON(BOTTLENECK_WRITE)
#define CPU ON(BOTTLENECK_CPU)
#define BALANCED ON(BOTTLENECK_BALANCED)
#define UNSURE ON(BOTTLENECK_UNSURE)

/* Every row that fits is said: the verdict is one of these, all signs of `with` are there and none
 * of `without`. */
static const struct {
    unsigned verdicts, with, without;
    const char *text;
} advice[] = {
    /* clang-format off */
    {WRITE | READ, SIGN_BESIDE_DATA | SIGN_FAR, 0, "Write to another disk than the one with the data files: now reading and writing take turns on it."},
    {WRITE, 0, SIGN_BESIDE_DATA, "Write to a faster disk: the target takes less than reading delivers."},
    {WRITE, SIGN_ONE_STRIPE, 0, "Split the backup into several files, best on several disks: each file has a writing thread of its own."},
    {WRITE, 0, SIGN_ONE_STRIPE, "Spread the files over more disks: files on one disk share what it takes."},
    {WRITE, SIGN_CPU_FREE, SIGN_COMPRESSED, "Compress: less has to be written, and there is CPU for it. Ask first whether the target deduplicates: compressed files hardly can be."},
    {WRITE, SIGN_ON_SHARE, SIGN_LOCAL_FASTER, "Measure a local folder of the file server or of this host as well: it tells the network from the disk behind the share."},
    {WRITE, SIGN_ON_SHARE | SIGN_LOCAL_FASTER, 0, "Look at the network and at the file server first: neither reading nor a local folder is as slow as this share."},
    {WRITE | BALANCED, SIGN_COMPRESSED | SIGN_POOR_RATIO, 0, "Leave compression out: this database hardly gets smaller, so it saves the target nothing."},
    {WRITE | CPU, SIGN_POOR_RATIO | SIGN_TDE_RULE, 0, "If the database is encrypted (TDE), send MAXTRANSFERSIZE = 131072: before SQL Server 2019 CU5 it is only compressed with more than 65536."},

    {READ, SIGN_SLOWEST_DRIVE, 0, "Move data files off the slowest drive, or make it faster: the others wait for it at the end."},
    {READ, SIGN_ONE_VOLUME, 0, "Spread the data over files on several disks: a backup reads each drive with a thread of its own, and now there is one."},
    {READ, 0, SIGN_ONE_VOLUME | SIGN_SLOWEST_DRIVE | SIGN_ABOVE, "Put the data files on faster disks: the target takes all that reading delivers."},
    {READ, SIGN_STARVING, 0, "Try more buffers (a backup_sweep over BUFFERCOUNT): threads wait for buffers while the disks may have more to give."},
    {READ, SIGN_LOG_BESIDE_DATA, 0, "Give the transaction log a disk of its own: while the database is busy, writing the log breaks up the reading of the data files beside it."},
    {READ, SIGN_GROWN, 0, "Let the data files grow in fewer and larger steps, and look at how many pieces they are in on the volume: each growth may have added one, and reading jumps between them."},

    {CPU, SIGN_MACHINE_FULL, 0, "Run the backup when the server has less to do: its CPU is used up by all work together."},
    {CPU, SIGN_COMPRESSED, SIGN_MACHINE_FULL, "Split the backup into more files: more threads share the work of compressing."},
    {CPU, SIGN_COMPRESSED, SIGN_POOR_RATIO, "Compare with compression off, or another algorithm: it costs CPU for what it saves on the target."},
    {CPU, SIGN_COMPRESSED | SIGN_POOR_RATIO, 0, "Switch compression off: it costs the CPU and saves next to nothing."},

    {BALANCED, 0, 0, "Leave it as it is: a faster disk on one side alone would soon wait for the other."},

    {READ | UNSURE, SIGN_ABOVE, 0, "Add a target that is NUL with as many files as this one: more files bring more buffers, and its rate is then this target's ceiling."},
    {UNSURE, SIGN_NO_RATE, 0, "Look at the failed trials: without both rates there is nothing to compare."},
    {UNSURE, SIGN_OPEN, SIGN_NO_RATE, "Ask for more repetitions: the interval is too wide."},
    {UNSURE, SIGN_EDGE, 0, "Ask for more repetitions: the interval holds 90 % of the ceiling."},
    {UNSURE, SIGN_WRITERS_UNSEEN, SIGN_NO_RATE, "Grant VIEW SERVER STATE (from 2022 on VIEW SERVER PERFORMANCE STATE): what the threads wait for was not seen."},
    {UNSURE, SIGN_CPU_UNSEEN, SIGN_NO_RATE | SIGN_WRITERS_UNSEEN, "Grant VIEW SERVER STATE (from 2022 on VIEW SERVER PERFORMANCE STATE): the CPU was not seen."},
    {UNSURE, SIGN_CPU_DOUBTFUL | SIGN_COMPRESSED, SIGN_NO_RATE | SIGN_ABOVE, "Measure with compression off as well: the two ceilings tell reading from compressing."},
    {UNSURE, SIGN_CPU_DOUBTFUL, SIGN_NO_RATE | SIGN_COMPRESSED | SIGN_CPU_UNSEEN | SIGN_ABOVE, "Measure again when the server has less to do: a backup without compression does not need that much CPU."},
    {UNSURE, SIGN_DISCARDS | SIGN_FAR, SIGN_NO_RATE, "Measure again when the disks have less to do: nothing is written here, so only reading can have slowed down."},
    {UNSURE, SIGN_FAR, SIGN_NO_RATE | SIGN_DISCARDS, "Measure another target, or fewer and more files: what changes with them shows the side."},
    /* clang-format on */
};

void bottleneck_add_advice(unsigned signs, struct bottleneck_verdict *verdict)
{
    for (size_t i = 0; i < JSON_COUNT(advice); i++)
        if ((advice[i].verdicts & ON(verdict->bottleneck)) &&
            (signs & advice[i].with) == advice[i].with && !(signs & advice[i].without))
            (void)cJSON_AddItemToArray(verdict->advice, json_text(advice[i].text));
}
