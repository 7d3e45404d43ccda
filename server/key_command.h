#pragma once
/* The command `sweetspotd key rotate|list|forget|replace`: the keys that seal what is stored. It
 * changes the key file; sealing again is the daemon's, at its start and on SIGHUP. As `sweetspotd
 * token` it works with and without a running daemon. One thread. */

/* argv is main's: argv[1] is "key". Data goes to standard output (ids of keys, never a key), talk
 * to standard error. Returns the exit status: 0, 1 failed, 2 wrong command line. */
int key_command(int argc, char *const argv[]);
