#include "others.h"

#include <stdlib.h>
#include <string.h>

static const char *const wait_names[SIM_WAITS + 1] = {"BACKUPIO",
                                                      "BACKUPBUFFER",
                                                      "BACKUPTHREAD",
                                                      "ASYNC_IO_COMPLETION",
                                                      "PREEMPTIVE_OS_WRITEFILE",
                                                      "PREEMPTIVE_OS_WRITEFILEGATHER",
                                                      "PREEMPTIVE_OS_FLUSHFILEBUFFERS",
                                                      "SOS_SCHEDULER_YIELD",
                                                      "WRITE_COMPLETION",
                                                      "FCB_REPLICA_WRITE",
                                                      "FCB_REPLICA_READ",
                                                      "REPLICA_WRITE",
                                                      "PAGEIOLATCH_SH",
                                                      "PAGEIOLATCH_EX",
                                                      "WRITELOG",
                                                      "IO_COMPLETION",
                                                      "CXPACKET",
                                                      "LCK_M_X",
                                                      "WAITFOR",
                                                      "NETWORK_IO",
                                                      "SLEEP_TASK",
                                                      "LAZYWRITER_SLEEP",
                                                      "DIRTY_PAGE_POLL",
                                                      "CHECKPOINT_QUEUE",
                                                      "XE_TIMER_EVENT",
                                                      "XE_DISPATCHER_WAIT",
                                                      "LOGMGR_QUEUE",
                                                      "REQUEST_FOR_DEADLOCK_SEARCH",
                                                      "SQLTRACE_INCREMENTAL_FLUSH_SLEEP",
                                                      "BROKER_TASK_STOP",
                                                      "HADR_FILESTREAM_IOMGR_IOCOMPLETION",
                                                      "SP_SERVER_DIAGNOSTICS_SLEEP",
                                                      "QDS_ASYNC_QUEUE",
                                                      "SOS_WORK_DISPATCHER"};

int64_t sim_now_us_locked(const struct sim *sim)
{
    return sim_wall_us() + sim->skipped_us;
}

int64_t sim_now_us(struct sim *sim)
{
    pthread_mutex_lock(&sim->lock);
    int64_t now = sim_now_us_locked(sim);
    pthread_mutex_unlock(&sim->lock);
    return now;
}

int64_t sim_ticks_utc(int64_t us)
{
    return TICKS_1970 + us * 10;
}

int64_t sim_ticks_local(const struct sim *sim, int64_t us)
{
    return TICKS_1970 + us * 10 + sim->utc_offset_min * 60 * TICKS_PER_SECOND;
}

struct sim_db *sim_db_find_locked(struct sim *sim, const char *name)
{
    for (int i = 0; i < sim->db_count; i++)
        if (sim_collate(sim->dbs[i]->name, name) == 0)
            return sim->dbs[i];
    return NULL;
}

struct sim_db *sim_db_by_id_locked(struct sim *sim, int id)
{
    for (int i = 0; i < sim->db_count; i++)
        if (sim->dbs[i]->id == id)
            return sim->dbs[i];
    return NULL;
}

int64_t sim_db_pages(const struct sim_db *db, int type)
{
    int64_t pages = 0;
    for (int i = 0; i < db->file_count; i++)
        if (db->files[i].type == type)
            pages += db->files[i].used_pages;
    return pages;
}

struct sim_dbfile *sim_db_file(struct sim_db *db, int id)
{
    for (int i = 0; i < db->file_count; i++)
        if (db->files[i].id == id)
            return &db->files[i];
    return NULL;
}

const struct sim_group *sim_group_of_locked(const struct sim *sim, const struct sim_db *db)
{
    return db->group >= 0 ? &sim->groups[db->group] : NULL;
}

struct sim_group *sim_group_add_locked(struct sim *sim, const char *name)
{
    sim->groups = sim_realloc(sim->groups, (size_t)(sim->group_count + 1) * sizeof(*sim->groups));
    struct sim_group *g = &sim->groups[sim->group_count++];
    *g = (struct sim_group){.name = sim_dup(name), .preference = 2, .connections = 2};
    g->partner = sim_dup("SWEETSIM2");
    sim_fill_guid_locked(sim, g->id);
    sim_fill_guid_locked(sim, g->local_id);
    sim_fill_guid_locked(sim, g->partner_id);
    sim->hadr_enabled = true;
    return g;
}

void sim_fill_guid_locked(struct sim *sim, uint8_t guid[16])
{
    for (int i = 0; i < 16; i++)
        guid[i] = (uint8_t)sim_random(&sim->random);
    guid[7] = (uint8_t)((guid[7] & 15) | 0x40);
    guid[8] = (uint8_t)((guid[8] & 63) | 0x80);
}

struct sim_db *sim_db_add_locked(struct sim *sim, const char *name)
{
    struct sim_db *db = sim_alloc(sizeof(*db));
    int id = 1;

    while (sim_db_by_id_locked(sim, id))
        id++;
    db->id = id;
    db->name = sim_dup(name);
    db->collation = sim_dup(sim->collation);
    db->recovery = 'S';
    db->state = sim_dup("ONLINE");
    db->user_access = sim_dup("MULTI_USER");
    db->ratio = 4;
    db->group = -1;
    db->active_pages = 2;
    db->lsn = 34000000016500001U + (uint64_t)id * 1000000000000U;
    db->created_ticks = sim_ticks_local(sim, sim_now_us_locked(sim));
    db->changed_pages = 40;
    db->log_pages = 8;
    sim_fill_guid_locked(sim, db->guid);
    sim_fill_guid_locked(sim, db->family_guid);
    sim->dbs = sim_realloc(sim->dbs, (size_t)(sim->db_count + 1) * sizeof(struct sim_db *));
    sim->dbs[sim->db_count++] = db;
    return db;
}

struct sim_dbfile *sim_db_add_file_locked(struct sim_db *db, const char *name, const char *path,
                                          int type, int64_t pages, int64_t used_pages)
{
    db->files = sim_realloc(db->files, (size_t)(db->file_count + 1) * sizeof(*db->files));
    struct sim_dbfile *f = &db->files[db->file_count++];
    int id = type == SIM_FILESTREAM ? 65537 : 1;
    for (int i = 0; i < db->file_count - 1; i++)
        id += (db->files[i].type == SIM_FILESTREAM) == (type == SIM_FILESTREAM);
    *f = (struct sim_dbfile){.id = id,
                             .type = type,
                             .data_space = type == SIM_LOG ? 0 : 1,
                             .pages = pages,
                             .used_pages = used_pages,
                             .name = sim_dup(name),
                             .path = sim_dup(path)};
    memcpy(f->guid, db->guid, 16);
    f->guid[15] = (uint8_t)(f->guid[15] ^ f->id);
    return f;
}

static void db_free(struct sim_db *db)
{
    for (int i = 0; i < db->file_count; i++) {
        free(db->files[i].name);
        free(db->files[i].path);
    }
    for (int i = 0; i < db->table_count; i++)
        sim_table_free(db->tables[i]);
    free(db->tables);
    free(db->files);
    free(db->name);
    free(db->collation);
    free(db->state);
    free(db->user_access);
    free(db);
}

void sim_db_drop_locked(struct sim *sim, struct sim_db *db)
{
    for (int i = 0; i < sim->db_count; i++)
        if (sim->dbs[i] == db) {
            sim->dbs[i] = sim->dbs[--sim->db_count];
            break;
        }
    db_free(db);
}

static void set_free(struct sim_set *s)
{
    for (int i = 0; i < s->device_count; i++)
        free(s->devices[i]);
    free(s->devices);
    free(s->mirrors);
    free(s->database);
    free(s->name);
    free(s->description);
    free(s->user);
    free(s->server);
    free(s->recovery);
}

static void login_free(struct sim_login *l)
{
    for (int i = 0; i < l->permission_count; i++)
        free(l->permissions[i]);
    for (int i = 0; i < l->right_count; i++) {
        for (int r = 0; r < l->rights[i].role_count; r++)
            free(l->rights[i].roles[r]);
        free(l->rights[i].roles);
        free(l->rights[i].database);
    }
    free(l->permissions);
    free(l->rights);
    free(l->name);
    free(l->password);
    free(l->database);
    free(l->language);
}

void sim_world_free(struct sim *sim)
{
    char **texts[] = {&sim->edition,   &sim->server_name, &sim->host_name,
                      &sim->collation, &sim->language,    &sim->certificate_file,
                      &sim->key_file,  &sim->backup_dir,  &sim->data_dir};

    for (int i = 0; i < sim->db_count; i++)
        db_free(sim->dbs[i]);
    for (int i = 0; i < sim->group_count; i++) {
        free(sim->groups[i].name);
        free(sim->groups[i].partner);
    }
    free(sim->groups);
    sim_others_free_locked(sim);
    for (int i = 0; i < sim->set_count; i++)
        set_free(&sim->sets[i]);
    for (int i = 0; i < sim->login_count; i++)
        login_free(&sim->logins[i]);
    for (int i = 0; i < sim->volume_count; i++) {
        free(sim->volumes[i].mount);
        free(sim->volumes[i].name);
    }
    for (int i = 0; i < sim->folder_count; i++)
        free(sim->folders[i].path);
    for (int i = 0; i < sim->file_count; i++)
        free(sim->files[i].path);
    for (int i = 0; i < sim->statement_count; i++)
        free(sim->statements[i]);
    sim_faults_free_locked(sim);
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        free(*texts[i]);
    free(sim->dbs);
    free(sim->sets);
    for (int i = 0; i < sim->credential_count; i++) {
        free(sim->credentials[i].database);
        free(sim->credentials[i].name);
        free(sim->credentials[i].identity);
        free(sim->credentials[i].secret);
    }
    free(sim->credentials);
    free(sim->logins);
    free(sim->volumes);
    free(sim->folders);
    free(sim->files);
    free(sim->statements);
    free(sim->spans);
}

void sim_restart_locked(struct sim *sim)
{
    memset(sim->waits, 0, sizeof(sim->waits));
    for (int i = 0; i < sim->db_count; i++)
        for (int f = 0; f < sim->dbs[i]->file_count; f++) {
            struct sim_dbfile *file = &sim->dbs[i]->files[f];
            file->reads = file->read_bytes = file->read_stall_ms = 0;
            file->writes = file->write_bytes = file->write_stall_ms = 0;
        }
    sim_others_restart_locked(sim);
    sim->cpu_kernel_ms = sim->cpu_user_ms = 0;
    sim->start_us = sim_now_us_locked(sim);
    sim->trace_number++; /* each start begins a new file */
    sim->trace_start_us = sim->start_us;
    memcpy(sim->flags, sim->startup_flags, sizeof(sim->startup_flags));
    sim->flag_count = sim->startup_flag_count;
}

bool sim_flag_is_on_locked(const struct sim *sim, int number)
{
    for (int i = 0; i < sim->flag_count; i++)
        if (sim->flags[i] == number)
            return true;
    return false;
}

void sim_flag_set_locked(struct sim *sim, int number, bool on)
{
    int n = 0;
    for (int i = 0; i < sim->flag_count; i++)
        if (sim->flags[i] != number)
            sim->flags[n++] = sim->flags[i];
    if (on && n < 64)
        sim->flags[n++] = number;
    sim->flag_count = n;
}

const char *sim_wait_name(int i)
{
    return i < SIM_WAITS ? wait_names[i] : NULL;
}

int sim_wait_index(const char *name)
{
    for (int i = 0; i < SIM_WAITS && wait_names[i]; i++)
        if (sim_text_is(wait_names[i], name))
            return i;
    return -1;
}

void sim_wait_add(struct sim_wait *waits, const char *name, int64_t tasks, int64_t ms)
{
    int i = sim_wait_index(name);
    if (i < 0 || (tasks <= 0 && ms <= 0))
        return;
    int64_t longest = ms / (tasks > 0 ? tasks : 1) * 3;
    waits[i].tasks += tasks;
    waits[i].wait_ms += ms;
    waits[i].signal_ms += ms / 50;
    if (longest > waits[i].max_ms)
        waits[i].max_ms = longest;
}

bool sim_is_since(const struct sim *sim, int version, int build)
{
    int have = version >= 100 ? sim->major * 100 + sim->minor : sim->major;
    return have > version || (have == version && sim->build >= build);
}

static const char *product_year(const struct sim *sim)
{
    if (sim->major == 10)
        return sim->minor >= 50 ? "2008 R2" : "2008";
    static const char *const years[] = {[9] = "2005",  [11] = "2012", [12] = "2014", [13] = "2016",
                                        [14] = "2017", [15] = "2019", [16] = "2022", [17] = "2025"};
    return sim->major >= 9 && sim->major <= 17 && years[sim->major] ? years[sim->major] : "";
}

char *sim_version_text(struct sim *sim, struct arena *arena)
{
    return sim_arena_printf(
        arena,
        "Microsoft SQL Server %s (Sweetspot simulator) - %d.%d.%d.%d (X64) \n"
        "\tJan  1 2026 00:00:00 \n"
        "\tCopyright (C) the Sweetspot project; a simulator, not a product of Microsoft\n"
        "\t%s (64-bit) on %s <X64>",
        product_year(sim), sim->major, sim->minor, sim->build, sim->revision, sim->edition,
        sim->windows ? "Windows Server 2022 Standard 10.0 <X64> (Build 20348: )"
                     : "Linux (Debian GNU/Linux 12)");
}
