#include "backup.h"

#include <stdlib.h>
#include <string.h>

#include "others.h"

static bool is_nul(const char *path)
{
    return sim_text_is(path, "NUL") || sim_text_is(path, "NUL:");
}

static const char *device_path(struct plan *p, const struct device *d)
{
    const struct variable *v = d->var ? sim_variable_find(p->frame, d->var) : NULL;
    const char *path =
        v && !v->value.is_null ? sim_value_text(p->frame->arena, &v->value, 0) : d->path;
    bool bare = !strpbrk(path, "/\\:");

    if (strcmp(d->type, "DISK") || is_nul(path) || !bare || !*path)
        return path;
    return sim_arena_printf(p->frame->arena, "%s%c%s", p->sim->backup_dir,
                            p->sim->windows ? '\\' : '/', path);
}

static bool read_targets(struct plan *p, const struct stmt *st)
{
    p->targets =
        sim_arena_alloc(p->frame->arena, (size_t)(st->device_count + 1) * sizeof(*p->targets));
    for (int i = 0; i < st->device_count; i++) {
        const struct device *d = &st->devices[i];
        struct target *t = &p->targets[p->target_count++];
        if (d->var && !sim_variable_find(p->frame, d->var))
            return sim_raise(p->session, 137, 2, d->var, NULL);
        t->path = device_path(p, d);
        t->mirror = d->mirror;
        t->kind = !strcmp(d->type, "URL")              ? TARGET_URL
                  : !strcmp(d->type, "VIRTUAL_DEVICE") ? TARGET_VIRTUAL
                  : is_nul(t->path)                    ? TARGET_NUL
                                                       : TARGET_DISK;
        p->stripes += d->mirror == 0;
        if (!strcmp(d->type, "LOGICAL"))
            return sim_raise_text(
                p->session, 3206, 16, 1,
                sim_arena_printf(p->frame->arena,
                                 "Backup device '%s' does not exist. To view existing "
                                 "backup devices, use the sys.backup_devices catalog view.",
                                 t->path));
    }
    return true;
}

static bool read_plan(struct plan *p, struct frame *f, const struct stmt *st)
{
    p->frame = f;
    p->session = f->session;
    p->sim = f->session->sim;
    p->log = strcmp(st->verb, "LOG") == 0;
    p->verb = p->log ? "BACKUP LOG" : "BACKUP DATABASE";
    p->name = p->description = NULL;
    p->database = st->alias;
    if (st->var) {
        const struct variable *v = sim_variable_find(f, st->var);
        if (!v)
            return sim_raise(f->session, 137, 2, st->var, NULL);
        p->database = v->value.is_null ? "" : sim_value_text(f->arena, &v->value, 0);
    }
    return read_targets(p, st) && sim_backup_options(p, st);
}

/* Pages of one file: all used ones, the changed ones and at least the header extents, or the log's.
 */
static int64_t file_pages(const struct plan *p, const struct sim_db *db, const struct sim_dbfile *f)
{
    int64_t all = sim_db_pages(db, SIM_ROWS) + sim_db_pages(db, SIM_FILESTREAM);

    if (f->type == SIM_LOG)
        return p->log ? db->log_pages : db->active_pages;
    if (!p->differential)
        return f->used_pages;
    int64_t pages = all ? db->changed_pages * f->used_pages / all : 0;
    pages += f->type == SIM_ROWS ? 40 : 0;
    return pages < f->used_pages ? pages : f->used_pages;
}

/* Rows, then FILESTREAM and memory-optimised containers, then the log. */
static void count_pages_locked(struct plan *p)
{
    static const enum sim_file_type order[] = {SIM_ROWS, SIM_FILESTREAM, SIM_LOG};
    const struct sim_db *db = sim_db_by_id_locked(p->sim, p->db_id);

    for (size_t t = 0; t < 3; t++)
        for (int i = 0; i < db->file_count && p->file_count < 64; i++) {
            const struct sim_dbfile *f = &db->files[i];
            if (f->type != (int)order[t] || (p->log && f->type != SIM_LOG))
                continue;
            p->pages[p->file_count] = file_pages(p, db, f);
            p->files[p->file_count] = sim_arena_dup(p->frame->arena, f->name);
            p->file_ids[p->file_count] = f->id;
            p->total_pages += p->pages[p->file_count++];
            if (f->type != SIM_LOG)
                p->allocated_bytes += f->pages * SIM_PAGE;
        }
}

static void publish(struct plan *p, int percent, int64_t elapsed_ms)
{
    struct session *s = p->session;
    pthread_mutex_lock(&p->sim->lock);
    int64_t due = p->start_us + elapsed_ms * 1000, now = sim_now_us_locked(p->sim);
    if (now < due) /* the simulated clock keeps up with what nobody waits for */
        p->sim->skipped_us += due - now;
    sim_moments_run_locked(p->sim, p->number, percent);
    s->percent = percent;
    s->remaining_ms = p->took_ms > elapsed_ms ? p->took_ms - elapsed_ms : 0;
    s->cpu_ms += percent ? p->cpu_ms / 1000 : 0;
    pthread_mutex_unlock(&p->sim->lock);
}

/* A message of the running statement: it and a DONE go out at once. */
static void message(struct plan *p, int number, const char *a, const char *b, const char *c,
                    const char *d)
{
    sim_raise(p->session, number, 1, a, b, c, d, NULL);
    if (p->frame->in_procedure)
        wire_flush(&p->session->wire); /* inside a procedure there is no DONE of its own */
    else
        sim_reply_done_now(p->session, 0, 0xE6, 0);
}

/* Grows the files; false when a volume is full. */
static bool write_files(struct plan *p, int percent, const char **full)
{
    bool good = true;
    int64_t share = p->written_bytes / p->stripes * percent / 100;

    pthread_mutex_lock(&p->sim->lock);
    for (int i = 0; i < p->target_count && good; i++) {
        struct target *t = &p->targets[i];
        if (t->kind != TARGET_DISK)
            continue;
        struct sim_vfile *f = sim_vfile_find_locked(p->sim, t->path);
        const struct sim_volume *v = sim_volume_of_locked(p->sim, t->path);
        int64_t more = share > t->size_bytes ? share - t->size_bytes : 0;
        if (!f)
            continue; /* somebody has deleted it */
        if (v && more > sim_volume_free_locked(p->sim, v)) {
            *full = t->path;
            good = false;
        } else {
            t->size_bytes += more;
            f->size_bytes = t->base_bytes + t->size_bytes;
        }
    }
    pthread_mutex_unlock(&p->sim->lock);
    return good;
}

static bool wait_until(struct plan *p, int64_t start_us, int percent)
{
    double scale = p->sim->time_scale;
    int64_t until = start_us + (int64_t)((double)p->took_ms * 10 * percent * scale);
    enum wake w = WAKE_SIGNAL;
    while (w == WAKE_SIGNAL)
        w = sim_session_wait(p->session, scale > 0 ? until : 0);
    return w == WAKE_TIMEOUT && !sim_session_should_stop(p->session);
}

static bool percent_hit(struct plan *p, enum sim_fault_kind kind, int from, int to,
                        struct sim_fault *out)
{
    struct sim *sim = p->sim;
    bool due = false;
    pthread_mutex_lock(&sim->lock);
    for (int i = 0; i < sim->fault_count; i++)
        due = due || (sim->faults[i].kind == kind && sim->faults[i].percent > from &&
                      sim->faults[i].percent <= to);
    pthread_mutex_unlock(&sim->lock);
    return due && sim_fault_hit(sim, kind, p->session->statement, p->frame->arena, out);
}

static bool raise_fault(struct plan *p, const struct sim_fault *f)
{
    const char *text = f->text;
    const char *path = p->targets[0].path;
    const char *args[2] = {path, sim_os_error(p->sim, 1117)};
    if (!text)
        text = sim_message_text(p->frame->arena, f->number, p->session->language, args, 2);
    return sim_raise_text(p->session, f->number, f->severity, f->state, text);
}

static bool step_faults(struct plan *p, int from, int to)
{
    struct sim_fault fault;

    if (percent_hit(p, SIM_HOLD_AT_PERCENT, from, to, &fault) && !sim_hold(p->session))
        return false;
    if (percent_hit(p, SIM_DROP_AT_PERCENT, from, to, &fault)) {
        sim_drop_connection(p->session);
        return false;
    }
    if (percent_hit(p, SIM_ERROR_AT_PERCENT, from, to, &fault))
        return raise_fault(p, &fault);
    return true;
}

static int step_of(const struct plan *p)
{
    int64_t transfer = p->transfer ? p->transfer : 1048576;
    int64_t step = p->total_pages ? transfer * 100 / (p->total_pages * SIM_PAGE) : 100;
    return step < 1 ? 1 : step > 100 ? 100 : (int)step;
}

/* The reading and writing, percent by percent; *said is the last 3211. */
static bool run_pages(struct plan *p, int64_t start_us, int *said)
{
    int step = step_of(p), next = p->stats;

    for (int done = 0; done < 100;) {
        const char *full = NULL;
        int to = done + step > 100 ? 100 : done + step;
        if (!wait_until(p, start_us, to))
            return false;
        if (!write_files(p, to, &full)) {
            sim_raise(p->session, 3202, 1, full, sim_os_error(p->sim, 112), NULL);
            return false;
        }
        publish(p, to, p->took_ms * to / 100);
        if (!step_faults(p, done, to))
            return false;
        if (p->stats && to >= next && to < 100) {
            message(p, 3211, sim_num(p->session, to), NULL, NULL, NULL);
            *said = to;
            next = (to / p->stats + 1) * p->stats;
        }
        done = to;
    }
    return true;
}

static void last_line(struct plan *p)
{
    int64_t unit = p->sim->major >= 10 ? 1048576 : 1000000;
    int64_t bytes = p->total_pages * SIM_PAGE - p->cut_bytes;
    dec_t rate =
        bytes > 0 ? (dec_t)bytes * 1000000 / p->took_ms / unit : 0; /* in thousandths, cut */
    struct session *s = p->session;
    struct arena *a = p->frame->arena;

    sim_raise(s, 3014, 1, p->verb, sim_num(s, p->total_pages), sim_num(s, p->took_ms / 1000),
              sim_arena_printf(a, "%03d", (int)(p->took_ms % 1000)),
              sim_num(s, (int64_t)(rate / 1000)), sim_arena_printf(a, "%03d", (int)(rate % 1000)),
              NULL);
}

/* 4035 for each file, then what may still go wrong, then 3014. */
static bool end_messages(struct plan *p, int said)
{
    struct session *s = p->session;
    struct sim_fault fault;

    for (int i = 0; i < p->file_count; i++)
        message(p, 4035, sim_num(s, p->pages[i]), p->database, p->files[i],
                sim_num(s, p->position));
    if (sim_fault_hit(p->sim, SIM_DROP_AFTER_4035, s->statement, p->frame->arena, &fault)) {
        sim_drop_connection(s);
        return false;
    }
    if (sim_fault_hit(p->sim, SIM_ERROR_LATE, s->statement, p->frame->arena, &fault)) {
        if (fault.number == 3202 && !fault.text)
            return sim_raise(s, 3634, 1, sim_os_error(p->sim, 112), "SetEndOfFile",
                             p->targets[0].path, NULL);
        return raise_fault(p, &fault);
    }
    if (sim_session_should_stop(s) || s->orphan) /* nobody takes its last messages */
        return false;
    if (p->stats && said < 100)
        message(p, 3211, "100", NULL, NULL, NULL);
    return true;
}

/* A session's backups belong together: what others do between two of them disturbs, too. */
static void note_span_locked(struct session *s, bool begins)
{
    struct sim *sim = s->sim;
    int64_t now = ++sim->span_clock;
    if (s->span == 0) {
        sim->spans = sim_realloc(sim->spans, (size_t)(sim->span_count + 1) * sizeof(*sim->spans));
        sim->spans[sim->span_count++].from = now;
        s->span = sim->span_count;
    }
    sim->spans[s->span - 1].until = begins ? INT64_MAX : now;
}

static bool run(struct plan *p)
{
    struct session *s = p->session;
    struct sim *sim = p->sim;
    struct sim_fault fault = {.factor = 1};
    int said = 0;

    if (!sim_fault_hit(sim, SIM_SLOW, s->statement, p->frame->arena, &fault))
        fault.factor = 1;
    pthread_mutex_lock(&sim->lock);
    count_pages_locked(p);
    pthread_mutex_unlock(&sim->lock);
    if (!sim_backup_open(p))
        return false;
    pthread_mutex_lock(&sim->lock);
    sim_surface_locked(p, fault.factor);
    sim_db_by_id_locked(sim, p->db_id)->backups_running++;
    s->command = p->verb;
    s->command_db = p->db_id;
    p->start_us = sim_now_us_locked(sim);
    p->started = true;
    p->number = ++sim->backups_begun;
    note_span_locked(s, true);
    sim_moments_run_locked(sim, p->number, 0);
    pthread_cond_broadcast(&sim->changed);
    pthread_mutex_unlock(&sim->lock);
    return run_pages(p, sim_mono_us(), &said) && end_messages(p, said);
}

static void end(struct plan *p, bool good)
{
    struct session *s = p->session;
    struct sim *sim = p->sim;

    if (!p->started)
        return;
    pthread_mutex_lock(&sim->lock);
    if (good)
        sim_backup_finish_locked(p);
    else
        sim_backup_abort_locked(p);
    struct sim_db *db = sim_db_by_id_locked(sim, p->db_id);
    if (db)
        db->backups_running--;
    note_span_locked(s, false);
    s->command = NULL;
    s->command_db = 0;
    s->percent = 0;
    s->remaining_ms = 0;
    pthread_cond_broadcast(&sim->changed);
    pthread_mutex_unlock(&sim->lock);
}

bool sim_backup(struct frame *f, struct stmt *st)
{
    struct plan p = {0};
    struct session *s = f->session;

    if (!read_plan(&p, f, st))
        return false;
    bool good = sim_backup_check(&p) && run(&p);
    end(&p, good);
    if (good) {
        last_line(&p);
        return true;
    }
    if (s->wire.broken)
        return false;
    if (s->attention)
        sim_raise(s, 3204, 1, NULL);
    return sim_raise(s, 3013, 1, p.verb, NULL);
}
