#include "server/key_command.h"
#include "server/config.h"
#include "server/ids.h"
#include "server/key_file.h"
#include "server/mem.h"
#include "server/sealed.h"
#include "server/store_access.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 2

/* What a verb works on: the key file is held, `ring` is what it is to hold. */
struct change {
    struct key_file file;
    struct key_ring ring;
    struct sealed_look look; /* through the keys that the file held before */
};

static void say(const char *format, ...) PRINTF_LIKE(1, 2);
static void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fputs("sweetspotd: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
}

static void say_unopened(const struct sealed_look *look)
{
    if (look->unopened > 0)
        say("%zu stored webhook URLs open with none of these keys (%s): put their key back, or PUT "
            "them again",
            look->unopened, look->unopened_names);
}

static int note(struct db *db, const char *action, const char *id, struct err *err)
{
    char object[KEY_ID_SIZE + sizeof "key/"];
    (void)snprintf(object, sizeof object, "key/%s", id);
    return store_audit_command(db, action, object, err);
}

/* --- rotate -------------------------------------------------------------------------------- */

static int add_fresh_key(struct key_ring *ring, const struct key_ring *former, struct err *err)
{
    unsigned char fresh[KEY_BYTES];
    if (former->count == LIMIT_KEYS)
        return err_set(err, ERR_REFUSED, 0,
                       "the key file holds %d keys, and more it cannot: `sweetspotd key forget` "
                       "drops those that nothing is sealed with any more",
                       LIMIT_KEYS);
    ids_random_bytes(fresh, sizeof fresh);
    key_ring_add(ring, fresh);
    explicit_bzero(fresh, sizeof fresh);
    for (size_t i = 0; i < former->count; i++)
        key_ring_add(ring, former->keys[i].bytes);
    return 0;
}

/* The file last: when it fails nothing is noted; when the commit fails the key is there all the
 * same, and nothing is lost. */
static int rotate_work(struct db *db, void *arg, struct err *err)
{
    struct change *change = arg;
    if (sealed_look_work(db, &change->look, err) < 0 ||
        note(db, "key.rotate", change->ring.keys[0].id, err) < 0)
        return -1;
    return key_file_replace(&change->file, &change->ring, err);
}

/* The file was lost, or there never was one. */
static int made_work(struct db *db, void *arg, struct err *err)
{
    struct change *change = arg;
    if (sealed_look_work(db, &change->look, err) < 0)
        return -1;
    return note(db, "key.rotate", change->file.ring.keys[0].id, err);
}

static int make(const struct config *config, struct err *err)
{
    struct change change = {.look = {.ring = &change.file.ring}};
    int rc = key_file_make(config->key_file, err);
    if (rc == 0) {
        rc = key_file_hold(config->key_file, &change.file, err);
        if (rc == 0)
            rc = store_once(config->store, made_work, &change, err);
        if (rc == 0) {
            (void)printf("%s\n", change.file.ring.keys[0].id);
            say("there was no key file %s; it holds a new key now", config->key_file);
            say_unopened(&change.look);
        }
        key_file_release(&change.file);
    }
    return rc;
}

/* Nothing may be sealed: who rotates every month must not lose the URLs on the way. */
static int make_first(const struct config *config, struct err *err)
{
    struct key_ring none = {.count = 0};
    struct sealed_look look = {.ring = &none};
    if (store_once(config->store, sealed_look_work, &look, err) < 0 ||
        sealed_allows_new_file(&look, config->key_file, err) < 0)
        return -1;
    return make(config, err);
}

/* A new file in the place of a lost one, whatever is sealed. */
static int replace(const struct config *config, struct err *err)
{
    struct key_ring ring = {.count = 0};
    struct err why = {0};
    int rc = key_file_read(config->key_file, &ring, &why);
    key_ring_wipe(&ring);
    if (rc < 0 && why.code == ERR_NOT_FOUND)
        return make(config, err);
    return err_set(err, ERR_REFUSED, 0,
                   "the key file %s is there; `sweetspotd key rotate` puts a new key in front",
                   config->key_file);
}

static int rotate(const struct config *config, struct err *err)
{
    struct change change = {.look = {.ring = &change.file.ring}};
    int rc = key_file_hold(config->key_file, &change.file, err);
    bool absent = rc < 0 && err->code == ERR_NOT_FOUND;
    if (rc == 0)
        rc = add_fresh_key(&change.ring, &change.file.ring, err);
    if (rc == 0)
        rc = store_once(config->store, rotate_work, &change, err);
    if (rc == 0) {
        (void)printf("%s\n", change.ring.keys[0].id);
        say("the daemon seals with this key from its next start, or SIGHUP (send it now), and "
            "seals "
            "again what is stored; then `sweetspotd key forget` drops the keys before");
        say_unopened(&change.look);
    }
    key_file_release(&change.file);
    key_ring_wipe(&change.ring);
    return absent ? make_first(config, err) : rc;
}

/* --- list ---------------------------------------------------------------------------------- */

static bool is_taken_up(const struct sealed_look *look)
{
    return strcmp(look->sealing_key, look->ring->keys[0].id) == 0;
}

static int list(const struct config *config, struct err *err)
{
    struct key_ring ring = {.count = 0};
    struct sealed_look look = {.ring = &ring};
    int rc = key_file_read(config->key_file, &ring, err);
    if (rc == 0)
        rc = store_once(config->store, sealed_look_work, &look, err);
    if (rc == 0)
        (void)printf("%-*s  %-5s  %s\n", KEY_ID_SIZE - 1, "KEY", "USE", "VALUES");
    for (size_t i = 0; rc == 0 && i < ring.count; i++)
        (void)printf("%s  %-5s  %zu\n", ring.keys[i].id, i == 0 ? "seals" : "opens",
                     look.opened[i]);
    if (rc == 0) {
        if (!is_taken_up(&look))
            say("no daemon has taken up the newest key yet: send it SIGHUP, or start it");
        say_unopened(&look);
    }
    key_ring_wipe(&ring);
    return rc;
}

/* --- forget -------------------------------------------------------------------------------- */

/* All but the newest go, when nothing needs them, and nothing will: the daemon seals with the
 * newest one and cannot fall back. */
static int forget_work(struct db *db, void *arg, struct err *err)
{
    struct change *change = arg;
    const struct key_ring *former = &change->file.ring;
    if (sealed_look_work(db, &change->look, err) < 0)
        return -1;
    if (!is_taken_up(&change->look))
        return err_set(err, ERR_REFUSED, 0,
                       "no daemon has taken up the newest key %s yet, so that the others are still "
                       "needed: send it SIGHUP, or start it, and try again",
                       former->keys[0].id);
    for (size_t i = 1; i < former->count; i++)
        if (change->look.opened[i] > 0)
            return err_set(err, ERR_REFUSED, 0,
                           "the key %s is still needed: %zu stored webhook URLs are sealed with "
                           "it; send the daemon SIGHUP, or start it, and try again",
                           former->keys[i].id, change->look.opened[i]);
    key_ring_add(&change->ring, former->keys[0].bytes);
    for (size_t i = 1; i < former->count; i++)
        if (note(db, "key.forget", former->keys[i].id, err) < 0)
            return -1;
    return key_file_replace(&change->file, &change->ring, err);
}

static int forget(const struct config *config, struct err *err)
{
    struct change change = {.look = {.ring = &change.file.ring}};
    const struct key_ring *former = &change.file.ring;
    int rc = key_file_hold(config->key_file, &change.file, err);
    if (rc == 0 && former->count == 1)
        say("the key file holds one key, which is in use: there is nothing to forget");
    else if (rc == 0)
        rc = store_once(config->store, forget_work, &change, err);
    if (rc == 0 && change.ring.count > 0) {
        for (size_t i = 1; i < former->count; i++)
            (void)printf("%s\n", former->keys[i].id);
        say("these keys are gone: webhook URLs in copies of the results database that were made "
            "before open only with a copy of the key file of that time");
        say_unopened(&change.look);
    }
    key_file_release(&change.file);
    key_ring_wipe(&change.ring);
    return rc;
}

/* --- the command line ---------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(const struct config *config, struct err *err);
} verbs[] = {
    {"rotate", rotate},
    {"list", list},
    {"forget", forget},
    {"replace", replace},
};

#define USAGE                                                                                      \
    "usage: sweetspotd key rotate, key list, key forget, key replace; with the settings of "       \
    "sweetspotd --help"

/* What follows the verb are settings, as for the daemon. */
static int read_settings(int argc, char *const argv[], struct config *out, struct err *err)
{
    bool help = false;
    bool version = false;
    int kept = 1;
    char **rest = mem_alloc((size_t)argc + 1, sizeof *rest);
    rest[0] = argv[0];
    for (int at = 3; at < argc; at++)
        rest[kept++] = argv[at];
    int rc = config_load(kept, rest, out, &help, &version, err);
    free(rest);
    if (rc == 0 && (help || version))
        rc = err_set(err, ERR_INPUT, 0, USAGE);
    return rc;
}

int key_command(int argc, char *const argv[])
{
    struct config config = {0};
    struct err err = {0};
    int status = EXIT_USAGE;
    size_t verb = 0;
    const size_t verb_count = sizeof verbs / sizeof verbs[0];
    while (argc > 2 && verb < verb_count && strcmp(verbs[verb].name, argv[2]) != 0)
        verb++;
    if (argc <= 2 || verb == verb_count) {
        say(USAGE);
    } else if (read_settings(argc, argv, &config, &err) < 0) {
        say("%s", err.msg);
    } else {
        status = 0;
        if (verbs[verb].run(&config, &err) < 0) {
            say("%s", err.msg);
            status = 1;
        }
    }
    config_fini(&config);
    return status;
}
