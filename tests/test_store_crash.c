/* The store in a process that is killed and on a machine that loses power: what was acknowledged
 * is there. Seeds are printed. */
#include "server/ids.h"
#include "server/mem.h"
#include "server/store.h"
#include "server/store_rows.h"
#include "tests/store_kit.h"
#include "tests/store_vfs.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CLIENTS 4
#define ID_BYTES (IDS_TEXT_SIZE - 1)

static int set_up(void **state)
{
    vfs_reset();
    return kit_store_set_up(state);
}

static int tear_down(void **state)
{
    vfs_reset();
    return kit_store_tear_down(state);
}

struct client {
    struct store *store;
    int pipe_fd;
};

/* Stores jobs for ever, and writes the id of each that was acknowledged to the pipe. */
static void *submit_for_ever(void *arg)
{
    const struct client *client = arg;
    for (;;) {
        struct job_row row = kit_job("sql01");
        if (store_write(client->store, kit_insert_job_work, &row, NULL) == 0 &&
            write(client->pipe_fd, row.id, ID_BYTES) != ID_BYTES)
            _exit(1);
        job_row_fini(&row);
    }
}

/* The child: opens the store, starts the clients, and lives until it is killed. */
static void live_until_killed(const char *url, int pipe_fd)
{
    static struct client client;
    char name[] = "sql01";
    pthread_t thread;
    struct err err = {0};
    client.pipe_fd = pipe_fd;
    if (store_open(url, &client.store, &err) < 0 ||
        store_write(client.store, kit_put_instance_work, name, &err) < 0)
        _exit(1);
    for (int i = 0; i < CLIENTS; i++) {
        if (pthread_create(&thread, NULL, submit_for_ever, &client) != 0)
            _exit(1);
    }
    for (;;)
        (void)pause();
}

/* Starts the child; the parent has no threads at this moment, so that this works under the thread
 * sanitizer too. */
static pid_t start_child(const char *url, int *out_fd)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        live_until_killed(url, ends[1]);
    }
    (void)close(ends[1]);
    *out_fd = ends[0];
    return child;
}

/* Reads acknowledged ids until there are `enough` (then kills) or the child is dead. Returns how
 * many there are; *out_ids is a heap array of them, without NULs between. */
static size_t read_acknowledged(int fd, pid_t child, size_t enough, char **out_ids)
{
    char *ids = NULL;
    size_t length = 0;
    size_t capacity = 0;
    for (;;) {
        ids = mem_grow(ids, &capacity, length + 4096, 1);
        ssize_t got = read(fd, ids + length, 4096);
        if (got <= 0)
            break;
        length += (size_t)got;
        if (length >= enough * ID_BYTES)
            assert_int_equal(kill(child, SIGKILL), 0); /* a second time does no harm */
    }
    (void)close(fd);
    *out_ids = ids;
    return length / ID_BYTES;
}

static void expect_killed(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void expect_all_there(struct kit_store *kit, const char *ids, size_t count)
{
    struct err err = {0};
    kit_ok(store_open(kit->url, &kit->store, &err), &err); /* with quick_check */
    for (size_t i = 0; i < count; i++) {
        char id[IDS_TEXT_SIZE] = "";
        memcpy(id, ids + i * ID_BYTES, ID_BYTES);
        kit_ok(store_read(kit->store, kit_get_job_work, id, &err), &err);
    }
    kit_store_close(kit);
}

static void what_was_acknowledged_survives_kill_9(void **state)
{
    struct kit_store *kit = *state;
    size_t total = 0;
    unsigned seed = (unsigned)ids_random_seed();
    print_message("seed %u\n", seed);
    for (int round = 0; round < 20; round++) {
        char *ids = NULL;
        int fd = -1;
        pid_t child = start_child(kit->url, &fd);
        size_t count = read_acknowledged(fd, child, 1 + (size_t)rand_r(&seed) % 100, &ids);
        expect_killed(child);
        expect_all_there(kit, ids, count);
        total += count;
        free(ids);
    }
    print_message("20 kills, %zu acknowledged, 0 lost\n", total);
}

static void what_was_acknowledged_survives_a_power_cut(void **state)
{
    struct kit_store *kit = *state;
    size_t total = 0;
    unsigned seed = (unsigned)ids_random_seed();
    print_message("seed %u\n", seed);
    for (int round = 0; round < 40; round++) {
        char *ids = NULL;
        int fd = -1;
        vfs_reset();
        vfs_faults.death = VFS_POWER;
        vfs_faults.seed = (unsigned)rand_r(&seed);
        atomic_store(&vfs_faults.die_at, 1 + rand_r(&seed) % 1500);
        pid_t child = start_child(kit->url, &fd);
        vfs_reset();
        size_t count = read_acknowledged(fd, child, SIZE_MAX / ID_BYTES, &ids);
        expect_killed(child);
        expect_all_there(kit, ids, count);
        total += count;
        free(ids);
    }
    print_message("40 power cuts, %zu acknowledged, 0 lost\n", total);
}

/* The child of a making: dies at the chosen operation, or ends well when there are fewer. */
static bool making_ends_well(const char *url, int die_at, enum vfs_death death)
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct store *store = NULL;
        struct err err = {0};
        vfs_reset();
        vfs_faults.death = death;
        vfs_faults.seed = (unsigned)die_at;
        atomic_store(&vfs_faults.die_at, die_at);
        if (store_open(url, &store, &err) < 0)
            _exit(1);
        store_close(store);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFEXITED(status);
}

static void a_store_half_made_is_made_anew_at_every_point(void **state)
{
    struct kit_store *kit = *state;
    for (int death = VFS_KILL; death <= VFS_POWER; death++) {
        int die_at = 1;
        while (!making_ends_well(kit->url, die_at, (enum vfs_death)death)) {
            kit_store_start(kit);
            kit_store_close(kit);
            char *path = kit_path(kit->folder, "store.db");
            assert_int_equal(unlink(path), 0);
            free(path);
            die_at++;
        }
        print_message("%d points\n", die_at - 1);
        assert_true(die_at > 10);
        char *path = kit_path(kit->folder, "store.db");
        assert_int_equal(unlink(path), 0);
        free(path);
    }
}

/* One of several that open the same file at once: says how it went, then waits to be killed. */
static void race(const char *url, int pipe_fd)
{
    struct store *store = NULL;
    struct err err = {0};
    char won = store_open(url, &store, &err) == 0;
    if (!won && (err.code != ERR_REFUSED || !strstr(err.msg, "in use by process")))
        _exit(1);
    if (write(pipe_fd, &won, 1) != 1)
        _exit(1);
    for (;;)
        (void)pause();
}

static void a_race_for_one_file_has_one_winner(void **state)
{
    struct kit_store *kit = *state;
    for (int round = 0; round < 20; round++) {
        pid_t children[4];
        int ends[2];
        int winners = 0;
        assert_int_equal(pipe(ends), 0);
        for (int i = 0; i < 4; i++) {
            children[i] = fork();
            assert_true(children[i] >= 0);
            if (children[i] == 0)
                race(kit->url, ends[1]);
        }
        (void)close(ends[1]);
        for (int i = 0; i < 4; i++) {
            char won = 0;
            assert_int_equal(read(ends[0], &won, 1), 1);
            winners += won;
        }
        (void)close(ends[0]);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(kill(children[i], SIGKILL), 0);
            expect_killed(children[i]);
        }
        assert_int_equal(winners, 1);
    }
}

#define FAULT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAULT_TEST(what_was_acknowledged_survives_kill_9),
        FAULT_TEST(what_was_acknowledged_survives_a_power_cut),
        FAULT_TEST(a_race_for_one_file_has_one_winner),
        FAULT_TEST(a_store_half_made_is_made_anew_at_every_point),
    };
    vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
