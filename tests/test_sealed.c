/* All that is sealed in a store: looked through, and sealed again with a newer key. */
#include "server/key_file.h"
#include "server/mem.h"
#include "server/sealed.h"
#include "tests/store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY 250 /* more than two batches */

struct place {
    struct kit_store *kit;
    struct config config;
    struct secrets *secrets;
};

static int make_place(void **state)
{
    struct place *place = mem_alloc(1, sizeof *place);
    void *kit = NULL;
    struct err err;
    assert_int_equal(kit_store_set_up(&kit), 0);
    place->kit = kit;
    kit_store_open(place->kit);
    place->config.key_file = kit_path(place->kit->folder, "key");
    kit_ok(secrets_open(&place->config, &place->secrets, &err), &err);
    *state = place;
    return 0;
}

static int clear_place(void **state)
{
    struct place *place = *state;
    void *kit = place->kit;
    (void)kit_store_tear_down(&kit);
    secrets_close(place->secrets);
    free(place->config.key_file);
    free(place);
    return 0;
}

static int put_work(struct db *db, void *arg, struct err *err)
{
    bool created;
    return store_webhook_put(db, arg, -1, &created, err);
}

/* A webhook whose URL is "https://x/NAME", sealed; NULL: as given. */
static void put(struct place *place, const char *name, const char *sealed)
{
    struct err err;
    char *url = mem_format("https://x/%s", name);
    struct webhook_row row = {
        .name = mem_copy(name), .definition = mem_copy("{}"), .url_sealed = mem_copy(sealed)};
    if (!sealed)
        kit_ok(secrets_seal(place->secrets, url, name, &row.url_sealed, &err), &err);
    kit_ok(store_write(place->kit->store, put_work, &row, &err), &err);
    webhook_row_fini(&row);
    free(url);
}

static void put_many(struct place *place)
{
    for (int i = 0; i < MANY; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "hook-%03d", i);
        put(place, name, NULL);
    }
}

static int get_work(struct db *db, void *arg, struct err *err)
{
    struct webhook_row *row = arg;
    char *name = row->name;
    int rc = store_webhook_get(db, name, row, err);
    free(name);
    return rc;
}

static struct webhook_row get(struct place *place, const char *name)
{
    struct err err;
    struct webhook_row row = {.name = mem_copy(name)};
    kit_ok(store_read(place->kit->store, get_work, &row, &err), &err);
    return row;
}

static void rotate(struct place *place)
{
    struct key_file held;
    struct key_ring ring = {.count = 0};
    struct key_ring fresh;
    struct err err;
    char *other = kit_path(place->kit->folder, "fresh");
    kit_ok(key_file_make(other, &err), &err);
    kit_ok(key_file_read(other, &fresh, &err), &err);
    assert_int_equal(unlink(other), 0);
    kit_ok(key_file_hold(place->config.key_file, &held, &err), &err);
    key_ring_add(&ring, fresh.keys[0].bytes);
    for (size_t i = 0; i < held.ring.count; i++)
        key_ring_add(&ring, held.ring.keys[i].bytes);
    kit_ok(key_file_replace(&held, &ring, &err), &err);
    key_file_release(&held);
    free(other);
}

/* Another key takes the place of all. */
static void replace_keys(struct place *place)
{
    struct err err;
    assert_int_equal(unlink(place->config.key_file), 0);
    kit_ok(key_file_make(place->config.key_file, &err), &err);
}

static struct sealed_look look(struct place *place, struct key_ring *ring)
{
    struct err err;
    secrets_keys(place->secrets, ring);
    struct sealed_look look = {.ring = ring};
    kit_ok(store_read(place->kit->store, sealed_look_work, &look, &err), &err);
    return look;
}

/* --- rotation -------------------------------------------------------------------------------- */

static void a_reload_seals_everything_again(void **state)
{
    struct place *place = *state;
    struct key_ring ring;
    struct err err;
    put_many(place);
    struct webhook_row before = get(place, "hook-117");
    sealed_start(place->kit->store, place->secrets);
    rotate(place);
    kit_ok(sealed_reload(place->kit->store, place->secrets, &err), &err);
    struct sealed_look after = look(place, &ring);
    assert_int_equal(ring.count, 2);
    assert_int_equal(after.opened[0], MANY);
    assert_int_equal(after.opened[1], 0);
    assert_int_equal(after.unopened, 0);
    assert_string_equal(after.sealing_key, ring.keys[0].id);
    struct webhook_row row = get(place, "hook-117");
    char *url = NULL;
    kit_ok(secrets_unseal(place->secrets, row.url_sealed, "hook-117", &url, &err), &err);
    assert_string_equal(url, "https://x/hook-117");
    assert_string_not_equal(row.url_sealed, before.url_sealed);
    assert_int_equal(row.version, before.version); /* nobody's ETag changes */
    assert_int_equal(row.updated_at, before.updated_at);
    webhook_row_fini(&row);
    webhook_row_fini(&before);
    secrets_free(url);
}

/* As after a kill between the change of the file and SIGHUP, or in the middle of sealing again. */
static void a_start_does_what_was_left_undone(void **state)
{
    struct place *place = *state;
    struct secrets *next = NULL;
    struct key_ring ring;
    struct err err;
    put_many(place);
    rotate(place);
    kit_ok(secrets_open(&place->config, &next, &err), &err);
    secrets_close(place->secrets);
    place->secrets = next;
    put(place, "already", NULL);
    struct sealed_look before = look(place, &ring);
    assert_int_equal(before.opened[0], 1);
    assert_int_equal(before.opened[1], MANY);
    assert_string_equal(before.sealing_key, "");
    sealed_start(place->kit->store, place->secrets);
    struct sealed_look after = look(place, &ring);
    assert_int_equal(after.opened[0], MANY + 1);
    assert_string_equal(after.sealing_key, ring.keys[0].id);
}

/* The value was sealed before the reload, and came to the writer after it. */
static void what_comes_late_is_sealed_again_on_its_way_in(void **state)
{
    struct place *place = *state;
    struct key_ring ring;
    struct err err;
    char *sealed = NULL;
    char *url = NULL;
    kit_ok(secrets_seal(place->secrets, "https://x/late", "late", &sealed, &err), &err);
    char *first = mem_copy(sealed);
    assert_int_equal(secrets_renew(place->secrets, "late", &sealed, &err), 0);
    assert_string_equal(sealed, first);
    rotate(place);
    kit_ok(sealed_reload(place->kit->store, place->secrets, &err), &err);
    secrets_keys(place->secrets, &ring);
    assert_false(key_ring_is_newest(&ring, sealed));
    assert_int_equal(secrets_renew(place->secrets, "late", &sealed, &err), 1);
    assert_true(key_ring_is_newest(&ring, sealed));
    kit_ok(secrets_unseal(place->secrets, sealed, "late", &url, &err), &err);
    assert_string_equal(url, "https://x/late");
    assert_int_equal(secrets_renew(place->secrets, "other", &first, &err), -1);
    secrets_free(url);
    free(first);
    free(sealed);
}

/* --- a key file that is not right ------------------------------------------------------------ */

static void a_broken_key_file_leaves_the_keys_before(void **state)
{
    struct place *place = *state;
    struct key_ring before;
    struct key_ring after;
    struct err err;
    put(place, "dba", NULL);
    sealed_start(place->kit->store, place->secrets);
    secrets_keys(place->secrets, &before);
    assert_int_equal(truncate(place->config.key_file, 31), 0);
    assert_int_equal(sealed_reload(place->kit->store, place->secrets, &err), -1);
    assert_int_equal(unlink(place->config.key_file), 0);
    assert_int_equal(sealed_reload(place->kit->store, place->secrets, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    kit_ok(key_file_make(place->config.key_file, &err), &err); /* whole, but of another place */
    assert_int_equal(sealed_reload(place->kit->store, place->secrets, &err), -1);
    assert_int_equal(err.code, ERR_REFUSED);
    assert_non_null(strstr(err.msg, before.keys[0].id));
    struct sealed_look all = look(place, &after);
    assert_int_equal(all.opened[0], 1);
    assert_memory_equal(&before, &after, sizeof before);
}

/* The key in use is there, but not that of a value which is not sealed again yet. */
static void a_key_file_that_loses_a_value_is_not_taken(void **state)
{
    struct place *place = *state;
    struct secrets *next = NULL;
    struct key_file held;
    struct key_ring newest = {.count = 0};
    struct err err;
    put(place, "dba", NULL);
    rotate(place);
    kit_ok(secrets_open(&place->config, &next, &err), &err); /* no sealed_start: a full disk, say */
    kit_ok(key_file_hold(place->config.key_file, &held, &err), &err);
    key_ring_add(&newest, held.ring.keys[0].bytes);
    kit_ok(key_file_replace(&held, &newest, &err), &err);
    key_file_release(&held);
    assert_int_equal(sealed_reload(place->kit->store, next, &err), -1);
    assert_int_equal(err.code, ERR_REFUSED);
    assert_non_null(strstr(err.msg, "dba"));
    secrets_close(next);
}

static void no_key_is_made_where_something_is_sealed(void **state)
{
    struct place *place = *state;
    struct err err;
    const char *file = place->config.key_file;
    kit_ok(sealed_may_make_key(place->kit->store, file, &err), &err);
    assert_int_equal(unlink(file), 0);
    kit_ok(sealed_may_make_key(place->kit->store, file, &err), &err); /* nothing is sealed */
    kit_ok(key_file_make(file, &err), &err);
    for (const char *name = "abcde"; *name; name++)
        put(place, (char[]){*name, '\0'}, NULL);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(sealed_may_make_key(place->kit->store, file, &err), -1);
    assert_int_equal(err.code, ERR_REFUSED);
    assert_non_null(strstr(err.msg, "5 webhook URLs"));
    assert_non_null(strstr(err.msg, "(a, b, c and 2 more)"));
    assert_non_null(strstr(err.msg, "put it back"));
    assert_non_null(strstr(err.msg, "sweetspotd key replace"));
    assert_int_equal(access(file, F_OK), -1);
}

static void what_opens_with_no_key_is_counted_and_stays(void **state)
{
    struct place *place = *state;
    struct secrets *other = NULL;
    struct key_ring ring;
    struct err err;
    size_t count = 9;
    put(place, "lost", NULL);
    put(place, "spoiled", "not a sealed text");
    struct webhook_row before = get(place, "lost");
    replace_keys(place);
    kit_ok(secrets_open(&place->config, &other, &err), &err);
    secrets_close(place->secrets);
    place->secrets = other;
    put(place, "fine", NULL);
    sealed_start(place->kit->store, place->secrets);
    kit_ok(sealed_unopened(place->kit->store, place->secrets, &count, &err), &err);
    assert_int_equal(count, 2);
    struct sealed_look all = look(place, &ring);
    assert_int_equal(all.opened[0], 1);
    assert_string_equal(all.unopened_names, "lost, spoiled");
    struct webhook_row after = get(place, "lost");
    assert_string_equal(after.url_sealed, before.url_sealed);
    webhook_row_fini(&after);
    webhook_row_fini(&before);
    put(place, "lost", NULL);
    put(place, "spoiled", NULL);
    kit_ok(sealed_unopened(place->kit->store, place->secrets, &count, &err), &err);
    assert_int_equal(count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, clear_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_reload_seals_everything_again),
        TEST(a_start_does_what_was_left_undone),
        TEST(what_comes_late_is_sealed_again_on_its_way_in),
        TEST(a_broken_key_file_leaves_the_keys_before),
        TEST(a_key_file_that_loses_a_value_is_not_taken),
        TEST(no_key_is_made_where_something_is_sealed),
        TEST(what_opens_with_no_key_is_counted_and_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
