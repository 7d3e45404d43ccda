/* scenario_parts.c: logins, databases, volumes, folders and files of a scenario. */
#include "scenario.h"

#include <stdlib.h>
#include <string.h>

static const char *const login_members[] = {"name",     "password",    "sysadmin", "database",
                                            "language", "permissions", "roles",    NULL};
static const char *const volume_members[] = {"mount",        "name",       "total_mib",
                                             "used_mib",     "read_mib_s", "write_mib_s",
                                             "sector_bytes", "sparse",     NULL};
static const char *const folder_members[] = {"path", "denied", NULL};
static const char *const vfile_members[] = {"path", "mib", "kind", NULL};
static const char *const file_members[] = {"name", "path", "type", "mib", "used_mib", NULL};
static const char *const db_members[] = {"name",
                                         "mib",
                                         "files",
                                         "recovery",
                                         "state",
                                         "user_access",
                                         "read_only",
                                         "encrypted",
                                         "collation",
                                         "ratio",
                                         "changed_mib",
                                         "log_mib",
                                         "full",
                                         "log_chain",
                                         "replica_role",
                                         "standby",
                                         "active_log_mib",
                                         "mirroring",
                                         "held_by",
                                         "availability_group",
                                         NULL};

static char **text_list(struct loader *l, const cJSON *list, const char *where, int *count)
{
    char **out = NULL;
    const cJSON *m = NULL;
    *count = 0;
    cJSON_ArrayForEach(m, list) {
        out = sim_realloc(out, (size_t)(*count + 1) * sizeof(char *));
        out[(*count)++] = sim_dup(sim_load_text_of(l, m, where, ""));
    }
    return out;
}

void sim_load_login(struct loader *l, const cJSON *m)
{
    struct sim *sim = l->sim;
    sim_load_check(l, m, login_members, "logins");
    sim->logins = sim_realloc(sim->logins, (size_t)(sim->login_count + 1) * sizeof(*sim->logins));
    struct sim_login *login = &sim->logins[sim->login_count++];
    *login = (struct sim_login){.name = sim_dup(sim_load_text(l, m, "name", "")),
                                .password = sim_dup(sim_load_text(l, m, "password", "")),
                                .database = sim_dup(sim_load_text(l, m, "database", "master")),
                                .language = sim_dup(sim_load_text(l, m, "language", sim->language)),
                                .sysadmin = sim_load_bool(l, m, "sysadmin", false)};
    login->permissions = text_list(l, cJSON_GetObjectItemCaseSensitive(m, "permissions"),
                                   "permissions", &login->permission_count);
    const cJSON *roles = cJSON_GetObjectItemCaseSensitive(m, "roles"), *db = NULL;
    cJSON_ArrayForEach(db, roles) {
        login->rights =
            sim_realloc(login->rights, (size_t)(login->right_count + 1) * sizeof(*login->rights));
        struct sim_db_right *r = &login->rights[login->right_count++];
        *r = (struct sim_db_right){.database = sim_dup(db->string)};
        r->roles = text_list(l, db, "roles", &r->role_count);
    }
}

static char *file_path(const struct sim *sim, const char *name, const char *suffix)
{
    struct bytes b = {0};
    sim_bytes_printf(&b, "%s%c", sim->data_dir, sim->windows ? '\\' : '/');
    for (const char *p = name; *p; p++)
        sim_bytes_u8(&b, strchr("]['\"/\\:*?<>| ", *p) ? '_' : (unsigned char)*p);
    sim_bytes_text(&b, suffix);
    char *path = sim_dup(sim_bytes_str(&b));
    sim_bytes_fini(&b);
    return path;
}

static void plain_files(struct sim *sim, struct sim_db *db, double mib)
{
    char *data = file_path(sim, db->name, ".mdf"), *log = file_path(sim, db->name, "_log.ldf");
    struct bytes name = {0};
    int64_t used = (int64_t)(mib * 128);
    int64_t size = (used * 5 / 4 + 7) / 8 * 8;

    sim_db_add_file_locked(db, db->name, data, 0, size, used - used % 8 + (used % 8 ? 8 : 0));
    sim_bytes_printf(&name, "%s_log", db->name);
    sim_db_add_file_locked(db, sim_bytes_str(&name), log, 1, used / 8 + 64, 2);
    sim_bytes_fini(&name);
    free(data);
    free(log);
}

static const struct file_type {
    const char *name;
    enum sim_file_type type;
    int data_space, since;
    const char *suffix; /* a container is a folder */
} file_types[] = {{"ROWS", SIM_ROWS, 1, 0, ".ndf"},
                  {"LOG", SIM_LOG, 0, 0, ".ldf"},
                  {"FILESTREAM", SIM_FILESTREAM, 2, 10, ""},
                  {"MEMORY_OPTIMIZED", SIM_FILESTREAM, 3, 12, ""}};

static const struct file_type *file_type(struct loader *l, const char *name)
{
    for (size_t i = 0; i < sizeof(file_types) / sizeof(*file_types); i++)
        if (!strcmp(file_types[i].name, name)) {
            if (l->sim->major < file_types[i].since)
                sim_load_fail(l, "this version does not have such files", name);
            if (!l->sim->windows && file_types[i].data_space == 2)
                sim_load_fail(l, "there is no FILESTREAM on Linux", name);
            return &file_types[i];
        }
    sim_load_fail(l, "ROWS, LOG, FILESTREAM or MEMORY_OPTIMIZED is needed", "type");
    return &file_types[0];
}

static void load_files(struct loader *l, struct sim_db *db, const cJSON *files)
{
    const cJSON *f = NULL;
    cJSON_ArrayForEach(f, files) {
        sim_load_check(l, f, file_members, "files");
        const struct file_type *t = file_type(l, sim_load_text(l, f, "type", "ROWS"));
        double mib = sim_load_number_of(l, f, "mib", 8);
        char *path = file_path(l->sim, sim_load_text(l, f, "name", "file"), t->suffix);
        struct sim_dbfile *file = sim_db_add_file_locked(
            db, sim_load_text(l, f, "name", "file"), sim_load_text(l, f, "path", path), t->type,
            (int64_t)(mib * 128), (int64_t)(sim_load_number_of(l, f, "used_mib", mib) * 128));
        file->data_space = t->data_space;
        l->sim->filestream = l->sim->filestream || t->data_space == 2;
        free(path);
    }
}

static void start_chain(struct sim *sim, struct sim_db *db, bool log_chain)
{
    db->has_full = true;
    db->lsn += 40000;
    for (int i = 0; i < db->file_count; i++) {
        db->files[i].diff_base_lsn = db->lsn;
        db->files[i].diff_base_ticks = db->created_ticks;
        sim_fill_guid_locked(sim, db->files[i].diff_base_guid);
    }
    db->lsn += 1000;
    db->last_log_lsn = log_chain && db->recovery != 'S' ? db->lsn : 0;
}

static void load_database(struct loader *l, const cJSON *m)
{
    struct sim *sim = l->sim;
    sim_load_check(l, m, db_members, "databases");
    const char *name = sim_load_text(l, m, "name", "");
    if (!*name || sim_utf16_len(name) > 128 || sim_db_find_locked(sim, name)) {
        sim_load_fail(l, "a new name of 1 to 128 characters is needed", "databases");
        return;
    }
    struct sim_db *db = sim_db_add_locked(sim, name);
    if (db->id < 5) /* the system's come first */
        sim_load_fail(l, "this name is reserved", name);
    const char *recovery = sim_load_text(l, m, "recovery", "FULL");
    db->recovery = recovery[0];
    if (strcmp(recovery, "FULL") && strcmp(recovery, "SIMPLE") && strcmp(recovery, "BULK_LOGGED"))
        sim_load_fail(l, "FULL, BULK_LOGGED or SIMPLE is needed", "recovery");
    sim_replace(&db->state, sim_load_text(l, m, "state", "ONLINE"));
    sim_replace(&db->collation, sim_load_text(l, m, "collation", sim->collation));
    sim_load_access(l, db, m);
    db->encrypted = sim_load_bool(l, m, "encrypted", false);
    db->ratio = sim_load_number_of(l, m, "ratio", 4);
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(m, "files");
    if (files)
        load_files(l, db, files);
    else
        plain_files(sim, db, sim_load_number_of(l, m, "mib", 64));
    if (!sim_db_pages(db, 0) || db->ratio <= 0)
        sim_load_fail(l, "a data file with pages and a ratio above 0 are needed", name);
    db->changed_pages = (int64_t)(sim_load_number_of(l, m, "changed_mib", 4) * 128);
    double active = sim_load_number_of(l, m, "active_log_mib", 0) * 128;
    db->active_pages = active > 2 ? (int64_t)active : 2;
    db->log_pages = (int64_t)(sim_load_number_of(l, m, "log_mib", 1) * 128);
    if (sim_load_bool(l, m, "full", true))
        start_chain(sim, db, sim_load_bool(l, m, "log_chain", true));
}

void sim_load_databases(struct loader *l)
{
    static const struct {
        const char *name;
        char recovery;
        double mib;
    } system[] = {{"master", 'S', 4}, {"tempdb", 'S', 8}, {"model", 'F', 3}, {"msdb", 'S', 14}};
    for (size_t i = 0; i < 4; i++) {
        struct sim_db *db = sim_db_add_locked(l->sim, system[i].name);
        db->recovery = system[i].recovery;
        db->system = true;
        plain_files(l->sim, db, system[i].mib);
    }
    const cJSON *m = NULL;
    cJSON_ArrayForEach(m, sim_load_member(l, "databases"))
        load_database(l, m);
}

static enum sim_volume_kind volume_kind(const struct sim *sim, const char *mount)
{
    if (!strncmp(mount, "\\\\", 2) || !strncmp(mount, "//", 2))
        return SIM_SHARE;
    return sim->windows && strlen(mount) > 3 ? SIM_MOUNT_POINT : SIM_DRIVE;
}

void sim_load_storage(struct loader *l)
{
    struct sim *sim = l->sim;
    const cJSON *m = NULL;
    const double mib = 1048576;

    cJSON_ArrayForEach(m, sim_load_member(l, "volumes")) {
        sim_load_check(l, m, volume_members, "volumes");
        sim->volumes =
            sim_realloc(sim->volumes, (size_t)(sim->volume_count + 1) * sizeof(*sim->volumes));
        const char *mount = sim_load_text(l, m, "mount", "/");
        sim->volumes[sim->volume_count++] = (struct sim_volume){
            .mount = sim_dup(mount),
            .kind = volume_kind(sim, mount),
            .name = sim_dup(sim_load_text(l, m, "name", "")),
            .total_bytes = (int64_t)(sim_load_number_of(l, m, "total_mib", 65536) * mib),
            .used_bytes = (int64_t)(sim_load_number_of(l, m, "used_mib", 0) * mib),
            .read_mib_s = sim_load_number_of(l, m, "read_mib_s", 3000),
            .write_mib_s = sim_load_number_of(l, m, "write_mib_s", 1000),
            .sector_bytes = (int)sim_load_number_of(l, m, "sector_bytes", 512),
            .no_sparse = !sim_load_bool(l, m, "sparse", true)};
    }
    cJSON_ArrayForEach(m, sim_load_member(l, "folders")) {
        bool plain = cJSON_IsString(m);
        if (!plain)
            sim_load_check(l, m, folder_members, "folders");
        sim->folders =
            sim_realloc(sim->folders, (size_t)(sim->folder_count + 1) * sizeof(*sim->folders));
        sim->folders[sim->folder_count++] = (struct sim_folder){
            .path = sim_dup(plain ? m->valuestring : sim_load_text(l, m, "path", "/")),
            .denied = !plain && sim_load_bool(l, m, "denied", false)};
    }
    cJSON_ArrayForEach(m, sim_load_member(l, "files")) {
        sim_load_check(l, m, vfile_members, "files");
        struct sim_vfile *f = sim_vfile_add_locked(sim, sim_load_text(l, m, "path", "/x"));
        const char *kind = sim_load_text(l, m, "kind", "backup");
        f->size_bytes = (int64_t)(sim_load_number_of(l, m, "mib", 1) * mib);
        f->kind = !strcmp(kind, "backup")    ? SIM_FILE_BACKUP
                  : !strcmp(kind, "aborted") ? SIM_FILE_ABORTED
                                             : SIM_FILE_FOREIGN;
        f->sets = f->stripes = 1;
    }
}
