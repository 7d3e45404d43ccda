#include "api/attempts.h"
#include "server/lock.h"
#include "server/mem.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COUNTS 1024 /* addresses that are wrong within a minute; more is an attack by many */
#define WINDOW_NS ((int64_t)ATTEMPTS_WINDOW_S * 1000000000)

struct count {
    uint8_t key[16];
    int wrong; /* 0: the place is free */
    int64_t until_ns;
};

struct attempts {
    struct lock lock; /* guards the counts */
    struct count counts[COUNTS];
};

struct attempts *attempts_new(void)
{
    struct attempts *attempts = mem_alloc(1, sizeof *attempts);
    lock_init(&attempts->lock);
    return attempts;
}

void attempts_free(struct attempts *attempts)
{
    if (!attempts)
        return;
    lock_fini(&attempts->lock);
    free(attempts);
}

/* An IPv4 address, also one written as IPv6, or the /64 network that one customer gets. */
static void key_of(const struct sockaddr *peer, uint8_t out[16])
{
    memset(out, 0, 16);
    if (peer->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, peer, sizeof in6);
        size_t kept = IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) ? 16 : 8;
        memcpy(out, in6.sin6_addr.s6_addr, kept);
    } else if (peer->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, peer, sizeof in);
        out[10] = out[11] = 0xFF;
        memcpy(out + 12, &in.sin_addr, 4);
    }
}

/* The count of this key, or the place for a new one: free, over, or the one that is over first.
 * A walk over all is some microseconds, and only wrong tokens cause it. */
static struct count *find_locked(struct attempts *attempts, const uint8_t key[16], int64_t now_ns)
    NEEDS(attempts->lock)
{
    struct count *best = &attempts->counts[0];
    for (size_t i = 0; i < COUNTS; i++) {
        struct count *count = &attempts->counts[i];
        if (count->wrong > 0 && count->until_ns <= now_ns)
            *count = (struct count){0};
        if (count->wrong > 0 && memcmp(count->key, key, sizeof count->key) == 0)
            return count;
        if (count->until_ns < best->until_ns)
            best = count;
    }
    *best = (struct count){.until_ns = now_ns + WINDOW_NS};
    memcpy(best->key, key, sizeof best->key);
    return best;
}

int attempts_note(struct attempts *attempts, const struct sockaddr *peer, int64_t now_ns)
{
    uint8_t key[16];
    int seconds = 0;
    key_of(peer, key);
    lock_take(&attempts->lock);
    struct count *count = find_locked(attempts, key, now_ns);
    if (count->wrong < ATTEMPTS_FREE)
        count->wrong++;
    else
        seconds = (int)((count->until_ns - now_ns + 999999999) / 1000000000);
    lock_drop(&attempts->lock);
    return seconds;
}
