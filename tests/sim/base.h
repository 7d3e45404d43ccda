/* base.h: memory, byte buffers and text for the simulator.
 * Running out of memory aborts. An arena gives zeroed memory that is all freed at once; it is not
 * locked. Text is UTF-8 ended by NUL (lone surrogates as three bytes); lengths in SQL are counted
 * in UTF-16 units. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_block;
struct arena {
    struct arena_block *head;
};

struct bytes {
    uint8_t *data;
    size_t len;
    size_t cap;
};

void *sim_alloc(size_t size);              /* zeroed */
void *sim_realloc(void *old, size_t size); /* grown part is not zeroed */
char *sim_dup(const char *text);           /* NULL stays NULL */
void sim_replace(char **slot, const char *text);

void *sim_arena_alloc(struct arena *arena, size_t size);
char *sim_arena_dup(struct arena *arena, const char *text);
char *sim_arena_dupn(struct arena *arena, const void *data, size_t len); /* adds a NUL */
char *sim_arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Grows an array in an arena: makes room for one more than `count` elements. */
void *sim_arena_grow(struct arena *arena, void *old, size_t count, size_t element);
void sim_arena_fini(struct arena *arena);

void sim_bytes_put(struct bytes *b, const void *data, size_t len);
void sim_bytes_u8(struct bytes *b, unsigned v);
void sim_bytes_u16(struct bytes *b, unsigned v);
void sim_bytes_u32(struct bytes *b, uint32_t v);
void sim_bytes_u64(struct bytes *b, uint64_t v);
void sim_bytes_text(struct bytes *b, const char *text);
void sim_bytes_printf(struct bytes *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sim_bytes_utf16(struct bytes *b, const char *utf8);
void sim_bytes_cp1252(struct bytes *b, const char *utf8); /* what does not fit becomes '?' */
void sim_bytes_fini(struct bytes *b);
const char *sim_bytes_str(struct bytes *b); /* ended by NUL, borrowed */

/* Reads one code point and moves *p on; 0xFFFD for a broken sequence. */
uint32_t sim_utf8_next(const char **p);
size_t sim_utf8_put(char *out, uint32_t cp); /* up to 4 bytes, the number written */
char *sim_utf8_from_utf16(struct arena *arena, const uint8_t *data, size_t units);
char *sim_utf8_from_cp1252(struct arena *arena, const uint8_t *data, size_t len);
size_t sim_utf16_len(const char *utf8);
/* `count` UTF-16 units from `start` (0-based). */
char *sim_utf16_cut(struct arena *arena, const char *utf8, size_t start, size_t count);

uint32_t sim_fold(uint32_t cp);                               /* to lower case */
int sim_text_cmp(const char *a, const char *b);               /* without case */
bool sim_text_is(const char *a, const char *b);               /* equal without case */
bool sim_text_is_n(const char *a, const char *b, size_t len); /* the first len bytes */
bool sim_text_begins(const char *text, const char *prefix);   /* without case */
int sim_collate(const char *a, const char *b);                /* and without trailing blanks */
bool sim_text_like(const char *text, const char *pattern, uint32_t escape);
char *sim_text_upper(struct arena *arena, const char *text, bool lower);

int64_t sim_mono_us(void);
int64_t sim_wall_us(void); /* since 1970 UTC */
uint64_t sim_random(uint64_t *state);
double sim_random_normal(uint64_t *state);
