/* session.h: one connection: its thread's state, the reply it builds, and errors.
 * Only the session's own thread calls these, but for what stands under "guarded", which others
 * read under sim->lock. */
#pragma once

#include "ast.h"
#include "wire.h"
#include "world.h"

struct column {
    const char *name;
    struct type type;
};

struct rowset {
    struct column *columns;
    int column_count;
    struct value **rows;
    int row_count;
};

struct variable {
    const char *name; /* with its @ */
    struct value value;
    bool output;
    struct sim_table *table; /* DECLARE @t TABLE */
};

struct frame { /* variables of a batch or of a dynamic statement in it */
    struct session *session;
    struct frame *parent;
    struct arena *arena;
    const char *batch;
    struct variable *variables;
    int variable_count;
    bool in_procedure; /* DONEINPROC instead of DONE */
    int return_status;
};

struct prepared {
    int handle;
    char *text, *parameters;
};

struct parameter { /* of an RPC */
    const char *name;
    struct value value;
    bool output;
};

enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN, FLOW_CATCH, FLOW_END };

struct session {
    struct sim *sim;
    struct session *next;
    pthread_t thread;
    struct wire wire;
    int wake_fd; /* eventfd, written by sim_release and the end */
    /* guarded */
    int spid;
    char *login, *host, *program, *database, *interface;
    uint32_t tds_version;
    bool ready;             /* logged in */
    bool encrypted, strict; /* strict: TLS before TDS */
    int port;
    int64_t login_us, request_us;
    int64_t cpu_ms, reads;
    struct sim_wait waits[SIM_WAITS];
    const char *command; /* BACKUP DATABASE …, NULL = idle */
    char *sql_text;
    int command_db;
    double percent;
    int64_t remaining_ms;
    bool held, killed;
    int span;              /* of its backups, from 1; 0 = it began none */
    bool read_only_intent; /* the client said ApplicationIntent=ReadOnly */
    /* its own */
    bool sysadmin;
    int language; /* lcid */
    int transactions;
    bool implicit, no_count, xact_abort;
    int64_t row_count;
    int error;                 /* @@ERROR */
    int flags[16], flag_count; /* session trace flags */
    struct prepared *prepared;
    int prepared_count, next_handle;
    struct arena arena; /* of the request */
    int try_depth;
    bool caught; /* an error waits for its CATCH */
    int caught_number, caught_severity, caught_state, caught_line;
    const char *caught_text;
    bool attention, closing; /* the peer cancelled; end the connection */
    bool orphan;             /* the peer is gone, which is not noticed before the statement's end */
    int line;                /* of the statement that runs */
    const char *statement;
    const char *procedure;
    const char *procedure_database; /* that it was called in by its name, NULL = the session's */
    int nesting;
    struct rowset *capture; /* INSERT … EXEC */
    bool done_pending;
    uint8_t done_token;
    uint16_t done_status;
    uint16_t done_command;
    int64_t done_count;
    int64_t identity;  /* SCOPE_IDENTITY() */
    struct undo *undo; /* tables as they were before the transaction changed them */
};

enum wake { WAKE_TIMEOUT, WAKE_ATTENTION, WAKE_CLOSED, WAKE_SIGNAL };

/* session.c */
void *sim_session_run(void *pointer);
void sim_session_free(struct session *s);
/* Waits until the monotonic time (0 = only looks), an attention, the end or a signal. */
enum wake sim_session_wait(struct session *s, int64_t until_us);
bool sim_session_should_stop(struct session *s); /* looks at attention, KILL and the end */
void sim_session_reset(struct session *s);
void sim_session_log(struct session *s, const char *text);
int sim_login(struct session *s, const struct bytes *in); /* login.c; -1 = close */
int sim_prelogin(struct session *s, struct bytes *body, bool *out_login_only);

/* reply.c */
void sim_reply_info(struct session *s, int number, int state, int severity, const char *text);
void sim_reply_token(struct session *s, const struct bytes *token);
void sim_reply_env(struct session *s, int kind, const char *new_value, const char *old_value);
void sim_reply_env_binary(struct session *s, int kind, const void *value, size_t len);
void sim_reply_done(struct session *s, uint8_t token, unsigned status, unsigned command,
                    int64_t count);
void sim_reply_done_now(struct session *s, unsigned status, unsigned command, int64_t count);
void sim_reply_rows(struct session *s, const struct rowset *rows);
void sim_reply_return_status(struct session *s, int32_t status);
void sim_reply_return_value(struct session *s, int ordinal, const struct variable *v);
void sim_reply_finish(struct session *s); /* the last DONE and the end of the message */

#define DONE_TOKEN 0xFD
#define DONE_PROC 0xFE
#define DONE_IN_PROC 0xFF
#define DONE_MORE 0x01
#define DONE_ERROR 0x02
#define DONE_IN_TRAN 0x04
#define DONE_COUNT 0x10
#define DONE_ATTENTION 0x20

/* encode.c */
void sim_encode_type(struct bytes *b, struct type type, uint32_t tds_version);
void sim_encode_value(struct bytes *b, struct type type, const struct value *in,
                      uint32_t tds_version, struct arena *arena);
/* decode.c: false when the bytes end early or a type is not known. */
bool sim_decode_parameter(const uint8_t **p, const uint8_t *end, struct arena *arena,
                          struct parameter *out);

/* messages.c */
struct sim_message {
    int number, severity;
    const char *text[4]; /* English, Spanish, German, Japanese; NULL = as English */
};
const struct sim_message *sim_message_find(int number);
const struct sim_message *sim_message_at(int i); /* NULL behind the last */
int sim_language_find(const char *name);         /* lcid, 0 unknown */
const char *sim_language_name(int lcid);
const char *sim_language_alias(int lcid);
int sim_language_at(int i);    /* lcids, 0 behind the last */
int sim_language_id(int lcid); /* as @@LANGID */
const char *sim_message_text(struct arena *arena, int number, int lcid, const char *const *args,
                             int count);
/* An error or an info by its number; severity and state as the catalogue has them. Texts follow,
 * ended by NULL. Returns false, so that callers can `return sim_raise(…)`. */
#define sim_raise(session, number, state, ...)                                                     \
    sim_raise_args((session), (number), (state), (const char *const[]){__VA_ARGS__})
bool sim_raise_args(struct session *s, int number, int state, const char *const *args);
bool sim_raise_text(struct session *s, int number, int severity, int state, const char *text);
const char *sim_num(struct session *s, int64_t n); /* as text, in the request's arena */

/* rights.c */
bool sim_may_server(struct session *s, const char *right);
bool sim_may_enter(struct session *s, const char *database);
bool sim_in_role(struct session *s, const char *database, const char *role);
bool sim_may_backup(struct session *s, const char *database, bool log);
bool sim_may_execute(struct session *s, const char *procedure);
bool sim_may_select_msdb(struct session *s);
bool sim_refused(struct session *s, const char *right);

/* exec.c and its siblings */
void sim_run_batch(struct session *s, const char *text);
enum flow sim_run_text(struct frame *f, const char *text);
enum flow sim_run_list(struct frame *f, struct stmt *list);
enum flow sim_run_admin(struct frame *f, struct stmt *st); /* exec_admin.c */
enum flow sim_after(struct frame *f, bool good, unsigned command, int64_t count);
void sim_run_rpc(struct session *s, const struct bytes *body, size_t at);
bool sim_use_database(struct session *s, const char *name);
/* access.c: the database can be entered by this session: there, online, a replica that lets it, not
 * held by somebody else, and allowed. false after the error. *out_name: its real name. */
bool sim_database_open(struct session *s, const char *name, const char **out_name);
/* The error number that its state or role gives to everybody who wants to enter, 0 = none. */
int sim_database_error_locked(const struct session *s, const struct sim_db *db);
/* 924 when another session is in a database of one user, else 0. */
int sim_single_user_error_locked(const struct session *s, const struct sim_db *db);
bool sim_set_language(struct session *s, const char *name);
void sim_send_rows(struct frame *f, const struct rowset *rows);
void sim_done(struct frame *f, unsigned status, unsigned command, int64_t count); /* -1 = none */
void sim_transaction(struct session *s, const char *verb, const char *name);
void sim_undo_note_locked(struct session *s, struct sim_db *db, const struct sim_table *t,
                          const char *name);
void sim_undo_end_locked(struct session *s, bool restore);
void sim_drop_connection(struct session *s);
/* applock.c: the locks of its transaction, or all of them, are gone. */
void sim_applocks_end_locked(struct session *s, bool of_session);
/* Holds until sim_release, an attention or the end; false when the statement must stop. */
bool sim_hold(struct session *s);
/* Waits for the time on the simulated clock, scaled; false when the statement must stop. */
bool sim_sleep(struct session *s, int64_t us);
/* procs.c: parameters may be changed for output. */
bool sim_call(struct frame *f, const struct name *name, struct parameter *params, int count,
              int *out_status);
bool sim_dbcc(struct frame *f, struct stmt *st);
bool sim_backup(struct frame *f, struct stmt *st);
bool sim_restore(struct frame *f, struct stmt *st);
bool sim_alter_database(struct frame *f, struct stmt *st);
bool sim_create_snapshot(struct frame *f, struct stmt *st);
bool sim_drop_database(struct frame *f, struct stmt *st);
bool sim_create_credential(struct frame *f, const struct stmt *st);
/* The time and the waits of changing rows, with the snapshots that there are. */
void sim_workload(struct frame *f, const struct name *target, int64_t rows);
struct variable *sim_variable_find(struct frame *f, const char *name);
struct variable *sim_variable_add(struct frame *f, const char *name, struct type type);
void sim_frame_fini(struct frame *f);
/* rows.c: building results */
struct rowset *sim_rowset_new(struct arena *arena);
void sim_rowset_column(struct arena *arena, struct rowset *r, const char *name, struct type type);
struct value *sim_rowset_row(struct arena *arena, struct rowset *r); /* all null */
