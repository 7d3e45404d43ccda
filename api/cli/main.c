/* sweetspot: the client of sweetspotd. */
#include "api/cli/cli.h"
#include "api/cli/http.h"
#include "api/cli/wait.h"

#include <stdio.h>

static int show_help(const struct cli_command *command)
{
    struct buf text = {0};
    cli_help(command, &text);
    (void)fputs(buf_text(&text), stdout);
    buf_fini(&text);
    return CLI_OK;
}

static int run(const struct cli_args *args)
{
    struct http *http = NULL;
    struct err err = {0};
    struct http_options options = {.url = args->url,
                                   .token_file = args->token_file,
                                   .ca_file = args->ca_file,
                                   .stop = &wait_signal};
    if (args->command->is_offline)
        return args->command->run(NULL, args);
    if (http_open(&options, &http, &err) < 0) {
        cli_say("%s", err.msg);
        return CLI_USAGE;
    }
    wait_catch_signals();
    int status = args->command->run(http, args);
    http_close(http);
    return status;
}

int main(int argc, char *argv[])
{
    struct cli_args args;
    struct err err = {0};
    if (cli_args_read(argc, argv, &args, &err) < 0) {
        cli_say("%s", err.msg);
        return CLI_USAGE;
    }
    int status = CLI_OK;
    if (args.version)
        (void)puts("sweetspot " SWEETSPOT_VERSION);
    else if (args.help)
        status = show_help(args.command);
    else
        status = run(&args);
    if (fflush(stdout) != 0 && status == CLI_OK) {
        cli_say("the output could not be written");
        status = CLI_FAILED; /* a full disk must not look like success */
    }
    return status;
}
