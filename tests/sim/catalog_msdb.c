/* catalog_msdb.c: the backup history. */
#include <string.h>

#include "catalog.h"
#include "others.h"

static void put_lsn(struct filler *f, const char *column, uint64_t lsn)
{
    if (lsn)
        tsql_put(f, column, sim_decimal((dec_t)lsn, 25, 0));
}

static void put_guid(struct filler *f, const char *column, const uint8_t guid[16])
{
    tsql_put(f, column, sim_guid(sim_arena_dupn(f->ev->arena, guid, 16)));
}

static int64_t whole_second(int64_t ticks)
{
    return ticks - ticks % TICKS_PER_SECOND;
}

static void put_set(struct filler *f, const struct sim_set *x)
{
    struct sim *sim = f->sim;
    char type[2] = {x->type, 0};

    tsql_row(f);
    tsql_put_int(f, "backup_set_id", x->id);
    put_guid(f, "backup_set_uuid", x->uuid);
    tsql_put_int(f, "media_set_id", x->media_id);
    tsql_put_int(f, "first_family_number", 1);
    tsql_put_int(f, "last_family_number", x->device_count);
    tsql_put_text(f, "name", x->name);
    tsql_put_text(f, "description", x->description);
    tsql_put_text(f, "user_name", x->user);
    tsql_put_int(f, "software_vendor_id", 4608);
    tsql_put_int(f, "software_major_version", sim->major);
    tsql_put_int(f, "software_minor_version", sim->minor);
    tsql_put_int(f, "software_build_version", sim->build);
    tsql_put_int(f, "time_zone", sim->utc_offset_min / 15);
    tsql_put_int(f, "position", x->position);
    put_lsn(f, "first_lsn", x->first_lsn);
    put_lsn(f, "last_lsn", x->last_lsn);
    put_lsn(f, "checkpoint_lsn", x->checkpoint_lsn);
    put_lsn(f, "database_backup_lsn", x->database_lsn);
    tsql_put(f, "backup_start_date", sim_time(VT_DATETIME, whole_second(x->start_ticks)));
    tsql_put(f, "backup_finish_date", sim_time(VT_DATETIME, whole_second(x->finish_ticks)));
    tsql_put_text(f, "type", type);
    tsql_put_text(f, "database_name", x->database);
    tsql_put_text(f, "server_name", x->server);
    tsql_put_text(f, "machine_name", sim->host_name);
    tsql_put_text(f, "collation_name", sim->collation);
    tsql_put_int(f, "compatibility_level", sim->major * 10);
    tsql_put_text(f, "recovery_model", x->recovery);
    tsql_put_int(f, "is_snapshot", x->snapshot);
    tsql_put_int(f, "is_readonly", x->read_only);
    tsql_put_int(f, "is_single_user", x->single_user);
    tsql_put_int(f, "has_backup_checksums", x->checksum);
    tsql_put_int(f, "is_damaged", 0);
    tsql_put_int(f, "is_password_protected", 0);
    tsql_put_int(f, "begins_log_chain", x->begins_chain);
    tsql_put_int(f, "is_copy_only", x->copy_only);
    put_guid(f, "family_guid", x->family_guid);
    if (x->has_base) {
        put_lsn(f, "differential_base_lsn", x->base_lsn);
        put_guid(f, "differential_base_guid", x->base_guid);
    }
    tsql_put(f, "backup_size", sim_decimal(x->backup_bytes, 20, 0));
    tsql_put(f, "compressed_backup_size", sim_decimal(x->compressed_bytes, 20, 0));
    if (x->compressed)
        tsql_put_text(f, "compression_algorithm", x->algorithm);
}

static bool fill_backupset(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->set_count; i++)
        put_set(f, &f->sim->sets[i]);
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

/* A medium has one row for all its sets. */
static bool fill_families(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->set_count; i++) {
        const struct sim_set *x = &f->sim->sets[i];
        for (int d = 0, number = 0; d < x->device_count && !x->on_known_medium; d++) {
            number = d && x->mirrors[d] != x->mirrors[d - 1] ? 1 : number + 1;
            tsql_row(f);
            tsql_put_int(f, "media_set_id", x->media_id);
            tsql_put_int(f, "family_sequence_number", number);
            put_guid(f, "media_family_id", x->uuid);
            tsql_put_int(f, "media_count", 1);
            tsql_put_text(f, "physical_device_name", x->devices[d]);
            tsql_put_int(f, "device_type", x->device_type);
            tsql_put_int(f, "physical_block_size", 512);
            tsql_put_int(f, "mirror", x->mirrors[d]);
        }
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_mediasets(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->set_count; i++) {
        const struct sim_set *x = &f->sim->sets[i];
        if (x->on_known_medium)
            continue;
        tsql_row(f);
        tsql_put_int(f, "media_set_id", x->media_id);
        put_guid(f, "media_uuid", x->uuid);
        tsql_put_int(f, "media_family_count", x->device_count);
        tsql_put_text(f, "software_name", "Microsoft SQL Server");
        tsql_put_int(f, "software_vendor_id", 4608);
        tsql_put_int(f, "mirror_count", 1);
        tsql_put_int(f, "is_password_protected", 0);
        tsql_put_int(f, "is_compressed", x->compressed);
        tsql_put_int(f, "is_encrypted", 0);
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_backupfiles(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->set_count; i++) {
        const struct sim_db *db = sim_db_find_locked(f->sim, f->sim->sets[i].database);
        for (int k = 0; db && k < db->file_count; k++) {
            const struct sim_dbfile *x = &db->files[k];
            tsql_row(f);
            tsql_put_int(f, "backup_set_id", f->sim->sets[i].id);
            tsql_put_int(f, "file_number", x->id);
            tsql_put_int(f, "backed_up_page_count", x->used_pages);
            tsql_put_text(f, "file_type", x->type == SIM_LOG ? "L" : x->type ? "S" : "D");
            tsql_put(f, "file_size", sim_decimal(x->pages * SIM_PAGE, 20, 0));
            tsql_put_text(f, "logical_name", x->name);
            tsql_put_text(f, "physical_name", x->path);
            tsql_put_text(f, "state_desc", "ONLINE");
            tsql_put(f, "backup_size",
                     sim_decimal(x->type == SIM_LOG ? 0 : x->used_pages * SIM_PAGE, 20, 0));
            put_lsn(f, "differential_base_lsn", x->diff_base_lsn);
            tsql_put_int(f, "is_present", 1);
        }
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

static bool fill_restores(struct filler *f)
{
    pthread_mutex_lock(&f->sim->lock);
    for (int i = 0; i < f->sim->foreign_count; i++) {
        const struct sim_foreign *x = &f->sim->foreigns[i];
        if (!x->ended || x->kind != SIM_FOREIGN_RESTORE)
            continue;
        tsql_row(f);
        tsql_put_int(f, "restore_history_id", i + 1);
        tsql_put(f, "restore_date",
                 sim_time(VT_DATETIME, whole_second(sim_ticks_local(f->sim, x->start_us))));
        tsql_put_text(f, "destination_database_name", x->database);
        tsql_put_text(f, "user_name", "someone_else");
        tsql_put_text(f, "restore_type", "D");
    }
    pthread_mutex_unlock(&f->sim->lock);
    return true;
}

/* clang-format off */
const struct view tsql_msdb_views[] = {
    {"dbo", "backupset", 0, NULL, -1,
     "backup_set_id:i,backup_set_uuid:g,media_set_id:i,first_family_number:t,last_family_number:s,"
     "name:n128,description:n255,user_name:n128,software_vendor_id:i,software_major_version:t,"
     "software_minor_version:t,software_build_version:s,time_zone:s,position:i,first_lsn:N25,"
     "last_lsn:N25,checkpoint_lsn:N25,database_backup_lsn:N25,backup_start_date:d,backup_finish_date:d,"
     "type:v1,compatibility_level:t,backup_size:N20,database_name:n128,server_name:n128,"
     "machine_name:n128,collation_name:n128,is_password_protected:B,recovery_model:n60,has_backup_checksums:B,"
     "is_damaged:B,begins_log_chain:B,is_snapshot:B,is_readonly:B,is_single_user:B,is_copy_only:B,"
     "family_guid:g,differential_base_lsn:N25,differential_base_guid:g,compressed_backup_size:N20@10,"
     "key_algorithm:n32@12,encryptor_thumbprint:x20@12,encryptor_type:n32@12,"
     "last_valid_restore_time:d@16,compression_algorithm:n32@16", fill_backupset},
    {"dbo", "backupmediafamily", 0, NULL, -1,
     "media_set_id:i,family_sequence_number:t,media_family_id:g,media_count:i,logical_device_name:n128,"
     "physical_device_name:n260,device_type:t,physical_block_size:i,mirror:t", fill_families},
    {"dbo", "backupmediaset", 0, NULL, -1,
     "media_set_id:i,media_uuid:g,media_family_count:t,name:n128,description:n255,software_name:n128,"
     "software_vendor_id:i,mirror_count:t,is_password_protected:B,is_compressed:B@10,is_encrypted:B@12", fill_mediasets},
    {"dbo", "backupfile", 0, NULL, -1,
     "backup_set_id:i,file_number:N10,backed_up_page_count:N10,file_type:v1,file_size:N20,"
     "logical_name:n128,physical_name:n260,state_desc:n64,backup_size:N20,differential_base_lsn:N25,"
     "is_present:B", fill_backupfiles},
    {"dbo", "restorehistory", 0, NULL, -1, "restore_history_id:i,restore_date:d,destination_database_name:n128,user_name:n128,restore_type:v1", fill_restores},
    {"dbo", "sysjobs", 0, NULL, -1,
     "job_id:g,originating_server_id:i,name:n128,enabled:t,description:n512,start_step_id:i,"
     "category_id:i,owner_sid:x85,notify_level_eventlog:i,notify_level_email:i,"
     "notify_level_netsend:i,notify_level_page:i,notify_email_operator_id:i,"
     "notify_netsend_operator_id:i,notify_page_operator_id:i,delete_level:i,date_created:d,"
     "date_modified:d,version_number:i", sim_fill_jobs},
    {"dbo", "sysjobsteps", 0, NULL, -1,
     "job_id:g,step_id:i,step_name:n128,subsystem:n40,command:n-1,flags:i,"
     "additional_parameters:n-1,cmdexec_success_code:i,on_success_action:t,on_success_step_id:i,"
     "on_fail_action:t,on_fail_step_id:i,server:n128,database_name:n128,database_user_name:n128,"
     "retry_attempts:i,retry_interval:i,os_run_priority:i,output_file_name:n200,last_run_outcome:i,"
     "last_run_duration:i,last_run_retries:i,last_run_date:i,last_run_time:i,proxy_id:i,step_uid:g",
     sim_fill_jobsteps},
    {"dbo", "sysjobservers", 0, NULL, -1,
     "job_id:g,server_id:i,last_run_outcome:t,last_outcome_message:n4000,last_run_date:i,"
     "last_run_time:i,last_run_duration:i", sim_fill_jobservers},
    {NULL, NULL, 0, NULL, 0, NULL, NULL},
};
/* clang-format on */
