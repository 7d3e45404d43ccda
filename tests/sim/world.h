/* world.h: what the simulated server is made of, and its lock.
 * Everything in struct sim behind the line "guarded" is read and changed under sim->lock only;
 * what stands before it never changes after the start. Functions here take the lock themselves
 * unless their name ends in _locked. */
#pragma once

#include <pthread.h>

#include "value.h"

#define SIM_WAITS 40
#define SIM_PAGE 8192

enum sim_file_type { SIM_ROWS, SIM_LOG, SIM_FILESTREAM };

enum sim_encryption { SIM_TLS_NONE, SIM_TLS_OPTIONAL, SIM_TLS_REQUIRED };

struct sim_db_right {
    char *database;
    char **roles;
    int role_count;
};

struct sim_login {
    char *name, *password, *database, *language;
    bool sysadmin;
    char **permissions; /* VIEW SERVER STATE, EXECUTE xp_delete_file, … */
    int permission_count;
    struct sim_db_right *rights;
    int right_count;
};

/* A drive has a letter (on Linux: it is mounted somewhere), a mount point is a folder of a drive, a
 * share has a UNC name. */
enum sim_volume_kind { SIM_DRIVE, SIM_MOUNT_POINT, SIM_SHARE };

struct sim_volume {
    char *mount; /* "/", "C:\", "C:\Mount\backup\", "\\server\share" */
    enum sim_volume_kind kind;
    char *name;
    int64_t total_bytes, used_bytes; /* used by what the simulator does not show */
    double read_mib_s, write_mib_s;
    int sector_bytes;
    bool no_sparse; /* its file system keeps none */
};

struct sim_folder {
    char *path;
    bool denied;
};

struct sim_dbfile {
    int id, type;   /* SIM_ROWS, SIM_LOG, SIM_FILESTREAM; the last one's ids begin at 65537 */
    int data_space; /* 0 log, 1 PRIMARY, 2 FILESTREAM, 3 memory-optimised */
    char *name, *path;
    int64_t pages, used_pages;
    bool sparse;
    int64_t sparse_bytes;
    int64_t reads, read_bytes, read_stall_ms, writes, write_bytes, write_stall_ms;
    uint64_t diff_base_lsn;
    uint8_t guid[16], diff_base_guid[16];
    int64_t diff_base_ticks;
};

struct sim_table {
    char *name;
    int id, owner_spid; /* owner: temporary tables, else 0 */
    int column_count;
    char **columns;
    struct type *types;
    bool *not_null;
    char **defaults; /* T-SQL text or NULL */
    int identity;    /* column, -1 none */
    int64_t next_identity;
    int key; /* primary key of one column, -1 none */
    int row_count, row_room;
    struct value **rows;
};

enum sim_role { SIM_RESOLVING, SIM_PRIMARY, SIM_SECONDARY };

struct sim_group {        /* an availability group with a replica here and one elsewhere */
    char *name, *partner; /* partner: the other replica's server */
    enum sim_role role;   /* of the replica here */
    bool has_database;    /* while loading: the first one gives the role */
    int preference;       /* automated_backup_preference: 0 primary … 3 none */
    int connections;      /* secondary_role_allow_connections: 0 no, 1 read-only, 2 all */
    uint8_t id[16], local_id[16], partner_id[16];
};

enum sim_mirror { SIM_NOT_MIRRORED, SIM_PRINCIPAL, SIM_MIRROR };

struct sim_db {
    int id;
    char *name, *collation;
    char recovery;     /* 'F', 'B', 'S' */
    char *state;       /* ONLINE, OFFLINE, … */
    char *user_access; /* MULTI_USER … */
    bool read_only, encrypted, system, standby;
    int source_id; /* of a snapshot, else 0 */
    int group;     /* index of its availability group, -1 none */
    enum sim_mirror mirror;
    int mirror_state; /* as mirroring_state: 4 synchronized */
    int held_by;      /* session of somebody else that is always in it, 0 none */
    int64_t created_ticks;
    double ratio; /* what compression makes of it: 4 = a quarter */
    struct sim_dbfile *files;
    int file_count;
    uint64_t lsn; /* the last one used */
    bool has_full;
    uint64_t last_log_lsn; /* 0 = no chain */
    uint64_t log_start_lsn;
    int64_t changed_pages; /* since the differential base */
    int64_t log_pages;     /* since the last log backup */
    int64_t active_pages;  /* of the log, that a full backup has to take along */
    uint8_t guid[16], family_guid[16];
    int backups_running;
    struct sim_table **tables;
    int table_count;
};

enum sim_file_kind { SIM_FILE_BACKUP, SIM_FILE_ABORTED, SIM_FILE_FOREIGN, SIM_FILE_SPARSE };

struct sim_vfile {
    char *path;
    enum sim_file_kind kind;
    int64_t size_bytes;
    int64_t modified_us;
    int sets, stripes, stripe; /* of the medium */
    bool compressed;
    uint32_t medium; /* media_set_id */
};

struct sim_set { /* msdb.dbo.backupset and its families */
    int id, media_id;
    bool on_known_medium; /* an earlier one is of the same media set */
    uint8_t uuid[16];
    char *database, *name, *description, *user, *server, *recovery;
    char type;
    int64_t start_ticks, finish_ticks;
    int64_t backup_bytes, compressed_bytes;
    uint64_t first_lsn, last_lsn, checkpoint_lsn, database_lsn, base_lsn;
    uint8_t base_guid[16], family_guid[16];
    bool has_base, copy_only, checksum, snapshot, read_only, single_user, begins_chain;
    bool compressed;
    const char *algorithm;
    int position;
    int64_t pages;
    int file_pages_count;
    char **devices;
    int *mirrors;
    int device_count;
    int device_type;
};

struct sim_wait {
    int64_t tasks, wait_ms, max_ms, signal_ms;
};

struct sim_flag {
    int number;
};

struct sim_surface {
    double read_mib_s;       /* the plateau with NUL and 1 MiB transfers */
    double floor;            /* of the plateau that the default buffers reach */
    double knee;             /* buffers over which the rest falls to 1/e */
    double start;            /* buffers that count as the floor */
    double transfer_penalty; /* of small transfers */
    double block_gain;       /* of the largest block size, disk only */
    double stripe_gain;      /* of many stripes */
    double compress_mib_s;   /* one core */
    double checksum_cost;    /* fraction of the rate */
    double cpu_ms_per_mib;
    double row_us;     /* of changing one row without snapshots */
    double buffer_cpu; /* more CPU per 100 buffers, fraction */
};

enum sim_fault_kind {
    SIM_DROP_BEFORE,
    SIM_DROP_AFTER,
    SIM_DROP_AT_PERCENT,
    SIM_DROP_AFTER_4035,
    SIM_ERROR,
    SIM_SKIP, /* answered, not run */
    SIM_ERROR_AT_PERCENT,
    SIM_IGNORE_ATTENTION,
    SIM_IGNORE_CLOSE, /* the end of the connection */
    SIM_REFUSE_LOGIN,
    SIM_HOLD_AT_PERCENT,
    SIM_HOLD_STATEMENT,
    SIM_DELETE_NOTHING,
    SIM_HIDE,
    SIM_REFUSE_RIGHT,
    SIM_SLOW,
    SIM_ERROR_LATE, /* after the 4035, before the 3014 */
};

struct sim_fault {
    enum sim_fault_kind kind;
    char *match; /* start of a statement, a name, a right; "" matches all */
    int nth;     /* which match is hit, 1 = the next; 0 = every one */
    int times;   /* how many hits are left, -1 = no end */
    int seen;
    int number, severity, state, percent;
    double factor;
    char *text;
};

struct sim_credential { /* of a database */
    char *database, *name, *identity, *secret;
};

struct session;
struct sim_applock;

struct sim_span { /* from a session's first BACKUP to the end of its last one, by span_clock */
    int64_t from, until;
};

struct sim {
    int major, minor, build, revision;
    char *edition, *server_name, *host_name, *collation, *language;
    int engine_edition;
    bool windows;
    int utc_offset_min;
    int cpu_count;
    int64_t memory_mib, backup_memory_mib;
    int64_t free_memory_mib;   /* available_physical_memory_kb */
    int64_t server_memory_mib; /* what the server has taken of the rest */
    int memory_model;          /* 1 conventional, 2 locked pages */
    bool filestream;           /* some database has a container for it */
    double time_scale;
    uint64_t seed;
    double noise, drift, outlier_rate, outlier_factor;
    enum sim_encryption encryption;
    char *certificate_file, *key_file;
    char *backup_dir, *data_dir;
    struct sim_surface surface;
    bool print_statements;
    int port;
    struct tls_identity *identity;
    pthread_t acceptor;
    int stop_fd; /* eventfd: wakes the acceptor */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* anything that sim_wait_for can wait for */
    /* guarded */
    struct sim_login *logins;
    int login_count;
    struct sim_volume *volumes;
    int volume_count;
    struct sim_folder *folders;
    int folder_count;
    struct sim_group *groups;
    int group_count;
    bool hadr_enabled;
    struct sim_db **dbs;
    int db_count;
    struct sim_vfile *files;
    int file_count;
    struct sim_set *sets;
    int set_count;
    int next_media;
    int config_compression, config_checksum, config_algorithm, config_trace, config_rest;
    struct sim_credential *credentials;
    int credential_count;
    int startup_flags[32], startup_flag_count;
    int flags[64], flag_count; /* global trace flags */
    struct sim_wait waits[SIM_WAITS];
    int64_t start_us;   /* the simulated clock's */
    int64_t skipped_us; /* what the simulated clock is ahead */
    int64_t cpu_kernel_ms, cpu_user_ms;
    uint64_t random, noise_random;
    int trials;
    struct sim_fault *faults;
    int fault_count;
    char **statements;
    int statement_count;
    struct session *sessions;
    struct session *ended; /* threads to join */
    struct sim_applock *applocks;
    struct sim_span *spans; /* one for each session that began a BACKUP, gone ones too */
    int span_count;
    int64_t span_clock; /* counts the begins and ends of BACKUP */
    int next_spid, next_table_id;
    int attentions, held;
    unsigned releases; /* counts sim_release */
    int listen_fd;     /* -1 while it does not listen */
    bool stopping;
    struct sim_foreign *foreigns; /* others.h */
    int foreign_count;
    struct sim_growth *growths;
    int growth_count;
    struct sim_moment *moments;
    int moment_count;
    int64_t moment_us; /* when what a fault does happens, on the simulated clock */
    int backups_begun; /* BACKUP statements that came to reading */
    int trace_number;  /* of the default trace's file */
    int64_t trace_start_us;
    uint64_t perf_backup_bytes;
    bool performance_counters;
    int64_t log_cursor;
};

/* world.c */
int64_t sim_now_us(struct sim *sim); /* simulated UTC since 1970 */
int64_t sim_now_us_locked(const struct sim *sim);
int64_t sim_ticks_utc(int64_t us);
int64_t sim_ticks_local(const struct sim *sim, int64_t us);
struct sim_db *sim_db_find_locked(struct sim *sim, const char *name);
struct sim_db *sim_db_by_id_locked(struct sim *sim, int id);
int64_t sim_db_pages(const struct sim_db *db, int type); /* used pages of files of this type */
struct sim_db *sim_db_add_locked(struct sim *sim, const char *name);
struct sim_dbfile *sim_db_add_file_locked(struct sim_db *db, const char *name, const char *path,
                                          int type, int64_t pages, int64_t used_pages);
void sim_table_free(struct sim_table *t); /* tables.c */
void sim_table_drop_locked(struct sim_db *db, struct sim_table *table);
void sim_db_drop_locked(struct sim *sim, struct sim_db *db);
void sim_fill_guid_locked(struct sim *sim, uint8_t guid[16]);
void sim_world_free(struct sim *sim);
void sim_restart_locked(struct sim *sim); /* counters, flags, start time */
bool sim_flag_is_on_locked(const struct sim *sim, int number);
void sim_flag_set_locked(struct sim *sim, int number, bool on);
const char *sim_wait_name(int i); /* NULL behind the last */
int sim_wait_index(const char *name);
void sim_wait_add(struct sim_wait *waits, const char *name, int64_t tasks, int64_t ms);
char *sim_version_text(struct sim *sim, struct arena *arena);
/* Whether it is this version or later: 13, or 1050 for 10.50 (2008 R2), with at least the build. */
bool sim_is_since(const struct sim *sim, int version, int build);
/* The availability group of a database, NULL if it is in none. */
const struct sim_group *sim_group_of_locked(const struct sim *sim, const struct sim_db *db);
struct sim_group *sim_group_add_locked(struct sim *sim, const char *name);
struct sim_dbfile *sim_db_file(struct sim_db *db, int id); /* NULL if there is none */

/* vfs.c: paths are the simulated server's */
bool sim_path_same(const struct sim *sim, const char *a, const char *b);
struct sim_vfile *sim_vfile_find_locked(struct sim *sim, const char *path);
struct sim_vfile *sim_vfile_add_locked(struct sim *sim, const char *path);
void sim_vfile_remove_locked(struct sim *sim, struct sim_vfile *file);
struct sim_volume *sim_volume_of_locked(struct sim *sim, const char *path);
int64_t sim_volume_free_locked(struct sim *sim, const struct sim_volume *volume);
const struct sim_folder *sim_folder_find_locked(struct sim *sim, const char *path);
char *sim_parent_folder(const struct sim *sim, struct arena *arena, const char *path);
/* 0, or the OS error (2, 3, 5, 31 …) that opening the path for writing would give. */
int sim_path_check_locked(struct sim *sim, const char *path);
const char *sim_os_error(const struct sim *sim, int number);
int sim_delete_matching_locked(struct sim *sim, const char *pattern);

/* scenario.c: fills a zeroed sim from JSON (NULL = the default). -1 with a message in error. */
int sim_scenario_load(struct sim *sim, const char *json, char *error, size_t error_size);
/* fault.c */
int sim_fault_apply(struct sim *sim, const char *json, char *error, size_t error_size);
bool sim_fault_is_known(const char *verb);
struct cJSON;
/* The same with the lock held, as if it were that moment of the simulated clock. */
int sim_fault_act_locked(struct sim *sim, const struct cJSON *o, int64_t at_us, char *error,
                         size_t error_size);
/* The first fault of the kind that hits now, counted down; false if none. Copies to *out, whose
 * text is put into the arena. */
bool sim_fault_hit(struct sim *sim, enum sim_fault_kind kind, const char *text, struct arena *arena,
                   struct sim_fault *out);
bool sim_fault_is_set(struct sim *sim, enum sim_fault_kind kind, const char *name);
void sim_faults_free_locked(struct sim *sim);
void sim_release_locked(struct sim *sim);
int sim_listen_again(struct sim *sim);
void sim_listen_stop_locked(struct sim *sim);
void sim_drop_all_locked(struct sim *sim); /* every connection */
