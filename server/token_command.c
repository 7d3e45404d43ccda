#include "server/token_command.h"
#include "server/clock.h"
#include "server/config.h"
#include "server/mem.h"
#include "server/store_access.h"
#include "server/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 2

struct command {
    const char *name;  /* --name, or the operand of revoke */
    const char *scope; /* --scope */
    struct config config;
};

static int say(int status, const char *text)
{
    (void)fprintf(stderr, "sweetspotd: %s\n", text);
    return status;
}

/* --- the three ----------------------------------------------------------------------------- */

static int create(struct command *command, struct err *err)
{
    char token[TOKEN_TEXT_SIZE];
    char digest[HASH_HEX_SIZE];
    struct token_change change = {.name = command->name, .digest = digest};
    if (!command->name || !token_name_is_valid(command->name))
        return say(EXIT_USAGE, "token create needs --name, 1 to 64 characters of a-z 0-9 . _ -");
    change.scope = command->scope ? scope_by_name(command->scope) : SCOPE_OPEN;
    if (change.scope == SCOPE_OPEN)
        return say(EXIT_USAGE, "token create needs --scope read, submit or admin");
    token_new(token);
    (void)hash_hex(token, digest);
    int rc = store_once(command->config.store, token_create_work, &change, err);
    if (rc == 0) {
        (void)printf("%s\n", token);
        (void)say(0, "this is the only time the token is shown; keep it in a file that only its "
                     "user can read");
    }
    explicit_bzero(token, sizeof token);
    return rc;
}

struct listing {
    struct token_row *rows;
    size_t count;
};

static int list_work(struct db *db, void *arg, struct err *err)
{
    struct listing *listing = arg;
    return store_token_list(db, &listing->rows, &listing->count, err);
}

static int list(struct command *command, struct err *err)
{
    struct listing listing = {0};
    int rc = store_once(command->config.store, list_work, &listing, err);
    if (rc == 0 && listing.count == 0)
        (void)say(0, "there are no tokens: only the loopback is served, and every caller is admin");
    else if (rc == 0)
        (void)printf("%-24s  %-6s  %-24s  %s\n", "NAME", "SCOPE", "CREATED", "LAST USED");
    for (size_t i = 0; i < listing.count; i++) {
        struct token_row *row = &listing.rows[i];
        char created[CLOCK_TEXT_SIZE];
        char used[CLOCK_TEXT_SIZE];
        (void)printf("%-24s  %-6s  %-24s  %s\n", row->name, row->scope,
                     clock_format(row->created_at, created),
                     row->last_used_at ? clock_format(row->last_used_at, used) : "never");
        token_row_fini(row);
    }
    free(listing.rows);
    return rc;
}

static int revoke(struct command *command, struct err *err)
{
    struct token_change change = {.name = command->name};
    if (!command->name)
        return say(EXIT_USAGE, "token revoke needs the name of a token; token list shows them");
    int rc = store_once(command->config.store, token_revoke_work, &change, err);
    if (rc == 0 && change.was_last)
        (void)say(0,
                  "that was the last token: on the loopback every caller is admin now, and other "
                  "addresses answer nobody");
    return rc;
}

/* --- the command line ---------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(struct command *command, struct err *err); /* 0, -1 with err, or an exit status */
} verbs[] = {
    {"create", create},
    {"list", list},
    {"revoke", revoke},
};

/* Takes argv[*at] when it is this option, as --name V or --name=V; false when it is not. */
static bool take_option(char *const argv[], int *at, const char *option, const char **out_value)
{
    size_t length = strlen(option);
    const char *argument = argv[*at];
    if (strncmp(argument, option, length) != 0)
        return false;
    if (argument[length] == '=') {
        *out_value = argument + length + 1;
        return true;
    }
    if (argument[length] != '\0')
        return false;
    *out_value = argv[*at + 1] ? argv[++*at] : ""; /* argv ends with NULL */
    return true;
}

/* Takes what is this command's out of argv; the rest are settings, as for the daemon. */
static int read_arguments(int argc, char *const argv[], struct command *command, struct err *err)
{
    bool help = false;
    bool version = false;
    int kept = 1;
    char **rest = mem_alloc((size_t)argc + 1, sizeof *rest);
    rest[0] = argv[0];
    for (int at = 3; at < argc; at++) {
        if (take_option(argv, &at, "--name", &command->name) ||
            take_option(argv, &at, "--scope", &command->scope))
            continue;
        if (at == 3 && argv[at][0] != '-' && strcmp(argv[2], "revoke") == 0)
            command->name = argv[at];
        else
            rest[kept++] = argv[at];
    }
    int rc = config_load(kept, rest, &command->config, &help, &version, err);
    free(rest);
    if (rc == 0 && (help || version))
        rc = err_set(err, ERR_INPUT, 0,
                     "usage: sweetspotd token create --name N --scope read|submit|admin, "
                     "token list, token revoke NAME; with the settings of sweetspotd --help");
    return rc;
}

int token_command(int argc, char *const argv[])
{
    struct command command = {0};
    struct err err = {0};
    int status = EXIT_USAGE;
    size_t verb = 0;
    const size_t verb_count = sizeof verbs / sizeof verbs[0];
    while (argc > 2 && verb < verb_count && strcmp(verbs[verb].name, argv[2]) != 0)
        verb++;
    if (argc <= 2 || verb == verb_count) {
        (void)say(0, "usage: sweetspotd token create --name N --scope read|submit|admin\n"
                     "       sweetspotd token list\n"
                     "       sweetspotd token revoke NAME");
    } else if (read_arguments(argc, argv, &command, &err) < 0) {
        (void)say(0, err.msg);
    } else {
        status = verbs[verb].run(&command, &err);
        if (status < 0)
            status = say(1, err.msg);
    }
    config_fini(&command.config);
    return status;
}
