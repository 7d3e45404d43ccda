#include "jobs/room.h"
#include "jobs/files.h"
#include "server/clock.h"
#include "server/log.h"
#include "server/mem.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS ((int64_t)1000000000)  /* a fast disk takes 1 or 2 GiB in that time */
#define ANSWER_NS ((int64_t)500000000) /* a cancel must not wait longer for a look */

/* A volume that stripes go to. */
struct room_volume {
    const char *folder; /* by which it is asked for */
    char *name;         /* heap; NULL: cannot be told from others */
    int64_t free_before;
};

struct room {
    struct mssql *session; /* run->looker, the thread's own until room_end */
    struct mssql *backup;  /* where BACKUP runs; only cancelled */
    int64_t margin_mib;
    bool tell_peak;
    struct room_volume volumes[LIMIT_STRIPES];
    size_t count;
    pthread_t thread;
    struct wait changed;
    struct lock lock; /* guards what follows */
    bool ending;
    int64_t asked, answered; /* looks */
    struct room_outcome outcome;
};

/* Cancels when a volume has less than the margin; how much it took, -1 when it cannot be seen. */
static int64_t look_at(struct room *room, const struct room_volume *volume, char *out_text,
                       bool *out_short)
{
    struct guards_input input = GUARDS_INPUT;
    input.moment = GUARDS_RUNNING;
    input.name = volume->folder;
    input.writes = true;
    input.margin_mib = room->margin_mib;
    input.free_bytes = files_free_bytes_seen(room->session, volume->folder, NULL);
    struct guards_answer answer = guards_judge(&input);
    if (answer.verdict == GUARDS_FAIL && !*out_short) {
        *out_short = true;
        (void)snprintf(out_text, GUARDS_TEXT_SIZE, "%s", answer.text);
    }
    return input.free_bytes < 0 ? -1 : volume->free_before - input.free_bytes;
}

static void look(struct room *room, struct room_outcome *out)
{
    int64_t taken = 0;
    *out = (struct room_outcome){.taken_most = -1};
    for (size_t i = 0; i < room->count; i++) {
        int64_t here = look_at(room, &room->volumes[i], out->text, &out->cancelled);
        taken = taken < 0 || here < 0 ? -1 : taken + here;
    }
    out->taken_most = taken;
}

static void note_locked(struct room *room, const struct room_outcome *seen) NEEDS(room->lock)
{
    struct room_outcome *outcome = &room->outcome;
    if (seen->taken_most > outcome->taken_most)
        outcome->taken_most = seen->taken_most;
    if (!seen->cancelled || outcome->cancelled)
        return;
    outcome->cancelled = true;
    memcpy(outcome->text, seen->text, sizeof outcome->text);
}

/* Waits for the next look; false at the end. */
static bool await_look(struct room *room, int64_t answered)
{
    int64_t until = clock_mono_ns() + LOOK_NS;
    lock_take(&room->lock);
    while (!room->ending && room->asked <= answered && clock_mono_ns() < until)
        wait_until(&room->changed, &room->lock, until);
    bool goes_on = !room->ending;
    lock_drop(&room->lock);
    return goes_on;
}

static void *watch(void *arg)
{
    struct room *room = arg;
    int64_t asked = 0;
    (void)pthread_setname_np(pthread_self(), "room"); /* only for people who look */
    do {
        struct room_outcome seen;
        lock_take(&room->lock);
        asked = room->asked;
        lock_drop(&room->lock);
        look(room, &seen);
        lock_take(&room->lock);
        note_locked(room, &seen);
        room->answered = asked;
        bool cancels = room->outcome.cancelled && !room->ending;
        wait_wake_all(&room->changed);
        lock_drop(&room->lock);
        if (cancels) /* again with each look: a cancel may miss a batch that only begins */
            mssql_cancel(room->backup);
    } while (await_look(room, asked));
    return NULL;
}

/* --- begin and end -------------------------------------------------------------------------- */

static void add_volume(struct room *room, const char *folder)
{
    struct room_volume volume = {.folder = folder};
    volume.free_before = files_free_bytes_seen(room->session, folder, &volume.name);
    for (size_t i = 0; i < room->count && volume.name; i++)
        if (room->volumes[i].name && strcmp(room->volumes[i].name, volume.name) == 0) {
            free(volume.name);
            return;
        }
    room->volumes[room->count++] = volume;
}

/* False when a volume is not visible at all. */
static bool find_volumes(struct room *room, const struct backup_settings *settings)
{
    bool seen = true;
    for (size_t i = 0; i < settings->folder_count && i < (size_t)settings->files; i++)
        add_volume(room, settings->folders[i]);
    for (size_t i = 0; i < room->count; i++) {
        seen &= room->volumes[i].free_before >= 0;
        if (!room->volumes[i].name && room->count > 1)
            room->tell_peak = false; /* the same volume might be counted twice */
    }
    return seen;
}

static void room_free(struct room *room)
{
    for (size_t i = 0; i < room->count; i++)
        free(room->volumes[i].name);
    wait_fini(&room->changed);
    lock_fini(&room->lock);
    free(room);
}

static int start(struct room *room)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* none of the process's signals here */
    int failed = pthread_create(&room->thread, NULL, watch, room);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

struct room *room_watch(struct run *run, const struct backup_settings *settings)
{
    struct err err = {0};
    if (backup_is_nul(settings))
        return NULL;
    if (run_open_looker(run, &err) < 0) {
        run_warn(run, "free space was not watched while backups ran: %s", err.msg);
        return NULL;
    }
    struct room *room = mem_alloc(1, sizeof *room);
    room->session = run->looker;
    room->backup = run_session(run);
    room->margin_mib = run->limits.min_free_disk_mib;
    room->tell_peak = settings->tell_peak;
    room->outcome.taken_most = -1;
    lock_init(&room->lock);
    wait_init(&room->changed);
    if (find_volumes(room, settings) && start(room) == 0)
        return room;
    run_warn(run, "free space was not watched while backups ran: %s cannot be seen",
             settings->folders[0]);
    room_free(room);
    return NULL;
}

void room_progress(struct room *room)
{
    if (!room)
        return;
    int64_t until = clock_mono_ns() + ANSWER_NS;
    lock_take(&room->lock);
    int64_t asked = ++room->asked;
    wait_wake_all(&room->changed);
    while (room->tell_peak && room->answered < asked && clock_mono_ns() < until)
        wait_until(&room->changed, &room->lock, until);
    lock_drop(&room->lock);
}

struct room_outcome room_end(struct room *room)
{
    if (!room)
        return (struct room_outcome){.taken_most = -1};
    lock_take(&room->lock);
    room->ending = true;
    wait_wake_all(&room->changed);
    lock_drop(&room->lock);
    mssql_cancel(room->session); /* a look that hangs ends sooner */
    (void)pthread_join(room->thread, NULL);
    struct room_outcome outcome = room->outcome;
    if (!room->tell_peak)
        outcome.taken_most = -1;
    room_free(room);
    return outcome;
}
