#include "server/daemon.h"
#include "api/http.h"
#include "jobs/jobs.h"
#include "server/egress.h"
#include "server/log.h"
#include "server/mem.h"
#include "server/mssql.h"
#include "server/sealed.h"
#include "server/secrets.h"
#include "server/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 *  config ─► state folder ─► ODBC ─► store ─► secrets ─► egress ─► jobs ─► http
 *                                      │                             │       │
 *  threads:                         "store"                     "worker-N" "deadline" and
 *                                                               "clock"     the HTTP pool
 *                                                               "notify"
 *
 *  The store before the secrets: whether a key may be made, where there is none, depends on what is
 *  sealed there. It is closed first all the same, for a write on its way may still seal.
 *  A request meets a worker only in the store: http knows jobs.h, and jobs know nothing of http.
 */
struct daemon {
    bool mssql; /* mssql_init succeeded */
    struct secrets *secrets;
    struct egress *egress;
    struct store *store;
    struct jobs *jobs;
    struct http *http;
};

static int make_folder(const char *path, struct err *err)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return 0;
    return err_set(err, ERR_SYSTEM, errno, "make the state folder %s: %s", path, strerror(errno));
}

/* The folder and what is missing above it: what lies below is nobody else's business. */
static int make_state_dir(const char *path, struct err *err)
{
    char *parent = mem_copy(path);
    int rc = 0;
    for (char *at = strchr(parent + 1, '/'); at && rc == 0; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (access(parent, F_OK) != 0) /* mkdir of "/var" may say EROFS or EACCES */
            rc = make_folder(parent, err);
        *at = '/';
    }
    free(parent);
    return rc < 0 ? -1 : make_folder(path, err);
}

static int start_jobs(struct daemon *daemon, const struct config *config, struct err *err)
{
    struct jobs_parts parts = {.store = daemon->store,
                               .secrets = daemon->secrets,
                               .egress = daemon->egress,
                               .config = config};
    return jobs_start(&parts, &daemon->jobs, err);
}

static int start_http(struct daemon *daemon, const struct config *config, struct err *err)
{
    struct http_parts parts = {.listen = config->listen,
                               .store = daemon->store,
                               .jobs = daemon->jobs,
                               .secrets = daemon->secrets,
                               .egress = daemon->egress,
                               .metrics_open = strcmp(config->metrics_open, "yes") == 0,
                               .connections_per_peer = config->connections_per_peer,
                               .tls_cert_file = config->tls_cert_file,
                               .tls_key_file = config->tls_key_file};
    return http_start(&parts, &daemon->http, err);
}

static int open_all(struct daemon *daemon, const struct config *config, struct err *err)
{
    if (make_state_dir(config->state_dir, err) < 0 || mssql_init(config->state_dir, err) < 0)
        return -1;
    daemon->mssql = true;
    if (store_open(config->store, &daemon->store, err) < 0 ||
        sealed_may_make_key(daemon->store, config->key_file, err) < 0 ||
        secrets_open(config, &daemon->secrets, err) < 0 ||
        egress_open(config->webhooks_allow, &daemon->egress, err) < 0)
        return -1;
    sealed_start(daemon->store, daemon->secrets);
    return start_jobs(daemon, config, err) < 0 ? -1 : start_http(daemon, config, err);
}

int daemon_start(const struct config *config, struct daemon **out, struct err *err)
{
    struct daemon *daemon = mem_alloc(1, sizeof *daemon);
    if (open_all(daemon, config, err) < 0) {
        (void)daemon_stop(daemon, NULL); /* nothing runs yet */
        return -1;
    }
    *out = daemon;
    return 0;
}

int daemon_port(const struct daemon *daemon)
{
    return http_port(daemon->http);
}

int daemon_reload(struct daemon *daemon, struct err *err)
{
    struct err keys = {0};
    int rc = http_reload(daemon->http, err); /* one that fails does not keep the other from it */
    if (sealed_reload(daemon->store, daemon->secrets, &keys) == 0)
        return rc;
    if (rc == 0)
        *err = keys;
    else
        (void)err_wrap(err, keys.msg);
    return -1;
}

bool daemon_stop(struct daemon *daemon, bool *out_owing)
{
    if (!daemon)
        return true;
    if (daemon->http)
        http_drain(daemon->http);
    /* readyz is still answered, with 503, while trials are undone */
    bool ended = jobs_drain(daemon->jobs);
    http_stop(daemon->http);
    if (!ended) {
        log_event(LOG_LEVEL_ERROR, "run_does_not_end", "busy=%d", jobs_busy(daemon->jobs));
        return false;
    }
    if (out_owing)
        *out_owing = jobs_owing(daemon->jobs);
    jobs_stop(daemon->jobs);
    store_close(daemon->store);
    egress_close(daemon->egress);
    secrets_close(daemon->secrets);
    if (daemon->mssql)
        mssql_fini();
    free(daemon);
    return true;
}
