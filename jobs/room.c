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

/* A volume that something is written to. */
struct volume {
    const char *folder; /* by which it is asked for */
    char *name;         /* heap; NULL: cannot be told from others */
    int64_t free_before;
};

struct volumes {
    struct volume *items;
    size_t count;
    const char *unseen; /* a folder whose volume no view shows, or NULL */
};

struct room {
    struct mssql *session;    /* run->looker, the thread's own until room_end */
    struct mssql *writers[2]; /* what they run is cancelled; NULL: there is none */
    const char *what;
    int64_t margin_mib;
    bool tell_peak;
    struct volumes volumes;
    pthread_t thread;
    struct wait changed;
    struct lock lock; /* guards what follows */
    bool ending;
    int64_t asked, answered; /* looks */
    struct room_outcome outcome;
};

/* --- volumes -------------------------------------------------------------------------------- */

static void add_volume(struct volumes *volumes, struct mssql *session, const char *folder)
{
    struct volume volume = {.folder = folder};
    volume.free_before = files_free_bytes_seen(session, folder, &volume.name);
    bool known = false;
    for (size_t i = 0; i < volumes->count && volume.name; i++)
        known |= volumes->items[i].name && strcmp(volumes->items[i].name, volume.name) == 0;
    if (volume.free_before < 0)
        volumes->unseen = folder;
    if (volume.free_before < 0 || known)
        free(volume.name);
    else
        volumes->items[volumes->count++] = volume;
}

/* Those of the folders that can be seen, each once. */
static struct volumes find_volumes(struct mssql *session, const struct room_scope *scope)
{
    struct volumes volumes = {.items = mem_alloc(scope->count, sizeof *volumes.items)};
    for (size_t i = 0; i < scope->count; i++)
        add_volume(&volumes, session, scope->folders[i]);
    return volumes;
}

static void volumes_fini(struct volumes *volumes)
{
    for (size_t i = 0; i < volumes->count; i++)
        free(volumes->items[i].name);
    free(volumes->items);
    *volumes = (struct volumes){0};
}

static struct guards_input input_of(enum guards_moment moment, const struct volume *volume,
                                    const char *what, int64_t margin_mib)
{
    struct guards_input input = GUARDS_INPUT;
    input.moment = moment;
    input.name = volume->folder;
    input.what = what;
    input.writes = true;
    input.bytes = 0; /* beside the margin nothing is asked for */
    input.margin_mib = margin_mib;
    input.free_bytes = volume->free_before;
    return input;
}

static int check_margin(const struct run *run, const struct volumes *volumes,
                        const struct room_scope *scope, struct err *err)
{
    for (size_t i = 0; i < volumes->count; i++) {
        struct guards_input input =
            input_of(GUARDS_TRIAL, &volumes->items[i], scope->what, run->limits.min_free_disk_mib);
        struct guards_answer answer = guards_judge(&input);
        if (answer.verdict == GUARDS_REFUSE)
            return err_set(err, ERR_REFUSED, 0, "%s", answer.text);
    }
    return 0;
}

int room_check(struct run *run, const struct room_scope *scope, struct err *err)
{
    struct volumes volumes = find_volumes(run_session(run), scope);
    int rc = check_margin(run, &volumes, scope, err);
    volumes_fini(&volumes);
    return rc;
}

/* --- looking -------------------------------------------------------------------------------- */

/* Cancels when a volume has less than the margin; how much it took, -1 when it cannot be seen. */
static int64_t look_at(struct room *room, const struct volume *volume, char *out_text,
                       bool *out_short)
{
    struct guards_input input = input_of(GUARDS_RUNNING, volume, room->what, room->margin_mib);
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
    for (size_t i = 0; i < room->volumes.count; i++) {
        int64_t here = look_at(room, &room->volumes.items[i], out->text, &out->cancelled);
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
        for (size_t i = 0; i < JSON_COUNT(room->writers) && cancels; i++)
            if (room->writers[i]) /* at each look: a cancel may miss a batch that only begins */
                mssql_cancel(room->writers[i]);
    } while (await_look(room, asked));
    return NULL;
}

/* --- begin and end -------------------------------------------------------------------------- */

static void room_free(struct room *room)
{
    volumes_fini(&room->volumes);
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

/* Where one volume may be counted twice, or not at all, the sum means nothing. */
static bool can_tell_peak(const struct room *room)
{
    bool named = true;
    for (size_t i = 0; i < room->volumes.count; i++)
        named &= room->volumes.items[i].name != NULL;
    return !room->volumes.unseen && (named || room->volumes.count == 1);
}

static struct room *room_new(struct run *run, const struct room_scope *scope)
{
    struct room *room = mem_alloc(1, sizeof *room);
    room->session = run->looker;
    room->writers[0] = run_session(run);
    room->writers[1] = run->second;
    room->what = scope->what;
    room->margin_mib = run->limits.min_free_disk_mib;
    room->volumes = find_volumes(room->session, scope);
    room->tell_peak = scope->tell_peak && can_tell_peak(room);
    room->outcome.taken_most = -1;
    lock_init(&room->lock);
    wait_init(&room->changed);
    return room;
}

int room_watch(struct run *run, const struct room_scope *scope, struct room **out, struct err *err)
{
    struct err why = {0};
    *out = NULL;
    if (run_open_looker(run, &why) < 0) {
        run_warn(run, "free space was not watched while each %s ran: %s", scope->what, why.msg);
        return 0;
    }
    struct room *room = room_new(run, scope);
    if (check_margin(run, &room->volumes, scope, err) < 0) {
        room_free(room);
        return -1;
    }
    if (room->volumes.unseen)
        run_warn(run, "free space was not watched while each %s ran: that of %s cannot be seen",
                 scope->what, room->volumes.unseen);
    int failed = room->volumes.count > 0 ? start(room) : 0;
    if (failed)
        run_warn(run, "free space was not watched while each %s ran: no thread could be started",
                 scope->what);
    if (room->volumes.count > 0 && !failed)
        *out = room;
    else
        room_free(room);
    return 0;
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
