/* functions_server.c: functions about the server, and the @@ variables. */
#include <stdio.h>
#include <string.h>

#include "functions.h"

#define FUNCTION(name)                                                                             \
    static bool name(struct eval *ev, const struct expr *e, struct value *args, int n,             \
                     struct value *out)
#define UNUSED ((void)ev, (void)e, (void)n, (void)args)

static const char *product_level(const struct sim *sim)
{
    return sim->major == 13 && sim->build >= 4000 ? "SP1" : sim->major == 11 ? "SP4" : "RTM";
}

static struct value text_or_null(struct eval *ev, const char *text)
{
    return sim_text_n(text ? sim_arena_dup(ev->arena, text) : NULL, 128);
}

FUNCTION(fn_serverproperty)
{
    struct sim *sim = ev->session->sim;
    const char *p = args[0].s ? args[0].s : "";
    const char *build = sim_arena_printf(ev->arena, "%d.%d.%d.%d", sim->major, sim->minor,
                                         sim->build, sim->revision);
    const char *slash = strchr(sim->server_name, '\\');
    int64_t edition_id = sim->engine_edition == 3
                             ? (sim_text_begins(sim->edition, "Dev") ? -2117995310 : 1804890536)
                         : sim->engine_edition == 4             ? -1592396055
                         : sim_text_begins(sim->edition, "Web") ? 1293598313
                                                                : -1534726760;
    const struct {
        const char *name, *text;
        int64_t number;
        int since;
    } rows[] = {
        {"ProductVersion", build, 0, 0},
        {"ProductLevel", product_level(sim), 0, 0},
        {"ProductMajorVersion", sim_num(ev->session, sim->major), 0, 11},
        {"ProductMinorVersion", sim_num(ev->session, sim->minor), 0, 11},
        {"ProductBuild", sim_num(ev->session, sim->build), 0, 11},
        {"ProductUpdateLevel", NULL, 0, 11},
        {"Edition",
         sim_arena_printf(ev->arena, "%s%s", sim->edition,
                          sim->engine_edition == 5 || sim->engine_edition == 8 ? "" : " (64-bit)"),
         0, 0},
        {"EngineEdition", NULL, sim->engine_edition, 0},
        {"EditionID", NULL, edition_id, 0},
        {"ServerName", sim->server_name, 0, 0},
        {"MachineName", sim->host_name, 0, 0},
        {"ComputerNamePhysicalNetBIOS", sim->host_name, 0, 0},
        {"InstanceName", slash ? slash + 1 : NULL, 0, 0},
        {"Collation", sim->collation, 0, 0},
        {"IsClustered", NULL, 0, 0},
        {"IsHadrEnabled", NULL, sim->hadr_enabled, 11},
        {"IsSingleUser", NULL, 0, 0},
        {"IsIntegratedSecurityOnly", NULL, 0, 0},
        {"IsFullTextInstalled", NULL, 0, 0},
        {"ProcessID", NULL, 4242, 0},
        {"LCID", NULL, 1033, 0},
        {"FilestreamEffectiveLevel", NULL, sim->filestream ? 2 : 0, 10},
        {"InstanceDefaultDataPath",
         sim_arena_printf(ev->arena, "%s%c", sim->data_dir, sim->windows ? '\\' : '/'), 0, 11},
        {"InstanceDefaultLogPath",
         sim_arena_printf(ev->arena, "%s%c", sim->data_dir, sim->windows ? '\\' : '/'), 0, 11},
        {"InstanceDefaultBackupPath", sim->backup_dir, 0, 15},
        {"BuildClrVersion", "v4.0.30319", 0, 0}};
    UNUSED;
    *out = sim_null(sim_type(VT_VARIANT, 0));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (sim_text_is(rows[i].name, p) && sim->major >= rows[i].since) {
            bool nothing = sim_text_is(p, "InstanceName") || sim_text_is(p, "ProductUpdateLevel");
            *out = rows[i].text || nothing       ? text_or_null(ev, rows[i].text)
                   : sim_text_is(p, "EditionID") ? sim_bigint(rows[i].number)
                                                 : sim_int(rows[i].number);
        }
    return true;
}

FUNCTION(fn_connectionproperty)
{
    struct session *s = ev->session;
    const char *p = args[0].s ? args[0].s : "";
    UNUSED;
    *out = sim_null(sim_type(VT_VARIANT, 0));
    if (sim_text_is(p, "net_transport") || sim_text_is(p, "physical_net_transport"))
        *out = text_or_null(ev, "TCP");
    else if (sim_text_is(p, "protocol_type"))
        *out = text_or_null(ev, "TSQL");
    else if (sim_text_is(p, "auth_scheme"))
        *out = text_or_null(ev, "SQL");
    else if (sim_text_is(p, "local_net_address") || sim_text_is(p, "client_net_address"))
        *out = text_or_null(ev, "127.0.0.1");
    else if (sim_text_is(p, "local_tcp_port"))
        *out = sim_int(s->sim->port);
    if (out->type.base == VT_NVARCHAR)
        out->type = sim_type(VT_VARCHAR, 48);
    return true;
}

FUNCTION(fn_db)
{
    struct session *s = ev->session;
    UNUSED;
    if (n && args[0].is_null)
        return true;
    pthread_mutex_lock(&s->sim->lock);
    const struct sim_db *db = sim_db_find_locked(s->sim, s->database);
    if (n && sim_text_is(e->text, "DB_ID"))
        db = args[0].s ? sim_db_find_locked(s->sim, args[0].s) : NULL;
    else if (n)
        db = sim_db_by_id_locked(s->sim, (int)args[0].i);
    if (db && sim_text_is(e->text, "DB_ID"))
        *out = sim_number(e->type.base, db->id);
    else if (db)
        tsql_set_text(ev, out, sim_arena_dup(ev->arena, db->name));
    pthread_mutex_unlock(&s->sim->lock);
    return true;
}

/* A secondary takes no writes though is_read_only of sys.databases is 0 there. */
static bool is_read_only_locked(const struct sim *sim, const struct sim_db *db)
{
    const struct sim_group *g = sim_group_of_locked(sim, db);
    return db->read_only || db->source_id || (g && g->role != SIM_PRIMARY);
}

FUNCTION(fn_databasepropertyex)
{
    struct session *s = ev->session;
    const char *p = args[1].s ? args[1].s : "";
    UNUSED;
    *out = sim_null(sim_type(VT_VARIANT, 0));
    pthread_mutex_lock(&s->sim->lock);
    const struct sim_db *db = args[0].s ? sim_db_find_locked(s->sim, args[0].s) : NULL;
    if (db && sim_text_is(p, "Status"))
        *out = text_or_null(ev, db->state);
    else if (db && sim_text_is(p, "Recovery"))
        *out = text_or_null(ev, db->recovery == 'F'   ? "FULL"
                                : db->recovery == 'B' ? "BULK_LOGGED"
                                                      : "SIMPLE");
    else if (db && sim_text_is(p, "UserAccess"))
        *out = text_or_null(ev, db->user_access);
    else if (db && sim_text_is(p, "Updateability"))
        *out = text_or_null(ev, is_read_only_locked(s->sim, db) ? "READ_ONLY" : "READ_WRITE");
    else if (db && sim_text_is(p, "Collation"))
        *out = text_or_null(ev, db->collation);
    else if (db && sim_text_is(p, "IsInStandBy"))
        *out = sim_int(db->standby);
    pthread_mutex_unlock(&s->sim->lock);
    return true;
}

FUNCTION(fn_who)
{
    struct session *s = ev->session;
    const char *text = s->login;
    UNUSED;
    if (sim_text_is(e->text, "HOST_NAME"))
        text = s->host;
    else if (sim_text_is(e->text, "APP_NAME") || sim_text_is(e->text, "PROGRAM_NAME"))
        text = s->program;
    else if (sim_text_is(e->text, "USER_NAME") || sim_text_begins(e->text, "CURRENT_USER") ||
             sim_text_is(e->text, "SESSION_USER") || sim_text_is(e->text, "USER"))
        text = s->sysadmin ? "dbo" : s->login;
    tsql_set_text(ev, out, sim_arena_dup(ev->arena, text));
    return true;
}

FUNCTION(fn_role)
{
    struct session *s = ev->session;
    bool server = sim_text_is(e->text, "IS_SRVROLEMEMBER");
    const char *role = args[0].s ? args[0].s : "";
    static const char *const server_roles[] = {"sysadmin",     "serveradmin",   "dbcreator",
                                               "diskadmin",    "securityadmin", "setupadmin",
                                               "processadmin", "bulkadmin",     "public"};
    static const char *const db_roles[] = {"db_owner",          "db_backupoperator",
                                           "db_datareader",     "db_datawriter",
                                           "db_ddladmin",       "db_accessadmin",
                                           "db_securityadmin",  "db_denydatareader",
                                           "db_denydatawriter", "public"};
    bool known = false;
    UNUSED;
    for (size_t i = 0; i < 9; i++)
        known = known || (server && sim_text_is(server_roles[i], role));
    for (size_t i = 0; i < 10; i++)
        known = known || (!server && sim_text_is(db_roles[i], role));
    if (!known)
        return true; /* null */
    if (server)
        *out = sim_int(sim_text_is(role, "public") || (s->sysadmin && !sim_refused(s, role)));
    else
        *out = sim_int(sim_in_role(s, s->database, role));
    return true;
}

FUNCTION(fn_has_perms)
{
    struct session *s = ev->session;
    const char *object = args[0].is_null ? NULL : args[0].s, *right = args[2].s ? args[2].s : "";
    const char *class = args[1].is_null || !args[1].s ? "" : args[1].s;
    UNUSED;
    if (args[2].is_null)
        return true;
    bool may = false;
    if (sim_text_is(class, "DATABASE")) {
        const char *db = object ? object : s->database;
        bool log = sim_text_is(right, "BACKUP LOG");
        if (log || sim_text_is(right, "BACKUP DATABASE"))
            may = sim_may_backup(s, db, log);
        else if (sim_text_is(right, "CREATE DATABASE"))
            may = sim_may_server(s, "CREATE ANY DATABASE") || sim_may_server(s, "CREATE DATABASE");
        else
            may = sim_in_role(s, db, "db_owner") ||
                  (sim_text_is(right, "CONNECT") && sim_may_enter(s, db));
    } else if (sim_text_is(class, "OBJECT")) {
        const char *name = object ? object : "";
        const char *dot = strrchr(name, '.');
        const char *bare = dot ? dot + 1 : name;
        may = sim_text_is(right, "EXECUTE") ? sim_may_execute(s, bare)
              : sim_text_begins(name, "msdb.") || sim_text_is(s->database, "msdb")
                  ? sim_may_select_msdb(s)
                  : s->sysadmin;
    } else {
        if (sim_text_is(right, "VIEW SERVER PERFORMANCE STATE") && s->sim->major < 16)
            return true; /* there is no such right: NULL */
        may = sim_may_server(s, right);
    }
    *out = sim_int(may);
    return true;
}

static bool object_known(struct eval *ev, const char *text)
{
    struct parser p = {.arena = ev->arena, .batch = text};
    struct from f = {.kind = F_TABLE};
    struct rowset *rows = NULL;
    if (!tsql_lex(&p))
        return false;
    f.name = tsql_name(&p);
    if (p.error)
        return false;
    int depth = ev->session->try_depth++; /* a missing object is no error here */
    bool caught = ev->session->caught;
    int error = ev->session->error;
    bool good = tsql_table(ev, &f, true, NULL, &rows);
    ev->session->try_depth = depth;
    ev->session->caught = caught;
    ev->session->error = error;
    return good;
}

static bool procedure_known(const struct sim *sim, const char *text)
{
    static const struct {
        const char *name;
        int since;
    } procedures[] = {{"xp_delete_file", 0},      {"xp_delete_files", 15}, {"xp_fileexist", 0},
                      {"xp_fixeddrives", 0},      {"xp_dirtree", 0},       {"sp_executesql", 0},
                      {"xp_instance_regread", 0}, {"xp_cmdshell", 0}};
    const char *dot = strrchr(text, '.');
    for (size_t i = 0; i < sizeof(procedures) / sizeof(*procedures); i++)
        if (sim_text_is(procedures[i].name, dot ? dot + 1 : text) &&
            sim->major >= procedures[i].since)
            return true;
    return false;
}

FUNCTION(fn_object_id)
{
    UNUSED;
    if (args[0].is_null || !args[0].s)
        return true;
    uint32_t hash = 2166136261U;
    for (const char *p = args[0].s; *p; p++)
        hash = (hash ^ sim_fold((unsigned char)*p)) * 16777619U;
    if (procedure_known(ev->session->sim, args[0].s) || object_known(ev, args[0].s))
        *out = sim_int((int64_t)(hash & 0x7FFFFFFF) | 1);
    return true;
}

FUNCTION(fn_col_length)
{
    struct parser p = {.arena = ev->arena, .batch = args[0].s ? args[0].s : ""};
    struct rowset *rows = NULL;
    struct from f = {.kind = F_TABLE};
    UNUSED;
    if (args[0].is_null || args[1].is_null || !object_known(ev, p.batch) || !tsql_lex(&p))
        return true;
    f.name = tsql_name(&p);
    if (!tsql_table(ev, &f, true, NULL, &rows))
        return false;
    for (int i = 0; i < rows->column_count; i++)
        if (sim_text_is(rows->columns[i].name, args[1].s))
            *out = sim_number(e->type.base, sim_type_max_bytes(&rows->columns[i].type));
    return true;
}

FUNCTION(fn_fileproperty)
{
    struct session *s = ev->session;
    const char *name = args[0].s ? args[0].s : "", *p = args[1].s ? args[1].s : "";
    UNUSED;
    pthread_mutex_lock(&s->sim->lock);
    const struct sim_db *db = sim_db_find_locked(s->sim, s->database);
    for (int i = 0; db && i < db->file_count; i++) {
        const struct sim_dbfile *file = &db->files[i];
        if (!sim_text_is(file->name, name))
            continue;
        if (sim_text_is(p, "SpaceUsed"))
            *out = sim_int(file->used_pages);
        else if (sim_text_is(p, "IsLogFile"))
            *out = sim_int(file->type == SIM_LOG);
        else if (sim_text_is(p, "IsReadOnly"))
            *out = sim_int(db->read_only);
    }
    pthread_mutex_unlock(&s->sim->lock);
    return true;
}

FUNCTION(fn_has_dbaccess)
{
    struct session *s = ev->session;
    UNUSED;
    if (args[0].is_null || !args[0].s)
        return true;
    pthread_mutex_lock(&s->sim->lock);
    const struct sim_db *db = sim_db_find_locked(s->sim, args[0].s);
    bool online = db && !strcmp(db->state, "ONLINE") && !sim_database_error_locked(s, db) &&
                  !sim_single_user_error_locked(s, db);
    bool known = db != NULL;
    pthread_mutex_unlock(&s->sim->lock);
    if (known)
        *out = sim_int(online && sim_may_enter(s, args[0].s));
    return true;
}

FUNCTION(fn_schema_name)
{
    UNUSED;
    tsql_set_text(ev, out, "dbo");
    return true;
}

FUNCTION(fn_error)
{
    struct session *s = ev->session;
    UNUSED;
    if (!s->caught_number)
        return true;
    if (sim_text_is(e->text, "ERROR_MESSAGE"))
        tsql_set_text(ev, out, s->caught_text);
    else if (sim_text_is(e->text, "ERROR_NUMBER"))
        *out = sim_int(s->caught_number);
    else if (sim_text_is(e->text, "ERROR_SEVERITY"))
        *out = sim_int(s->caught_severity);
    else if (sim_text_is(e->text, "ERROR_STATE"))
        *out = sim_int(s->caught_state);
    else if (sim_text_is(e->text, "ERROR_LINE"))
        *out = sim_int(s->caught_line);
    return true;
}

FUNCTION(fn_identity)
{
    UNUSED;
    if (ev->session->identity)
        *out = sim_decimal(ev->session->identity, 38, 0);
    return true;
}

FUNCTION(fn_xact_state)
{
    UNUSED;
    *out = sim_int(ev->session->transactions > 0);
    return true;
}

/* clang-format off */
const struct function tsql_server_functions[] = {
    {"SERVERPROPERTY", 1, 1, R_VARIANT, fn_serverproperty, 0},
    {"CONNECTIONPROPERTY", 1, 1, R_VARIANT, fn_connectionproperty, 0},
    {"DATABASEPROPERTYEX", 2, 2, R_VARIANT, fn_databasepropertyex, 0},
    {"DB_ID", 0, 1, R_INT, fn_db, 0},               {"DB_NAME", 0, 1, R_NAME, fn_db, 0},
    {"ORIGINAL_DB_NAME", 0, 0, R_NAME, fn_db, 0},   {"HOST_NAME", 0, 0, R_NAME, fn_who, 0},
    {"APP_NAME", 0, 0, R_NAME, fn_who, 0},          {"PROGRAM_NAME", 0, 0, R_NAME, fn_who, 0},
    {"SUSER_SNAME", 0, 1, R_NAME, fn_who, 0},       {"SUSER_NAME", 0, 1, R_NAME, fn_who, 0},
    {"ORIGINAL_LOGIN", 0, 0, R_NAME, fn_who, 0},    {"SYSTEM_USER", 0, 0, R_NAME, fn_who, 0},
    {"USER_NAME", 0, 1, R_NAME, fn_who, 0},         {"CURRENT_USER", 0, 0, R_NAME, fn_who, 0},
    {"SESSION_USER", 0, 0, R_NAME, fn_who, 0},      {"USER", 0, 0, R_NAME, fn_who, 0},
    {"IS_SRVROLEMEMBER", 1, 2, R_INT, fn_role, 0},  {"IS_MEMBER", 1, 1, R_INT, fn_role, 0},
    {"IS_ROLEMEMBER", 1, 2, R_INT, fn_role, 11},    {"HAS_PERMS_BY_NAME", 3, 5, R_INT, fn_has_perms, 0},
    {"OBJECT_ID", 1, 2, R_INT, fn_object_id, 0},    {"COL_LENGTH", 2, 2, R_INT, fn_col_length, 0},
    {"FILEPROPERTY", 2, 2, R_INT, fn_fileproperty, 0}, {"HAS_DBACCESS", 1, 1, R_INT, fn_has_dbaccess, 0},
    {"SCHEMA_NAME", 0, 1, R_NAME, fn_schema_name, 0},
    {"ERROR_MESSAGE", 0, 0, R_TEXT, fn_error, 0},   {"ERROR_NUMBER", 0, 0, R_INT, fn_error, 0},
    {"ERROR_SEVERITY", 0, 0, R_INT, fn_error, 0},   {"ERROR_STATE", 0, 0, R_INT, fn_error, 0},
    {"ERROR_LINE", 0, 0, R_INT, fn_error, 0},       {"ERROR_PROCEDURE", 0, 0, R_NAME, fn_error, 0},
    {"SCOPE_IDENTITY", 0, 0, R_VARIANT, fn_identity, 0}, {"XACT_STATE", 0, 0, R_INT, fn_xact_state, 0},
    {NULL, 0, 0, 0, NULL, 0},
};
/* clang-format on */

bool tsql_sysvar(struct eval *ev, const char *name, struct value *out)
{
    struct session *s = ev->session;
    const char *n = name + 2;
    const struct {
        const char *name;
        int64_t number;
    } ints[] = {{"SPID", s->spid},
                {"ROWCOUNT", s->row_count},
                {"ERROR", s->error},
                {"TRANCOUNT", s->transactions},
                {"MAX_PRECISION", 38},
                {"NESTLEVEL", s->nesting},
                {"OPTIONS", 5496},
                {"LANGID", sim_language_id(s->language)},
                {"LOCK_TIMEOUT", -1},
                {"MAX_CONNECTIONS", 32767},
                {"TEXTSIZE", 2147483647},
                {"DATEFIRST", 7},
                {"PROCID", 0},
                {"FETCH_STATUS", 0},
                {"MICROSOFTVERSION", s->sim->major << 24 | s->sim->minor << 16 | s->sim->build}};
    for (size_t i = 0; i < sizeof(ints) / sizeof(*ints); i++)
        if (sim_text_is(ints[i].name, n)) {
            *out = sim_int(ints[i].number);
            if (sim_text_is(n, "SPID"))
                out->type.base = VT_SMALLINT;
            if (sim_text_is(n, "MAX_PRECISION") || sim_text_is(n, "DATEFIRST"))
                out->type.base = VT_TINYINT;
            return true;
        }
    if (sim_text_is(n, "VERSION"))
        *out = sim_text_n(sim_version_text(s->sim, ev->arena), 300);
    else if (sim_text_is(n, "SERVERNAME"))
        *out = sim_text_n(s->sim->server_name, 128);
    else if (sim_text_is(n, "SERVICENAME"))
        *out = sim_text_n(strchr(s->sim->server_name, '\\') ? strchr(s->sim->server_name, '\\') + 1
                                                            : "MSSQLSERVER",
                          128);
    else if (sim_text_is(n, "LANGUAGE"))
        *out = sim_text_n(sim_language_name(s->language), 128);
    else if (sim_text_is(n, "IDENTITY"))
        *out = s->identity ? sim_decimal(s->identity, 38, 0) : sim_null(sim_type_decimal(38, 0));
    else
        return sim_raise(s, 137, 2, name, NULL);
    return true;
}
