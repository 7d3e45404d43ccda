/* backup_check.c: everything that refuses a BACKUP before it reads a page. */
#include <string.h>

#include "backup.h"

static bool compression_is_supported(const struct sim *sim)
{
    bool enterprise = sim->engine_edition == 3 || sim->engine_edition == 8;
    if (sim->major < 10)
        return false;
    if (sim->major == 10 && sim->minor < 50)
        return enterprise;
    return enterprise || sim_text_begins(sim->edition, "Standard");
}

static bool check_edition(struct plan *p)
{
    struct session *s = p->session;
    const struct sim *sim = p->sim;
    int mirrors = 0;

    for (int i = 0; i < p->target_count; i++)
        if (p->targets[i].mirror > mirrors)
            mirrors = p->targets[i].mirror;
    if (sim->engine_edition == 5)
        return sim_raise(s, 40510, 1, p->verb, NULL);
    if (p->given_compression && p->compression && !compression_is_supported(sim))
        return sim_raise(s, 1844, 1, "BACKUP DATABASE WITH COMPRESSION", sim->edition, NULL);
    if (p->encrypt && sim->engine_edition == 4)
        return sim_raise(s, 1844, 1, "BACKUP DATABASE WITH ENCRYPTION", sim->edition, NULL);
    if (mirrors && sim->engine_edition != 3)
        return sim_raise(s, 3218, 1, NULL);
    if (mirrors > 3)
        return sim_raise(s, 3214, 1, "3", NULL);
    if (!compression_is_supported(sim))
        p->compression = false; /* the server's default says it, the edition does not have it */
    return true;
}

/* What its state says. An availability replica that cannot be read can be backed up all the same.
 */
static int state_error(const struct session *s, const struct sim_db *db)
{
    int error = sim_database_error_locked(s, db);

    if (sim_text_is(db->state, "EMERGENCY"))
        return 3033;
    return error == 976 || error == 978 ? 0 : error;
}

/* On a secondary: full copies and logs; from 2025 all but copies of the log. */
static bool secondary_takes(const struct plan *p)
{
    if (p->log)
        return !p->copy_only;
    return p->sim->major >= 17 || (p->copy_only && !p->differential);
}

/* The error for this kind of backup of this database, 0 = none. */
static int database_error(const struct plan *p, const struct sim_db *db)
{
    const struct sim_group *g = sim_group_of_locked(p->sim, db);
    int state = state_error(p->session, db);

    if (state)
        return state;
    if (db->id == 2)
        return 3147;
    if (db->source_id)
        return 3002;
    if (db->id == 1 && (p->log || p->differential))
        return 3024;
    if (db->standby)
        return 3036;
    if (g && g->role == SIM_SECONDARY && !secondary_takes(p))
        return 3059;
    if (sim_single_user_error_locked(p->session, db))
        return 924;
    if (p->log && db->recovery == 'S')
        return 4208;
    if (p->log && !db->has_full)
        return 4214;
    if (p->differential && !db->files[0].diff_base_lsn)
        return 3035;
    if (!p->log && db->backups_running)
        return 3023;
    return 0;
}

static bool check_database(struct plan *p)
{
    struct session *s = p->session;

    pthread_mutex_lock(&p->sim->lock);
    const struct sim_db *db = sim_db_find_locked(p->sim, p->database);
    const char *name = db ? sim_arena_dup(p->frame->arena, db->name) : p->database;
    int error = db ? database_error(p, db) : 911;
    if (db)
        p->db_id = db->id;
    pthread_mutex_unlock(&p->sim->lock);
    p->database = name;
    if (error == 911)
        return sim_raise(s, 911, 11, name, NULL);
    if (!sim_may_enter(s, name))
        return sim_raise(s, 916, 1, s->login, name, NULL);
    if (!sim_may_backup(s, name, p->log))
        return sim_raise(s, 262, 1, p->verb, name, NULL);
    if (!error)
        return true;
    return sim_raise(s, error, 1, error == 4208 ? p->verb : name, NULL);
}

static bool check_memory(struct plan *p)
{
    int64_t buffers = p->buffers ? p->buffers : 7;
    int64_t size = p->transfer ? p->transfer : 1048576;
    int64_t sets = p->compression ? 3 : 1;
    int64_t mib = p->sim->backup_memory_mib; /* what the engine sets itself */
    if (mib > p->sim->free_memory_mib)
        mib = p->sim->free_memory_mib; /* the buffers are outside the buffer pool */
    int64_t limit = mib * 1048576;

    if (buffers > limit / size / sets)
        return sim_raise(p->session, 701, 123, "default", NULL);
    return true;
}

static bool check_devices(struct plan *p)
{
    struct session *s = p->session;

    if (p->stripes > 64)
        return sim_raise(s, 3205, 1, "64", NULL);
    for (int i = 0; i < p->target_count; i++) {
        const struct target *t = &p->targets[i];
        if (t->kind == TARGET_VIRTUAL && !s->sysadmin)
            return sim_raise(s, 3265, 1, NULL);
        if (t->kind == TARGET_VIRTUAL)
            return sim_raise(s, 3201, 7, t->path, "0x80770004(the virtual device has no client)",
                             NULL);
        if ((t->kind == TARGET_URL) != (p->targets[0].kind == TARGET_URL))
            return sim_raise(s, 3011, 1, NULL);
        if (t->kind == TARGET_URL && p->sim->major < 11)
            return sim_raise(s, 3201, 7, t->path, sim_os_error(p->sim, 3), NULL);
        if (!*t->path)
            return sim_raise(s, 3044, 2, NULL);
        if (sim_utf16_len(t->path) > 259)
            return sim_raise(s, 3201, 1, t->path, "206(The filename or extension is too long.)",
                             NULL);
    }
    return true;
}

bool sim_backup_check(struct plan *p)
{
    if (p->session->transactions || p->session->implicit)
        return sim_raise(p->session, 3021, 0, NULL);
    return check_database(p) && check_devices(p) && check_edition(p) && check_memory(p);
}

/* What an existing file says against being used. 0 = nothing. */
static int medium_error(const struct plan *p, const struct sim_vfile *f)
{
    if (p->format)
        return 0;
    if (f->kind != SIM_FILE_BACKUP)
        return f->kind == SIM_FILE_FOREIGN ? 3242 : 3241;
    if (f->stripes != p->stripes)
        return p->stripes < f->stripes ? 3132 : 3231;
    if (!p->init && f->compressed != p->compression)
        return 3098;
    return 0;
}

static bool raise_medium(struct plan *p, int error, const char *path, int stripes)
{
    struct session *s = p->session;
    const char *has = sim_num(s, stripes), *wants = sim_num(s, p->stripes);

    if (error == 3132)
        return sim_raise(s, 3132, 1, has, wants, NULL);
    if (error == 3231)
        return sim_raise(s, 3231, 1, path, has, wants, NULL);
    if (error == 3098)
        return sim_raise(s, 3098, 2, p->compression ? "COMPRESSION" : "NO_COMPRESSION",
                         p->compression ? "COMPRESSION" : "NO_COMPRESSION",
                         p->compression ? "NO_COMPRESSION" : "COMPRESSION", NULL);
    return sim_raise(s, error, 0, path, NULL);
}

static bool open_one(struct plan *p, struct target *t)
{
    struct session *s = p->session;
    struct sim *sim = p->sim;
    int error = 0, medium = 0, stripes = 1;

    pthread_mutex_lock(&sim->lock);
    error = sim_path_check_locked(sim, t->path);
    const struct sim_volume *v = sim_volume_of_locked(sim, t->path);
    int sector = v ? v->sector_bytes : 512;
    const struct sim_vfile *f = error ? NULL : sim_vfile_find_locked(sim, t->path);
    if (f) {
        medium = medium_error(p, f);
        stripes = f->stripes;
    }
    pthread_mutex_unlock(&sim->lock);
    if (error == 31)
        return sim_raise(s, 3634, 1, sim_os_error(sim, 31), "SetEndOfFile", t->path, NULL);
    if (error)
        return sim_raise(s, 3201, 1, t->path, sim_os_error(sim, error), NULL);
    if (p->block && p->block < sector)
        return sim_raise(s, 3272, 1, t->path, sim_num(s, sector), sim_num(s, p->block), NULL);
    return medium ? raise_medium(p, medium, t->path, stripes) : true;
}

/* A third of the database, spread over the stripes that have room for their share. */
static int64_t preallocation(const struct plan *p)
{
    if (!p->compression || sim_flag_is_on_locked(p->sim, 3042))
        return 0;
    return p->allocated_bytes / 3 / p->stripes;
}

static void create_locked(struct plan *p, struct target *t, int stripe)
{
    struct sim_vfile *f = sim_vfile_find_locked(p->sim, t->path);
    int64_t share = preallocation(p);

    if (f && !p->init && !p->format) {
        t->base_bytes = f->size_bytes;
        p->position = f->sets + 1;
        p->media_id = (int)f->medium;
    } else {
        if (!f)
            f = sim_vfile_add_locked(p->sim, t->path);
        t->created = true;
        f->kind = SIM_FILE_ABORTED;
        f->size_bytes = 0;
        f->sets = 0;
        f->stripes = p->stripes;
        f->stripe = stripe;
        f->compressed = p->compression;
        f->medium = (uint32_t)p->media_id;
    }
    const struct sim_volume *v = sim_volume_of_locked(p->sim, t->path);
    if (v && share > sim_volume_free_locked(p->sim, v))
        share = 0; /* this one starts empty and grows */
    t->size_bytes = share;
    f->size_bytes = t->base_bytes + share;
    f->modified_us = sim_now_us_locked(p->sim);
}

bool sim_backup_open(struct plan *p)
{
    for (int i = 0; i < p->target_count; i++) {
        if (p->targets[i].kind != TARGET_DISK)
            continue;
        for (int k = 0; k < i; k++)
            if (sim_path_same(p->sim, p->targets[i].path, p->targets[k].path))
                return sim_raise(p->session, 3201, 2, p->targets[i].path, sim_os_error(p->sim, 32),
                                 NULL);
        if (!open_one(p, &p->targets[i]))
            return false;
    }
    pthread_mutex_lock(&p->sim->lock);
    p->position = 1;
    p->media_id = p->sim->next_media++;
    for (int i = 0; i < p->target_count; i++)
        if (p->targets[i].kind == TARGET_DISK)
            create_locked(p, &p->targets[i], i);
    pthread_mutex_unlock(&p->sim->lock);
    return true;
}
