/* Logging in: the connection string of each driver, and what a refused login means. */
#include "server/buf.h"
#include "server/limits.h"
#include "server/mem.h"
#include "server/mssql_conf.h"
#include "server/mssql_inner.h"
#include "server/utf16.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOGIN_FAILED 18456
#define CONF_VALUE_MAX 200 /* FreeTDS reads its file by lines of 255 bytes */

static const char *const encryption_names[] = {"off", "request", "require"};

/* clang-format off */
static const struct mssql_family families[] = {
    {"odbc driver", "SERVER=tcp:", ",",
     {"Encrypt=no;", "Encrypt=no;", "Encrypt=yes;TrustServerCertificate=yes;"},
     "Encrypt=yes;TrustServerCertificate=no;", "", true, -1151, 0, -1, 0},
    {"msodbcsql", "SERVER=tcp:", ",",
     {"Encrypt=no;", "Encrypt=no;", "Encrypt=yes;TrustServerCertificate=yes;"},
     "Encrypt=yes;TrustServerCertificate=no;", "", true, -1151, 0, -1, 0},
    /* FreeTDS, last: it fits all names. Its severity stands where Microsoft's state does; its own
     * errors are 20001 and up (replication uses these numbers too, but with severities over 9). */
    {"", "SERVER=", ";PORT=",
     {"Encryption=off;", "Encryption=request;", "Encryption=require;"},
     NULL, "TDS_Version=7.4;", false, -1150, 20001, 20299, 9},
};
/* clang-format on */

const struct mssql_family *mssql_family_of(const char *driver)
{
    const struct mssql_family *family = families;
    while (!strcasestr(driver, family->mark))
        family++; /* the last one fits all */
    return family;
}

/* --- checks ---------------------------------------------------------------------------------- */

/* Letters, digits, dots, dashes, colons (IPv6) and what is not ASCII: nothing that means something
 * in a connection string or a configuration file. */
static bool host_is_fit(const char *host)
{
    size_t length = strlen(host);
    for (const char *at = host; *at; at++)
        if (!strchr("-._:%", *at) && !(*at >= '0' && *at <= '9') &&
            !((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z') && !(*at & 0x80))
            return false;
    return length > 0 && length <= CONF_VALUE_MAX;
}

/* FreeTDS's file ends a value at ; or # and makes one blank of several. */
static bool conf_value_is_fit(const char *value)
{
    for (const char *at = value; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == ';' || *at == '#' || (at[0] == ' ' && at[1] == ' '))
            return false;
    return strlen(value) <= CONF_VALUE_MAX;
}

/* FreeTDS ends {value} at the first "};" and knows no escape. The driver manager, which looks for
 * DRIVER= and others in the same text, ends it at a single }: what follows that must not look like
 * a keyword, or a database's name could choose the library to load. */
static bool value_is_fit(const struct mssql_family *family, const char *value)
{
    const char *brace = strchr(value, '}');
    if (family->doubles_braces || !brace)
        return true;
    return !strstr(brace, "};") && !strchr(brace, '=');
}

static int encryption_of(const struct mssql_target *target)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(target->encryption, encryption_names[i]) == 0)
            return i;
    return -1;
}

int mssql_check_ca_file(const char *ca_file, struct err *err)
{
    struct stat status;
    if (!conf_value_is_fit(ca_file))
        return err_set(err, ERR_INPUT, 0,
                       "ca_file must not contain ; # or two blanks and be at most %d bytes long",
                       CONF_VALUE_MAX);
    if (strcmp(ca_file, "system") == 0)
        return 0;
    bool is_there = access(ca_file, R_OK) == 0 && stat(ca_file, &status) == 0;
    int cause = is_there && S_ISDIR(status.st_mode) ? EISDIR : errno;
    if (!is_there || cause == EISDIR)
        return err_set(err, ERR_SYSTEM, cause, "the ca_file %s cannot be read: %s", ca_file,
                       strerrordesc_np(cause));
    return 0;
}

static int check_certificate_wishes(const struct mssql_target *target,
                                    const struct mssql_family *family, struct err *err)
{
    if (!target->ca_file && target->verify_host)
        return err_set(err, ERR_INPUT, 0, "verify_host needs a ca_file");
    if (!target->ca_file)
        return 0;
    if (strcmp(target->encryption, "require") != 0)
        return err_set(err, ERR_INPUT, 0, "ca_file needs encryption \"require\"");
    if (family->encryption_check && strcmp(target->ca_file, "system") != 0)
        return err_set(err, ERR_INPUT, 0, "this ODBC driver knows only the ca_file \"system\"");
    return mssql_check_ca_file(target->ca_file, err);
}

static int check_target(const struct mssql_target *target, const struct mssql_family *family,
                        struct err *err)
{
    const struct {
        const char *name, *value;
    } values[] = {{"login", target->login},
                  {"password", target->password},
                  {"database", target->database},
                  {"application name", target->app_name}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (values[i].value && !value_is_fit(family, values[i].value))
            return err_set(
                err, ERR_INPUT, 0,
                "the %s cannot be passed to the ODBC driver: it contains } before ; or =",
                values[i].name);
    if (!host_is_fit(target->host))
        return err_set(err, ERR_INPUT, 0, "the host is no host name or address");
    if (target->port < 1 || target->port > 65535)
        return err_set(err, ERR_INPUT, 0, "the port must be 1 to 65535");
    if (encryption_of(target) < 0)
        return err_set(err, ERR_INPUT, 0, "encryption must be require, request or off");
    if (strpbrk(target->driver, "{};=") || target->driver[0] == '\0')
        return err_set(err, ERR_INPUT, 0, "the ODBC driver must be a path or a name");
    if (target->driver[0] == '/' && access(target->driver, R_OK) != 0)
        return err_set(err, ERR_SYSTEM, errno, "the ODBC driver %s cannot be read: %s",
                       target->driver, strerrordesc_np(errno));
    return check_certificate_wishes(target, family, err);
}

/* --- the connection string ------------------------------------------------------------------ */

static void add_value(struct buf *buf, const struct mssql_family *family, const char *keyword,
                      const char *value)
{
    if (!value)
        return;
    buf_format(buf, "%s={", keyword);
    for (const char *at = value; *at; at++) {
        buf_add_char(buf, *at);
        if (*at == '}' && family->doubles_braces)
            buf_add_char(buf, '}');
    }
    buf_add(buf, "};"); /* FreeTDS needs the semicolon at the very end, too */
}

/* The text holds the password: its memory is reserved at once, so that no copy stays behind when
 * it grows, and wiped by the caller. */
static int make_text(const struct mssql_target *target, const struct mssql_family *family,
                     struct buf *buf, struct err *err)
{
    char section[MSSQL_CONF_NAME_SIZE] = "";
    buf->capacity =
        1024 + 2 * (strlen(target->host) + strlen(target->login) + strlen(target->password) +
                    strlen(target->driver) + (target->database ? strlen(target->database) : 0) +
                    (target->app_name ? strlen(target->app_name) : 0));
    buf->data = mem_alloc(buf->capacity, 1);
    add_value(buf, family, "DRIVER", target->driver);
    if (target->ca_file && !family->encryption_check) {
        if (mssql_conf_section(target, section, err) < 0)
            return -1;
        buf_format(buf, "SERVERNAME=%s;", section);
    } else {
        buf_format(buf, "%s%s%s%d;%s", family->server_before, target->host, family->port_before,
                   target->port,
                   target->ca_file ? family->encryption_check
                                   : family->encryption[encryption_of(target)]);
    }
    buf_add(buf, family->further);
    add_value(buf, family, "UID", target->login);
    add_value(buf, family, "PWD", target->password);
    add_value(buf, family, "DATABASE", target->database ? target->database : "master");
    add_value(buf, family, "APP", target->app_name ? target->app_name : "sweetspot");
    return 0;
}

/* --- a failed login -------------------------------------------------------------------------- */

struct failure {
    struct err server; /* the server's first error */
    int own_number;    /* the driver's first number */
    bool timed_out;
    bool no_driver; /* the driver manager could not load it */
};

static void take_failure(void *ctx, const struct mssql_record *record)
{
    struct failure *failure = ctx;
    if (strncmp(record->state, "HYT", 3) == 0 || (record->own && record->number == 20003))
        failure->timed_out = true;
    if (strncmp(record->state, "IM", 2) == 0 || strstr(record->text, "Can't open lib"))
        failure->no_driver = true;
    if (record->own && failure->own_number == 0)
        failure->own_number = record->number;
    if (record->own || record->severity <= 10)
        return;
    /* "Login failed" comes after the cause (4060, …), but the driver may put it before */
    if (failure->server.code == ERR_NONE || failure->server.detail == LOGIN_FAILED)
        (void)err_set(&failure->server, ERR_SQL, record->number, "%s", record->text);
}

/* What the driver does not say: a refused certificate looks like a server that hung up. */
static const char *reason_of(const struct mssql_target *target, const struct failure *failure)
{
    if (failure->own_number == 20013)
        return "the host name is not known";
    if (failure->own_number == 20009)
        return "nothing answers there";
    if (target->ca_file)
        return "TLS was refused: the certificate is not signed by the ca_file or is made out to "
               "another host, or the server offers no TLS";
    if (strcmp(target->encryption, "require") == 0)
        return "the connection ended during the login; a server without TLS is refused, too "
               "(encryption is \"require\")";
    return "the connection ended during the login";
}

static int fail(const struct mssql_target *target, const struct failure *failure, struct err *err)
{
    if (failure->server.code != ERR_NONE)
        return err_set(err, ERR_SQL, failure->server.detail, "%s", failure->server.msg);
    if (failure->no_driver)
        return err_set(err, ERR_SYSTEM, 0, "the ODBC driver %s could not be loaded",
                       target->driver);
    if (failure->timed_out)
        return err_set(err, ERR_UNREACHABLE, 0, "%s port %d did not answer within %d s",
                       target->host, target->port, LIMIT_LOGIN_S);
    return err_set(err, ERR_UNREACHABLE, 0, "%s port %d: %s", target->host, target->port,
                   reason_of(target, failure));
}

static int connect_session(struct mssql *session, const struct mssql_target *target, uint16_t *text,
                           struct err *err)
{
    struct failure failure = {0};
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_DBC, mssql_environment(), &session->connection)))
        return err_set(err, ERR_SYSTEM, 0, "the ODBC driver manager gives no connection");
    (void)SQLSetConnectAttrW(session->connection, SQL_ATTR_LOGIN_TIMEOUT,
                             (SQLPOINTER)(intptr_t)LIMIT_LOGIN_S, 0); /* known to every driver */
    struct mssql_login login;
    mssql_login_begin(&login, target->port);
    SQLRETURN rc = SQLDriverConnectW(session->connection, NULL, text, SQL_NTS, NULL, 0, NULL,
                                     SQL_DRIVER_NOPROMPT);
    session->socket = mssql_login_end(&login);
    session->port = target->port;
    if (SQL_SUCCEEDED(rc))
        return 0;
    mssql_records(SQL_HANDLE_DBC, session->connection, session->family, take_failure, &failure);
    return fail(target, &failure, err);
}

int mssql_open(const struct mssql_target *target, struct mssql **out_session, struct err *err)
{
    int rc = -1;
    struct buf text = {0};
    uint16_t *wide = NULL;
    size_t units = 0;
    struct mssql *session = mem_alloc(1, sizeof *session);
    lock_init(&session->lock);
    wait_init(&session->changed);
    session->query_s = LIMIT_QUERY_S;
    session->stream_s = LIMIT_STREAM_S;
    session->cancel_s = LIMIT_CANCEL_S;
    session->family = mssql_family_of(target->driver);
    if (check_target(target, session->family, err) < 0)
        goto out;
    if (make_text(target, session->family, &text, err) < 0)
        goto out;
    wide = utf16_from_text(buf_text(&text), &units);
    if (!wide) {
        rc = err_set(err, ERR_INPUT, 0, "login, password or database is not valid UTF-8");
        goto out;
    }
    rc = connect_session(session, target, wide, err);
    if (rc == 0) {
        *out_session = session;
        session = NULL;
    }
out:
    if (wide)
        explicit_bzero(wide, units * sizeof *wide);
    if (text.data)
        explicit_bzero(text.data, text.capacity);
    free(wide);
    buf_fini(&text);
    mssql_close(session);
    return rc;
}
