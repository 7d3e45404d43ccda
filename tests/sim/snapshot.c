/* snapshot.c: database snapshots, DROP DATABASE and ALTER DATABASE … SET. */
#include <string.h>

#include "session.h"

static bool snapshots_are_supported(const struct sim *sim)
{
    return sim->engine_edition == 3 || sim->major > 13 || (sim->major == 13 && sim->build >= 4001);
}

static const char *file_of(const struct stmt *st, const char *logical)
{
    for (int i = 0; i + 1 < st->name_count; i += 2)
        if (st->names[i] && sim_text_is(st->names[i], logical))
            return st->names[i + 1] ? st->names[i + 1] : "";
    return NULL;
}

struct problem {
    int number;
    const char *a, *b;
};

/* A mirror can have them while it is synchronized, though nobody can enter it. */
static bool can_have_snapshots(const struct session *s, const struct sim_db *db)
{
    const struct sim_group *g = sim_group_of_locked(s->sim, db);

    if (db->mirror == SIM_MIRROR)
        return s->sysadmin && db->mirror_state == 4;
    return !strcmp(db->state, "ONLINE") && !db->source_id && !(g && g->role == SIM_RESOLVING);
}

/* Until 2017 a memory-optimised filegroup rules snapshots out. */
static bool has_memory_tables(const struct sim_db *db)
{
    for (int i = 0; i < db->file_count; i++)
        if (db->files[i].data_space == 3)
            return true;
    return false;
}

static struct problem check_source_locked(struct session *s, const struct stmt *st,
                                          const struct sim_db *source)
{
    struct sim *sim = s->sim;
    struct arena *arena = &s->arena;

    if (!source)
        return (struct problem){911, st->var, NULL};
    if (source->id <= 3)
        return (struct problem){1830, sim_arena_dup(arena, source->name), NULL};
    if (!can_have_snapshots(s, source))
        return (struct problem){1822, NULL, NULL};
    if (has_memory_tables(source) && sim->major < 15)
        return (struct problem){1823, NULL, NULL};
    if (sim_db_find_locked(sim, st->alias))
        return (struct problem){1801, st->alias, NULL};
    for (int i = 0; i < source->file_count; i++) {
        const struct sim_dbfile *f = &source->files[i];
        const char *path = f->type ? "" : file_of(st, f->name); /* rows only */
        if (!path)
            return (struct problem){5127, sim_arena_dup(arena, f->name), NULL};
        if (f->type)
            continue;
        int os = sim_path_check_locked(sim, path);
        if (os)
            return (struct problem){5123, sim_os_error(sim, os), path};
        if (sim_vfile_find_locked(sim, path))
            return (struct problem){5170, path, NULL};
    }
    for (int i = 0; i + 1 < st->name_count; i += 2) {
        bool known = false;
        for (int k = 0; k < source->file_count; k++)
            known = known || sim_text_is(source->files[k].name, st->names[i]);
        if (!known)
            return (struct problem){5014, st->names[i], sim_arena_dup(arena, source->name)};
    }
    return (struct problem){0};
}

static void make_locked(struct sim *sim, const struct stmt *st, const char *source_name)
{
    struct sim_db *db = sim_db_add_locked(sim, st->alias); /* moves the array of databases only */
    const struct sim_db *source = sim_db_find_locked(sim, source_name);

    db->source_id = source->id;
    db->recovery = source->recovery;
    sim_replace(&db->collation, source->collation);
    for (int i = 0; i < source->file_count; i++) {
        const struct sim_dbfile *f = &source->files[i];
        if (f->type)
            continue;
        const char *path = file_of(st, f->name);
        struct sim_dbfile *copy =
            sim_db_add_file_locked(db, f->name, path, 0, f->pages, f->used_pages);
        const struct sim_volume *volume = sim_volume_of_locked(sim, path);
        copy->sparse = !(volume && volume->no_sparse);
        copy->sparse_bytes = 192 * 1024;
        copy->id = f->id;
        struct sim_vfile *v = sim_vfile_add_locked(sim, path);
        v->kind = SIM_FILE_SPARSE;
    }
}

bool sim_create_snapshot(struct frame *f, struct stmt *st)
{
    struct session *s = f->session;
    struct sim *sim = s->sim;

    if (!st->var)
        return sim_raise_text(s, 40510, 16, 1, "The simulator makes database snapshots only.");
    if (s->transactions)
        return sim_raise_text(
            s, 226, 16, 6,
            "CREATE DATABASE statement not allowed within multi-statement transaction.");
    if (!sim_may_server(s, "CREATE ANY DATABASE") && !sim_may_server(s, "CREATE DATABASE"))
        return sim_raise(s, 262, 1, "CREATE DATABASE", "master", NULL);
    if (!snapshots_are_supported(sim))
        return sim_raise(s, 1844, 1, "Database Snapshot", sim->edition, NULL);
    pthread_mutex_lock(&sim->lock);
    struct problem problem = check_source_locked(s, st, sim_db_find_locked(sim, st->var));
    if (!problem.number)
        make_locked(sim, st, st->var);
    pthread_mutex_unlock(&sim->lock);
    if (problem.number)
        return sim_raise(s, problem.number, 1, problem.a, problem.b, NULL);
    return true;
}

static bool in_use_locked(const struct sim *sim, const struct sim_db *db)
{
    for (const struct session *s = sim->sessions; s; s = s->next)
        if (s->ready && s->database && sim_text_is(s->database, db->name))
            return true;
    return db->backups_running > 0;
}

bool sim_drop_database(struct frame *f, struct stmt *st)
{
    struct session *s = f->session;
    struct sim *sim = s->sim;
    struct problem problem = {0};

    if (!sim_may_server(s, "ALTER ANY DATABASE") && !sim_may_server(s, "CREATE ANY DATABASE"))
        return sim_raise(s, 3701, 2, "drop", "database", st->alias, NULL);
    pthread_mutex_lock(&sim->lock);
    struct sim_db *db = sim_db_find_locked(sim, st->alias);
    if (!db && !st->if_exists)
        problem = (struct problem){3701, "drop", "database"};
    else if (db && db->system)
        problem = (struct problem){3708, NULL, NULL};
    else if (db && in_use_locked(sim, db))
        problem = (struct problem){3702, st->alias, NULL};
    for (int i = 0; db && i < sim->db_count; i++)
        if (sim->dbs[i]->source_id == db->id)
            problem = (struct problem){3709, sim_arena_dup(f->arena, sim->dbs[i]->name), NULL};
    if (db && !problem.number) {
        for (int i = 0; i < db->file_count; i++) {
            struct sim_vfile *v = sim_vfile_find_locked(sim, db->files[i].path);
            if (v)
                sim_vfile_remove_locked(sim, v);
        }
        sim_db_drop_locked(sim, db);
    }
    pthread_mutex_unlock(&sim->lock);
    if (problem.number == 3708)
        return sim_raise_text(s, 3708, 16, 1,
                              "Cannot drop the database because it is a system database.");
    if (problem.number)
        return sim_raise(s, problem.number, 1, problem.a, problem.b ? problem.b : st->alias,
                         st->alias, NULL);
    return true;
}

static bool set_locked(struct sim_db *db, const struct stmt *st)
{
    const char *value = st->var ? st->var : "";

    if (!strcmp(st->verb, "RECOVERY")) {
        if (strcmp(value, "FULL") && strcmp(value, "SIMPLE") && strcmp(value, "BULK_LOGGED"))
            return false;
        db->recovery = value[0];
        if (value[0] == 'S') /* the chain ends; a full backup begins the next one */
            db->last_log_lsn = db->log_start_lsn = 0;
    } else if (!strcmp(st->verb, "READ_ONLY") || !strcmp(st->verb, "READ_WRITE")) {
        db->read_only = !strcmp(st->verb, "READ_ONLY");
    } else if (!strcmp(st->verb, "SINGLE_USER") || !strcmp(st->verb, "MULTI_USER") ||
               !strcmp(st->verb, "RESTRICTED_USER")) {
        sim_replace(&db->user_access, st->verb);
    } else if (!strcmp(st->verb, "OFFLINE") || !strcmp(st->verb, "ONLINE") ||
               !strcmp(st->verb, "EMERGENCY")) {
        sim_replace(&db->state, st->verb);
    } else {
        return st->var != NULL; /* options without an effect here */
    }
    return true;
}

bool sim_alter_database(struct frame *f, struct stmt *st)
{
    struct session *s = f->session;
    const char *name = st->alias ? st->alias : s->database;

    if (!sim_may_server(s, "ALTER ANY DATABASE") && !sim_in_role(s, name, "db_owner"))
        return sim_raise(s, 5011, 5, name, NULL);
    pthread_mutex_lock(&s->sim->lock);
    struct sim_db *db = sim_db_find_locked(s->sim, name);
    bool good = db && set_locked(db, st);
    bool missing = !db;
    pthread_mutex_unlock(&s->sim->lock);
    if (missing) {
        sim_raise(s, 5011, 5, name, NULL);
        return sim_raise(s, 5069, 1, NULL);
    }
    return good ? true : sim_raise(s, 5058, 1, st->verb, name, NULL);
}

/* One write of pages under a snapshot: every page is copied once, in steps of 64 KiB. */
static void copy_pages_locked(struct sim *sim, struct sim_db *snapshot, int64_t bytes)
{
    for (int i = 0; i < snapshot->file_count; i++) {
        struct sim_dbfile *f = &snapshot->files[i];
        const struct sim_volume *v = sim_volume_of_locked(sim, f->path);
        int64_t more = (bytes + 65535) / 65536 * 65536, most = f->pages * SIM_PAGE;
        if (f->sparse_bytes + more > most)
            more = most - f->sparse_bytes;
        if (v && more > sim_volume_free_locked(sim, v)) {
            sim_replace(&snapshot->state, "SUSPECT"); /* the source is not affected */
            return;
        }
        f->sparse_bytes += more;
        f->writes += more / 65536;
        f->write_bytes += more;
    }
}

void sim_workload(struct frame *f, const struct name *target, int64_t rows)
{
    struct session *s = f->session;
    struct sim *sim = s->sim;
    const char *object = target->part[target->count - 1];
    const char *database = target->count > 2 ? target->part[target->count - 3] : NULL;
    double cost = 1, share = 0.5;
    int snapshots = 0;

    if (rows <= 0 || object[0] == '#' || object[0] == '@')
        return;
    pthread_mutex_lock(&sim->lock);
    struct sim_db *db = sim_db_find_locked(sim, database ? database : s->database);
    int64_t pages = rows / 100 + 1;
    for (int i = 0; db && i < sim->db_count; i++) {
        struct sim_db *x = sim->dbs[i];
        if (x->source_id != db->id)
            continue;
        const struct sim_volume *v = sim_volume_of_locked(sim, x->files[0].path);
        cost += share * (v && v->write_mib_s > 0 ? 1400 / v->write_mib_s : 1);
        share *= 0.6; /* the second one costs less than the first */
        snapshots++;
        copy_pages_locked(sim, x, pages * SIM_PAGE);
    }
    int64_t us = (int64_t)((double)rows * sim->surface.row_us * cost);
    int64_t extra_ms = (int64_t)((double)us * (cost - 1) / cost / 1000);
    struct sim_wait *both[] = {sim->waits, s->waits};
    for (int i = 0; db && i < 2; i++) {
        sim_wait_add(both[i], "WRITELOG", 1, us / 20000);
        if (snapshots) {
            sim_wait_add(both[i], "PREEMPTIVE_OS_WRITEFILE", pages, extra_ms * 7 / 10);
            sim_wait_add(both[i], "WRITE_COMPLETION", pages, extra_ms * 2 / 10);
        }
        if (snapshots > 1)
            sim_wait_add(both[i], "FCB_REPLICA_WRITE", pages, extra_ms / 10);
    }
    if (db) {
        db->changed_pages += pages;
        db->log_pages += pages;
        db->lsn += (uint64_t)pages * 10;
        db->files[0].writes += pages / 8 + 1;
        db->files[0].write_bytes += pages * SIM_PAGE;
    }
    pthread_mutex_unlock(&sim->lock);
    if (us > 200)
        (void)sim_sleep(s, us);
}
