/* sweetspotd: reads the settings, starts the daemon (daemon.c), waits for a signal, stops it; or
 * runs a command (token_command.c, key_command.c). */
#include "server/config.h"
#include "server/daemon.h"
#include "server/key_command.h"
#include "server/log.h"
#include "server/token_command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILES_WANTED 16384 /* more than connections are taken */

/* A core dump would hold passwords. */
static void harden(void)
{
    (void)prctl(PR_SET_DUMPABLE, 0); /* without it a core dump is merely possible */
}

/* Each connection is an open file; most systems allow 1024 at first, and more to who asks. */
static void allow_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= FILES_WANTED)
        return;
    files.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
    (void)setrlimit(RLIMIT_NOFILE, &files); /* without it fewer are served */
}

static void block_signals(sigset_t *signals)
{
    (void)sigemptyset(signals);
    (void)sigaddset(signals, SIGTERM);
    (void)sigaddset(signals, SIGINT);
    (void)sigaddset(signals, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN); /* a receiver that goes away is an error, not our end */
}

static void reload(struct daemon *daemon)
{
    struct err err = {0};
    if (daemon_reload(daemon, &err) < 0)
        log_event(LOG_LEVEL_ERROR, "reload_failed", "error=%s", log_quote(err.msg));
    else
        log_event(LOG_LEVEL_INFO, "reloaded", NULL);
}

static int serve(const struct config *config)
{
    struct daemon *daemon = NULL;
    struct err err = {0};
    sigset_t signals;
    int signal_number = 0;
    bool owing = false;
    block_signals(&signals);
    if (daemon_start(config, &daemon, &err) < 0) {
        (void)fprintf(stderr, "sweetspotd: %s\n", err.msg);
        return 1;
    }
    /* as in config->listen, but the port may have been 0 */
    const char *colon = strrchr(config->listen, ':');
    (void)printf("sweetspotd ready on %s://%.*s:%d\n", config->tls_cert_file ? "https" : "http",
                 (int)(colon - config->listen), config->listen, daemon_port(daemon));
    (void)fflush(stdout);
    while (sigwait(&signals, &signal_number) == 0 && signal_number == SIGHUP)
        reload(daemon);
    log_event(LOG_LEVEL_INFO, "stopping", "signal=%d", signal_number);
    if (!daemon_stop(daemon, &owing))
        _exit(1); /* a thread still uses what exit would take down */
    if (owing)
        log_event(LOG_LEVEL_ERROR, "stopped_owing",
                  "error=\"something could not be undone or stored; the next start takes it up\"");
    return owing;
}

static const struct {
    const char *name;
    int (*run)(int argc, char *const argv[]); /* the exit status */
} commands[] = {
    {"key", key_command},
    {"token", token_command},
};

int main(int argc, char **argv)
{
    struct config config = {0};
    struct err err = {0};
    bool help = false;
    bool version = false;
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            harden();
            return commands[i].run(argc, argv);
        }
    }
    if (config_load(argc, argv, &config, &help, &version, &err) < 0) {
        (void)fprintf(stderr, "sweetspotd: %s\n", err.msg);
        return 2;
    }
    int status = 0;
    if (version) {
        (void)puts("sweetspotd " SWEETSPOT_VERSION);
    } else if (help) {
        char *text = config_help();
        (void)fputs(text, stdout);
        free(text);
    } else {
        log_set_level((enum log_level)log_level_by_name(config.log_level));
        harden();
        allow_files();
        status = serve(&config);
    }
    config_fini(&config);
    return status;
}
