/* The key file: many keys in it, and how it is changed. */
#include "server/key_file.h"
#include "server/mem.h"
#include "tests/store_kit.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    char *folder;
    char *path;
};

static int make_place(void **state)
{
    struct place *place = mem_alloc(1, sizeof *place);
    place->folder = kit_make_folder();
    place->path = kit_path(place->folder, "key");
    *state = place;
    return 0;
}

static int clear_place(void **state)
{
    struct place *place = *state;
    kit_remove_folder(place->folder);
    free(place->path);
    free(place);
    return 0;
}

/* `count` keys: the first all 1, the second all 2, … */
static void write_keys(const char *path, int count)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    for (int i = 1; i <= count; i++) {
        unsigned char bytes[KEY_BYTES];
        memset(bytes, i, sizeof bytes);
        assert_int_equal(write(file, bytes, sizeof bytes), sizeof bytes);
    }
    assert_int_equal(close(file), 0);
}

static struct key_ring read_keys(const char *path)
{
    struct key_ring ring = {.count = 0};
    struct err err;
    kit_ok(key_file_read(path, &ring, &err), &err);
    return ring;
}

static void add_in_front(struct key_ring *ring, int number, const struct key_ring *former)
{
    unsigned char bytes[KEY_BYTES];
    memset(bytes, number, sizeof bytes);
    key_ring_add(ring, bytes);
    for (size_t i = 0; i < former->count; i++)
        key_ring_add(ring, former->keys[i].bytes);
}

/* As a command does it. */
static void rotate(const char *path, int number)
{
    struct key_file held;
    struct key_ring ring = {.count = 0};
    struct err err;
    kit_ok(key_file_hold(path, &held, &err), &err);
    add_in_front(&ring, number, &held.ring);
    kit_ok(key_file_replace(&held, &ring, &err), &err);
    key_file_release(&held);
}

static void holds_one_to_eight_keys_newest_first(void **state)
{
    struct place *place = *state;
    for (int count = 1; count <= LIMIT_KEYS; count++) {
        write_keys(place->path, count);
        struct key_ring ring = read_keys(place->path);
        assert_int_equal(ring.count, count);
        for (int i = 0; i < count; i++)
            assert_int_equal(ring.keys[i].bytes[31], i + 1);
    }
    struct key_ring none;
    struct err err;
    write_keys(place->path, LIMIT_KEYS + 1);
    assert_int_equal(key_file_read(place->path, &none, &err), -1);
    assert_int_equal(err.code, ERR_REFUSED);
    assert_non_null(strstr(err.msg, "8 keys"));
}

static void one_that_is_not_there_is_told_apart(void **state)
{
    struct place *place = *state;
    struct key_ring none;
    struct key_file held;
    struct err err;
    assert_int_equal(key_file_read(place->path, &none, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(key_file_hold(place->path, &held, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    key_file_release(&held);
    kit_ok(key_file_make(place->path, &err), &err);
    assert_int_equal(read_keys(place->path).count, 1);
}

static void a_change_keeps_mode_and_owner_and_leaves_nothing_beside(void **state)
{
    struct place *place = *state;
    static const mode_t modes[] = {0600, 0400};
    char *beside = mem_format("%s.new", place->path);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct stat before;
        struct stat after;
        (void)unlink(place->path);
        write_keys(place->path, 1);
        assert_int_equal(chmod(place->path, modes[i]), 0);
        if (geteuid() == 0) /* as root for the service's user: the service must still read it */
            assert_int_equal(chown(place->path, 10001, 10001), 0);
        assert_int_equal(stat(place->path, &before), 0);
        rotate(place->path, 9);
        assert_int_equal(stat(place->path, &after), 0);
        assert_int_equal(after.st_mode, before.st_mode);
        assert_int_equal(after.st_uid, before.st_uid);
        assert_int_equal(after.st_gid, before.st_gid);
        assert_int_equal(access(beside, F_OK), -1);
    }
    free(beside);
}

static void what_a_killed_command_left_is_in_nobodys_way(void **state)
{
    struct place *place = *state;
    char *beside = mem_format("%s.new", place->path);
    write_keys(place->path, 1);
    write_keys(beside, 3);
    rotate(place->path, 9);
    struct key_ring ring = read_keys(place->path);
    assert_int_equal(ring.count, 2);
    assert_int_equal(ring.keys[0].bytes[0], 9);
    assert_int_equal(ring.keys[1].bytes[0], 1);
    assert_int_equal(access(beside, F_OK), -1);
    free(beside);
}

static void a_link_stays_one(void **state)
{
    struct place *place = *state;
    struct stat info;
    char *target = kit_path(place->folder, "target");
    write_keys(target, 1);
    assert_int_equal(symlink("target", place->path), 0);
    rotate(place->path, 9);
    assert_int_equal(lstat(place->path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(read_keys(target).count, 2);
    free(target);
}

/* Its folder takes no new file: the keys before stay, whole. */
static void a_change_that_fails_changes_nothing(void **state)
{
    struct place *place = *state;
    struct key_file held;
    struct key_ring ring = {.count = 0};
    struct err err;
    char *beside = mem_format("%s.new", place->path);
    write_keys(place->path, 2);
    assert_int_equal(mkdir(beside, 0700), 0);
    kit_ok(key_file_hold(place->path, &held, &err), &err);
    add_in_front(&ring, 9, &held.ring);
    assert_int_equal(key_file_replace(&held, &ring, &err), -1);
    assert_int_equal(err.code, ERR_SYSTEM);
    assert_non_null(strstr(err.msg, beside));
    key_file_release(&held);
    assert_int_equal(read_keys(place->path).count, 2);
    assert_int_equal(rmdir(beside), 0);
    free(beside);
}

struct turn {
    const char *path;
    int number;
};

static void *rotate_in_a_thread(void *arg)
{
    const struct turn *turn = arg;
    rotate(turn->path, turn->number);
    return NULL;
}

static void of_many_changes_at_once_none_is_lost(void **state)
{
    struct place *place = *state;
    pthread_t threads[LIMIT_KEYS - 1];
    struct turn turns[LIMIT_KEYS - 1];
    for (int round = 0; round < 20; round++) {
        bool seen[LIMIT_KEYS + 1] = {false};
        write_keys(place->path, 1);
        for (int i = 0; i < LIMIT_KEYS - 1; i++) {
            turns[i] = (struct turn){place->path, i + 2};
            assert_int_equal(pthread_create(&threads[i], NULL, rotate_in_a_thread, &turns[i]), 0);
        }
        for (int i = 0; i < LIMIT_KEYS - 1; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        struct key_ring ring = read_keys(place->path);
        assert_int_equal(ring.count, LIMIT_KEYS);
        for (size_t i = 0; i < ring.count; i++)
            seen[ring.keys[i].bytes[0]] = true;
        for (int i = 1; i <= LIMIT_KEYS; i++)
            assert_true(seen[i]);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, clear_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(holds_one_to_eight_keys_newest_first),
        TEST(one_that_is_not_there_is_told_apart),
        TEST(a_change_keeps_mode_and_owner_and_leaves_nothing_beside),
        TEST(what_a_killed_command_left_is_in_nobodys_way),
        TEST(a_link_stays_one),
        TEST(a_change_that_fails_changes_nothing),
        TEST(of_many_changes_at_once_none_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
