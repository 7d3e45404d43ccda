#include "server/ids.h"
#include "server/clock.h"
#include "server/lock.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lock last_lock = LOCK_INIT; /* guards the two below */
static int64_t last_ms;
static uint32_t last_count; /* 12 bits of the id: order inside one millisecond */

void ids_random_bytes(void *bytes, size_t length)
{
    if (gnutls_rnd(GNUTLS_RND_KEY, bytes, length) < 0)
        abort(); /* going on with known bytes would be worse than ending */
}

/* The time and counter of the next id; borrows from the next millisecond when one is full. */
static void next_stamp(int64_t *out_ms, uint32_t *out_count)
{
    int64_t now = clock_wall_ms();
    lock_take(&last_lock);
    if (now > last_ms) {
        last_ms = now;
        last_count = 0;
    } else if (++last_count > 0xFFF) {
        last_ms++;
        last_count = 0;
    }
    *out_ms = last_ms;
    *out_count = last_count;
    lock_drop(&last_lock);
}

/* 64 random bits. A request gets an id too, so that the generator is asked for many at a time. */
static uint64_t random_bits(void)
{
    static _Thread_local uint64_t ready[64];
    static _Thread_local size_t left;
    if (left == 0) {
        left = sizeof ready / sizeof ready[0];
        ids_random_bytes(ready, sizeof ready);
    }
    return ready[--left];
}

static char *put_hex(char *out, uint64_t value, int digits)
{
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        *out++ = "0123456789abcdef"[value >> shift & 0xF];
    return out;
}

const char *ids_new(char out[IDS_TEXT_SIZE])
{
    int64_t ms;
    uint32_t count;
    uint64_t random = random_bits();
    next_stamp(&ms, &count);
    char *at = put_hex(out, (uint64_t)ms >> 16, 8);
    *at++ = '-';
    at = put_hex(at, (uint64_t)ms, 4);
    *at++ = '-';
    at = put_hex(at, 0x7000 | count, 4); /* version 7 */
    *at++ = '-';
    at = put_hex(at, 0x8000 | (random >> 48 & 0x3FFF), 4); /* the variant of RFC 9562 */
    *at++ = '-';
    at = put_hex(at, random, 12);
    *at = '\0';
    return out;
}

bool ids_is_valid(const char *text)
{
    if (strlen(text) != IDS_TEXT_SIZE - 1)
        return false;
    for (int i = 0; text[i]; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
        if (dash ? text[i] != '-' : !hex)
            return false;
    }
    return true;
}

int64_t ids_random_seed(void)
{
    uint64_t bits;
    ids_random_bytes(&bits, sizeof bits);
    return (int64_t)(bits >> 11);
}
