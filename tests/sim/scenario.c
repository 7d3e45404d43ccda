/* scenario.c: from a scenario's JSON to a filled world. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

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
    "'configurations':{},'trace_flags':[],'surface':{},'faults':[],'files':[],'timeline':[],'"
    "default_trace':{}}";

static const char *const members[] = {"version",
                                      "edition",
                                      "platform",
                                      "language",
                                      "utc_offset_minutes",
                                      "server_name",
                                      "collation",
                                      "cpu_count",
                                      "memory_mib",
                                      "backup_memory_mib",
                                      "free_memory_mib",
                                      "server_memory_mib",
                                      "lock_pages",
                                      "time_scale",
                                      "seed",
                                      "noise",
                                      "drift",
                                      "outlier_rate",
                                      "outlier_factor",
                                      "encryption",
                                      "certificate_file",
                                      "key_file",
                                      "logins",
                                      "databases",
                                      "availability_groups",
                                      "hadr_enabled",
                                      "volumes",
                                      "folders",
                                      "files",
                                      "data_dir",
                                      "backup_dir",
                                      "surface",
                                      "configurations",
                                      "trace_flags",
                                      "faults",
                                      "timeline",
                                      "default_trace",
                                      "performance_counters",
                                      NULL};

void sim_load_fail(struct loader *l, const char *what, const char *where)
{
    if (!l->failed)
        (void)snprintf(l->error, l->error_size, "The scenario's %s: %s.", where, what);
    l->failed = true;
}

void sim_load_check(struct loader *l, const cJSON *object, const char *const *names,
                    const char *where)
{
    const cJSON *m = NULL;
    if (!cJSON_IsObject(object)) {
        sim_load_fail(l, "an object is needed", where);
        return;
    }
    cJSON_ArrayForEach(m, object) {
        const char *const *n = names;
        while (*n && strcmp(*n, m->string))
            n++;
        if (!*n)
            sim_load_fail(l, "this member is not known", m->string);
    }
}

const cJSON *sim_load_member(const struct loader *l, const char *name)
{
    const cJSON *m = l->user ? cJSON_GetObjectItemCaseSensitive(l->user, name) : NULL;
    if (!m)
        m = cJSON_GetObjectItemCaseSensitive(l->platform, name);
    if (!m)
        m = cJSON_GetObjectItemCaseSensitive(l->common, name);
    return m;
}

double sim_load_number(struct loader *l, const cJSON *m, const char *name, double fallback)
{
    if (!m)
        return fallback;
    if (!cJSON_IsNumber(m) || !(fabs(m->valuedouble) < 1e15)) {
        sim_load_fail(l, "a number is needed", name);
        return fallback;
    }
    return m->valuedouble;
}

double sim_load_number_of(struct loader *l, const cJSON *object, const char *name, double fallback)
{
    return sim_load_number(l, cJSON_GetObjectItemCaseSensitive(object, name), name, fallback);
}

const char *sim_load_text_of(struct loader *l, const cJSON *m, const char *name,
                             const char *fallback)
{
    if (!m)
        return fallback;
    if (!cJSON_IsString(m)) {
        sim_load_fail(l, "a text is needed", name);
        return fallback;
    }
    return m->valuestring;
}

const char *sim_load_text(struct loader *l, const cJSON *object, const char *name,
                          const char *fallback)
{
    return sim_load_text_of(l, cJSON_GetObjectItemCaseSensitive(object, name), name, fallback);
}

bool sim_load_bool(struct loader *l, const cJSON *object, const char *name, bool fallback)
{
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(object, name);
    if (m && !cJSON_IsBool(m))
        sim_load_fail(l, "true or false is needed", name);
    return m ? cJSON_IsTrue(m) : fallback;
}

bool sim_load_flag(struct loader *l, const char *name, bool fallback)
{
    const cJSON *m = sim_load_member(l, name);
    if (m && !cJSON_IsBool(m))
        sim_load_fail(l, "true or false is needed", name);
    return m ? cJSON_IsTrue(m) : fallback;
}

static void load_texts(struct loader *l)
{
    struct sim *sim = l->sim;
    struct {
        const char *name;
        char **slot;
    } texts[] = {{"server_name", &sim->server_name}, {"collation", &sim->collation},
                 {"language", &sim->language},       {"certificate_file", &sim->certificate_file},
                 {"key_file", &sim->key_file},       {"backup_dir", &sim->backup_dir},
                 {"data_dir", &sim->data_dir}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        *texts[i].slot =
            sim_dup(sim_load_text_of(l, sim_load_member(l, texts[i].name), texts[i].name, NULL));
    sim->host_name = sim_dup(sim->server_name);
    char *slash = strchr(sim->host_name, '\\');
    if (slash)
        *slash = 0;
}

static void load_numbers(struct loader *l)
{
    struct sim *sim = l->sim;

    sim->utc_offset_min =
        (int)sim_load_number(l, sim_load_member(l, "utc_offset_minutes"), "utc_offset_minutes", 0);
    sim->cpu_count = (int)sim_load_number(l, sim_load_member(l, "cpu_count"), "cpu_count", 8);
    sim->memory_mib =
        (int64_t)sim_load_number(l, sim_load_member(l, "memory_mib"), "memory_mib", 16384);
    sim->backup_memory_mib = (int64_t)sim_load_number(l, sim_load_member(l, "backup_memory_mib"),
                                                      "backup_memory_mib", 4096);
    sim->free_memory_mib = (int64_t)sim_load_number(l, sim_load_member(l, "free_memory_mib"),
                                                    "free_memory_mib", (double)sim->memory_mib / 2);
    sim->server_memory_mib =
        (int64_t)sim_load_number(l, sim_load_member(l, "server_memory_mib"), "server_memory_mib",
                                 (double)sim->memory_mib / 4);
    sim->memory_model = sim_load_flag(l, "lock_pages", false) ? 2 : 1;
    if (sim->free_memory_mib < 0 || sim->server_memory_mib < 1 ||
        sim->free_memory_mib + sim->server_memory_mib > sim->memory_mib)
        sim_load_fail(l, "what is free and what the server has is more than there is",
                      "free_memory_mib or server_memory_mib");
    sim->time_scale = sim_load_number(l, sim_load_member(l, "time_scale"), "time_scale", 1);
    sim->seed = (uint64_t)sim_load_number(l, sim_load_member(l, "seed"), "seed", 1);
    sim->noise = sim_load_number(l, sim_load_member(l, "noise"), "noise", 0.01);
    sim->drift = sim_load_number(l, sim_load_member(l, "drift"), "drift", 0);
    sim->outlier_rate = sim_load_number(l, sim_load_member(l, "outlier_rate"), "outlier_rate", 0);
    sim->outlier_factor =
        sim_load_number(l, sim_load_member(l, "outlier_factor"), "outlier_factor", 3);
    if (sim->cpu_count < 1 || sim->time_scale < 0 || sim->memory_mib < 1)
        sim_load_fail(l, "out of range", "cpu_count, memory_mib or time_scale");
    sim->performance_counters = sim_load_flag(l, "performance_counters", true);
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
    const char *v = sim_load_text_of(l, sim_load_member(l, "version"), "version", "16.0.4100.1");
    int *parts[] = {&sim->major, &sim->minor, &sim->build, &sim->revision};
    for (size_t i = 0; i < 4; i++) {
        char *end = NULL;
        *parts[i] = (int)strtol(v, &end, 10);
        v = *end == '.' ? end + 1 : end;
    }
    if (sim->major < 9 || sim->major > 17 || *v)
        sim_load_fail(l, "9.0 to 17.0 as \"16.0.4100.1\" is needed", "version");
    const char *edition =
        sim_load_text_of(l, sim_load_member(l, "edition"), "edition", "Developer");
    for (size_t i = 0; i < sizeof(editions) / sizeof(*editions); i++)
        if (!strcmp(editions[i].name, edition)) {
            sim->edition = sim_dup(editions[i].text);
            sim->engine_edition = editions[i].engine;
        }
    if (!sim->edition)
        sim_load_fail(l, "this edition is not known", "edition");
    const char *e = sim_load_text_of(l, sim_load_member(l, "encryption"), "encryption", "optional");
    if (strcmp(e, "none") && strcmp(e, "optional") && strcmp(e, "required"))
        sim_load_fail(l, "none, optional or required is needed", "encryption");
    sim->encryption = !strcmp(e, "none")       ? SIM_TLS_NONE
                      : !strcmp(e, "required") ? SIM_TLS_REQUIRED
                                               : SIM_TLS_OPTIONAL;
}

static void load_surface(struct loader *l)
{
    struct sim_surface *s = &l->sim->surface;
    struct {
        const char *name;
        double *slot;
        double fallback;
    } rows[] = {{"read_mib_s", &s->read_mib_s, 1500},
                {"floor", &s->floor, 0.4215},
                {"knee", &s->knee, 24.7},
                {"start", &s->start, 7},
                {"transfer_penalty", &s->transfer_penalty, 0.04},
                {"block_gain", &s->block_gain, 0.01},
                {"stripe_gain", &s->stripe_gain, 0.25},
                {"compress_mib_s", &s->compress_mib_s, 260},
                {"checksum_cost", &s->checksum_cost, 0.02},
                {"cpu_ms_per_mib", &s->cpu_ms_per_mib, 0.12},
                {"row_us", &s->row_us, 1.8},
                {"buffer_cpu", &s->buffer_cpu, 0.08}};
    const size_t n = sizeof(rows) / sizeof(*rows);
    const cJSON *given = sim_load_member(l, "surface");
    const char *names[sizeof(rows) / sizeof(*rows) + 1] = {NULL};

    for (size_t i = 0; i < n; i++) {
        names[i] = rows[i].name;
        *rows[i].slot = sim_load_number_of(l, given, rows[i].name, rows[i].fallback);
    }
    sim_load_check(l, given, names, "surface");
    if (s->read_mib_s <= 0 || s->knee <= 0 || s->compress_mib_s <= 0 || s->floor <= 0)
        sim_load_fail(l, "rates, floor and knee are above 0", "surface");
}

static void load_settings(struct loader *l)
{
    static const char *const names[] = {"backup compression default", "backup checksum default",
                                        "backup compression algorithm", "default trace enabled",
                                        NULL};
    struct sim *sim = l->sim;
    int *slots[] = {&sim->config_compression, &sim->config_checksum, &sim->config_algorithm,
                    &sim->config_trace};
    const cJSON *given = sim_load_member(l, "configurations"), *m = NULL;

    sim_load_check(l, given, names, "configurations");
    for (size_t i = 0; i < 4; i++)
        *slots[i] = (int)sim_load_number_of(l, given, names[i], i == 3);
    cJSON_ArrayForEach(m, sim_load_member(l, "trace_flags")) {
        if (sim->startup_flag_count < 32)
            sim->startup_flags[sim->startup_flag_count++] =
                (int)sim_load_number(l, m, "trace_flags", 0);
    }
    cJSON_ArrayForEach(m, sim_load_member(l, "logins"))
        sim_load_login(l, m);
    cJSON_ArrayForEach(m, sim_load_member(l, "faults")) {
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
        sim_load_check(l, l->user, members, "members");
    load_version(l);
    load_texts(l);
    load_numbers(l);
    load_surface(l);
    if (l->failed)
        return;
    l->sim->random = l->sim->seed;
    l->sim->noise_random = l->sim->seed * 7919 + 17;
    sim_load_storage(l);
    sim_load_groups(l);
    sim_load_databases(l);
    load_settings(l);
    sim_restart_locked(l->sim);
    sim_load_trace(l);
    sim_load_timeline(l);
    l->sim->start_us -= INT64_C(9) * 3600 * 1000000; /* it has been up for a while */
    l->sim->trace_start_us = l->sim->start_us;
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
    const char *name = sim_load_text_of(&l, platform, "platform", "Linux");
    if (strcmp(name, "Linux") && strcmp(name, "Windows"))
        sim_load_fail(&l, "Linux or Windows is needed", "platform");
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
