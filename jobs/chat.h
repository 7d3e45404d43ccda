#pragma once
/* A message for people, before any receiver's markup: the verdict in words first, then instance,
 * database, effect with its interval, what was not decided, how long it took, a link. Made from an
 * event's payload (jobs/event.c). Pure; texts are as they came, so a renderer cleans and cuts them
 * for its receiver. */
#include "server/json.h"

#define CHAT_FACTS 10 /* more than one message ever has */

enum chat_tone {
    CHAT_GOOD, /* an answer */
    CHAT_OPEN, /* none, or ended by somebody */
    CHAT_BAD,  /* someone should look */
};

struct chat_fact {
    const char *name; /* ours */
    char *value;      /* owned */
};

struct chat {
    enum chat_tone tone;
    const char *verdict;  /* ours: "Sweet spot found" */
    const char *instance; /* borrowed from the payload; NULL: of none */
    char *lead;           /* owned: the job's summary, or its error with its number */
    struct chat_fact facts[CHAT_FACTS];
    size_t fact_count;
    const char *statement; /* borrowed: T-SQL, or NULL */
    char *url;             /* owned: of the report or the job; NULL: no link */
    bool simulated;        /* not a real server: to be said aloud */
};

/* public_url: the setting; "" or NULL for none. *out borrows from
 * payload. */
void chat_read(const cJSON *payload, const char *public_url, struct chat *out);
void chat_fini(struct chat *chat);
