/* scenario.c: from a scenario's JSON to a filled world. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static const char default_linux[] =
    "{'platform':'Linux','data_dir':'/var/opt/mssql/data','backup_dir':'/var/opt/mssql/backup',"
    "'volumes':[{'mount':'/','total_mib':65536,'used_mib':9000,'read_mib_s':3000,"
    "'write_mib_s':1400},{'mount':'/var/opt/mssql/backup','total_mib':40960,'used_mib':500,"
    "'read_mib_s':900,'write_mib_s':700}],"
    "'folders':['/','/tmp','/var','/var/opt','/var/opt/mssql','/var/opt/mssql/data',"
    "'/var/opt/mssql/log','/var/opt/mssql/backup',{'path':'/root','denied':true}]}";

static const char default_windows[] =
    "{'platform':'Windows','data_dir':'C:\\\\Data','backup_dir':'D:\\\\Backup',"
    "'volumes':[{'mount':'C:\\\\','name':'System','total_mib':65536,'used_mib':9000,"
    "'read_mib_s':3000,'write_mib_s':1400},{'mount':'D:\\\\','name':'Backup','total_mib':40960,"
    "'used_mib':500,'read_mib_s':900,'write_mib_s':700}],"
    "'folders':['C:\\\\','C:\\\\Data','C:\\\\Temp','D:\\\\','D:\\\\Backup',"
    "{'path':'C:\\\\Windows','denied':true}]}";

static const char default_common[] =
    "{'version':'16.0.4100.1','edition':'Developer','server_name':'SWEETSIM',"
    "'collation':'SQL_Latin1_General_CP1_CI_AS','language':'us_english','utc_offset_minutes':0,"
    "'cpu_count':8,'memory_mib':16384,'backup_memory_mib':4096,'time_scale':1,'seed':1,"
    "'noise':0.01,'drift':0,'outlier_rate':0,'outlier_factor':3,'encryption':'optional',"
    "'logins':[{'name':'sa','password':'Sweetspot-1','sysadmin':true}],"
    "'databases':[{'name':'Sales','mib':256,'recovery':'FULL','ratio':4.5},"
    "{'name':'AdventureWorks','mib':190,'recovery':'SIMPLE','ratio':3.1},"
    "{'name':'Odd ]name\\u0027s','mib':24,'recovery':'SIMPLE','ratio':7.1}],"
    "'configurations':{},'trace_flags':[],'surface':{},'faults':[],'files':[]}";

static const char *const members[] = {
    "version", "edition", "platform", "language", "utc_offset_minutes", "server_name",
    "collation", "cpu_count", "memory_mib", "backup_memory_mib", "time_scale", "seed", "noise",
    "drift", "outlier_rate", "outlier_factor", "encryption", "certificate_file", "key_file",
    "logins", "databases", "volumes", "folders", "files", "data_dir", "backup_dir", "surface",
    "configurations", "trace_flags", "faults", "performance_counters", NULL};
static const char *const login_members[] = {"name", "password", "sysadmin", "database", "language",
                                            "permissions", "roles", NULL};
static const char *const volume_members[] = {"mount", "name", "total_mib", "used_mib",
                                             "read_mib_s", "write_mib_s", "sector_bytes", NULL};
static const char *const folder_members[] = {"path", "denied", NULL};
static const char *const vfile_members[] = {"path", "mib", "kind", NULL};
static const char *const file_members[] = {"name", "path", "type", "mib", "used_mib", NULL};
static const char *const db_members[] = {
    "name", "mib", "files", "recovery", "state", "user_access", "read_only", "encrypted",
    "collation", "ratio", "changed_mib", "log_mib", "full", "log_chain", "replica_role",
    "standby", NULL};

struct loader {
    struct sim *sim;
    const cJSON *user, *platform, *common;
    char *error;
    size_t error_size;
    bool failed;
};

static void fail(struct loader *l, const char *what, const char *where)
{
    if (!l->failed)
        (void)snprintf(l->error, l->error_size, "The scenario's %s: %s.", where, what);
    l->failed = true;
}

static void check_members(struct loader *l, const cJSON *object, const char *const *names,
                          const char *where)
{
    const cJSON *m = NULL;
    if (!cJSON_IsObject(object)) {
        fail(l, "an object is needed", where);
        return;
    }
    cJSON_ArrayForEach(m, object)
    {
        const char *const *n = names;
        while (*n && strcmp(*n, m->string))
            n++;
        if (!*n)
            fail(l, "this member is not known", m->string);
    }
}

static const cJSON *member(const struct loader *l, const char *name)
{
    const cJSON *m = l->user ? cJSON_GetObjectItemCaseSensitive(l->user, name) : NULL;
    if (!m)
        m = cJSON_GetObjectItemCaseSensitive(l->platform, name);
    if (!m)
        m = cJSON_GetObjectItemCaseSensitive(l->common, name);
    return m;
}

static double number(struct loader *l, const cJSON *m, const char *name, double fallback)
{
    if (!m)
        return fallback;
    if (!cJSON_IsNumber(m) || !(fabs(m->valuedouble) < 1e15)) {
        fail(l, "a number is needed", name);
        return fallback;
    }
    return m->valuedouble;
}

static double number_of(struct loader *l, const cJSON *object, const char *name, double fallback)
{
    return number(l, cJSON_GetObjectItemCaseSensitive(object, name), name, fallback);
}

static const char *text_of(struct loader *l, const cJSON *m, const char *name,
                           const char *fallback)
{
    if (!m)
        return fallback;
    if (!cJSON_IsString(m)) {
        fail(l, "a text is needed", name);
        return fallback;
    }
    return m->valuestring;
}

static const char *get_text(struct loader *l, const cJSON *object, const char *name,
                            const char *fallback)
{
    return text_of(l, cJSON_GetObjectItemCaseSensitive(object, name), name, fallback);
}

static bool get_bool(struct loader *l, const cJSON *object, const char *name, bool fallback)
{
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(object, name);
    if (m && !cJSON_IsBool(m))
        fail(l, "true or false is needed", name);
    return m ? cJSON_IsTrue(m) : fallback;
}

static void load_texts(struct loader *l)
{
    struct sim *sim = l->sim;
    struct {
        const char *name;
        char **slot;
    } texts[] = {{"server_name", &sim->server_name}, {"collation", &sim->collation},
                 {"language", &sim->language}, {"certificate_file", &sim->certificate_file},
                 {"key_file", &sim->key_file}, {"backup_dir", &sim->backup_dir},
                 {"data_dir", &sim->data_dir}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        *texts[i].slot = sim_dup(text_of(l, member(l, texts[i].name), texts[i].name, NULL));
    sim->host_name = sim_dup(sim->server_name);
    char *slash = strchr(sim->host_name, '\\');
    if (slash)
        *slash = 0;
}

static void load_numbers(struct loader *l)
{
    struct sim *sim = l->sim;

    sim->utc_offset_min = (int)number(l, member(l, "utc_offset_minutes"), "utc_offset_minutes", 0);
    sim->cpu_count = (int)number(l, member(l, "cpu_count"), "cpu_count", 8);
    sim->memory_mib = (int64_t)number(l, member(l, "memory_mib"), "memory_mib", 16384);
    sim->backup_memory_mib =
        (int64_t)number(l, member(l, "backup_memory_mib"), "backup_memory_mib", 4096);
    sim->time_scale = number(l, member(l, "time_scale"), "time_scale", 1);
    sim->seed = (uint64_t)number(l, member(l, "seed"), "seed", 1);
    sim->noise = number(l, member(l, "noise"), "noise", 0.01);
    sim->drift = number(l, member(l, "drift"), "drift", 0);
    sim->outlier_rate = number(l, member(l, "outlier_rate"), "outlier_rate", 0);
    sim->outlier_factor = number(l, member(l, "outlier_factor"), "outlier_factor", 3);
    if (sim->cpu_count < 1 || sim->time_scale < 0 || sim->memory_mib < 1)
        fail(l, "out of range", "cpu_count, memory_mib or time_scale");
    const cJSON *counters = member(l, "performance_counters");
    sim->performance_counters = !counters || cJSON_IsTrue(counters);
}

static void load_version(struct loader *l)
{
    static const struct {
        const char *name, *text;
        int engine;
    } editions[] = {{"Enterprise", "Enterprise Edition", 3},
                    {"Developer", "Developer Edition", 3},
                    {"Evaluation", "Enterprise Evaluation Edition", 3},
                    {"Standard", "Standard Edition", 2},
                    {"Web", "Web Edition", 2},
                    {"Express", "Express Edition", 4},
                    {"Azure SQL Database", "SQL Azure", 5},
                    {"Managed Instance", "SQL Azure", 8}};
    struct sim *sim = l->sim;
    const char *v = text_of(l, member(l, "version"), "version", "16.0.4100.1");
    int *parts[] = {&sim->major, &sim->minor, &sim->build, &sim->revision};
    for (size_t i = 0; i < 4; i++) {
        char *end = NULL;
        *parts[i] = (int)strtol(v, &end, 10);
        v = *end == '.' ? end + 1 : end;
    }
    if (sim->major < 9 || sim->major > 17 || *v)
        fail(l, "9.0 to 17.0 as \"16.0.4100.1\" is needed", "version");
    const char *edition = text_of(l, member(l, "edition"), "edition", "Developer");
    for (size_t i = 0; i < sizeof(editions) / sizeof(*editions); i++)
        if (!strcmp(editions[i].name, edition)) {
            sim->edition = sim_dup(editions[i].text);
            sim->engine_edition = editions[i].engine;
        }
    if (!sim->edition)
        fail(l, "this edition is not known", "edition");
    const char *e = text_of(l, member(l, "encryption"), "encryption", "optional");
    if (strcmp(e, "none") && strcmp(e, "optional") && strcmp(e, "required"))
        fail(l, "none, optional or required is needed", "encryption");
    sim->encryption = !strcmp(e, "none") ? SIM_TLS_NONE
                      : !strcmp(e, "required") ? SIM_TLS_REQUIRED : SIM_TLS_OPTIONAL;
}

static void load_surface(struct loader *l)
{
    struct sim_surface *s = &l->sim->surface;
    struct {
        const char *name;
        double *slot;
        double fallback;
    } rows[] = {{"read_mib_s", &s->read_mib_s, 1500}, {"floor", &s->floor, 0.4215},
                {"knee", &s->knee, 24.7}, {"start", &s->start, 7},
                {"transfer_penalty", &s->transfer_penalty, 0.04},
                {"block_gain", &s->block_gain, 0.01}, {"stripe_gain", &s->stripe_gain, 0.25},
                {"compress_mib_s", &s->compress_mib_s, 260},
                {"checksum_cost", &s->checksum_cost, 0.02},
                {"cpu_ms_per_mib", &s->cpu_ms_per_mib, 0.12},
                {"buffer_cpu", &s->buffer_cpu, 0.08}};
    const size_t n = sizeof(rows) / sizeof(*rows);
    const cJSON *given = member(l, "surface");
    const char *names[sizeof(rows) / sizeof(*rows) + 1] = {NULL};

    for (size_t i = 0; i < n; i++) {
        names[i] = rows[i].name;
        *rows[i].slot = number_of(l, given, rows[i].name, rows[i].fallback);
    }
    check_members(l, given, names, "surface");
    if (s->read_mib_s <= 0 || s->knee <= 0 || s->compress_mib_s <= 0 || s->floor <= 0)
        fail(l, "rates, floor and knee are above 0", "surface");
}

static char **text_list(struct loader *l, const cJSON *list, const char *where, int *count)
{
    char **out = NULL;
    const cJSON *m = NULL;
    *count = 0;
    cJSON_ArrayForEach(m, list)
    {
        out = sim_realloc(out, (size_t)(*count + 1) * sizeof(char *));
        out[(*count)++] = sim_dup(text_of(l, m, where, ""));
    }
    return out;
}

static void load_login(struct loader *l, const cJSON *m)
{
    struct sim *sim = l->sim;
    check_members(l, m, login_members, "logins");
    sim->logins = sim_realloc(sim->logins, (size_t)(sim->login_count + 1) * sizeof(*sim->logins));
    struct sim_login *login = &sim->logins[sim->login_count++];
    *login = (struct sim_login){.name = sim_dup(get_text(l, m, "name", "")),
                                .password = sim_dup(get_text(l, m, "password", "")),
                                .database = sim_dup(get_text(l, m, "database", "master")),
                                .language = sim_dup(get_text(l, m, "language", sim->language)),
                                .sysadmin = get_bool(l, m, "sysadmin", false)};
    login->permissions = text_list(l, cJSON_GetObjectItemCaseSensitive(m, "permissions"),
                                   "permissions", &login->permission_count);
    const cJSON *roles = cJSON_GetObjectItemCaseSensitive(m, "roles"), *db = NULL;
    cJSON_ArrayForEach(db, roles)
    {
        login->rights = sim_realloc(login->rights,
                                    (size_t)(login->right_count + 1) * sizeof(*login->rights));
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

static void load_files(struct loader *l, struct sim_db *db, const cJSON *files)
{
    const cJSON *f = NULL;
    cJSON_ArrayForEach(f, files)
    {
        check_members(l, f, file_members, "files");
        const char *type = get_text(l, f, "type", "ROWS");
        double mib = number_of(l, f, "mib", 8);
        char *path = file_path(l->sim, get_text(l, f, "name", "file"), ".ndf");
        sim_db_add_file_locked(db, get_text(l, f, "name", "file"), get_text(l, f, "path", path),
                               strcmp(type, "LOG") == 0, (int64_t)(mib * 128),
                               (int64_t)(number_of(l, f, "used_mib", mib) * 128));
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
    check_members(l, m, db_members, "databases");
    const char *name = get_text(l, m, "name", "");
    if (!*name || sim_utf16_len(name) > 128 || sim_db_find_locked(sim, name)) {
        fail(l, "a new name of 1 to 128 characters is needed", "databases");
        return;
    }
    struct sim_db *db = sim_db_add_locked(sim, name);
    if (db->id < 5) /* the system's come first */
        fail(l, "this name is reserved", name);
    const char *recovery = get_text(l, m, "recovery", "FULL");
    db->recovery = recovery[0];
    if (strcmp(recovery, "FULL") && strcmp(recovery, "SIMPLE") && strcmp(recovery, "BULK_LOGGED"))
        fail(l, "FULL, BULK_LOGGED or SIMPLE is needed", "recovery");
    sim_replace(&db->state, get_text(l, m, "state", "ONLINE"));
    sim_replace(&db->user_access, get_text(l, m, "user_access", "MULTI_USER"));
    sim_replace(&db->collation, get_text(l, m, "collation", sim->collation));
    sim_replace(&db->replica_role, get_text(l, m, "replica_role", NULL));
    db->read_only = get_bool(l, m, "read_only", false);
    db->encrypted = get_bool(l, m, "encrypted", false);
    db->standby = get_bool(l, m, "standby", false);
    db->ratio = number_of(l, m, "ratio", 4);
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(m, "files");
    if (files)
        load_files(l, db, files);
    else
        plain_files(sim, db, number_of(l, m, "mib", 64));
    if (!sim_db_pages(db, 0) || db->ratio <= 0)
        fail(l, "a data file with pages and a ratio above 0 are needed", name);
    db->changed_pages = (int64_t)(number_of(l, m, "changed_mib", 4) * 128);
    db->log_pages = (int64_t)(number_of(l, m, "log_mib", 1) * 128);
    if (get_bool(l, m, "full", true))
        start_chain(sim, db, get_bool(l, m, "log_chain", true));
}

static void load_databases(struct loader *l)
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
    cJSON_ArrayForEach(m, member(l, "databases")) load_database(l, m);
}

static void load_storage(struct loader *l)
{
    struct sim *sim = l->sim;
    const cJSON *m = NULL;
    const double mib = 1048576;

    cJSON_ArrayForEach(m, member(l, "volumes"))
    {
        check_members(l, m, volume_members, "volumes");
        sim->volumes =
            sim_realloc(sim->volumes, (size_t)(sim->volume_count + 1) * sizeof(*sim->volumes));
        sim->volumes[sim->volume_count++] = (struct sim_volume){
            .mount = sim_dup(get_text(l, m, "mount", "/")),
            .name = sim_dup(get_text(l, m, "name", "")),
            .total_bytes = (int64_t)(number_of(l, m, "total_mib", 65536) * mib),
            .used_bytes = (int64_t)(number_of(l, m, "used_mib", 0) * mib),
            .read_mib_s = number_of(l, m, "read_mib_s", 3000),
            .write_mib_s = number_of(l, m, "write_mib_s", 1000),
            .sector_bytes = (int)number_of(l, m, "sector_bytes", 512)};
    }
    cJSON_ArrayForEach(m, member(l, "folders"))
    {
        bool plain = cJSON_IsString(m);
        if (!plain)
            check_members(l, m, folder_members, "folders");
        sim->folders =
            sim_realloc(sim->folders, (size_t)(sim->folder_count + 1) * sizeof(*sim->folders));
        sim->folders[sim->folder_count++] = (struct sim_folder){
            .path = sim_dup(plain ? m->valuestring : get_text(l, m, "path", "/")),
            .denied = !plain && get_bool(l, m, "denied", false)};
    }
    cJSON_ArrayForEach(m, member(l, "files"))
    {
        check_members(l, m, vfile_members, "files");
        struct sim_vfile *f = sim_vfile_add_locked(sim, get_text(l, m, "path", "/x"));
        const char *kind = get_text(l, m, "kind", "backup");
        f->size_bytes = (int64_t)(number_of(l, m, "mib", 1) * mib);
        f->kind = !strcmp(kind, "backup") ? SIM_FILE_BACKUP
                  : !strcmp(kind, "aborted") ? SIM_FILE_ABORTED : SIM_FILE_FOREIGN;
        f->sets = f->stripes = 1;
    }
}

static void load_settings(struct loader *l)
{
    static const char *const names[] = {"backup compression default", "backup checksum default",
                                        "backup compression algorithm", NULL};
    struct sim *sim = l->sim;
    int *slots[] = {&sim->config_compression, &sim->config_checksum, &sim->config_algorithm};
    const cJSON *given = member(l, "configurations"), *m = NULL;

    check_members(l, given, names, "configurations");
    for (size_t i = 0; i < 3; i++)
        *slots[i] = (int)number_of(l, given, names[i], 0);
    cJSON_ArrayForEach(m, member(l, "trace_flags"))
    {
        if (sim->startup_flag_count < 32)
            sim->startup_flags[sim->startup_flag_count++] = (int)number(l, m, "trace_flags", 0);
    }
    cJSON_ArrayForEach(m, member(l, "logins")) load_login(l, m);
    cJSON_ArrayForEach(m, member(l, "faults"))
    {
        char *text = cJSON_PrintUnformatted(m);
        if (!l->failed && sim_fault_apply(sim, text, l->error, l->error_size))
            l->failed = true;
        free(text);
    }
}

static cJSON *parse_lenient(const char *json)
{
    cJSON *tree = cJSON_Parse(json);
    if (tree || strchr(json, '"'))
        return tree;
    char *copy = sim_dup(json); /* single quotes stand for double ones */
    for (char *p = copy; *p; p++)
        if (*p == '\'')
            *p = '"';
    tree = cJSON_Parse(copy);
    free(copy);
    return tree;
}

static void load_all(struct loader *l)
{
    if (l->user)
        check_members(l, l->user, members, "members");
    load_version(l);
    load_texts(l);
    load_numbers(l);
    load_surface(l);
    if (l->failed)
        return;
    l->sim->random = l->sim->seed;
    l->sim->noise_random = l->sim->seed * 7919 + 17;
    load_storage(l);
    load_databases(l);
    load_settings(l);
    sim_restart_locked(l->sim);
    l->sim->start_us -= INT64_C(9) * 3600 * 1000000; /* it has been up for a while */
}

int sim_scenario_load(struct sim *sim, const char *json, char *error, size_t error_size)
{
    cJSON *user = json ? parse_lenient(json) : NULL;
    struct loader l = {.sim = sim, .user = user, .error = error, .error_size = error_size};

    if (json && !cJSON_IsObject(user)) {
        cJSON_Delete(user);
        (void)snprintf(error, error_size, "The scenario is not a JSON object.");
        return -1;
    }
    const cJSON *platform = user ? cJSON_GetObjectItemCaseSensitive(user, "platform") : NULL;
    const char *name = text_of(&l, platform, "platform", "Linux");
    if (strcmp(name, "Linux") && strcmp(name, "Windows"))
        fail(&l, "Linux or Windows is needed", "platform");
    sim->windows = strcmp(name, "Windows") == 0;
    cJSON *defaults = parse_lenient(sim->windows ? default_windows : default_linux);
    cJSON *common = parse_lenient(default_common);
    l.platform = defaults;
    l.common = common;
    load_all(&l);
    cJSON_Delete(defaults);
    cJSON_Delete(common);
    cJSON_Delete(user);
    return l.failed ? -1 : 0;
}
