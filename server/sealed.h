#pragma once
/* All that is sealed in the results database: which key each value opens with, and sealing it again
 * with the newest one. What holds at any moment:
 *
 *   key file   newest first ──SIGHUP, start──► secrets: the keys in use
 *                                                 │ then, in the writer's transactions
 *                                                 ▼
 *   results    every value sealed again; `sealing_key` = the newest one, with the last of them
 *
 * A value that comes in is looked at once more by the writer (secrets_renew), so that after
 * `sealing_key` was written nothing is ever sealed with a key before it: what `key forget` stands
 * on. Threads: any, but sealed_start and sealed_reload one at a time. */
#include "server/secrets.h"
#include "server/store.h"

#define SEALED_NAMES_SIZE 256

/* A store_work with arg struct sealed_look *. */
struct sealed_look {
    const struct key_ring *ring;
    const struct key_ring *before;          /* what none of these opens does not count; or NULL */
    size_t opened[LIMIT_KEYS];              /* out: by each key of the ring */
    size_t unopened;                        /* out: by none */
    char unopened_names[SEALED_NAMES_SIZE]; /* out: of webhooks, for people: "a, b, c and 4 more" */
    char sealing_key[KEY_ID_SIZE];          /* out: the daemon's, "" before its first start */
};
int sealed_look_work(struct db *db, void *arg, struct err *err);

/* For who would make a key file where there is none. look: through no keys. ERR_REFUSED, with
 * advice, when something is sealed. */
MUST_CHECK int sealed_allows_new_file(const struct sealed_look *look, const char *key_file,
                                      struct err *err);

/* Before secrets_open, which makes a key when there is none: ERR_REFUSED, with advice, when the
 * file is not there and something is sealed. */
MUST_CHECK int sealed_may_make_key(struct store *store, const char *key_file, struct err *err);

/* Seals everything again that is not sealed with the newest key, and writes down which that is.
 * What opens with no key stays and is logged, with the names of the webhooks: everything else works
 * without it, and putting it right (a PUT, or the key put back and SIGHUP) needs a daemon that
 * runs. What cannot be written is logged, too, for it opens with the keys before as well. */
void sealed_start(struct store *store, const struct secrets *secrets);

/* Reads the key file again and uses its keys; then as sealed_start. On failure the keys before
 * stay: also ERR_REFUSED when the file lacks the key in use, or a value that opens now would not.
 */
MUST_CHECK int sealed_reload(struct store *store, struct secrets *secrets, struct err *err);

/* How many values open with no key. Cheap: what is sealed with the newest one is not opened. */
MUST_CHECK int sealed_unopened(struct store *store, const struct secrets *secrets,
                               size_t *out_count, struct err *err);
