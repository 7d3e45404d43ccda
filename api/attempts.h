#pragma once
/* Counts wrong tokens by the address they come from. A good token is let in whatever the count says
 * (256 random bits are not guessed), so that nobody can lock others out behind the same address;
 * the count only keeps a flood of wrong ones out of the log, and tells its sender to go slower.
 * Memory is bounded: when it is full the oldest count is forgotten. Threads: any. */
#include <stdint.h>
#include <sys/socket.h>

#define ATTEMPTS_FREE 5      /* wrong ones in one window that are answered 401 */
#define ATTEMPTS_WINDOW_S 60 /* from the first wrong one; more of them do not prolong it */

struct attempts;

struct attempts *attempts_new(void);
void attempts_free(struct attempts *attempts); /* accepts NULL */

/* Notes a wrong token from this address (of IPv6 its /64 network) at this moment of
 * clock_mono_ns(). Returns 0 while it is within what is free, else after how many seconds
 * (1..ATTEMPTS_WINDOW_S) the window ends. */
int attempts_note(struct attempts *attempts, const struct sockaddr *peer, int64_t now_ns);
