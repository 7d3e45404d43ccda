#pragma once
/* What the benchmarks of the HTTP service share: the daemon as a process of its own with a job to
 * ask for, a good client whose calls are timed, and what the process holds. Failures end the
 * program. Threads: one, but for the good client's own. */
#include "tests/child_kit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct load {
    struct child child;
    char job[80]; /* the path of a job that waits for ever */
};

/* Starts it; files: open files that this process and the daemon may want. */
void load_start(struct load *load, unsigned files);
void load_stop(struct load *load);

/* Resident memory of a process, KiB. */
int64_t load_resident_kib(pid_t pid);

/* Its open files and connections, as /metrics tells them. */
long load_open_files(const struct load *load);

/* The good client: GET of the job, again and again on one connection, and each tenth call on a new
 * one. */
struct load_client;
struct load_client *load_client_start(const struct load *load);

/* Ends it. Prints how many calls there were and how long they took; the 99th percentile in ms. */
double load_client_stop(struct load_client *client, const char *what);

/* Prints a figure beside its bar; counts those that miss it. */
void load_bar(const char *what, double value, double most, const char *unit);
int load_missed(void);
