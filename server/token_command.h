#pragma once
/* The command `sweetspotd token create|list|revoke`. It talks to the results database itself, in a
 * transaction of its own, so it works with and without a running daemon, which knows of the change
 * with its next request. One thread. */

/* argv is main's: argv[1] is "token". Data goes to standard output (create: the token, once and
 * alone), talk to standard error. Returns the exit status: 0, 1 failed, 2 wrong command line. */
int token_command(int argc, char *const argv[]);
