/* The sealing key is rotated again and again while webhooks are PUT and delivered; then with kill
 * -9 of the daemon while it seals again, and of the command while it changes the key file. 20
 * rotations and 30 kills; `drill_keys long`: 200 and 500; `drill_keys N`: N of each. */
#include "server/clock.h"
#include "server/key_file.h"
#include "server/mem.h"
#include "server/store.h"
#include "server/store_rows.h"
#include "tests/child_kit.h"
#include "tests/command_kit.h"
#include "tests/faults/drill_kit.h"
#include "tests/harness.h"
#include "tests/http_client.h"
#include "tests/receiver.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CANARY "c4nary-of-the-hook"
#define DONE_NS ((int64_t)60 * 1000000000)
#define COMMAND_US 8000 /* a command takes about so long */
#define RELOAD_US 6000  /* and the daemon, to seal all again */
#define MESSAGES_MOST 1000
#define SEED 42u

static const struct {
    int webhooks;
    int rotations;
    int kills;
} sizes[] = {
    [DRILL_SMALL] = {40, 4, 9}, [DRILL_SHORT] = {250, 20, 30}, [DRILL_LONG] = {250, 200, 500}};
static int webhooks, rotations, kills; /* set by main */

struct place {
    struct child child;
    struct receiver *receiver;
    char *key_file;
    char *fresh_file; /* what becomes the key file */
    char *store;
    unsigned seed;
    pthread_t putter;
    pthread_t sender;
    atomic_bool ending;
    atomic_int allowed; /* messages that may be sent by now */
    atomic_int puts;
    atomic_int sent;
    atomic_int refused; /* calls that were not answered as they should */
    int forgotten;
    int killed_commands;
    int killed_early; /* those that had begun to write the new key file */
    int killed_late;  /* those that had put it in its place */
};

/* --- the load -------------------------------------------------------------------------------- */

static int ask(struct place *place, const char *method, const char *target, const char *body)
{
    struct reply reply = call(place->child.port, method, target, NULL, body);
    int status = reply.status;
    reply_fini(&reply);
    return status;
}

static int put_hook(struct place *place, int number, int turn)
{
    char target[64];
    (void)snprintf(target, sizeof target, "/v1/webhooks/hook-%d", number);
    char *body =
        mem_format("{\"url\":\"http://127.0.0.1:%d/" CANARY "-%d-%d\",\"format\":\"json\"}",
                   receiver_port(place->receiver), number, turn);
    int status = ask(place, "PUT", target, body);
    free(body);
    return status;
}

static int send_message(struct place *place, int number)
{
    char target[64];
    (void)snprintf(target, sizeof target, "/v1/webhooks/hook-%d/test", number);
    return ask(place, "POST", target, NULL);
}

static void *put_all_the_time(void *arg)
{
    struct place *place = arg;
    for (int turn = 0; !atomic_load(&place->ending); turn++) {
        if (put_hook(place, turn % webhooks, turn) != 200)
            atomic_fetch_add(&place->refused, 1);
        atomic_fetch_add(&place->puts, 1);
    }
    return NULL;
}

static void *send_what_is_allowed(void *arg)
{
    struct place *place = arg;
    while (!atomic_load(&place->ending)) {
        int number = atomic_load(&place->sent);
        if (number == atomic_load(&place->allowed)) {
            (void)usleep(200); /* the next look */
            continue;
        }
        if (send_message(place, number % webhooks) != 202)
            atomic_fetch_add(&place->refused, 1);
        atomic_fetch_add(&place->sent, 1);
    }
    return NULL;
}

/* --- commands -------------------------------------------------------------------------------- */

static struct outcome key_well(struct place *place, const char *line)
{
    struct outcome outcome = command_line(place->child.dir, line);
    if (outcome.status != 0)
        fail_msg("%s: %d %s", line, outcome.status, outcome.talk);
    return outcome;
}

static void take_up(struct place *place)
{
    int64_t until = clock_mono_ns() + DONE_NS;
    assert_int_equal(kill(place->child.pid, SIGHUP), 0);
    while (strstr(key_well(place, "key list").talk, "no daemon has taken up"))
        if (clock_mono_ns() > until)
            fail_msg("the newest key is not taken up");
}

/* What must hold at every moment: the file is whole, and every value opens. */
static size_t count_keys(struct place *place)
{
    struct key_ring ring;
    struct err err;
    if (key_file_read(place->key_file, &ring, &err) < 0)
        fail_msg("%s", err.msg);
    struct outcome list = key_well(place, "key list");
    if (strstr(list.talk, "open with none"))
        fail_msg("%s", list.talk);
    return ring.count;
}

static void forget(struct place *place)
{
    take_up(place);
    (void)key_well(place, "key forget");
    assert_int_equal(count_keys(place), 1);
    place->forgotten++;
}

/* All are sealed with the newest key. */
static void expect_all_newest(struct place *place)
{
    char wanted[64];
    struct outcome list = key_well(place, "key list");
    const char *at = strchr(list.out, '\n') + 1;
    (void)snprintf(wanted, sizeof wanted, "  seals  %d\n", webhooks);
    if (strncmp(at + KEY_ID_SIZE - 1, wanted, strlen(wanted)) != 0 || list.talk[0])
        fail_msg("%s%s", list.out, list.talk);
    while (*(at = strchr(at, '\n') + 1))
        assert_int_equal(strncmp(at + KEY_ID_SIZE - 1, "  opens  0\n", 11), 0);
}

/* --- the drill ------------------------------------------------------------------------------- */

static void rotate_under_load(struct place *place)
{
    int messages =
        (MESSAGES_MOST - kills) / rotations < 8 ? (MESSAGES_MOST - kills) / rotations : 8;
    assert_int_equal(pthread_create(&place->putter, NULL, put_all_the_time, place), 0);
    assert_int_equal(pthread_create(&place->sender, NULL, send_what_is_allowed, place), 0);
    for (int i = 0; i < rotations; i++) {
        atomic_fetch_add(&place->allowed, messages);
        (void)key_well(place, "key rotate");
        take_up(place);
        if (i % 5 == 4)
            forget(place);
        (void)count_keys(place);
    }
    int64_t until = clock_mono_ns() + DONE_NS;
    while (atomic_load(&place->sent) < atomic_load(&place->allowed) && clock_mono_ns() < until)
        (void)usleep(1000);
    atomic_store(&place->ending, true);
    assert_int_equal(pthread_join(place->putter, NULL), 0);
    assert_int_equal(pthread_join(place->sender, NULL), 0);
    assert_int_equal(atomic_load(&place->refused), 0);
    assert_int_equal(atomic_load(&place->sent), rotations * messages);
    expect_all_newest(place);
}

/* Between two instructions, not only where a sleep ends. */
static void pass_a_moment(struct place *place, unsigned most_us)
{
    int64_t until = clock_mono_ns() + (int64_t)(drill_random(&place->seed) % most_us) * 1000;
    while (clock_mono_ns() < until)
        continue;
}

/* When a command is killed: at a random moment; when the file of the new keys has appeared; when it
 * has taken the place of the former. */
struct moment {
    int64_t at_ns; /* 0: when the path is this file no longer */
    const char *path;
    struct stat before; /* st_ino 0: it was not there */
};

static bool is_moment(void *ctx)
{
    const struct moment *moment = ctx;
    struct stat now = {.st_ino = 0};
    if (moment->at_ns)
        return clock_mono_ns() >= moment->at_ns;
    return stat(moment->path, &now) == 0 && now.st_ino != moment->before.st_ino;
}

static void kill_command(struct place *place, const char *line)
{
    struct moment moment = {.path = place->key_file};
    size_t before = count_keys(place);
    switch (drill_random(&place->seed) % 3) {
    case 0:
        moment.at_ns =
            clock_mono_ns() + 1 + (int64_t)(drill_random(&place->seed) % COMMAND_US) * 1000;
        break;
    case 1:
        moment.path = place->fresh_file;
        moment.before.st_ino = 0;
        (void)unlink(place->fresh_file); /* of a command that was killed before */
        break;
    default:
        assert_int_equal(stat(place->key_file, &moment.before), 0);
    }
    bool killed = command_line_killed(place->child.dir, line, is_moment, &moment).status == -1;
    place->killed_commands += killed;
    place->killed_early += killed && access(place->fresh_file, F_OK) == 0;
    place->killed_late += killed && count_keys(place) != before;
}

static void kill_once(struct place *place, int turn)
{
    if (send_message(place, turn % webhooks) != 202)
        fail_msg("no message was taken in turn %d", turn);
    atomic_fetch_add(&place->sent, 1);
    switch (turn % 3) {
    case 0:
        kill_command(place, "key rotate");
        break;
    case 1:
        (void)key_well(place, "key rotate");
        take_up(place);
        kill_command(place, "key forget");
        break;
    default:
        (void)key_well(place, "key rotate");
        assert_int_equal(kill(place->child.pid, SIGHUP), 0);
        pass_a_moment(place, RELOAD_US);
        assert_true(WIFSIGNALED(child_end(&place->child, SIGKILL)));
        child_start(&place->child);
        expect_all_newest(place);
    }
    if (count_keys(place) > LIMIT_KEYS - 2)
        forget(place);
}

/* --- the end --------------------------------------------------------------------------------- */

/* How many of the webhook's messages are delivered; each at its first try. */
static int count_delivered(struct place *place, int number, bool *out_pending)
{
    char target[80];
    int delivered = 0;
    (void)snprintf(target, sizeof target, "/v1/webhooks/hook-%d/deliveries?limit=500", number);
    cJSON *list = child_get(&place->child, target);
    const cJSON *row;
    cJSON_ArrayForEach(row, at(list, "items")) {
        bool done = strcmp(text_at(row, "state"), "delivered") == 0;
        delivered += done;
        *out_pending |= !done;
        if (!cJSON_IsNull(at(row, "last_error")) || (done && number_at(row, "attempts") != 1))
            fail_msg("%s", cJSON_Print(row));
    }
    cJSON_Delete(list);
    return delivered;
}

static void expect_all_delivered(struct place *place)
{
    int64_t until = clock_mono_ns() + DONE_NS;
    int delivered = 0;
    bool pending = true;
    while (pending && clock_mono_ns() < until) {
        pending = false;
        delivered = 0;
        for (int i = 0; i < webhooks; i++)
            delivered += count_delivered(place, i, &pending);
    }
    assert_int_equal(delivered, atomic_load(&place->sent));
}

/* Every file of the state folder, byte for byte; how many. */
static int expect_nowhere(struct place *place, const char *text)
{
    int files = 0;
    DIR *folder = opendir(place->child.dir);
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        struct stat info;
        int file = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC);
        assert_true(file >= 0);
        assert_int_equal(fstat(file, &info), 0);
        if (S_ISREG(info.st_mode)) {
            char *bytes = mem_alloc((size_t)info.st_size + 1, 1);
            assert_int_equal(pread(file, bytes, (size_t)info.st_size, 0), info.st_size);
            if (memmem(bytes, (size_t)info.st_size, text, strlen(text)))
                fail_msg("%s holds %s", entry->d_name, text);
            free(bytes);
            files++;
        }
        (void)close(file);
    }
    (void)closedir(folder);
    return files;
}

static int take_work(struct db *db, void *arg, struct err *err)
{
    struct sealed_row *out = arg;
    struct sealed_row *rows = NULL;
    size_t count = 0;
    if (store_sealed_list(db, "", NULL, 1, &rows, &count, err) < 0)
        return -1;
    *out = rows[0];
    free(rows);
    return 0;
}

static void set_up(struct place *place)
{
    place->receiver = receiver_start();
    child_make(&place->child, NULL);
    place->key_file = mem_format("%s/key", place->child.dir);
    place->fresh_file = mem_format("%s/key.new", place->child.dir);
    place->store = mem_format("sqlite:%s/sweetspot.db", place->child.dir);
    child_start(&place->child);
    for (int i = 0; i < webhooks; i++)
        assert_int_equal(put_hook(place, i, 0), 201);
}

static void tear_down(struct place *place)
{
    child_remove(&place->child);
    receiver_stop(place->receiver);
    free(place->key_file);
    free(place->fresh_file);
    free(place->store);
}

static void rotations_lose_no_url_and_no_message(void **state)
{
    (void)state;
    struct place place = {.seed = SEED};
    struct sealed_row first = {0};
    struct err err;
    set_up(&place);
    assert_int_equal(store_once(place.store, take_work, &first, &err), 0);
    rotate_under_load(&place);
    for (int turn = 0; turn < kills; turn++)
        kill_once(&place, turn);
    (void)key_well(&place, "key rotate");
    take_up(&place);
    expect_all_newest(&place);
    forget(&place);
    expect_all_delivered(&place);
    assert_int_equal(child_end(&place.child, SIGTERM), 0);
    int files = expect_nowhere(&place, CANARY);
    (void)expect_nowhere(&place, strchr(first.sealed, ':') + 1);
    print_message(
        "%d rotations under load: %d PUTs, 0 refused; seed %u: %d kills of the daemon, %d of "
        "commands (%d while they wrote the new key file, %d after it was in its place); %d "
        "messages, "
        "0 failed, 0 not opened; keys forgotten %d times; %d values, all sealed with the newest "
        "key; "
        "%d files hold 0 URLs\n",
        rotations, atomic_load(&place.puts), SEED, kills / 3, place.killed_commands,
        place.killed_early, place.killed_late, atomic_load(&place.sent), place.forgotten, webhooks,
        files);
    sealed_row_fini(&first);
    tear_down(&place);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotations_lose_no_url_and_no_message),
    };
    enum drill_form form = drill_form(argc, argv);
    webhooks = sizes[form].webhooks;
    rotations = sizes[form].rotations;
    kills = sizes[form].kills;
    if (argc > 1 && form != DRILL_LONG)
        rotations = kills = (int)strtol(argv[1], NULL, 10);
    if (rotations < 1 || rotations + kills > MESSAGES_MOST)
        return 2; /* the receiver keeps so many */
    if (!getenv("SWEETSPOT_TEST_DAEMON"))
        return 77; /* skipped: the build names the program */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
