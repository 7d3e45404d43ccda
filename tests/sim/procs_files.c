/* procs_files.c: procedures about files and drives, and the simulator's own. */
#include <stdlib.h>
#include <string.h>

#include "procs.h"
#include "sim.h"

bool sim_proc_control(struct frame *f, struct parameter *params, int n, int *status)
{
    char error[SIM_ERROR_SIZE] = "";
    const char *json = n ? sim_parameter_text(f, &params[0]) : "";
    struct session *s = f->session;

    if (sim_fault_apply(s->sim, json, error, sizeof(error))) {
        *status = 1;
        return sim_raise_text(s, 50000, 16, 1, sim_arena_dup(f->arena, error));
    }
    return true;
}

bool sim_proc_control_files(struct frame *f, struct parameter *params, int n, int *status)
{
    struct rowset *r = sim_rowset_new(f->arena);
    struct sim *sim = f->session->sim;
    (void)params;
    (void)n;
    (void)status;
    sim_rowset_column(f->arena, r, "path", sim_type(VT_NVARCHAR, 260));
    sim_rowset_column(f->arena, r, "size_bytes", sim_type(VT_BIGINT, 0));
    sim_rowset_column(f->arena, r, "is_whole", sim_type(VT_BIT, 0));
    pthread_mutex_lock(&sim->lock);
    for (int i = 0; i < sim->file_count; i++) {
        struct value *row = sim_rowset_row(f->arena, r);
        row[0] = sim_text(sim_arena_dup(f->arena, sim->files[i].path));
        row[1] = sim_bigint(sim->files[i].size_bytes);
        row[2] = sim_bit(sim->files[i].kind == SIM_FILE_BACKUP);
    }
    pthread_mutex_unlock(&sim->lock);
    sim_send_rows(f, r);
    sim_done(f, 0, 0xC1, r->row_count);
    return true;
}

bool sim_proc_control_statements(struct frame *f, struct parameter *params, int n, int *status)
{
    struct rowset *r = sim_rowset_new(f->arena);
    struct sim *sim = f->session->sim;
    (void)params;
    (void)n;
    (void)status;
    sim_rowset_column(f->arena, r, "statement", sim_type(VT_NVARCHAR, -1));
    pthread_mutex_lock(&sim->lock);
    for (int i = 0; i < sim->statement_count; i++)
        sim_rowset_row(f->arena, r)[0] =
            sim_text_n(sim_arena_dup(f->arena, sim->statements[i]), -1);
    pthread_mutex_unlock(&sim->lock);
    sim_send_rows(f, r);
    sim_done(f, 0, 0xC1, r->row_count);
    return true;
}

bool sim_xp_fixeddrives(struct frame *f, struct parameter *params, int n, int *status)
{
    struct rowset *r = sim_rowset_new(f->arena);
    struct sim *sim = f->session->sim;
    (void)params;
    (void)n;
    (void)status;
    sim_rowset_column(f->arena, r, "drive", sim_type(VT_VARCHAR, 1));
    sim_rowset_column(f->arena, r, "MB free", sim_type(VT_INT, 0));
    pthread_mutex_lock(&sim->lock);
    for (int i = 0; i < sim->volume_count; i++) {
        const struct sim_volume *v = &sim->volumes[i];
        if (!sim->windows && i) /* on Linux it knows one drive, which stands for / */
            break;
        if (v->kind != SIM_DRIVE)
            continue;
        struct value *row = sim_rowset_row(f->arena, r);
        row[0] = sim_text(sim->windows ? sim_arena_dupn(f->arena, v->mount, 1) : "C");
        row[1] = sim_int(sim_volume_free_locked(sim, v) / 1048576);
    }
    pthread_mutex_unlock(&sim->lock);
    sim_send_rows(f, r);
    sim_done(f, 0, 0xC1, r->row_count);
    return true;
}

static bool is_file_locked(struct sim *sim, const char *path)
{
    bool file = sim_vfile_find_locked(sim, path) != NULL;
    for (int d = 0; d < sim->db_count; d++)
        for (int i = 0; i < sim->dbs[d]->file_count; i++)
            file = file || sim_path_same(sim, sim->dbs[d]->files[i].path, path);
    return file;
}

bool sim_xp_fileexist(struct frame *f, struct parameter *params, int n, int *status)
{
    struct rowset *r = sim_rowset_new(f->arena);
    struct sim *sim = f->session->sim;
    const char *path = n ? sim_parameter_text(f, &params[0]) : "";
    (void)status;
    sim_rowset_column(f->arena, r, "File Exists", sim_type(VT_TINYINT, 0));
    sim_rowset_column(f->arena, r, "File is a Directory", sim_type(VT_TINYINT, 0));
    sim_rowset_column(f->arena, r, "Parent Directory Exists", sim_type(VT_TINYINT, 0));
    pthread_mutex_lock(&sim->lock);
    struct value *row = sim_rowset_row(f->arena, r);
    row[0] = sim_number(VT_TINYINT, is_file_locked(sim, path));
    row[1] = sim_number(VT_TINYINT, sim_folder_find_locked(sim, path) != NULL);
    row[2] = sim_number(
        VT_TINYINT, sim_folder_find_locked(sim, sim_parent_folder(sim, f->arena, path)) != NULL);
    pthread_mutex_unlock(&sim->lock);
    if (n > 1 && params[1].output) {
        params[1].value = sim_int(row[0].i);
        return true;
    }
    sim_send_rows(f, r);
    sim_done(f, 0, 0xC1, 1);
    return true;
}

bool sim_xp_dirtree(struct frame *f, struct parameter *params, int n, int *status)
{
    struct rowset *r = sim_rowset_new(f->arena);
    struct sim *sim = f->session->sim;
    const char *path = n ? sim_parameter_text(f, &params[0]) : "";
    bool files = n > 2 && params[2].value.i;
    (void)status;
    sim_rowset_column(f->arena, r, "subdirectory", sim_type(VT_NVARCHAR, 512));
    sim_rowset_column(f->arena, r, "depth", sim_type(VT_INT, 0));
    if (files)
        sim_rowset_column(f->arena, r, "file", sim_type(VT_INT, 0));
    pthread_mutex_lock(&sim->lock);
    int total = sim->folder_count + (files ? sim->file_count : 0);
    for (int i = 0; i < total; i++) {
        bool file = i >= sim->folder_count;
        const char *whole = file ? sim->files[i - sim->folder_count].path : sim->folders[i].path;
        const char *parent = sim_parent_folder(sim, f->arena, whole);
        const struct sim_folder *of = sim_folder_find_locked(sim, path);
        if (!of || sim_folder_find_locked(sim, parent) != of || strlen(whole) <= strlen(parent) + 1)
            continue;
        struct value *row = sim_rowset_row(f->arena, r);
        const char *name = whole + strlen(parent);
        row[0] = sim_text(sim_arena_dup(f->arena, name + strspn(name, "/\\")));
        row[1] = sim_int(1);
        if (files)
            row[2] = sim_int(file);
    }
    pthread_mutex_unlock(&sim->lock);
    sim_send_rows(f, r);
    sim_done(f, 0, 0xC1, r->row_count);
    return true;
}

/* Only whole native backups go, everything else stays without a word. */
bool sim_xp_delete_file(struct frame *f, struct parameter *params, int n, int *status)
{
    struct session *s = f->session;
    struct sim *sim = s->sim;

    if (n < 2 || (params[0].value.i != 0 && params[0].value.i != 1)) {
        *status = 1;
        return sim_raise(s, 22049, 1, NULL);
    }
    const char *path = sim_parameter_text(f, &params[1]);
    const char *extension = n > 2 ? sim_parameter_text(f, &params[2]) : "";
    int64_t before = INT64_MAX;
    struct value when = {0};
    if (n > 3 && !params[3].value.is_null &&
        sim_convert(f->arena, &params[3].value, sim_type(VT_DATETIME, 0), 0, &when) == 0)
        before = when.i;
    bool nothing = sim_fault_is_set(sim, SIM_DELETE_NOTHING, "xp_delete_file");
    pthread_mutex_lock(&sim->lock);
    const struct sim_folder *folder = sim_folder_find_locked(sim, path);
    for (int i = sim->file_count - 1; i >= 0 && !nothing && params[0].value.i == 0; i--) {
        struct sim_vfile *v = &sim->files[i];
        const char *parent = sim_parent_folder(sim, f->arena, v->path);
        const char *dot = strrchr(v->path, '.');
        bool hit = folder ? sim_folder_find_locked(sim, parent) == folder && dot &&
                                sim_text_is(dot + 1, extension)
                          : sim_path_same(sim, v->path, path);
        if (hit && v->kind == SIM_FILE_BACKUP && sim_ticks_local(sim, v->modified_us) < before)
            sim_vfile_remove_locked(sim, v);
    }
    pthread_mutex_unlock(&sim->lock);
    return true;
}

bool sim_xp_delete_files(struct frame *f, struct parameter *params, int n, int *status)
{
    struct session *s = f->session;
    int deleted = 0;

    if (!n || params[0].value.is_null) {
        *status = 1;
        return sim_raise(s, 22049, 1, NULL);
    }
    bool nothing = sim_fault_is_set(s->sim, SIM_DELETE_NOTHING, "xp_delete_files");
    pthread_mutex_lock(&s->sim->lock);
    if (!nothing)
        deleted = sim_delete_matching_locked(s->sim, sim_parameter_text(f, &params[0]));
    pthread_mutex_unlock(&s->sim->lock);
    if (!deleted && !nothing && !strpbrk(sim_parameter_text(f, &params[0]), "*?")) {
        *status = 1;
        return sim_raise_text(
            s, 22048, 16, 1,
            sim_arena_printf(
                f->arena,
                "Error executing extended stored procedure xp_delete_files. Specify a valid "
                "path; the operating system reported 2(The system cannot find the file "
                "specified.) for '%s'.",
                sim_parameter_text(f, &params[0])));
    }
    return true;
}
