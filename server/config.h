#pragma once
/* The settings (api.md §7): one row each in config.c's table, which --help, the sample file and
 * README are checked against. Flags win over environment over file. Threads: read-only after
 * config_load. */
#include "server/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Kept by value; all texts are owned by it and freed by config_fini. Never NULL unless said. */
struct config {
    char *listen;                /* HOST:PORT; port 0 takes a free one */
    char *state_dir;             /* made with mode 0700 when absent */
    char *store;                 /* sqlite:PATH or mssql://USER@HOST:PORT/DATABASE */
    char *store_password_file;   /* or NULL */
    int64_t workers;             /* 1..256 jobs at the same time */
    char *node_name;             /* default: the host name */
    char *node_labels;           /* key:value, comma-separated; "" */
    char *webhooks_allow;        /* hosts or CIDR, comma-separated; "" */
    char *secrets_env;           /* further environment names, comma-separated; "" */
    char *secrets_dir;           /* or NULL: {"file": …} is refused */
    char *key_file;              /* default STATE_DIR/key */
    int64_t unreachable_minutes; /* how long an unreachable instance is tried, 1..10080 */
    char *odbc_driver;           /* path or name of the ODBC driver */
    char *tls_cert_file;         /* or NULL */
    char *tls_key_file;          /* or NULL */
    char *log_level;             /* error, warn, info, debug */
};

/* Reads defaults, the file (--config FILE, else /etc/sweetspot/sweetspot.conf when it exists),
 * the environment (SWEETSPOT_NAME) and the flags (--name V, --name=V; _ becomes -). argv[0] is
 * skipped. Unknown settings are ERR_INPUT with the nearest known name; the message names where
 * the bad value stands ("line 3 of FILE", "--workers", "SWEETSPOT_WORKERS").
 * out_help is set when --help, out_version when --version was given. */
MUST_CHECK int config_load(int argc, char *const argv[], struct config *out, bool *out_help,
                           bool *out_version, struct err *err);
void config_fini(struct config *config);

/* The text of --help, made from the table. The caller frees it. */
char *config_help(void);

/* A commented sample file, made from the table. The caller frees it. */
char *config_sample(void);
