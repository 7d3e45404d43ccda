#include "others.h"

#include <stdlib.h>
#include <string.h>

/* Commands as dm_exec_requests shows them: DBCC CHECKDB and the shrinks have names of their own. */
static const struct {
    const char *name, *command, *wait;
} kinds[] = {
    [SIM_FOREIGN_BACKUP] = {"backup", "BACKUP DATABASE", "BACKUPIO"},
    [SIM_FOREIGN_BACKUP_LOG] = {"backup_log", "BACKUP LOG", "BACKUPIO"},
    [SIM_FOREIGN_CHECKDB] = {"checkdb", "DBCC TABLE CHECK", "PAGEIOLATCH_SH"},
    [SIM_FOREIGN_SHRINK] = {"shrink", "DbccFilesCompact", "WRITELOG"},
    [SIM_FOREIGN_RESTORE] = {"restore", "RESTORE DATABASE", "BACKUPTHREAD"},
};

const char *sim_foreign_command(enum sim_foreign_kind kind)
{
    return kinds[kind].command;
}

const char *sim_foreign_wait(enum sim_foreign_kind kind)
{
    return kinds[kind].wait;
}

int sim_foreign_kind(const char *text)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (!strcmp(kinds[i].name, text))
            return (int)i;
    return -1;
}

double sim_foreign_percent(const struct sim_foreign *f, int64_t now_us)
{
    if (!f->end_us)
        return f->percent;
    double part = (double)(now_us - f->start_us) / (double)(f->end_us - f->start_us);
    return part < 0 ? 0 : part > 1 ? 100 : part * 100;
}

/* What it does to the chain: a full one is the new base, a log takes the log away. */
static void move_chain(struct sim_db *db, const struct sim_set *x)
{
    if (x->type == 'L') {
        db->last_log_lsn = db->log_start_lsn = x->last_lsn;
        db->log_pages = 8;
        return;
    }
    for (int i = 0; i < db->file_count; i++)
        if (db->files[i].type != SIM_LOG)
            db->files[i].diff_base_lsn = x->checkpoint_lsn;
    db->has_full = true;
    db->changed_pages = 0;
}

void sim_foreign_set_locked(struct sim *sim, const char *database,
                            const struct sim_foreign_set *made)
{
    struct sim_db *db = sim_db_find_locked(sim, database);
    if (!db)
        return;
    sim->sets = sim_realloc(sim->sets, (size_t)(sim->set_count + 1) * sizeof(*sim->sets));
    struct sim_set *x = &sim->sets[sim->set_count++];
    *x = (struct sim_set){.id = sim->set_count,
                          .media_id = sim->next_media++,
                          .position = 1,
                          .type = made->type,
                          .snapshot = made->vss,
                          .copy_only = made->copy_only,
                          .start_ticks = sim_ticks_local(sim, made->start_us),
                          .finish_ticks = sim_ticks_local(sim, made->end_us),
                          .algorithm = "",
                          .device_count = 1,
                          .device_type = made->vss ? 7 : 2};
    sim_fill_guid_locked(sim, x->uuid);
    memcpy(x->family_guid, db->family_guid, 16);
    x->database = sim_dup(db->name);
    x->user = sim_dup(made->vss ? "NT SERVICE\\SQLWriter" : "someone_else");
    x->server = sim_dup(sim->server_name);
    x->recovery = sim_dup(db->recovery == 'F'   ? "FULL"
                          : db->recovery == 'B' ? "BULK_LOGGED"
                                                : "SIMPLE");
    x->pages = made->type == 'L' ? db->log_pages : sim_db_pages(db, SIM_ROWS);
    x->backup_bytes = x->compressed_bytes = x->pages * SIM_PAGE;
    x->devices = sim_alloc(sizeof(char *));
    x->mirrors = sim_alloc(sizeof(int));
    x->devices[0] = sim_dup(made->vss ? "{5E1B0A52-0000-4000-8000-000000000001}1" : "foreign.bak");
    x->first_lsn = x->checkpoint_lsn = db->lsn += 1600;
    x->last_lsn = db->lsn += 1600;
    if (!made->copy_only)
        move_chain(db, x);
}

int sim_new_spid_locked(struct sim *sim)
{
    bool taken = true;
    while (taken) {
        taken = false;
        sim->next_spid++;
        for (int i = 0; i < sim->db_count; i++)
            taken = taken || sim->dbs[i]->held_by == sim->next_spid - 1;
    }
    return sim->next_spid - 1;
}

struct sim_foreign *sim_foreign_start_locked(struct sim *sim, enum sim_foreign_kind kind,
                                             const char *database, int64_t at_us, double seconds)
{
    int spid = sim_new_spid_locked(sim);
    sim->foreigns =
        sim_realloc(sim->foreigns, (size_t)(sim->foreign_count + 1) * sizeof(*sim->foreigns));
    struct sim_foreign *f = &sim->foreigns[sim->foreign_count++];
    *f = (struct sim_foreign){.spid = spid,
                              .kind = kind,
                              .database = sim_dup(database),
                              .start_us = at_us,
                              .end_us = seconds > 0 ? at_us + (int64_t)(seconds * 1e6) : 0};
    struct sim_db *db = sim_db_find_locked(sim, database);
    if (kind == SIM_FOREIGN_RESTORE && db) /* over the one that is there */
        sim_replace(&db->state, "RESTORING");
    return f;
}

static void end_one(struct sim *sim, struct sim_foreign *f, int64_t at_us)
{
    struct sim_db *db = sim_db_find_locked(sim, f->database);
    const struct sim_foreign_set set = {.type = f->kind == SIM_FOREIGN_BACKUP ? 'D' : 'L',
                                        .start_us = f->start_us,
                                        .end_us = at_us};
    f->ended = true;
    f->end_us = at_us;
    if (f->kind == SIM_FOREIGN_BACKUP || f->kind == SIM_FOREIGN_BACKUP_LOG)
        sim_foreign_set_locked(sim, f->database, &set);
    if (f->kind == SIM_FOREIGN_RESTORE && db)
        sim_replace(&db->state, "ONLINE");
}

void sim_foreign_end_locked(struct sim *sim, enum sim_foreign_kind kind, const char *database,
                            int64_t at_us)
{
    for (int i = 0; i < sim->foreign_count; i++) {
        struct sim_foreign *f = &sim->foreigns[i];
        if (!f->ended && f->kind == kind && (!database || sim_text_is(f->database, database)))
            end_one(sim, f, at_us);
    }
}

bool sim_foreign_kill_locked(struct sim *sim, int spid)
{
    for (int i = 0; i < sim->foreign_count; i++)
        if (!sim->foreigns[i].ended && sim->foreigns[i].spid == spid) {
            free(sim->foreigns[i].database);
            sim->foreigns[i] = sim->foreigns[--sim->foreign_count];
            return true;
        }
    for (int i = 0; i < sim->db_count; i++)
        if (sim->dbs[i]->held_by == spid) {
            sim->dbs[i]->held_by = 0;
            return true;
        }
    return false;
}

int sim_growth_add_locked(struct sim *sim, const char *database, const char *file,
                          const struct sim_growth *growth, bool grow)
{
    struct sim_db *db = sim_db_find_locked(sim, database);
    struct sim_dbfile *f = NULL;

    for (int i = 0; db && i < db->file_count; i++)
        if (sim_text_is(db->files[i].name, file))
            f = &db->files[i];
    if (!f || f->type == SIM_FILESTREAM)
        return -1;
    if (grow)
        f->pages += growth->pages;
    if (!sim->config_trace && grow)
        return 0; /* nobody writes it down */
    sim->growths =
        sim_realloc(sim->growths, (size_t)(sim->growth_count + 1) * sizeof(*sim->growths));
    struct sim_growth *g = &sim->growths[sim->growth_count++];
    *g = *growth;
    g->database = sim_dup(db->name);
    g->file = sim_dup(f->name);
    g->database_id = db->id;
    g->log = f->type == SIM_LOG;
    g->trace_file = growth->trace_file ? growth->trace_file : sim->trace_number;
    return 0;
}

void sim_moment_add_locked(struct sim *sim, const struct sim_moment *moment)
{
    sim->moments =
        sim_realloc(sim->moments, (size_t)(sim->moment_count + 1) * sizeof(*sim->moments));
    sim->moments[sim->moment_count++] = *moment;
}

/* The moment that is due first, NULL if none is. */
static struct sim_moment *next_due(struct sim *sim, int64_t now, int backup, double percent)
{
    struct sim_moment *first = NULL;

    for (int i = 0; i < sim->moment_count; i++) {
        struct sim_moment *m = &sim->moments[i];
        bool due = m->at_us ? m->at_us <= now : m->backup == backup && m->percent <= percent;
        int64_t mine = m->at_us ? m->at_us : now;
        if (!m->done && due && (!first || mine < (first->at_us ? first->at_us : now)))
            first = m;
    }
    return first;
}

void sim_moments_run_locked(struct sim *sim, int backup, double percent)
{
    int64_t now = sim_now_us_locked(sim);
    struct sim_moment *m = NULL;
    char error[240];

    while ((m = next_due(sim, now, backup, percent))) {
        m->done = true;
        (void)sim_fault_act_locked(sim, m->fault, m->at_us ? m->at_us : now, error, sizeof(error));
    }
    for (int i = 0; i < sim->foreign_count; i++)
        if (!sim->foreigns[i].ended && sim->foreigns[i].end_us && sim->foreigns[i].end_us <= now)
            end_one(sim, &sim->foreigns[i], sim->foreigns[i].end_us);
}

void sim_others_restart_locked(struct sim *sim)
{
    int kept = 0;
    if (!sim->start_us)
        return; /* the first start ends nobody's work */
    for (int i = 0; i < sim->foreign_count; i++)
        if (sim->foreigns[i].ended)
            sim->foreigns[kept++] = sim->foreigns[i];
        else
            free(sim->foreigns[i].database);
    sim->foreign_count = kept;
    for (int i = 0; i < sim->db_count; i++)
        sim->dbs[i]->held_by = 0;
}

void sim_others_free_locked(struct sim *sim)
{
    for (int i = 0; i < sim->foreign_count; i++)
        free(sim->foreigns[i].database);
    for (int i = 0; i < sim->growth_count; i++) {
        free(sim->growths[i].database);
        free(sim->growths[i].file);
    }
    for (int i = 0; i < sim->moment_count; i++)
        cJSON_Delete(sim->moments[i].fault);
    free(sim->foreigns);
    free(sim->growths);
    free(sim->moments);
}
