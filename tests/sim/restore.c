/* restore.c: the parts of RESTORE that only read a backup's header. */
#include <string.h>

#include "session.h"

static const struct sim_set *set_locked(struct sim *sim, const char *path, int position)
{
    const struct sim_set *found = NULL;
    for (int i = 0; i < sim->set_count; i++)
        for (int d = 0; d < sim->sets[i].device_count; d++)
            if (sim_path_same(sim, sim->sets[i].devices[d], path) &&
                (!position || sim->sets[i].position == position))
                found = &sim->sets[i];
    return found;
}

static void put(struct frame *f, struct rowset *r, const char *name, struct value v)
{
    sim_rowset_column(f->arena, r, name, v.type);
    if (!r->rows)
        r->rows = sim_arena_alloc(f->arena, sizeof(*r->rows));
    if (!r->rows[0])
        r->rows[0] = sim_arena_alloc(f->arena, 64 * sizeof(struct value));
    r->rows[0][r->column_count - 1] = v;
    r->row_count = 1;
}

static struct rowset *header_locked(struct frame *f, const struct sim_set *x)
{
    struct rowset *r = sim_rowset_new(f->arena);
    struct sim *sim = f->session->sim;

    put(f, r, "BackupName", sim_text_n(x->name ? sim_arena_dup(f->arena, x->name) : NULL, 128));
    put(f, r, "BackupDescription",
        sim_text_n(x->description ? sim_arena_dup(f->arena, x->description) : NULL, 255));
    put(f, r, "BackupType", sim_number(VT_SMALLINT, x->type == 'D' ? 1 : x->type == 'L' ? 2 : 5));
    put(f, r, "Compressed", sim_number(VT_TINYINT, x->compressed));
    put(f, r, "Position", sim_number(VT_SMALLINT, x->position));
    put(f, r, "UserName", sim_text_n(sim_arena_dup(f->arena, x->user), 128));
    put(f, r, "ServerName", sim_text_n(sim_arena_dup(f->arena, x->server), 128));
    put(f, r, "DatabaseName", sim_text_n(sim_arena_dup(f->arena, x->database), 128));
    put(f, r, "BackupSize", sim_decimal(x->backup_bytes, 20, 0));
    put(f, r, "FirstLSN", sim_decimal((dec_t)x->first_lsn, 25, 0));
    put(f, r, "LastLSN", sim_decimal((dec_t)x->last_lsn, 25, 0));
    put(f, r, "CheckpointLSN", sim_decimal((dec_t)x->checkpoint_lsn, 25, 0));
    put(f, r, "BackupStartDate",
        sim_time(VT_DATETIME, x->start_ticks - x->start_ticks % TICKS_PER_SECOND));
    put(f, r, "BackupFinishDate",
        sim_time(VT_DATETIME, x->finish_ticks - x->finish_ticks % TICKS_PER_SECOND));
    put(f, r, "SoftwareVersionMajor", sim_int(sim->major));
    put(f, r, "IsCopyOnly", sim_bit(x->copy_only));
    put(f, r, "HasBackupChecksums", sim_bit(x->checksum));
    put(f, r, "CompressedBackupSize", sim_bigint(x->compressed_bytes));
    return r;
}

static struct rowset *files_locked(struct frame *f, const struct sim_set *x)
{
    struct rowset *r = sim_rowset_new(f->arena);
    struct sim *sim = f->session->sim;
    const struct sim_db *db = sim_db_find_locked(sim, x->database);
    struct arena *a = f->arena;
    static const char *const groups[] = {"PRIMARY", "FILESTREAM", "MEMORY_OPTIMIZED"};

    sim_rowset_column(a, r, "LogicalName", sim_type(VT_NVARCHAR, 128));
    sim_rowset_column(a, r, "PhysicalName", sim_type(VT_NVARCHAR, 260));
    sim_rowset_column(a, r, "Type", sim_type(VT_VARCHAR, 1));
    sim_rowset_column(a, r, "FileGroupName", sim_type(VT_NVARCHAR, 128));
    sim_rowset_column(a, r, "Size", sim_type_decimal(20, 0));
    sim_rowset_column(a, r, "MaxSize", sim_type_decimal(20, 0));
    sim_rowset_column(a, r, "FileId", sim_type(VT_BIGINT, 0));
    for (int i = 0; db && i < db->file_count; i++) {
        const struct sim_dbfile *file = &db->files[i];
        struct value *row = sim_rowset_row(a, r);
        row[0] = sim_text(sim_arena_dup(a, file->name));
        row[1] = sim_text(sim_arena_dup(a, file->path));
        row[2] = sim_text(file->type == SIM_LOG ? "L" : file->type ? "S" : "D");
        if (file->data_space)
            row[3] = sim_text(groups[file->data_space - 1]);
        row[4] = sim_decimal(file->pages * SIM_PAGE, 20, 0);
        row[5] = sim_decimal(INT64_C(35184372080640), 20, 0);
        row[6] = sim_bigint(file->id);
    }
    return r;
}

bool sim_restore(struct frame *f, struct stmt *st)
{
    struct session *s = f->session;
    struct sim *sim = s->sim;
    const char *verb = sim_arena_printf(f->arena, "RESTORE %s", st->verb);
    const char *path = st->device_count ? st->devices[0].path : "";
    struct rowset *rows = NULL;

    if (s->transactions || s->implicit) {
        sim_raise(s, 3021, 0, NULL);
        return sim_raise(s, 3013, 1, verb, NULL);
    }
    if (!strcmp(st->verb, "DATABASE") || !strcmp(st->verb, "LOG")) {
        sim_raise_text(s, 3110, 14, 1, "The simulator does not restore.");
        return sim_raise(s, 3013, 1, verb, NULL);
    }
    pthread_mutex_lock(&sim->lock);
    const struct sim_vfile *file = sim_vfile_find_locked(sim, path);
    const struct sim_set *x =
        file && file->kind == SIM_FILE_BACKUP ? set_locked(sim, path, 0) : NULL;
    bool exists = file != NULL;
    if (x)
        rows = strcmp(st->verb, "FILELISTONLY") ? header_locked(f, x) : files_locked(f, x);
    pthread_mutex_unlock(&sim->lock);
    if (!exists)
        sim_raise(s, 3201, 2, path, sim_os_error(sim, 2), NULL);
    else if (!rows)
        sim_raise(s, 3241, 0, path, NULL);
    if (!rows)
        return sim_raise(s, 3013, 1, verb, NULL);
    if (!strcmp(st->verb, "VERIFYONLY"))
        return sim_raise_text(s, 3262, 10, 1,
                              sim_arena_printf(f->arena, "The backup set on file %d is valid.", 1)),
               true;
    sim_send_rows(f, rows);
    return true;
}
