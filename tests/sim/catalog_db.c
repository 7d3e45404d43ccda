/* catalog_db.c: views about space, encryption and principals of databases. */
#include <string.h>

#include "catalog.h"

static bool fill_space(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    const struct sim_db *db = sim_db_find_locked(f->sim, f->database);
    for (int i = 0; db && i < db->file_count; i++) {
        const struct sim_dbfile *x = &db->files[i];
        if (x->type)
            continue;
        tsql_row(f);
        tsql_put_int(f, "database_id", db->id);
        tsql_put_int(f, "file_id", x->id);
        tsql_put_int(f, "filegroup_id", 1);
        tsql_put_int(f, "total_page_count", x->pages);
        tsql_put_int(f, "allocated_extent_page_count", x->used_pages);
        tsql_put_int(f, "unallocated_extent_page_count", x->pages - x->used_pages);
        tsql_put_int(f, "modified_extent_page_count", db->changed_pages);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_log_space(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    const struct sim_db *db = sim_db_find_locked(f->sim, f->database);
    int64_t total = 0;
    for (int i = 0; db && i < db->file_count; i++)
        total += db->files[i].type == SIM_LOG ? db->files[i].pages * SIM_PAGE : 0;
    if (db) {
        tsql_row(f);
        tsql_put_int(f, "database_id", db->id);
        tsql_put_int(f, "total_log_size_in_bytes", total);
        tsql_put_int(f, "used_log_space_in_bytes", db->log_pages * SIM_PAGE);
        tsql_put(f, "used_log_space_in_percent",
                 sim_float(total ? 100.0 * (double)(db->log_pages * SIM_PAGE) / (double)total : 0));
        tsql_put_int(f, "log_space_in_bytes_since_last_backup", db->log_pages * SIM_PAGE);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_encryption(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->db_count; i++) {
        if (!f->sim->dbs[i]->encrypted)
            continue;
        tsql_row(f);
        tsql_put_int(f, "database_id", f->sim->dbs[i]->id);
        tsql_put_int(f, "encryption_state", 3);
        tsql_put(f, "percent_complete", sim_float(0));
        tsql_put_text(f, "key_algorithm", "AES");
        tsql_put_int(f, "key_length", 256);
        tsql_put_text(f, "encryptor_type", "CERTIFICATE");
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_principals(struct filler *f)
{
    static const char *const names[] = {
        "public", "dbo", "guest", "db_owner", "db_backupoperator", "db_datareader"};
    for (int i = 0; i < 6; i++) {
        bool role = i == 0 || i > 2;
        tsql_row(f);
        tsql_put_text(f, "name", names[i]);
        tsql_put_int(f, "principal_id", i > 2 ? 16381 + i : i);
        tsql_put_text(f, "type", role ? "R" : "S");
        tsql_put_text(f, "type_desc", role ? "DATABASE_ROLE" : "SQL_USER");
        tsql_put_int(f, "is_fixed_role", i > 2);
    }
    return true;
}

static bool fill_nothing(struct filler *f)
{
    (void)f;
    return true;
}

/* clang-format off */
const struct view tsql_db_views[] = {
    {"sys", "dm_db_file_space_usage", 0, "VIEW SERVER STATE", -1,
     "database_id:s,file_id:s,filegroup_id:s@11,total_page_count:b@11,allocated_extent_page_count:b@11,"
     "unallocated_extent_page_count:b,modified_extent_page_count:b@14", fill_space},
    {"sys", "dm_db_log_space_usage", 11, "VIEW SERVER STATE", -1,
     "database_id:s,total_log_size_in_bytes:b,used_log_space_in_bytes:b,used_log_space_in_percent:f,"
     "log_space_in_bytes_since_last_backup:b@12", fill_log_space},
    {"sys", "dm_database_encryption_keys", 10, "VIEW SERVER STATE", -1,
     "database_id:i,encryption_state:i,percent_complete:f,key_algorithm:n32,key_length:i,encryptor_type:n32@12", fill_encryption},
    {"sys", "database_principals", 0, NULL, -1, "name:n128,principal_id:i,type:v1,type_desc:n60,is_fixed_role:B", fill_principals},
    {"sys", "backup_devices", 0, NULL, -1, "name:n128,type:t,type_desc:n60,physical_name:n260", fill_nothing},
    {"sys", "certificates", 0, NULL, -1, "name:n128,certificate_id:i,thumbprint:x32", fill_nothing},
    {"sys", "credentials", 0, NULL, -1, "credential_id:i,name:n128,credential_identity:n4000", fill_nothing},
    {"sys", "server_permissions", 0, NULL, -1, "class:t,permission_name:n128,state_desc:n60", fill_nothing},
    {"sys", "server_role_members", 0, NULL, -1, "role_principal_id:i,member_principal_id:i", fill_nothing},
    {"sys", "dm_tran_locks", 0, "VIEW SERVER STATE", -1, "resource_type:n60,resource_database_id:i,request_mode:n60,request_session_id:i", fill_nothing},
    {NULL, NULL, 0, NULL, 0, NULL, NULL},
};
/* clang-format on */
