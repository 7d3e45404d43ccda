/* server.c: sim.h's functions: start, stop, the accepting thread, and questions by tests. */
#include "sim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "others.h"
#include "session.h"

static int open_listener(const char *address, int *port, char *error)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port)};
    socklen_t len = sizeof(a);
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fd < 0 || inet_pton(AF_INET, address, &a.sin_addr) != 1 ||
        bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 128) ||
        getsockname(fd, (struct sockaddr *)&a, &len)) {
        (void)snprintf(error, SIM_ERROR_SIZE, "Listening on %s:%d failed: %s.", address, *port,
                       strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return -1;
    }
    *port = ntohs(a.sin_port);
    return fd;
}

static void reap_locked(struct sim *sim)
{
    while (sim->ended) {
        struct session *s = sim->ended;
        sim->ended = s->next;
        pthread_mutex_unlock(&sim->lock);
        pthread_join(s->thread, NULL);
        sim_session_free(s);
        pthread_mutex_lock(&sim->lock);
    }
}

static void welcome(struct sim *sim, int fd, int port)
{
    struct session *s = sim_alloc(sizeof(*s));
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    s->sim = sim;
    s->wire.fd = fd;
    s->wire.packet_size = 4096;
    s->port = port;
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_lock(&sim->lock);
    reap_locked(sim);
    s->spid = sim_new_spid_locked(sim);
    s->next = sim->sessions;
    sim->sessions = s;
    if (sim->stopping)
        (void)shutdown(fd, SHUT_RDWR);
    if (pthread_create(&s->thread, NULL, sim_session_run, s)) {
        sim->sessions = s->next;
        sim_session_free(s);
    }
    pthread_mutex_unlock(&sim->lock);
}

static void *accept_loop(void *pointer)
{
    struct sim *sim = pointer;

    for (;;) {
        pthread_mutex_lock(&sim->lock);
        int listener = sim->listen_fd;
        bool stopping = sim->stopping;
        pthread_mutex_unlock(&sim->lock);
        if (stopping)
            return NULL;
        struct pollfd fds[2] = {{.fd = sim->stop_fd, .events = POLLIN},
                                {.fd = listener, .events = POLLIN}};
        (void)poll(fds, listener >= 0 ? 2 : 1, -1);
        if (fds[0].revents) {
            uint64_t n = 0;
            (void)!read(sim->stop_fd, &n, sizeof(n));
            continue;
        }
        struct sockaddr_in peer = {0};
        socklen_t len = sizeof(peer);
        pthread_mutex_lock(&sim->lock); /* the listener may be closed under the lock only */
        int fd = sim->listen_fd < 0
                     ? -1
                     : accept4(sim->listen_fd, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC);
        pthread_mutex_unlock(&sim->lock);
        if (fd >= 0)
            welcome(sim, fd, ntohs(peer.sin_port));
    }
}

static void wake_acceptor(struct sim *sim)
{
    uint64_t one = 1;
    (void)!write(sim->stop_fd, &one, sizeof(one));
}

void sim_listen_stop_locked(struct sim *sim)
{
    if (sim->listen_fd >= 0)
        (void)close(sim->listen_fd);
    sim->listen_fd = -1;
    wake_acceptor(sim);
}

int sim_listen_again(struct sim *sim)
{
    char error[SIM_ERROR_SIZE];
    int port = sim->port;
    pthread_mutex_lock(&sim->lock);
    if (sim->listen_fd < 0)
        sim->listen_fd = open_listener("127.0.0.1", &port, error);
    int rc = sim->listen_fd < 0 ? -1 : 0;
    pthread_mutex_unlock(&sim->lock);
    wake_acceptor(sim);
    return rc;
}

void sim_drop_all_locked(struct sim *sim)
{
    for (struct session *s = sim->sessions; s; s = s->next)
        (void)shutdown(s->wire.fd, SHUT_RDWR);
}

void sim_release_locked(struct sim *sim)
{
    uint64_t one = 1;
    sim->releases++;
    for (struct session *s = sim->sessions; s; s = s->next)
        (void)!write(s->wake_fd, &one, sizeof(one));
}

static struct sim *new_sim(void)
{
    struct sim *sim = sim_alloc(sizeof(*sim));
    pthread_condattr_t attr;

    pthread_mutex_init(&sim->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&sim->changed, &attr);
    pthread_condattr_destroy(&attr);
    sim->listen_fd = -1;
    sim->next_spid = 51;
    sim->next_table_id = 245575913;
    sim->next_media = 1;
    sim->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return sim;
}

static void free_sim(struct sim *sim)
{
    if (sim->listen_fd >= 0)
        (void)close(sim->listen_fd);
    (void)close(sim->stop_fd);
    wire_identity_free(sim->identity);
    sim_world_free(sim);
    pthread_cond_destroy(&sim->changed);
    pthread_mutex_destroy(&sim->lock);
    free(sim);
}

static int start_acceptor(struct sim *sim)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old); /* signals are for the program's own threads */
    int rc = pthread_create(&sim->acceptor, NULL, accept_loop, sim);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

int sim_start_at(const char *scenario, const char *address, int port, bool print_statements,
                 struct sim **out_sim, char *error)
{
    struct sim *sim = new_sim();

    sim->print_statements = print_statements;
    if (sim_scenario_load(sim, scenario, error, SIM_ERROR_SIZE))
        goto fail;
    sim->identity = wire_identity_new(sim->certificate_file, sim->key_file, error, SIM_ERROR_SIZE);
    if (!sim->identity)
        goto fail;
    sim->port = port;
    sim->listen_fd = open_listener(address, &sim->port, error);
    if (sim->listen_fd < 0)
        goto fail;
    if (start_acceptor(sim)) {
        (void)snprintf(error, SIM_ERROR_SIZE, "No thread could be started.");
        goto fail;
    }
    *out_sim = sim;
    return 0;
fail:
    free_sim(sim);
    return -1;
}

int sim_start(const char *scenario, struct sim **out_sim, char *error)
{
    return sim_start_at(scenario, "127.0.0.1", 0, false, out_sim, error);
}

void sim_stop(struct sim *sim)
{
    if (!sim)
        return;
    pthread_mutex_lock(&sim->lock);
    sim->stopping = true;
    pthread_mutex_unlock(&sim->lock);
    wake_acceptor(sim);
    pthread_join(sim->acceptor, NULL);
    pthread_mutex_lock(&sim->lock);
    sim_drop_all_locked(sim);
    sim_release_locked(sim);
    while (sim->sessions)
        pthread_cond_wait(&sim->changed, &sim->lock);
    reap_locked(sim);
    pthread_mutex_unlock(&sim->lock);
    free_sim(sim);
}

int sim_port(const struct sim *sim)
{
    return sim->port;
}

char **sim_statements(struct sim *sim, size_t *out_count)
{
    pthread_mutex_lock(&sim->lock);
    char **copy = sim_alloc((size_t)(sim->statement_count + 1) * sizeof(char *));
    for (int i = 0; i < sim->statement_count; i++)
        copy[i] = sim_dup(sim->statements[i]);
    *out_count = (size_t)sim->statement_count;
    pthread_mutex_unlock(&sim->lock);
    return copy;
}

void sim_texts_free(char **texts, size_t count)
{
    for (size_t i = 0; texts && i < count; i++)
        free(texts[i]);
    free(texts);
}

static int count_locked(const struct sim *sim, const char *prefix)
{
    int n = 0;
    for (int i = 0; i < sim->statement_count; i++) {
        const char *text = sim->statements[i];
        n += sim_text_begins(text + strspn(text, " \t\r\n;"), prefix ? prefix : "");
    }
    return n;
}

int sim_count_statements(struct sim *sim, const char *prefix)
{
    pthread_mutex_lock(&sim->lock);
    int n = count_locked(sim, prefix);
    pthread_mutex_unlock(&sim->lock);
    return n;
}

void sim_forget_statements(struct sim *sim)
{
    pthread_mutex_lock(&sim->lock);
    for (int i = 0; i < sim->statement_count; i++)
        free(sim->statements[i]);
    sim->statement_count = 0;
    pthread_mutex_unlock(&sim->lock);
}

struct sim_left *sim_files(struct sim *sim, size_t *out_count)
{
    pthread_mutex_lock(&sim->lock);
    struct sim_left *left = sim_alloc((size_t)(sim->file_count + 1) * sizeof(*left));
    for (int i = 0; i < sim->file_count; i++)
        left[i] = (struct sim_left){.path = sim_dup(sim->files[i].path),
                                    .size_bytes = sim->files[i].size_bytes,
                                    .whole = sim->files[i].kind == SIM_FILE_BACKUP};
    *out_count = (size_t)sim->file_count;
    pthread_mutex_unlock(&sim->lock);
    return left;
}

void sim_files_free(struct sim_left *files, size_t count)
{
    for (size_t i = 0; files && i < count; i++)
        free(files[i].path);
    free(files);
}

size_t sim_flags(struct sim *sim, int *flags, size_t most)
{
    pthread_mutex_lock(&sim->lock);
    size_t n = (size_t)sim->flag_count;
    for (size_t i = 0; i < n && i < most; i++)
        flags[i] = sim->flags[i];
    pthread_mutex_unlock(&sim->lock);
    return n;
}

static uint64_t lsn_of(struct sim *sim, const char *database, bool log)
{
    pthread_mutex_lock(&sim->lock);
    const struct sim_db *db = sim_db_find_locked(sim, database);
    uint64_t lsn = !db ? 0 : log ? db->last_log_lsn : db->files[0].diff_base_lsn;
    pthread_mutex_unlock(&sim->lock);
    return lsn;
}

uint64_t sim_differential_base(struct sim *sim, const char *database)
{
    return lsn_of(sim, database, false);
}

uint64_t sim_last_log_lsn(struct sim *sim, const char *database)
{
    return lsn_of(sim, database, true);
}

int sim_history_count(struct sim *sim)
{
    pthread_mutex_lock(&sim->lock);
    int n = sim->set_count;
    pthread_mutex_unlock(&sim->lock);
    return n;
}

int sim_database_count(struct sim *sim)
{
    pthread_mutex_lock(&sim->lock);
    int n = sim->db_count;
    pthread_mutex_unlock(&sim->lock);
    return n;
}

int sim_fault(struct sim *sim, const char *json, char *error)
{
    return sim_fault_apply(sim, json, error, SIM_ERROR_SIZE);
}

void sim_fault_clear(struct sim *sim)
{
    pthread_mutex_lock(&sim->lock);
    sim_faults_free_locked(sim);
    sim_release_locked(sim);
    pthread_mutex_unlock(&sim->lock);
}

void sim_release(struct sim *sim)
{
    pthread_mutex_lock(&sim->lock);
    sim_release_locked(sim);
    pthread_mutex_unlock(&sim->lock);
}

int sim_most_backing_up(struct sim *sim)
{
    int most = 0;
    pthread_mutex_lock(&sim->lock);
    for (int i = 0; i < sim->span_count; i++) { /* how many last at the moment that one begins */
        int64_t moment = sim->spans[i].from;
        int count = 0;
        for (int k = 0; k < sim->span_count; k++)
            count += sim->spans[k].from <= moment && sim->spans[k].until >= moment;
        most = count > most ? count : most;
    }
    pthread_mutex_unlock(&sim->lock);
    return most;
}

static bool is_so_locked(struct sim *sim, enum sim_event event, const char *text, int count)
{
    int sessions = 0, backups = 0;

    for (struct session *s = sim->sessions; s; s = s->next) {
        sessions += s->ready;
        backups += s->command && (sim_text_begins(s->command, "BACKUP") ||
                                  sim_text_begins(s->command, "RESTORE"));
    }
    switch (event) {
    case SIM_EVENT_STATEMENTS:
        return count_locked(sim, text) >= count;
    case SIM_EVENT_HELD:
        return sim->held >= count;
    case SIM_EVENT_ATTENTIONS:
        return sim->attentions >= count;
    case SIM_EVENT_SESSIONS:
        return sessions == count;
    case SIM_EVENT_BACKUPS:
        return backups == count;
    }
    return false;
}

int sim_wait_for(struct sim *sim, enum sim_event event, const char *text, int count, int timeout_ms)
{
    struct timespec until;
    int rc = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&sim->lock);
    while (rc == 0 && !is_so_locked(sim, event, text, count))
        rc = pthread_cond_timedwait(&sim->changed, &sim->lock, &until);
    rc = is_so_locked(sim, event, text, count) ? 0 : -1;
    pthread_mutex_unlock(&sim->lock);
    return rc;
}
