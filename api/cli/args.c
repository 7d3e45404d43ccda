#include "api/cli/cli.h"
#include "server/suggest.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- the options --------------------------------------------------------------------------- */

struct option {
    const char *name;
    const char *value_name;  /* NULL: it is a switch */
    enum cli_option allowed; /* the bit a command must have */
    size_t offset;           /* of a bool or const char * in struct cli_args */
    const char *help;
};

#define MEMBER(member) offsetof(struct cli_args, member)
/* clang-format off */
static const struct option options[] = {
    {"--wait", NULL, CLI_OPTION_WAIT, MEMBER(wait), "wait for the end, show the progress, then print the report"},
    {"--json", NULL, CLI_OPTION_JSON, MEMBER(json), "print the server's JSON"},
    {"--markdown", NULL, CLI_OPTION_MARKDOWN, MEMBER(markdown), "print Markdown (of report the default)"},
    {"--html", NULL, CLI_OPTION_HTML, MEMBER(html), "print a page for a browser, which needs nothing else"},
    {"--no-checksum", NULL, CLI_OPTION_NO_CHECKSUM, MEMBER(no_checksum), "read evidence whatever its checksum says"},
    {"--dry-run", NULL, CLI_OPTION_DRY_RUN, MEMBER(dry_run), "change nothing, only show what would be undone"},
    {"--forget", NULL, CLI_OPTION_FORGET, MEMBER(forget), "put, delete: forget what the server refused to undo"},
    {"--step", "KIND", CLI_OPTION_AGENT, MEMBER(step), "curl (Windows), powershell (Windows) or rest (SQL Server 2025, Azure)"},
    {"--name", "NAME", CLI_OPTION_AGENT, MEMBER(name), "the job's name; else made of the definition's kind and instance"},
    {"--minutes", "MINUTES", CLI_OPTION_AGENT, MEMBER(minutes), "how long it waits for the verdict, 1 to 1440; else 480"},
    {"--credential", NULL, CLI_OPTION_AGENT, MEMBER(credential), "rest: the token is in the database scoped credential [URL]"},
    {"--database", "NAME", CLI_OPTION_AGENT, MEMBER(database), "rest: where the step runs and the credential is; else master"},
    {"--url", "URL", CLI_OPTION_ALWAYS, MEMBER(url), "the server; else SWEETSPOT_URL, else http://127.0.0.1:8484"},
    {"--token-file", "FILE", CLI_OPTION_ALWAYS, MEMBER(token_file), "file with the token; else SWEETSPOT_TOKEN_FILE, else none"},
    {"--ca-file", "FILE", CLI_OPTION_ALWAYS, MEMBER(ca_file), "PEM file of the authority that signed the server's certificate"},
    {"--no-color", NULL, CLI_OPTION_ALWAYS, MEMBER(no_color), "progress as plain lines; so do NO_COLOR and TERM=dumb"},
    {"--help", NULL, CLI_OPTION_ALWAYS, MEMBER(help), "this text, or that of a command"},
    {"--version", NULL, CLI_OPTION_ALWAYS, MEMBER(version), "the version"},
};
/* clang-format on */
#define OPTION_COUNT (sizeof options / sizeof options[0])

/* --- reading ------------------------------------------------------------------------------- */

static const struct option *find_option(const char *name, struct suggest *suggest)
{
    if (strcmp(name, "-h") == 0)
        name = "--help";
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
        suggest_offer(suggest, options[i].name);
    }
    return NULL;
}

static int find_command(const char *name, struct cli_args *args, struct err *err)
{
    struct suggest suggest = SUGGEST_FOR(name);
    for (const struct cli_command *command = cli_commands; command->name; command++) {
        if (strcmp(command->name, name) == 0) {
            args->command = command;
            return 0;
        }
        suggest_offer(&suggest, command->name);
    }
    return err_set(err, ERR_INPUT, 0, "no command \"%.60s\"%s%s%s", name,
                   suggest.best ? "; did you mean \"" : "; see sweetspot --help",
                   suggest.best ? suggest.best : "", suggest.best ? "\"?" : "");
}

static int take_operand(const char *text, struct cli_args *args, struct err *err)
{
    if (!args->command && strcmp(text, "help") == 0) {
        args->help = true; /* help, or help COMMAND */
        return 0;
    }
    if (!args->command)
        return find_command(text, args, err);
    if (args->operand_count >= CLI_OPERANDS)
        return err_set(err, ERR_INPUT, 0, "too many arguments: \"%.60s\"", text);
    args->operands[args->operand_count++] = text;
    return 0;
}

/* Reads the option at argv[*at] and its value, and steps *at to the last argument used. *used
 * collects the bits of the options that not every command takes. */
static int take_option(char *const argv[], int *at, struct cli_args *args, unsigned *used,
                       struct err *err)
{
    char name[64] = "";
    const char *text = argv[*at];
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    memcpy(name, text, length < sizeof name ? length : sizeof name - 1);
    struct suggest suggest = SUGGEST_FOR(name);
    const struct option *option = find_option(name, &suggest);
    if (!option)
        return err_set(err, ERR_INPUT, 0, "no option %.60s%s%s%s", name,
                       suggest.best ? "; did you mean " : "; see sweetspot --help",
                       suggest.best ? suggest.best : "", suggest.best ? "?" : "");
    *used |= option->allowed;
    char *member = (char *)args + option->offset;
    if (!option->value_name) {
        *(bool *)member = true;
        return equals ? err_set(err, ERR_INPUT, 0, "%s takes no value", name) : 0;
    }
    const char *value = equals ? equals + 1 : argv[*at + 1]; /* argv ends with NULL */
    if (!value || !*value)
        return err_set(err, ERR_INPUT, 0, "%s needs a value: %s", name, option->value_name);
    *at += !equals;
    *(const char **)(void *)member = value;
    return 0;
}

static int check(const struct cli_args *args, unsigned used, struct err *err)
{
    const struct cli_command *command = args->command;
    if (args->help || args->version)
        return 0;
    if (!command)
        return err_set(err, ERR_INPUT, 0, "which command? See sweetspot --help");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (options[i].allowed & used & ~command->options)
            return err_set(err, ERR_INPUT, 0, "%s does not take %s", command->name,
                           options[i].name);
    }
    if (args->operand_count < command->operands_min || args->operand_count > command->operands_max)
        return err_set(err, ERR_INPUT, 0, "usage: sweetspot %s %s", command->name, command->usage);
    if (args->json + args->markdown + args->html > 1)
        return err_set(err, ERR_INPUT, 0, "only one of --json, --markdown and --html");
    return 0;
}

static const char *or_environment(const char *given, const char *name)
{
    const char *value = given ? given : getenv(name);
    return value && *value ? value : NULL;
}

int cli_args_read(int argc, char *const argv[], struct cli_args *out, struct err *err)
{
    struct cli_args args = {0};
    unsigned used = 0;
    bool only_operands = false;
    for (int at = 1; at < argc; at++) {
        bool is_option = !only_operands && argv[at][0] == '-' && argv[at][1] != '\0';
        int rc = 0;
        if (is_option && strcmp(argv[at], "--") == 0)
            only_operands = true;
        else if (is_option)
            rc = take_option(argv, &at, &args, &used, err);
        else
            rc = take_operand(argv[at], &args, err);
        if (rc < 0)
            return -1;
    }
    if (check(&args, used, err) < 0)
        return -1;
    args.url_given = args.url != NULL;
    args.token_file_given = args.token_file != NULL;
    args.url = or_environment(args.url, "SWEETSPOT_URL");
    args.token_file = or_environment(args.token_file, "SWEETSPOT_TOKEN_FILE");
    *out = args;
    return 0;
}

void cli_add_connection(const struct cli_args *args, struct buf *out)
{
    if (args->url_given)
        buf_format(out, " --url %s", args->url);
    if (args->token_file_given)
        buf_format(out, " --token-file %s", args->token_file);
    if (args->ca_file)
        buf_format(out, " --ca-file %s", args->ca_file);
}

/* --- help ---------------------------------------------------------------------------------- */

static void help_options(const struct cli_command *command, struct buf *out)
{
    buf_add(out, "\nOptions:\n");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &options[i];
        if (command && option->allowed != CLI_OPTION_ALWAYS &&
            !(option->allowed & command->options))
            continue;
        int space = 20 - (int)strlen(option->name);
        buf_format(out, "  %s %-*s %s\n", option->name, space > 0 ? space : 0,
                   option->value_name ? option->value_name : "", option->help);
    }
}

void cli_help(const struct cli_command *command, struct buf *out)
{
    if (command) {
        buf_format(out, "Usage: sweetspot %s %s\n\n%s\n", command->name, command->usage,
                   command->summary);
        help_options(command, out);
        return;
    }
    buf_add(out, "Usage: sweetspot COMMAND [OPTION ...]\n\n"
                 "  sweetspot submit job.json --wait\n"
                 "  sweetspot report 01981c5e-7a10-7000-8000-000000000001 --json\n\n"
                 "Commands:\n");
    for (const struct cli_command *row = cli_commands; row->name; row++)
        buf_format(out, "  %-10s %s\n             %s\n", row->name, row->usage, row->summary);
    help_options(NULL, out);
    buf_format(
        out,
        "\nWhile the server does not answer, a job is waited for up to %d s, and a submit whose\n"
        "answer got lost is sent again (it makes one job only) for up to %d s.\n",
        CLI_GIVE_UP_S, CLI_SUBMIT_GIVE_UP_S);
    buf_add(out,
            "\nExit status:\n"
            "  0 ok   1 failed or cancelled   2 wrong usage   3 inconclusive\n"
            "  4 refused by a guard, a right or a check of the input   5 server not reachable\n"
            "  6 timed out   130 interrupted by Ctrl-C (a job that was waited for goes on)\n");
}
