/* backup_record.c: what a backup leaves behind: files, LSNs, history, counters. */
#include <string.h>

#include "backup.h"

static void files_done(struct plan *p)
{
    int64_t share = p->written_bytes / p->stripes;

    for (int i = 0; i < p->target_count; i++) {
        struct target *t = &p->targets[i];
        struct sim_vfile *f =
            t->kind == TARGET_DISK ? sim_vfile_find_locked(p->sim, t->path) : NULL;
        if (!f)
            continue;
        f->kind = SIM_FILE_BACKUP;
        f->sets++;
        f->size_bytes = t->base_bytes + share;
        f->modified_us = sim_now_us_locked(p->sim);
    }
}

static bool medium_is_known(const struct sim *sim, int media_id)
{
    for (int i = 0; i < sim->set_count; i++)
        if (sim->sets[i].media_id == media_id)
            return true;
    return false;
}

static struct sim_set *new_set(struct plan *p, const struct sim_db *db)
{
    struct sim *sim = p->sim;

    sim->sets = sim_realloc(sim->sets, (size_t)(sim->set_count + 1) * sizeof(*sim->sets));
    bool known = medium_is_known(sim, p->media_id);
    struct sim_set *x = &sim->sets[sim->set_count++];
    *x = (struct sim_set){.id = sim->set_count,
                          .media_id = p->media_id,
                          .on_known_medium = known,
                          .position = p->position};
    sim_fill_guid_locked(sim, x->uuid);
    memcpy(x->family_guid, db->family_guid, 16);
    x->database = sim_dup(db->name);
    x->name = sim_dup(p->name);
    x->description = sim_dup(p->description);
    x->user = sim_dup(p->session->login);
    x->server = sim_dup(sim->server_name);
    x->recovery = sim_dup(db->recovery == 'F'   ? "FULL"
                          : db->recovery == 'B' ? "BULK_LOGGED"
                                                : "SIMPLE");
    x->type = p->log ? 'L' : p->differential ? 'I' : 'D';
    x->start_ticks = sim_ticks_local(sim, p->start_us);
    x->finish_ticks = sim_ticks_local(sim, p->start_us + p->took_ms * 1000);
    x->backup_bytes = p->total_pages * SIM_PAGE - p->cut_bytes + 66560;
    x->compressed_bytes = p->compression ? p->written_bytes : x->backup_bytes;
    x->copy_only = p->copy_only && !p->differential;
    x->checksum = p->checksum;
    x->read_only = db->read_only;
    x->single_user = sim_text_is(db->user_access, "SINGLE_USER");
    x->compressed = p->compression;
    x->algorithm = !strcmp(p->algorithm, "ZSTD")          ? "ZSTD"
                   : !strcmp(p->algorithm, "QAT_DEFLATE") ? "QAT_DEFLATE"
                                                          : "MS_XPRESS";
    x->pages = p->total_pages;
    x->device_count = p->target_count;
    x->devices = sim_alloc((size_t)p->target_count * sizeof(char *));
    x->mirrors = sim_alloc((size_t)p->target_count * sizeof(int));
    for (int i = 0; i < p->target_count; i++) {
        x->devices[i] = sim_dup(p->targets[i].kind == TARGET_NUL ? "NUL" : p->targets[i].path);
        x->mirrors[i] = p->targets[i].mirror;
    }
    x->device_type = p->targets[0].kind == TARGET_URL ? 9 : 2;
    return x;
}

/* Facts of the differential base and the log chain; COPY_ONLY of a differential is ignored. */
static void move_lsns(struct plan *p, struct sim_db *db, struct sim_set *x)
{
    struct sim *sim = p->sim;
    uint64_t before = db->lsn;

    db->lsn += 3200;
    x->checkpoint_lsn = before + 100;
    x->first_lsn = p->log ? (db->log_start_lsn ? db->log_start_lsn : before) : before + 100;
    x->last_lsn = db->lsn;
    x->database_lsn = db->files[0].diff_base_lsn;
    if (p->log) {
        if (p->copy_only)
            return;
        x->begins_chain = db->log_start_lsn == 0;
        db->last_log_lsn = db->log_start_lsn = db->lsn;
        db->log_pages = 8;
        return;
    }
    if (p->differential) {
        x->has_base = true;
        x->base_lsn = db->files[0].diff_base_lsn;
        memcpy(x->base_guid, db->files[0].diff_base_guid, 16);
        return;
    }
    if (p->copy_only)
        return;
    for (int i = 0; i < db->file_count; i++) {
        if (db->files[i].type == SIM_LOG)
            continue;
        db->files[i].diff_base_lsn = x->checkpoint_lsn;
        db->files[i].diff_base_ticks = x->start_ticks;
        memcpy(db->files[i].diff_base_guid, x->uuid, 16);
    }
    (void)sim;
    db->changed_pages = 0;
    if (!db->has_full || (db->recovery != 'S' && !db->last_log_lsn))
        db->last_log_lsn = db->recovery == 'S' ? 0 : db->lsn; /* the chain begins here */
    db->has_full = true;
}

static void count_io(struct plan *p, struct sim_db *db)
{
    int64_t size = p->transfer ? p->transfer : 1048576;

    for (int i = 0; i < p->file_count; i++) {
        struct sim_dbfile *f = sim_db_file(db, p->file_ids[i]);
        int64_t bytes = p->pages[i] * SIM_PAGE, reads = (bytes + size - 1) / size;
        if (!f)
            continue;
        f->reads += reads;
        f->read_bytes += bytes;
        f->read_stall_ms += p->total_pages ? p->took_ms * p->pages[i] / p->total_pages * 6 / 10 : 0;
    }
}

static void count_waits(struct plan *p, struct sim_wait *waits)
{
    int64_t ms = p->took_ms;
    int64_t blocks = p->total_pages * SIM_PAGE / (p->transfer ? p->transfer : 1048576) + 1;
    bool disk = p->targets[0].kind != TARGET_NUL;

    sim_wait_add(waits, "ASYNC_IO_COMPLETION", 1, ms * 97 / 100);
    sim_wait_add(waits, "BACKUPTHREAD", 2, ms * 95 / 100);
    sim_wait_add(waits, "BACKUPBUFFER", blocks, (int64_t)((double)ms * 0.8 * p->starved));
    sim_wait_add(waits, "BACKUPIO", blocks,
                 (int64_t)((double)ms * (disk ? 0.9 * p->write_share : 0.03)));
    if (disk)
        sim_wait_add(waits, "PREEMPTIVE_OS_WRITEFILE", blocks, ms / 12);
    if (p->compression)
        sim_wait_add(waits, "SOS_SCHEDULER_YIELD", blocks * 4, ms / 40);
}

void sim_backup_finish_locked(struct plan *p)
{
    struct sim *sim = p->sim;
    struct sim_db *db = sim_db_by_id_locked(sim, p->db_id);

    files_done(p);
    if (!db)
        return;
    struct sim_set *x = new_set(p, db);
    move_lsns(p, db, x);
    count_io(p, db);
    count_waits(p, sim->waits);
    count_waits(p, p->session->waits);
    sim->cpu_user_ms += p->cpu_ms * 9 / 10;
    sim->cpu_kernel_ms += p->cpu_ms / 10;
    p->session->cpu_ms += p->cpu_ms / 20; /* the workers' time is not charged to the session */
    p->session->reads += p->total_pages;
}

/* An aborted file stays as it is, and is no backup. */
void sim_backup_abort_locked(struct plan *p)
{
    for (int i = 0; i < p->target_count; i++) {
        struct target *t = &p->targets[i];
        struct sim_vfile *f =
            t->kind == TARGET_DISK ? sim_vfile_find_locked(p->sim, t->path) : NULL;
        if (f && t->created)
            f->kind = SIM_FILE_ABORTED;
    }
    p->sim->cpu_user_ms += p->cpu_ms / 2;
}
