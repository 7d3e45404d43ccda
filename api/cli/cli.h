#pragma once
/* The client `sweetspot`: what its parts share. Data goes to standard output, talk to standard
 * error. One thread. */
#include "server/buf.h"
#include "server/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Documented in --help; scripts rely on them. Interrupted: 128 + the signal, 130 for Ctrl-C. */
enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,       /* the job failed or was cancelled, or the server is broken */
    CLI_USAGE = 2,        /* wrong command line, or a file that cannot be read */
    CLI_INCONCLUSIVE = 3, /* it ran, and its question has no answer */
    CLI_REFUSED = 4,      /* a guard, a missing right, bad input, no such thing */
    CLI_UNREACHABLE = 5,  /* no server there, or it is overloaded */
    CLI_TIMED_OUT = 6,    /* the job's time was up */
    CLI_INTERRUPTED = 128,
};

/* Which options a command takes, as bits; CLI_OPTION_ALWAYS are taken by each. */
enum cli_option {
    CLI_OPTION_ALWAYS = 0,
    CLI_OPTION_WAIT = 1,
    CLI_OPTION_JSON = 2,
    CLI_OPTION_MARKDOWN = 4,
    CLI_OPTION_NO_CHECKSUM = 8,
    CLI_OPTION_DRY_RUN = 16,
    CLI_OPTION_HTML = 32,
    CLI_OPTION_AGENT = 64, /* those of agent-job */
    CLI_OPTION_FORGET = 128,
};

/* How long a job is waited for while its server does not answer: a restart, with clean-up of the
 * running trial, is over by then. And how long a lost answer to a submit is asked for again. */
#define CLI_GIVE_UP_S 120
#define CLI_SUBMIT_GIVE_UP_S 60

#define CLI_OPERANDS 3 /* at most, beside the command's name */

struct cli_args {
    const struct cli_command *command; /* NULL: --help or --version stands alone */
    const char *operands[CLI_OPERANDS];
    size_t operand_count;
    const char *url;                              /* NULL: the default */
    const char *token_file;                       /* NULL: none */
    const char *ca_file;                          /* NULL: the system's */
    bool url_given, token_file_given;             /* on the command line, not in the environment */
    const char *step, *name, *minutes, *database; /* of agent-job; NULL: not given */
    bool credential;
    bool wait, json, markdown, html, no_checksum, dry_run, forget, no_color, help, version;
};

struct http;

struct cli_command {
    const char *name;
    const char *usage; /* what follows the name */
    const char *summary;
    size_t operands_min, operands_max;
    unsigned options; /* of enum cli_option */
    int (*run)(struct http *http, const struct cli_args *args);
    bool is_offline; /* run gets NULL: no server is asked */
};

/* The table of commands, in the order of --help; the row after the last has no name. */
extern const struct cli_command cli_commands[];

/* Reads the command line into *out, whose texts are borrowed from argv; the environment's
 * SWEETSPOT_URL and SWEETSPOT_TOKEN_FILE count where no option is given. ERR_INPUT with the nearest
 * known name. Options may stand anywhere; after "--" everything is an operand. */
MUST_CHECK int cli_args_read(int argc, char *const argv[], struct cli_args *out, struct err *err);

/* The text of --help, of one command when it is not NULL. */
void cli_help(const struct cli_command *command, struct buf *out);

/* Appends the options another call needs to reach the same server: " --url URL". What stands in the
 * environment is not repeated. */
void cli_add_connection(const struct cli_args *args, struct buf *out);

/* Says a sentence on standard error: "sweetspot: …". */
void cli_say(const char *format, ...) PRINTF_LIKE(1, 2);
