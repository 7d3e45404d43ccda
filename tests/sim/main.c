/* main.c: the simulator as a program. */
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static const char help[] =
    "mssqlsim: a SQL Server simulator (a test double, not a product of Microsoft)\n"
    "\n"
    "  --listen ADDRESS:PORT   where to listen; port 0 takes a free one (127.0.0.1:0)\n"
    "  --scenario FILE         JSON, see tests/sim/README.md; without it the default below\n"
    "  --print-statements      every statement received, on standard error\n"
    "  --version               the version of Sweetspot it belongs to\n"
    "  --help                  this text\n"
    "\n"
    "A scenario is an object; each member may be left out, an unknown one is an error:\n"
    "  version, edition, platform, server_name, collation, language, utc_offset_minutes\n"
    "  cpu_count, memory_mib, free_memory_mib, server_memory_mib, backup_memory_mib, lock_pages\n"
    "  time_scale, seed, noise, drift, outlier_rate, outlier_factor, surface\n"
    "  encryption, certificate_file, key_file, logins\n"
    "  databases: plain, read-only, standby, of one user, restricted, replicas, mirrors;\n"
    "    files of rows, log, FILESTREAM, memory-optimised\n"
    "  availability_groups, hadr_enabled\n"
    "  volumes (drives, mount points, shares), folders, files, data_dir, backup_dir\n"
    "  configurations, trace_flags, performance_counters, default_trace\n"
    "  faults, and timeline: faults at a second or at a percentage of a backup\n"
    "\n"
    "The default scenario: SQL Server 2022 Developer on Linux, login sa, password Sweetspot-1,\n"
    "databases Sales (256 MiB, FULL), AdventureWorks (190 MiB, SIMPLE) and Odd ]name's (24 MiB),\n"
    "backup folder /var/opt/mssql/backup. When it is ready it prints one line on standard output:\n"
    "mssqlsim ready on 127.0.0.1:PORT. SIGTERM and SIGINT end it.\n";

struct options {
    char address[64];
    int port;
    const char *scenario;
    bool print_statements;
};

static int parse_listen(const char *text, struct options *o)
{
    const char *colon = strrchr(text, ':');
    char *end = NULL;
    if (!colon || (size_t)(colon - text) >= sizeof(o->address) || colon == text)
        return -1;
    memcpy(o->address, text, (size_t)(colon - text));
    o->address[colon - text] = 0;
    long port = strtol(colon + 1, &end, 10);
    if (*end || end == colon + 1 || port < 0 || port > 65535)
        return -1;
    o->port = (int)port;
    return 0;
}

/* 0 go on, 1 end well, 2 end badly */
static int parse_options(int argc, char **argv, struct options *o)
{
    static const struct option long_options[] = {{"listen", required_argument, NULL, 'l'},
                                                 {"scenario", required_argument, NULL, 's'},
                                                 {"print-statements", no_argument, NULL, 'p'},
                                                 {"version", no_argument, NULL, 'v'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {NULL, 0, NULL, 0}};
    int c = 0;

    while ((c = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (c == 'l' && parse_listen(optarg, o)) {
            (void)fprintf(stderr, "mssqlsim: --listen needs ADDRESS:PORT\n");
            return 2;
        }
        if (c == 's')
            o->scenario = optarg;
        else if (c == 'p')
            o->print_statements = true;
        else if (c == 'h' || c == 'v') {
            (void)fputs(c == 'h' ? help : "mssqlsim " SWEETSPOT_VERSION "\n", stdout);
            return 1;
        } else if (c != 'l') {
            return 2;
        }
    }
    if (optind < argc) {
        (void)fprintf(stderr, "mssqlsim: unexpected argument %s\n", argv[optind]);
        return 2;
    }
    return 0;
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t used = 0, room = 0;

    if (!file)
        return NULL;
    for (;;) {
        if (room - used < 4096) {
            room = room ? room * 2 : 8192;
            char *more = realloc(text, room);
            if (!more)
                abort();
            text = more;
        }
        size_t n = fread(text + used, 1, room - used - 1, file);
        used += n;
        if (n == 0)
            break;
    }
    (void)fclose(file);
    text[used] = 0;
    return text;
}

int main(int argc, char **argv)
{
    struct options o = {.address = "127.0.0.1"};
    char error[SIM_ERROR_SIZE] = "";
    struct sim *sim = NULL;
    char *scenario = NULL;
    sigset_t signals;
    int received = 0;

    int rc = parse_options(argc, argv, &o);
    if (rc)
        return rc == 1 ? 0 : rc;
    if (o.scenario && !(scenario = read_file(o.scenario))) {
        (void)fprintf(stderr, "mssqlsim: %s cannot be read\n", o.scenario);
        return 2;
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    rc = sim_start_at(scenario, o.address, o.port, o.print_statements, &sim, error);
    free(scenario);
    if (rc) {
        (void)fprintf(stderr, "mssqlsim: %s\n", error);
        return 1;
    }
    (void)printf("mssqlsim ready on %s:%d\n", o.address, sim_port(sim));
    (void)fflush(stdout);
    (void)sigwait(&signals, &received);
    sim_stop(sim);
    return 0;
}
