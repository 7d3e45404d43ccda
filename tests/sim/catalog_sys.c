/* catalog_sys.c: sys.databases, files, settings, principals, messages. */
#include <string.h>

#include "catalog.h"

static bool may_see(struct session *s, const struct sim_db *db, bool any)
{
    return any || db->id <= 2 || sim_text_is(db->name, s->database);
}

static const char *recovery_name(char c)
{
    return c == 'F' ? "FULL" : c == 'B' ? "BULK_LOGGED" : "SIMPLE";
}

static int state_number(const char *state)
{
    static const char *const names[] = {"ONLINE",  "RESTORING", "RECOVERING", "RECOVERY_PENDING",
                                        "SUSPECT", "EMERGENCY", "OFFLINE"};
    for (int i = 0; i < 7; i++)
        if (sim_text_is(names[i], state))
            return i;
    return 0;
}

static void put_database(struct filler *f, const struct sim_db *db)
{
    static const char *const access[] = {"MULTI_USER", "SINGLE_USER", "RESTRICTED_USER"};
    int mode = sim_text_is(db->user_access, access[1])   ? 1
               : sim_text_is(db->user_access, access[2]) ? 2
                                                         : 0;
    int model = db->recovery == 'F' ? 1 : db->recovery == 'B' ? 2 : 3;
    bool online = state_number(db->state) == 0;

    tsql_row(f);
    tsql_put_text(f, "name", db->name);
    tsql_put_int(f, "database_id", db->id);
    tsql_put_int(f, "dbid", db->id);
    if (db->source_id)
        tsql_put_int(f, "source_database_id", db->source_id);
    tsql_put(f, "owner_sid", sim_binary("\x01", 1));
    tsql_put(f, "create_date", sim_time(VT_DATETIME, db->created_ticks));
    tsql_put(f, "crdate", sim_time(VT_DATETIME, db->created_ticks));
    tsql_put_int(f, "compatibility_level", f->sim->major * 10);
    if (online)
        tsql_put_text(f, "collation_name", db->collation);
    tsql_put_int(f, "user_access", mode);
    tsql_put_text(f, "user_access_desc", access[mode]);
    tsql_put_int(f, "is_read_only", db->read_only || db->source_id);
    tsql_put_int(f, "is_auto_close_on", 0);
    tsql_put_int(f, "state", state_number(db->state));
    tsql_put_text(f, "state_desc", db->state);
    tsql_put_int(f, "is_in_standby", db->standby);
    tsql_put_int(f, "snapshot_isolation_state", 0);
    tsql_put_int(f, "is_read_committed_snapshot_on", 0);
    tsql_put_int(f, "recovery_model", model);
    tsql_put_text(f, "recovery_model_desc", recovery_name(db->recovery));
    tsql_put_int(f, "page_verify_option", 2);
    tsql_put_text(f, "page_verify_option_desc", "CHECKSUM");
    tsql_put_text(f, "log_reuse_wait_desc", "NOTHING");
    tsql_put_int(f, "log_reuse_wait", 0);
    tsql_put_int(f, "is_encrypted", db->encrypted);
    tsql_put_int(f, "is_distributor", 0);
    tsql_put_int(f, "is_cdc_enabled", 0);
    const struct sim_group *group = sim_group_of_locked(f->sim, db);
    if (group) {
        tsql_put_guid(f, "replica_id", group->local_id);
        tsql_put_guid(f, "group_database_id", db->family_guid);
    }
    tsql_put(f, "service_broker_guid", sim_guid(sim_arena_dupn(f->ev->arena, db->guid, 16)));
}

static bool fill_databases(struct filler *f)
{
    bool any = sim_may_server(f->session, "VIEW ANY DATABASE");
    pthread_mutex_lock(&f->sim->lock);
    for (int id = 1; id < 400; id++) { /* in order of their numbers */
        const struct sim_db *db = sim_db_by_id_locked(f->sim, id);
        if (db && may_see(f->session, db, any))
            put_database(f, db);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static void put_lsn(struct filler *f, const char *column, uint64_t lsn)
{
    if (lsn)
        tsql_put(f, column, sim_decimal((dec_t)lsn, 25, 0));
}

static void put_file(struct filler *f, const struct sim_db *db, const struct sim_dbfile *file,
                     const char *path)
{
    static const char *const types[] = {"ROWS", "LOG", "FILESTREAM"};

    tsql_row(f);
    tsql_put_int(f, "database_id", db->id);
    tsql_put_int(f, "file_id", file->id);
    tsql_put(f, "file_guid", sim_guid(sim_arena_dupn(f->ev->arena, file->guid, 16)));
    tsql_put_int(f, "type", file->type);
    tsql_put_text(f, "type_desc", types[file->type]);
    tsql_put_int(f, "data_space_id", file->data_space);
    tsql_put_text(f, "name", file->name);
    tsql_put_text(f, "physical_name", path);
    tsql_put_int(f, "state", state_number(db->state));
    tsql_put_text(f, "state_desc", db->state);
    tsql_put_int(f, "size", file->pages);
    tsql_put_int(f, "max_size", file->type == SIM_LOG ? 268435456 : -1);
    tsql_put_int(f, "growth", file->type == SIM_FILESTREAM ? 0 : 8192);
    tsql_put_int(f, "is_media_read_only", 0);
    tsql_put_int(f, "is_read_only", db->read_only);
    tsql_put_int(f, "is_sparse", file->sparse);
    tsql_put_int(f, "is_percent_growth", 0);
    tsql_put_int(f, "is_name_reserved", 0);
    put_lsn(f, "create_lsn", 0);
    if (file->type != SIM_LOG && file->diff_base_lsn) {
        put_lsn(f, "differential_base_lsn", file->diff_base_lsn);
        tsql_put(f, "differential_base_guid",
                 sim_guid(sim_arena_dupn(f->ev->arena, file->diff_base_guid, 16)));
        tsql_put(f, "differential_base_time", sim_time(VT_DATETIME, file->diff_base_ticks));
    }
}

static bool fill_master_files(struct filler *f)
{
    if (!sim_may_server(f->session, "VIEW ANY DEFINITION") &&
        !sim_may_server(f->session, "ALTER ANY DATABASE") &&
        !sim_may_server(f->session, "CREATE ANY DATABASE"))
        return true; /* without the right it is empty, not refused */
    pthread_mutex_lock(&f->sim->lock);
    for (int id = 1; id < 400; id++) {
        const struct sim_db *db = sim_db_by_id_locked(f->sim, id);
        for (int i = 0; db && i < db->file_count; i++) {
            put_file(f, db, &db->files[i], db->files[i].path);
            if (db->files[i].type == SIM_FILESTREAM) /* only sys.database_files knows */
                tsql_put_int(f, "size", 0);
        }
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_database_files(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    const struct sim_db *db = sim_db_find_locked(f->sim, f->database);
    const struct sim_db *source =
        db && db->source_id ? sim_db_by_id_locked(f->sim, db->source_id) : db;
    for (int i = 0; db && i < db->file_count; i++) { /* a snapshot shows its source's names */
        const char *path = db->files[i].path;
        for (int k = 0; source && k < source->file_count; k++)
            if (sim_text_is(source->files[k].name, db->files[i].name))
                path = source->files[k].path;
        put_file(f, db, &db->files[i], path);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_recovery_status(struct filler *f)
{
    bool any = sim_may_server(f->session, "VIEW ANY DATABASE");
    pthread_mutex_lock(&f->sim->lock);
    for (int id = 1; id < 400; id++) {
        const struct sim_db *db = sim_db_by_id_locked(f->sim, id);
        if (!db || !may_see(f->session, db, any))
            continue;
        tsql_row(f);
        tsql_put_int(f, "database_id", db->id);
        tsql_put(f, "database_guid", sim_guid(sim_arena_dupn(f->ev->arena, db->guid, 16)));
        tsql_put(f, "family_guid", sim_guid(sim_arena_dupn(f->ev->arena, db->family_guid, 16)));
        tsql_put(f, "recovery_fork_guid",
                 sim_guid(sim_arena_dupn(f->ev->arena, db->family_guid, 16)));
        if (db->recovery != 'S')
            put_lsn(f, "last_log_backup_lsn", db->last_log_lsn);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_configurations(struct filler *f)
{
    const struct sim *sim = f->sim;
    const struct {
        int id;
        const char *name;
        int64_t value, least, most;
        int since, advanced;
    } rows[] = {{101, "recovery interval (min)", 0, 0, 32767, 0, 1},
                {1543, "min server memory (MB)", 0, 0, 2147483647, 0, 1},
                {1544, "max server memory (MB)", sim->memory_mib * 3 / 4, 128, 2147483647, 0, 1},
                {1539, "max degree of parallelism", 0, 0, 32767, 0, 1},
                {518, "show advanced options", 0, 0, 1, 0, 0},
                {1579, "backup compression default", sim->config_compression, 0, 1, 10, 0},
                {1584, "backup checksum default", sim->config_checksum, 0, 1, 12, 0},
                {1595, "backup compression algorithm", sim->config_algorithm, 0,
                 sim->major >= 17 ? 3 : 2, 16, 0},
                {1568, "default trace enabled", sim->config_trace, 0, 1, 0, 1},
                {16390, "xp_cmdshell", 0, 0, 1, 0, 1},
                {1580, "filestream access level", sim->filestream ? 2 : 0, 0, 2, 10, 0},
                {16393, "contained database authentication", 0, 0, 1, 11, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (sim->major < rows[i].since)
            continue;
        tsql_row(f);
        tsql_put_int(f, "configuration_id", rows[i].id);
        tsql_put_text(f, "name", rows[i].name);
        tsql_put(f, "value", sim_int(rows[i].value));
        tsql_put(f, "value_in_use", sim_int(rows[i].value));
        tsql_put(f, "minimum", sim_int(rows[i].least));
        tsql_put(f, "maximum", sim_int(rows[i].most));
        tsql_put_text(f, "description", rows[i].name);
        tsql_put_int(f, "is_dynamic", 1);
        tsql_put_int(f, "is_advanced", rows[i].advanced);
    }
    return true;
}

static bool fill_messages(struct filler *f)
{
    const struct sim_message *m = NULL;
    static const int columns[] = {0, 2, 3, 1}; /* as messages.c orders its languages */
    for (int i = 0; (m = sim_message_at(i)); i++)
        for (int l = 0; sim_language_at(l); l++) {
            const char *text = m->text[columns[l]];
            if (!text)
                continue;
            tsql_row(f);
            tsql_put_int(f, "message_id", m->number);
            tsql_put_int(f, "language_id", sim_language_at(l));
            tsql_put_int(f, "severity", m->severity);
            tsql_put_int(f, "is_event_logged", m->number == 3041);
            tsql_put_text(f, "text", text);
        }
    return true;
}

static bool fill_languages(struct filler *f)
{
    for (int l = 0; sim_language_at(l); l++) {
        int lcid = sim_language_at(l);
        tsql_row(f);
        tsql_put_int(f, "langid", sim_language_id(lcid));
        tsql_put_text(f, "dateformat", lcid == 1033 ? "mdy" : lcid == 1041 ? "ymd" : "dmy");
        tsql_put_int(f, "datefirst", lcid == 1033 || lcid == 1041 ? 7 : 1);
        tsql_put_text(f, "name", sim_language_name(lcid));
        tsql_put_text(f, "alias", sim_language_alias(lcid));
        tsql_put_int(f, "lcid", lcid);
        tsql_put_int(f, "msglangid", lcid);
    }
    return true;
}

static bool fill_principals(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->login_count; i++) {
        const struct sim_login *l = &f->sim->logins[i];
        if (!f->session->sysadmin && !sim_text_is(l->name, f->session->login) &&
            !sim_text_is(l->name, "sa"))
            continue;
        tsql_row(f);
        tsql_put_text(f, "name", l->name);
        tsql_put_int(f, "principal_id", sim_text_is(l->name, "sa") ? 1 : 256 + i);
        tsql_put_text(f, "type", "S");
        tsql_put_text(f, "type_desc", "SQL_LOGIN");
        tsql_put_int(f, "is_disabled", 0);
        tsql_put_text(f, "default_database_name", l->database);
        tsql_put_text(f, "default_language_name", l->language);
        tsql_put(f, "sid", sim_binary(sim_text_is(l->name, "sa") ? "\x01" : "\x02", 1));
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_permissions(struct filler *f)
{
    static const char *const server[] = {"CONNECT SQL",         "VIEW ANY DATABASE",
                                         "VIEW SERVER STATE",   "VIEW SERVER PERFORMANCE STATE",
                                         "ALTER SERVER STATE",  "ALTER TRACE",
                                         "VIEW ANY DEFINITION", "CREATE ANY DATABASE",
                                         "ALTER ANY DATABASE",  "CONTROL SERVER"};
    static const char *const database[] = {"CONNECT",         "BACKUP DATABASE", "BACKUP LOG",
                                           "CREATE DATABASE", "SELECT",          "CONTROL"};
    const char *class = f->arg_count > 1 && f->args[1].s ? f->args[1].s : "";
    struct session *s = f->session;

    for (size_t i = 0; i < 10 && sim_text_is(class, "SERVER"); i++) {
        if (!sim_may_server(s, server[i]) ||
            (f->sim->major < 16 && sim_text_is(server[i], server[3])))
            continue;
        tsql_row(f);
        tsql_put_text(f, "entity_name", "server");
        tsql_put_text(f, "subentity_name", "");
        tsql_put_text(f, "permission_name", server[i]);
    }
    for (size_t i = 0; i < 6 && sim_text_is(class, "DATABASE"); i++) {
        bool may = i == 0 || (i == 1 && sim_may_backup(s, s->database, false)) ||
                   (i == 2 && sim_may_backup(s, s->database, true)) ||
                   (i > 2 && sim_in_role(s, s->database, "db_owner"));
        if (!may)
            continue;
        tsql_row(f);
        tsql_put_text(f, "entity_name", "database");
        tsql_put_text(f, "subentity_name", "");
        tsql_put_text(f, "permission_name", database[i]);
    }
    return true;
}

static bool fill_filegroups(struct filler *f)
{
    static const struct {
        const char *name, *type, *text;
    } spaces[] = {{"PRIMARY", "FG", "ROWS_FILEGROUP"},
                  {"FILESTREAM", "FD", "FILESTREAM_DATA_FILEGROUP"},
                  {"MEMORY_OPTIMIZED", "FX", "MEMORY_OPTIMIZED_DATA_FILEGROUP"}};
    pthread_mutex_lock(&f->sim->lock);
    const struct sim_db *db = sim_db_find_locked(f->sim, f->database);
    for (int space = 1; db && space <= 3; space++) {
        bool there = false;
        for (int i = 0; i < db->file_count; i++)
            there = there || db->files[i].data_space == space;
        if (!there)
            continue;
        tsql_row(f);
        tsql_put_text(f, "name", spaces[space - 1].name);
        tsql_put_int(f, "data_space_id", space);
        tsql_put_text(f, "type", spaces[space - 1].type);
        tsql_put_text(f, "type_desc", spaces[space - 1].text);
        tsql_put_int(f, "is_default", space == 1);
        tsql_put_int(f, "is_read_only", 0);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_nothing(struct filler *f)
{
    (void)f;
    return true;
}

static bool fill_tables(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    const struct sim_db *db = sim_db_find_locked(f->sim, f->database);
    for (int i = 0; db && i < db->table_count; i++) {
        tsql_row(f);
        tsql_put_text(f, "name", db->tables[i]->name);
        tsql_put_text(f, "TABLE_NAME", db->tables[i]->name);
        tsql_put_text(f, "TABLE_CATALOG", db->name);
        tsql_put_text(f, "TABLE_SCHEMA", "dbo");
        tsql_put_text(f, "TABLE_TYPE", "BASE TABLE");
        tsql_put_int(f, "object_id", db->tables[i]->id);
        tsql_put_int(f, "schema_id", 1);
        tsql_put_text(f, "type", "U ");
        tsql_put_text(f, "type_desc", "USER_TABLE");
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_columns(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    const struct sim_db *db = sim_db_find_locked(f->sim, f->database);
    for (int i = 0; db && i < db->table_count; i++)
        for (int c = 0; c < db->tables[i]->column_count; c++) {
            const struct sim_table *t = db->tables[i];
            tsql_row(f);
            tsql_put_int(f, "object_id", t->id);
            tsql_put_text(f, "name", t->columns[c]);
            tsql_put_int(f, "column_id", c + 1);
            tsql_put_int(f, "max_length", sim_type_max_bytes(&t->types[c]));
            tsql_put_int(f, "is_nullable", !t->not_null[c]);
            tsql_put_text(f, "TABLE_NAME", t->name);
            tsql_put_text(f, "TABLE_SCHEMA", "dbo");
            tsql_put_text(f, "COLUMN_NAME", t->columns[c]);
            tsql_put_int(f, "ORDINAL_POSITION", c + 1);
            tsql_put_text(f, "IS_NULLABLE", t->not_null[c] ? "NO" : "YES");
            tsql_put_text(f, "DATA_TYPE", sim_type_name(&t->types[c]));
        }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_schemas(struct filler *f)
{
    static const char *const names[] = {"dbo", "guest", "INFORMATION_SCHEMA", "sys"};
    for (int i = 0; i < 4; i++) {
        tsql_row(f);
        tsql_put_text(f, "name", names[i]);
        tsql_put_int(f, "schema_id", i + 1);
        tsql_put_int(f, "principal_id", i + 1);
    }
    return true;
}

/* clang-format off */
const struct view tsql_sys_views[] = {
    {"sys", "databases", 0, NULL, -1,
     "name:n128,database_id:i,source_database_id:i,owner_sid:x85,create_date:d,compatibility_level:t,"
     "collation_name:n128,user_access:t,user_access_desc:n60,is_read_only:B,is_auto_close_on:B,state:t,"
     "state_desc:n60,is_in_standby:B,snapshot_isolation_state:t,is_read_committed_snapshot_on:B,"
     "recovery_model:t,recovery_model_desc:n60,page_verify_option:t,page_verify_option_desc:n60,"
     "log_reuse_wait:t,log_reuse_wait_desc:n60,is_distributor:B,service_broker_guid:g,"
     "is_cdc_enabled:B@10,is_encrypted:B@10,replica_id:g@11,group_database_id:g@11", fill_databases},
    {"sys", "sysdatabases", 0, NULL, -1, "name:n128,dbid:s,crdate:d", fill_databases},
    {"sys", "master_files", 0, NULL, -1,
     "database_id:i,file_id:i,file_guid:g,type:t,type_desc:n60,data_space_id:i,name:n128,"
     "physical_name:n260,state:t,state_desc:n60,size:i,max_size:i,growth:i,is_media_read_only:B,"
     "is_read_only:B,is_sparse:B,is_percent_growth:B,is_name_reserved:B,create_lsn:N25,"
     "differential_base_lsn:N25,differential_base_guid:g,differential_base_time:d", fill_master_files},
    {"sys", "database_files", 0, NULL, -1,
     "file_id:i,file_guid:g,type:t,type_desc:n60,data_space_id:i,name:n128,physical_name:n260,state:t,"
     "state_desc:n60,size:i,max_size:i,growth:i,is_media_read_only:B,is_read_only:B,is_sparse:B,"
     "is_percent_growth:B,is_name_reserved:B,create_lsn:N25,differential_base_lsn:N25,"
     "differential_base_guid:g,differential_base_time:d", fill_database_files},
    {"sys", "database_recovery_status", 0, NULL, -1,
     "database_id:i,database_guid:g,family_guid:g,last_log_backup_lsn:N25,recovery_fork_guid:g", fill_recovery_status},
    {"sys", "configurations", 0, NULL, -1,
     "configuration_id:i,name:n35,value:V,minimum:V,maximum:V,value_in_use:V,description:n255,"
     "is_dynamic:B,is_advanced:B", fill_configurations},
    {"sys", "messages", 0, NULL, -1,
     "message_id:i,language_id:s,severity:t,is_event_logged:B,text:n2048", fill_messages},
    {"sys", "syslanguages", 0, NULL, -1,
     "langid:s,dateformat:c3,datefirst:t,name:n128,alias:n128,lcid:i,msglangid:s", fill_languages},
    {"sys", "server_principals", 0, NULL, -1,
     "name:n128,principal_id:i,sid:x85,type:v1,type_desc:n60,is_disabled:B,default_database_name:n128,"
     "default_language_name:n128", fill_principals},
    {"sys", "fn_my_permissions", 0, NULL, 2,
     "entity_name:n128,subentity_name:n128,permission_name:n60", fill_permissions},
    {"sys", "tables", 0, NULL, -1, "name:n128,object_id:i,schema_id:i,type:v2,type_desc:n60", fill_tables},
    {"sys", "objects", 0, NULL, -1, "name:n128,object_id:i,schema_id:i,type:v2,type_desc:n60", fill_tables},
    {"sys", "columns", 0, NULL, -1, "object_id:i,name:n128,column_id:i,max_length:s,is_nullable:B", fill_columns},
    {"sys", "schemas", 0, NULL, -1, "name:n128,schema_id:i,principal_id:i", fill_schemas},
    {"sys", "sysfiles", 0, NULL, -1, "name:n128", fill_nothing},
    {"sys", "dm_server_services", 10, "VIEW SERVER STATE", -1, "servicename:n256,status_desc:n256,service_account:n256", fill_nothing},
    {"sys", "filegroups", 0, NULL, -1, "name:n128,data_space_id:i,type:v2,type_desc:n60,is_default:B,is_read_only:B", fill_filegroups},
    {"INFORMATION_SCHEMA", "TABLES", 0, NULL, -1, "TABLE_CATALOG:n128,TABLE_SCHEMA:n128,TABLE_NAME:n128,TABLE_TYPE:v10", fill_tables},
    {"INFORMATION_SCHEMA", "COLUMNS", 0, NULL, -1,
     "TABLE_SCHEMA:n128,TABLE_NAME:n128,COLUMN_NAME:n128,ORDINAL_POSITION:i,IS_NULLABLE:v3,DATA_TYPE:n128", fill_columns},
    {NULL, NULL, 0, NULL, 0, NULL, NULL},
};
/* clang-format on */
