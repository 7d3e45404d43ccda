#include "server/config.h"
#include "server/buf.h"
#include "server/config_file.h"
#include "server/log.h"
#include "server/mem.h"
#include "server/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_FILE "/etc/sweetspot/sweetspot.conf"
#define LINK_BYTES 200 /* it is repeated in every message */
#define ENVIRONMENT_PREFIX "SWEETSPOT_"

extern char **environ;

/* --- the table ----------------------------------------------------------------------------- */

enum setting_type {
    SETTING_TEXT,     /* any text, "" too */
    SETTING_OPTIONAL, /* any text; "" and absent are NULL */
    SETTING_ADDRESS,  /* HOST:PORT */
    SETTING_STORE,    /* sqlite:PATH */
    SETTING_LEVEL,    /* of the log */
    SETTING_SWITCH,   /* yes or no */
    SETTING_INT,      /* min..max */
    SETTING_LINK,     /* http(s)://HOST[:PORT][/PATH], or "" */
};

struct setting {
    const char *name;
    enum setting_type type;
    size_t offset;        /* in struct config */
    const char *fallback; /* the default; NULL: found out in fill_gaps, or none */
    const char *words;    /* what people are told of a default that is found out */
    long min, max;
    const char *help;
};

/* A setting is one row here and one member of struct config. */
#define ROW(member, type) #member, type, offsetof(struct config, member)
/* clang-format off */
static const struct setting settings[] = {
    {ROW(listen, SETTING_ADDRESS), "127.0.0.1:8484", NULL, 0, 0, "address to serve HTTP on; port 0 takes a free one"},
    {ROW(state_dir, SETTING_TEXT), "/var/lib/sweetspot", NULL, 0, 0, "folder of what is kept; made when absent"},
    {ROW(store, SETTING_STORE), NULL, "sqlite:STATE_DIR/sweetspot.db", 0, 0, "results: sqlite:PATH (mssql://USER@HOST:PORT/DATABASE: not yet)"},
    {ROW(store_password_file, SETTING_OPTIONAL), NULL, NULL, 0, 0, "not yet: file that holds the password of an mssql:// store"},
    {ROW(workers, SETTING_INT), "8", NULL, 1, 256, "jobs at the same time (1 to 256)"},
    {ROW(node_name, SETTING_TEXT), NULL, "the host name", 0, 0, "what this daemon is called where several share a store"},
    {ROW(node_labels, SETTING_TEXT), "", NULL, 0, 0, "not yet: key:value, comma-separated, shown with this node"},
    {ROW(public_url, SETTING_LINK), "", NULL, 0, 0, "where people reach this service, for links in messages: https://HOST[:PORT][/PATH]"},
    {ROW(webhooks_allow, SETTING_TEXT), "", NULL, 0, 0, "private hosts or networks (CIDR) webhooks may reach, comma-separated"},
    {ROW(secrets_env, SETTING_TEXT), "", NULL, 0, 0, "environment names beside SWEETSPOT_SECRET_… that may be referred to, comma-separated"},
    {ROW(secrets_dir, SETTING_OPTIONAL), NULL, NULL, 0, 0, "folder of the secrets referred to as {\"file\": NAME}"},
    {ROW(key_file, SETTING_TEXT), NULL, "STATE_DIR/key", 0, 0, "keys that seal stored webhook URLs, newest first; made when absent; read again on SIGHUP"},
    {ROW(unreachable_minutes, SETTING_INT), "60", NULL, 1, 10080, "minutes an unreachable instance is tried (1 to 10080)"},
    {ROW(odbc_driver, SETTING_TEXT), "", "FreeTDS, as found", 0, 0, "path or name of the ODBC driver for SQL Server"},
    {ROW(connections_per_peer, SETTING_INT), "256", NULL, 0, 4096, "connections of one address where others than the loopback are served (0 to 4096; 0: any number)"},
    {ROW(metrics_open, SETTING_SWITCH), "no", NULL, 0, 0, "yes: /metrics needs no token"},
    {ROW(tls_cert_file, SETTING_OPTIONAL), NULL, NULL, 0, 0, "PEM certificate (and chain) to serve HTTPS with; read again on SIGHUP"},
    {ROW(tls_key_file, SETTING_OPTIONAL), NULL, NULL, 0, 0, "PEM key of tls_cert_file"},
    {ROW(log_level, SETTING_LEVEL), "info", NULL, 0, 0, "error, warn, info or debug"},
};
/* clang-format on */
#define SETTING_COUNT (sizeof settings / sizeof settings[0])

/* Names of ours in the environment that are no settings of the daemon. */
static const char *const other_variables[] = {"URL", "TOKEN_FILE", "CONFIG"};
static const char *const other_prefixes[] = {"SECRET_", "DEMO_", "TEST_"};

bool config_setting(size_t index, struct config_setting *out)
{
    if (index >= SETTING_COUNT)
        return false;
    const struct setting *setting = &settings[index];
    const char *fallback = setting->words ? setting->words : setting->fallback;
    *out = (struct config_setting){setting->name, fallback ? fallback : "", setting->help};
    return true;
}

static char **text_of(struct config *config, const struct setting *setting)
{
    return (char **)(void *)((char *)config + setting->offset);
}

static int64_t *number_of(struct config *config, const struct setting *setting)
{
    return (int64_t *)(void *)((char *)config + setting->offset);
}

/* --- one value ----------------------------------------------------------------------------- */

/* Digits only: no sign, no space, no hexadecimal. */
static bool parse_number(const char *text, long min, long max, long *out)
{
    char *end = NULL;
    errno = 0;
    long number = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
    if (!end || *end != '\0' || errno != 0 || number < min || number > max)
        return false;
    *out = number;
    return true;
}

static bool is_address(const char *text)
{
    long port = 0;
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || !parse_number(colon + 1, 0, 65535, &port))
        return false;
    bool bracketed = text[0] == '[' && colon[-1] == ']';
    return bracketed || memchr(text, ':', (size_t)(colon - text)) == NULL;
}

/* What may stand in a link of a message as it is: no user, no query, nothing to escape. */
static bool is_link(const char *text)
{
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    size_t host = strcspn(text + scheme, "/");
    for (const char *at = text; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-._~/:[]%", *at))
            return false;
    return scheme > 0 && host > 0 && strlen(text) <= LINK_BYTES;
}

/* What a good value is, for the message; NULL when this one is good. */
static const char *what_is_wanted(const struct setting *setting, const char *value, long *number)
{
    switch (setting->type) {
    case SETTING_TEXT:
    case SETTING_OPTIONAL:
        return NULL;
    case SETTING_ADDRESS:
        return is_address(value) ? NULL : "HOST:PORT with a port from 0 to 65535";
    case SETTING_STORE:
        return strncmp(value, "sqlite:", 7) == 0 && value[7] ? NULL : "sqlite:PATH";
    case SETTING_LEVEL:
        return log_level_by_name(value) >= 0 ? NULL : "error, warn, info or debug";
    case SETTING_LINK:
        return !*value || is_link(value) ? NULL : "http(s)://HOST[:PORT][/PATH]";
    case SETTING_SWITCH:
        return strcmp(value, "yes") == 0 || strcmp(value, "no") == 0 ? NULL : "yes or no";
    case SETTING_INT:
        return parse_number(value, setting->min, setting->max, number) ? NULL : "a whole number";
    }
    return NULL;
}

static int set_value(struct config *config, const struct setting *setting, const char *value,
                     const char *where, struct err *err)
{
    long number = 0;
    const char *wanted = what_is_wanted(setting, value, &number);
    if (setting->type == SETTING_STORE && strncmp(value, "mssql:", 6) == 0)
        return err_set(err, ERR_INPUT, 0, "%s: mssql:// is not supported yet; use sqlite:PATH",
                       where);
    if (wanted && setting->type == SETTING_INT)
        return err_set(err, ERR_INPUT, 0, "%s: %s must be %s from %ld to %ld, not \"%.60s\"", where,
                       setting->name, wanted, setting->min, setting->max, value);
    if (wanted)
        return err_set(err, ERR_INPUT, 0, "%s: %s must be %s, not \"%.60s\"", where, setting->name,
                       wanted, value);
    if (setting->type == SETTING_INT)
        *number_of(config, setting) = number;
    else
        mem_replace(text_of(config, setting), *value ? value : NULL);
    return 0;
}

/* The row of this name; dashed names are written as flags are. */
static const struct setting *find_setting(const char *name, bool dashed, struct suggest *suggest)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s", settings[i].name);
        for (char *at = text; dashed && *at; at++) {
            if (*at == '_')
                *at = '-';
        }
        if (strcmp(text, name) == 0)
            return &settings[i];
        suggest_offer(suggest, settings[i].name);
    }
    return NULL;
}

/* --- file ---------------------------------------------------------------------------------- */

struct file_reading {
    struct config *config;
    const char *path;
    int seen_on[SETTING_COUNT]; /* the line each setting stood on; 0 none yet */
};

static int take_line(void *arg, const char *name, const char *value, int line, struct err *err)
{
    struct file_reading *reading = arg;
    struct suggest suggest = SUGGEST_FOR(name);
    const struct setting *setting = find_setting(name, false, &suggest);
    char *where = mem_format("line %d of %.200s", line, reading->path);
    int rc = -1;
    if (!setting) {
        err_set(err, ERR_INPUT, 0, "%s: unknown setting \"%.60s\"%s%s%s", where, name,
                suggest.best ? "; did you mean \"" : "", suggest.best ? suggest.best : "",
                suggest.best ? "\"?" : "");
    } else if (reading->seen_on[setting - settings] > 0) {
        err_set(err, ERR_INPUT, 0, "%s: %s is already set on line %d", where, name,
                reading->seen_on[setting - settings]);
    } else {
        reading->seen_on[setting - settings] = line;
        rc = set_value(reading->config, setting, value, where, err);
    }
    free(where);
    return rc;
}

static int read_settings_file(struct config *config, const char *given, struct err *err)
{
    struct file_reading reading = {.config = config, .path = given ? given : DEFAULT_FILE};
    if (!given && access(DEFAULT_FILE, F_OK) != 0)
        return 0;
    return config_file_read(reading.path, take_line, &reading, err);
}

/* --- environment --------------------------------------------------------------------------- */

static bool is_other_variable(const char *name)
{
    for (size_t i = 0; i < sizeof other_variables / sizeof other_variables[0]; i++) {
        if (strcmp(name, other_variables[i]) == 0)
            return true;
    }
    for (size_t i = 0; i < sizeof other_prefixes / sizeof other_prefixes[0]; i++) {
        if (strncmp(name, other_prefixes[i], strlen(other_prefixes[i])) == 0)
            return true;
    }
    return false;
}

/* A mistyped name must not silently leave a default. But a name that is near to none may be
 * somebody else's: Kubernetes sets SWEETSPOT_PORT and more for a service called sweetspot. */
static int refuse_near_variable(const char *name, const struct suggest *suggest, struct err *err)
{
    if (!suggest->best || is_other_variable(name))
        return 0;
    char best[64];
    (void)snprintf(best, sizeof best, "%s", suggest->best);
    for (char *at = best; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    return err_set(err, ERR_INPUT, 0,
                   "unknown setting " ENVIRONMENT_PREFIX
                   "%.60s in the environment; did you mean " ENVIRONMENT_PREFIX "%s?",
                   name, best);
}

static int read_variable(struct config *config, const char *variable, struct err *err)
{
    const char *equals = strchr(variable, '=');
    if (!equals || equals[1] == '\0')
        return 0;
    char *where = mem_format("%.*s", (int)(equals - variable), variable);
    char *name = mem_copy(where + strlen(ENVIRONMENT_PREFIX));
    for (char *at = name; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    struct suggest suggest = SUGGEST_FOR(name);
    const struct setting *setting = find_setting(name, false, &suggest);
    int rc = setting ? set_value(config, setting, equals + 1, where, err)
                     : refuse_near_variable(where + strlen(ENVIRONMENT_PREFIX), &suggest, err);
    free(name);
    free(where);
    return rc;
}

static int read_environment(struct config *config, struct err *err)
{
    for (char **variable = environ; *variable; variable++) {
        bool ours = strncmp(*variable, ENVIRONMENT_PREFIX, strlen(ENVIRONMENT_PREFIX)) == 0;
        if (ours && read_variable(config, *variable, err) < 0)
            return -1;
    }
    return 0;
}

/* --- flags --------------------------------------------------------------------------------- */

static int refuse_flag(const char *name, const struct suggest *suggest, struct err *err)
{
    char best[64];
    (void)snprintf(best, sizeof best, "%s", suggest->best ? suggest->best : "");
    for (char *at = best; *at; at++) {
        if (*at == '_')
            *at = '-';
    }
    return err_set(err, ERR_INPUT, 0, "unknown flag --%.60s%s%s%s", name,
                   *best ? "; did you mean --" : "", best, *best ? "?" : "; see --help");
}

/* Reads the flag at argv[*at] and its value, and steps *at to the last argument used. */
static int read_flag(int argc, char *const argv[], int *at, struct config *config,
                     const char **config_path, struct err *err)
{
    const char *flag = argv[*at];
    if (strncmp(flag, "--", 2) != 0 || flag[2] == '\0')
        return err_set(err, ERR_INPUT, 0, "unexpected argument \"%.60s\"; see --help", flag);
    const char *equals = strchr(flag, '=');
    char *where = equals ? mem_format("%.*s", (int)(equals - flag), flag) : mem_copy(flag);
    struct suggest suggest = SUGGEST_FOR(where + 2);
    const struct setting *setting = find_setting(where + 2, true, &suggest);
    bool is_config = strcmp(where, "--config") == 0;
    const char *value = equals ? equals + 1 : argv[*at + 1]; /* argv ends with NULL */
    int rc = 0;
    if (!equals && *at + 1 >= argc)
        value = NULL;
    if (!setting && !is_config)
        rc = refuse_flag(where + 2, &suggest, err);
    else if (!value)
        rc = err_set(err, ERR_INPUT, 0, "%s needs a value", where);
    else if (is_config)
        *config_path = value;
    else if (config)
        rc = set_value(config, setting, value, where, err);
    *at += !equals;
    free(where);
    return rc;
}

/* config NULL: only checks the flags and finds --config, which is read before the others count. */
static int read_flags(int argc, char *const argv[], struct config *config, const char **config_path,
                      struct err *err)
{
    for (int at = 1; at < argc; at++) {
        if (read_flag(argc, argv, &at, config, config_path, err) < 0)
            return -1;
    }
    return 0;
}

/* --- all together -------------------------------------------------------------------------- */

static void set_defaults(struct config *config)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (settings[i].type == SETTING_INT)
            *number_of(config, &settings[i]) = strtol(settings[i].fallback, NULL, 10);
        else
            mem_replace(text_of(config, &settings[i]), settings[i].fallback);
    }
}

/* Defaults that hang on other settings or on the machine, and what an empty value means. */
static int fill_gaps(struct config *config, struct err *err)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (settings[i].type != SETTING_INT && !*text_of(config, &settings[i]))
            mem_replace(text_of(config, &settings[i]), settings[i].fallback);
    }
    if (!config->store)
        config->store = mem_format("sqlite:%s/sweetspot.db", config->state_dir);
    if (!config->key_file)
        config->key_file = mem_format("%s/key", config->state_dir);
    if (!config->node_name) {
        char name[256] = "";
        if (gethostname(name, sizeof name - 1) < 0 || !name[0])
            return err_set(err, ERR_SYSTEM, errno, "the host has no name: set node_name");
        config->node_name = mem_copy(name);
    }
    if (!config->tls_cert_file != !config->tls_key_file)
        return err_set(err, ERR_INPUT, 0, "tls_cert_file and tls_key_file go together: %s is set",
                       config->tls_cert_file ? "only tls_cert_file" : "only tls_key_file");
    return 0;
}

int config_load(int argc, char *const argv[], struct config *out, bool *out_help, bool *out_version,
                struct err *err)
{
    struct config config = {0};
    const char *path = NULL;
    *out_help = false;
    *out_version = false;
    for (int i = 1; i < argc; i++) {
        *out_help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        *out_version |= strcmp(argv[i], "--version") == 0;
    }
    if (*out_help || *out_version) {
        *out = config;
        return 0;
    }
    if (read_flags(argc, argv, NULL, &path, err) < 0)
        return -1;
    set_defaults(&config);
    if (read_settings_file(&config, path, err) < 0 || read_environment(&config, err) < 0 ||
        read_flags(argc, argv, &config, &path, err) < 0 || fill_gaps(&config, err) < 0) {
        config_fini(&config);
        return -1;
    }
    *out = config;
    return 0;
}

void config_fini(struct config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (settings[i].type != SETTING_INT)
            free(*text_of(config, &settings[i]));
    }
    *config = (struct config){0};
}
