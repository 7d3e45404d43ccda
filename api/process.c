#include "api/process.h"
#include "api/metrics_text.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void add(struct buf *out, const char *name, const char *type, const char *help, double value)
{
    if (value < 0)
        return;
    metrics_family(out, name, type, help);
    metrics_sample(out, name, "", NULL, value);
}

static double count_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    double count = -1; /* not the one that is open for looking */
    if (!folder)
        return -1;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder))
        count += entry->d_name[0] != '.';
    (void)closedir(folder); /* only read */
    return count;
}

/* Bytes in memory; negative when unknown. */
static double resident_bytes(void)
{
    long pages = -1;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return -1;
    if (fscanf(file, "%*s %ld", &pages) != 1) /* NOLINT(cert-err34-c): the kernel's own number */
        pages = -1;
    (void)fclose(file); /* only read */
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Seconds since 1970; negative when unknown. */
static double start_time(void)
{
    unsigned long long ticks = 0;
    struct timespec now;
    struct timespec up;
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file)
        return -1;
    char line[1024] = "";
    size_t length = fread(line, 1, sizeof line - 1, file);
    (void)fclose(file); /* only read */
    line[length] = '\0';
    /* the name in parentheses may hold anything; the start is the 20th word behind it */
    const char *at = strrchr(line, ')');
    for (int word = 0; at && word < 20; word++)
        at = strchr(at + 1, ' ');
    if (!at || sscanf(at, "%llu", &ticks) != 1) /* NOLINT(cert-err34-c): as above */
        return -1;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)clock_gettime(CLOCK_BOOTTIME, &up);
    double booted =
        (double)now.tv_sec - (double)up.tv_sec + (double)(now.tv_nsec - up.tv_nsec) / 1e9;
    return booted + (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

void process_add_metrics(struct buf *out)
{
    struct rusage usage;
    struct rlimit files;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        add(out, "process_cpu_seconds_total", "counter", "User and system time.",
            (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
    add(out, "process_resident_memory_bytes", "gauge", "Memory in use.", resident_bytes());
    add(out, "process_open_fds", "gauge", "Open files and connections.", count_files());
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        add(out, "process_max_fds", "gauge", "How many there may be.", (double)files.rlim_cur);
    add(out, "process_start_time_seconds", "gauge", "When the process started, since 1970.",
        start_time());
}
