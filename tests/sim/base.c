#include "base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(16) char data[];
};

void *sim_alloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p)
        abort();
    return p;
}

void *sim_realloc(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);
    if (!p)
        abort();
    return p;
}

char *sim_dup(const char *text)
{
    if (!text)
        return NULL;
    size_t len = strlen(text) + 1;
    return memcpy(sim_alloc(len), text, len);
}

void sim_replace(char **slot, const char *text)
{
    char *copy = sim_dup(text);
    free(*slot);
    *slot = copy;
}

void *sim_arena_alloc(struct arena *arena, size_t size)
{
    struct arena_block *b = arena->head;

    size = (size + 15) & ~(size_t)15;
    if (!b || b->size - b->used < size) {
        size_t room = size > 16000 ? size : 16000;
        b = sim_alloc(sizeof(*b) + room);
        b->size = room;
        b->next = arena->head;
        arena->head = b;
    }
    void *p = b->data + b->used;
    b->used += size;
    return p;
}

char *sim_arena_dupn(struct arena *arena, const void *data, size_t len)
{
    char *p = sim_arena_alloc(arena, len + 1);
    if (len)
        memcpy(p, data, len);
    return p;
}

char *sim_arena_dup(struct arena *arena, const char *text)
{
    return sim_arena_dupn(arena, text, strlen(text));
}

char *sim_arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0)
        abort();
    char *copy = sim_arena_dupn(arena, text, (size_t)n);
    free(text);
    return copy;
}

void *sim_arena_grow(struct arena *arena, void *old, size_t count, size_t element)
{
    if (count & (count - 1) || (count && count < 4))
        return old; /* room is made at 0, then at each power of two from 4 on */
    void *p = sim_arena_alloc(arena, element * (count ? count * 2 : 4));
    if (count)
        memcpy(p, old, count * element);
    return p;
}

void sim_arena_fini(struct arena *arena)
{
    while (arena->head) {
        struct arena_block *b = arena->head;
        arena->head = b->next;
        free(b);
    }
}

void sim_bytes_put(struct bytes *b, const void *data, size_t len)
{
    if (b->cap - b->len < len + 1) {
        b->cap = (b->len + len + 1) * 2;
        b->data = sim_realloc(b->data, b->cap);
    }
    if (len)
        memcpy(b->data + b->len, data, len);
    b->len += len;
}

void sim_bytes_u8(struct bytes *b, unsigned v)
{
    uint8_t byte = (uint8_t)v;
    sim_bytes_put(b, &byte, 1);
}

void sim_bytes_u16(struct bytes *b, unsigned v)
{
    sim_bytes_u8(b, v & 255);
    sim_bytes_u8(b, v >> 8 & 255);
}

void sim_bytes_u32(struct bytes *b, uint32_t v)
{
    sim_bytes_u16(b, v & 0xFFFF);
    sim_bytes_u16(b, v >> 16);
}

void sim_bytes_u64(struct bytes *b, uint64_t v)
{
    sim_bytes_u32(b, (uint32_t)v);
    sim_bytes_u32(b, (uint32_t)(v >> 32));
}

void sim_bytes_text(struct bytes *b, const char *text)
{
    sim_bytes_put(b, text, strlen(text));
}

void sim_bytes_printf(struct bytes *b, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n < 0)
        abort();
    sim_bytes_put(b, text, (size_t)n);
    free(text);
}

void sim_bytes_utf16(struct bytes *b, const char *utf8)
{
    while (*utf8) {
        uint32_t cp = sim_utf8_next(&utf8);
        if (cp >= 0x10000) {
            cp -= 0x10000;
            sim_bytes_u16(b, 0xD800 | cp >> 10);
            sim_bytes_u16(b, 0xDC00 | (cp & 0x3FF));
        } else {
            sim_bytes_u16(b, cp);
        }
    }
}

const char *sim_bytes_str(struct bytes *b)
{
    sim_bytes_put(b, "", 0);
    b->data[b->len] = 0;
    return (const char *)b->data;
}

void sim_bytes_fini(struct bytes *b)
{
    free(b->data);
    *b = (struct bytes){0};
}

int64_t sim_mono_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t sim_wall_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* splitmix64, by Sebastiano Vigna (public domain description) */
uint64_t sim_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

double sim_random_normal(uint64_t *state)
{
    double u = ((double)(sim_random(state) >> 11) + 0.5) / 9007199254740992.0;
    double v = ((double)(sim_random(state) >> 11) + 0.5) / 9007199254740992.0;
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}
