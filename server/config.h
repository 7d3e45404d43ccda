#pragma once
/* The settings (api.md §7): one row each in config.c's table, which --help, the sample file and
 * README are checked against. Flags win over environment over file. Threads: read-only after
 * config_load. */
#include "server/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kept by value; all texts are owned by it and freed by config_fini. Never NULL unless said. */
struct config {
    char *listen;                 /* HOST:PORT; port 0 takes a free one */
    char *state_dir;              /* made with mode 0700 when absent */
    char *store;                  /* sqlite:PATH */
    char *store_password_file;    /* or NULL */
    int64_t workers;              /* 1..256 jobs at the same time */
    char *node_name;              /* default: the host name */
    char *node_labels;            /* key:value, comma-separated; "" */
    char *public_url;             /* http(s)://HOST[:PORT][/PATH], for links; "": none */
    char *webhooks_allow;         /* hosts or CIDR, comma-separated; "" */
    char *secrets_env;            /* further environment names, comma-separated; "" */
    char *secrets_dir;            /* or NULL: {"file": …} is refused */
    char *key_file;               /* default STATE_DIR/key */
    int64_t unreachable_minutes;  /* how long an unreachable instance is tried, 1..10080 */
    char *odbc_driver;            /* path or name of the ODBC driver; "": mssql_default_driver() */
    int64_t connections_per_peer; /* of one address beyond the loopback, 0..4096; 0: any number */
    char *metrics_open;           /* "yes" or "no" */
    char *tls_cert_file;          /* or NULL */
    char *tls_key_file;           /* or NULL */
    char *log_level;              /* error, warn, info, debug */
};

/* Reads defaults, the file (--config FILE, else /etc/sweetspot/sweetspot.conf when it exists),
 * the environment (SWEETSPOT_NAME) and the flags (--name V, --name=V; _ becomes -). argv[0] is
 * skipped. Unknown settings are ERR_INPUT with the nearest known name (in the environment only when
 * one is near: others put names of theirs there, and an empty variable counts as absent); the
 * message names where the bad value stands ("line 3 of FILE", "--workers", "SWEETSPOT_WORKERS").
 * out_help is set when --help (-h), out_version when --version was given; nothing else is read
 * then, and *out is empty. Not thread-safe: it reads the environment. */
MUST_CHECK int config_load(int argc, char *const argv[], struct config *out, bool *out_help,
                           bool *out_version, struct err *err);
void config_fini(struct config *config);

/* What people are told of a setting. The texts are constants. */
struct config_setting {
    const char *name;
    const char *fallback; /* its default as text, or in words where it is found out; "" none */
    const char *help;
};

/* Row `index` of the table; false when there are no more. */
bool config_setting(size_t index, struct config_setting *out);

/* The text of --help, made from the table. The caller frees it. */
char *config_help(void);

/* A commented sample file, made from the table. The caller frees it. */
char *config_sample(void);
