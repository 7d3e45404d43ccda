#pragma once
/* Inside of render.c and render_shapes.c: a receiver is one row of a table, with its limits and how
 * it counts, and a shape that makes the message from a chat. */
#include "jobs/chat.h"
#include "server/buf.h"

struct receiver {
    const char *format;
    char *(*shape)(const struct receiver *receiver, const struct chat *chat);
    /* What must be written for one byte of text so that it is shown and does nothing, or NULL. */
    const char *(*escape)(unsigned char byte);
    /* The same inside of a statement, which somebody copies: as little as can be. */
    const char *(*escape_quoted)(unsigned char byte);
    size_t (*width)(unsigned char byte); /* in the receiver's unit, of a character by its first */
    bool statement_lines;                /* a statement keeps its lines */
    /* The most of each part, in the receiver's unit, as written (escapes count). */
    size_t title, lead, fact, statement;
};

/* How receivers count: characters (Unicode scalar values), UTF-16 units, bytes. */
size_t render_width_utf16(unsigned char byte);
size_t render_width_bytes(unsigned char byte);

/* Appends text from outside: nothing hidden, no live mention, no link, escaped, cut at `most` with
 * one "…" that counts. What would be nothing becomes "?". */
void render_text(struct buf *out, const struct receiver *receiver, const char *text, size_t most);
/* The same for a statement. */
void render_statement(struct buf *out, const struct receiver *receiver, const char *text);
/* "Sweet spot found: sql01". */
void render_title(struct buf *out, const struct receiver *receiver, const struct chat *chat);

char *render_slack(const struct receiver *receiver, const struct chat *chat);
char *render_teams(const struct receiver *receiver, const struct chat *chat);
char *render_discord(const struct receiver *receiver, const struct chat *chat);
char *render_google_chat(const struct receiver *receiver, const struct chat *chat);
