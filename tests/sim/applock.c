/* applock.c: locks that applications name. A resource is a database, a principal and a name,
 * compared byte by byte; who holds several modes of one holds their union until the last release.
 * Waiting is first come, first served. Answers: 0 at once, 1 after waiting, -1 timed out, -2
 * cancelled, -3 a deadlock, -999 a call that is wrong. */
#include "applock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESOURCE_UNITS 255
#define FAILED (-999)
#define WAIT_US 1000000 /* between two looks when nobody tells; a release does */

enum mode { INTENT_SHARED, INTENT_EXCLUSIVE, SHARED, UPDATE, EXCLUSIVE, MODES };

#define BIT(mode) (1U << (mode))

static const struct {
    const char *name;
    unsigned allows; /* modes that others may hold meanwhile */
} modes[MODES] = {
    [INTENT_SHARED] = {"IntentShared",
                       BIT(INTENT_SHARED) | BIT(INTENT_EXCLUSIVE) | BIT(SHARED) | BIT(UPDATE)},
    [INTENT_EXCLUSIVE] = {"IntentExclusive", BIT(INTENT_SHARED) | BIT(INTENT_EXCLUSIVE)},
    [SHARED] = {"Shared", BIT(INTENT_SHARED) | BIT(SHARED) | BIT(UPDATE)},
    [UPDATE] = {"Update", BIT(INTENT_SHARED) | BIT(SHARED)},
    [EXCLUSIVE] = {"Exclusive", 0},
};

/* What a call is about. */
struct call {
    struct session *session;
    const char *database, *principal, *resource;
    int db_id;
    bool of_transaction;
    unsigned mode;
    int64_t timeout_ms; /* -1: for ever */
};

static bool agree(unsigned left, unsigned right)
{
    for (int i = 0; i < MODES; i++)
        if (left & BIT(i) && (right & ~modes[i].allows))
            return false;
    return true;
}

/* --- the parameters -------------------------------------------------------------------------- */

/* The one of this name, or in this place when it has none; NULL: it was left out. */
static const struct parameter *find(const struct parameter *params, int n, const char *name,
                                    int place)
{
    for (int i = 0; i < n; i++) {
        bool left_out = params[i].value.is_null && params[i].value.type.base == VT_NULL;
        if (*params[i].name ? sim_text_is(params[i].name, name) : i == place)
            return left_out ? NULL : &params[i];
    }
    return NULL;
}

static const char *text_of(struct frame *f, const struct parameter *p, const char *other)
{
    return p ? sim_parameter_text(f, p) : other;
}

static const char *shortened(struct frame *f, const char *text)
{
    size_t length = 0;
    for (int units = 0; text[length]; length++) {
        unsigned char byte = (unsigned char)text[length];
        units += (byte & 0xC0) == 0x80 ? 0 : byte >= 0xF0 ? 2 : 1;
        if (units > RESOURCE_UNITS)
            break;
    }
    return sim_arena_printf(f->arena, "%.*s", (int)length, text);
}

/* Owners are members of every role that there is. */
static bool may_lock_as(struct session *s, const char *database, const char *principal)
{
    static const char *const known[] = {"public",          "dbo",
                                        "db_owner",        "db_datareader",
                                        "db_datawriter",   "db_backupoperator",
                                        "db_ddladmin",     "db_accessadmin",
                                        "db_securityadmin"};
    bool is_known = false;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        is_known = is_known || sim_text_is(principal, known[i]);
    return is_known &&
           (sim_in_role(s, database, principal) || sim_in_role(s, database, "db_owner"));
}

/* Fills database, principal and resource; an error otherwise. */
static bool read_resource(struct frame *f, const struct parameter *resource,
                          const struct parameter *principal, struct call *call)
{
    struct session *s = f->session;
    const char *name = s->procedure_database ? s->procedure_database : s->database;
    if (!resource || resource->value.is_null)
        return sim_raise(s, 1224, 5, "xp_userlock", NULL);
    if (principal && principal->value.is_null)
        return sim_raise(s, 1230, 1, "xp_userlock", NULL);
    call->principal = text_of(f, principal, "public");
    if (!sim_database_open(s, name, &call->database))
        return false;
    if (!may_lock_as(s, call->database, call->principal))
        return sim_raise(s, 1202, 1, call->principal, NULL);
    call->resource = shortened(f, sim_parameter_text(f, resource));
    return true;
}

/* Session or Transaction; an information and false when it is neither, or there is no transaction.
 */
static bool read_owner(struct frame *f, const struct parameter *owner, struct call *call)
{
    const char *text = text_of(f, owner, "Transaction");
    call->of_transaction = sim_text_is(text, "Transaction");
    if (!call->of_transaction && !sim_text_is(text, "Session")) {
        sim_raise(f->session, 15625, 1, *text ? text : "(null)", "@LockOwner", NULL);
        return false;
    }
    return true;
}

static bool read_mode(struct frame *f, const struct parameter *mode, struct call *call)
{
    const char *text = text_of(f, mode, "");
    for (int i = 0; i < MODES; i++)
        if (sim_text_is(modes[i].name, text))
            call->mode = BIT(i);
    if (!call->mode)
        sim_raise(f->session, 15625, 1, *text ? text : "(null)", "@LockMode", NULL);
    return call->mode != 0;
}

/* names: of the parameters, and before them the procedure's own. */
static bool knows_names(struct session *s, const struct parameter *params, int n,
                        const char *const *names)
{
    for (int i = 0; i < n; i++) {
        bool known = !*params[i].name;
        for (int k = 1; names[k] && !known; k++)
            known = sim_text_is(params[i].name, names[k]);
        if (!known)
            return sim_raise(s, 8145, 1, params[i].name, names[0], NULL);
    }
    return true;
}

/* --- who has it ------------------------------------------------------------------------------ */

static bool is_of(const struct sim_applock *lock, const struct call *call)
{
    return lock->db_id == call->db_id && strcmp(lock->resource, call->resource) == 0 &&
           sim_text_is(lock->principal, call->principal);
}

static bool same_resource(const struct sim_applock *a, const struct sim_applock *b)
{
    return a->db_id == b->db_id && strcmp(a->resource, b->resource) == 0 &&
           sim_text_is(a->principal, b->principal);
}

static struct sim_applock *own_locked(const struct call *call)
{
    for (struct sim_applock *l = call->session->sim->applocks; l; l = l->next)
        if (l->session == call->session && l->of_transaction == call->of_transaction &&
            is_of(l, call))
            return l;
    return NULL;
}

static struct sim_applock *add_locked(const struct call *call)
{
    struct sim_applock **end = &call->session->sim->applocks;
    while (*end)
        end = &(*end)->next;
    struct sim_applock *l = sim_alloc(sizeof(*l));
    l->db_id = call->db_id;
    l->principal = sim_dup(call->principal);
    l->resource = sim_dup(call->resource);
    l->session = call->session;
    l->of_transaction = call->of_transaction;
    *end = l;
    return l;
}

/* True when `other` keeps `mine` waiting: by what it holds, or by what it asked for before. Who has
 * something already does not queue behind those who have nothing. */
static bool keeps_locked(const struct sim_applock *other, const struct sim_applock *mine,
                         bool is_earlier)
{
    if (other->session == mine->session || !same_resource(other, mine))
        return false;
    if (!agree(other->held, mine->wanted))
        return true;
    return is_earlier && !mine->held && other->wanted && !agree(other->wanted, mine->wanted);
}

static bool is_free_locked(const struct sim *sim, const struct sim_applock *mine)
{
    bool is_earlier = true;
    for (const struct sim_applock *l = sim->applocks; l; l = l->next) {
        is_earlier = is_earlier && l != mine;
        if (l != mine && keeps_locked(l, mine, is_earlier))
            return false;
    }
    return true;
}

/* Whether waiting for `mine` ends in a circle that leads back to this session. */
/* NOLINTNEXTLINE(misc-no-recursion): at most as deep as there are sessions */
static bool is_circle_locked(const struct sim *sim, const struct sim_applock *mine,
                             const struct session *first, int depth)
{
    bool is_earlier = true;
    if (depth > 64)
        return false;
    for (const struct sim_applock *l = sim->applocks; l; l = l->next) {
        is_earlier = is_earlier && l != mine;
        if (l == mine || !keeps_locked(l, mine, is_earlier))
            continue;
        if (l->session == first)
            return true;
        for (const struct sim_applock *w = sim->applocks; w; w = w->next)
            if (w->session == l->session && w->wanted && is_circle_locked(sim, w, first, depth + 1))
                return true;
    }
    return false;
}

/* Those who wait look again. */
static void tell_locked(struct sim *sim)
{
    uint64_t one = 1;
    for (const struct sim_applock *l = sim->applocks; l; l = l->next)
        if (l->wanted)
            (void)!write(l->session->wake_fd, &one, sizeof(one));
}

static void remove_locked(struct sim *sim, struct sim_applock *lock)
{
    struct sim_applock **at = &sim->applocks;
    while (*at != lock)
        at = &(*at)->next;
    *at = lock->next;
    free(lock->principal);
    free(lock->resource);
    free(lock);
    tell_locked(sim);
}

void sim_applocks_end_locked(struct session *s, bool of_session)
{
    struct sim_applock *next = NULL;
    for (struct sim_applock *l = s->sim->applocks; l; l = next) {
        next = l->next;
        if (l->session == s && (of_session || l->of_transaction))
            remove_locked(s->sim, l);
    }
}

/* --- the procedures --------------------------------------------------------------------------- */

static int grant_locked(struct sim_applock *mine, int answer)
{
    mine->held |= mine->wanted;
    mine->wanted = 0;
    mine->count++;
    return answer;
}

static int give_up_locked(struct sim *sim, struct sim_applock *mine, int answer)
{
    mine->wanted = 0;
    if (mine->count == 0)
        remove_locked(sim, mine);
    else
        tell_locked(sim); /* who stood behind it may go on */
    return answer;
}

static int take(const struct call *call)
{
    struct session *s = call->session;
    struct sim *sim = s->sim;
    int64_t until = call->timeout_ms < 0 ? INT64_MAX : sim_mono_us() + call->timeout_ms * 1000;
    int answer = 0;
    pthread_mutex_lock(&sim->lock);
    struct sim_applock *mine = own_locked(call);
    if (!mine)
        mine = add_locked(call);
    mine->wanted = call->mode;
    while (mine->wanted && answer >= 0) {
        if (is_free_locked(sim, mine)) {
            answer = grant_locked(mine, answer);
        } else if (sim_mono_us() >= until) {
            answer = give_up_locked(sim, mine, -1);
        } else if (is_circle_locked(sim, mine, s, 0)) {
            answer = give_up_locked(sim, mine, -3);
        } else {
            int64_t look = sim_mono_us() + WAIT_US;
            answer = 1;
            pthread_mutex_unlock(&sim->lock);
            wire_flush(&s->wire);
            enum wake w = sim_session_wait(s, look < until ? look : until);
            pthread_mutex_lock(&sim->lock);
            if (w == WAKE_ATTENTION || w == WAKE_CLOSED || s->killed || sim->stopping)
                answer = give_up_locked(sim, mine, -2);
        }
        if (answer < 0)
            break; /* `mine` may be gone */
    }
    pthread_mutex_unlock(&sim->lock);
    return answer;
}

static void find_database(struct call *call)
{
    pthread_mutex_lock(&call->session->sim->lock);
    const struct sim_db *db = sim_db_find_locked(call->session->sim, call->database);
    call->db_id = db ? db->id : 0;
    pthread_mutex_unlock(&call->session->sim->lock);
}

bool sim_sp_getapplock(struct frame *f, struct parameter *params, int n, int *status)
{
    static const char *const names[] = {"sp_getapplock", "@Resource",    "@LockMode", "@LockOwner",
                                        "@LockTimeout",  "@DbPrincipal", NULL};
    struct session *s = f->session;
    struct call call = {.session = s, .resource = "", .timeout_ms = -1};
    *status = FAILED;
    if (!knows_names(s, params, n, names))
        return false;
    if (!find(params, n, "@LockMode", 1))
        return sim_raise(s, 201, 4, "sp_getapplock", "@LockMode", NULL);
    const struct parameter *timeout = find(params, n, "@LockTimeout", 3);
    if (!read_mode(f, find(params, n, "@LockMode", 1), &call) ||
        !read_owner(f, find(params, n, "@LockOwner", 2), &call))
        return true; /* an information, and the answer says it */
    if (timeout && !timeout->value.is_null)
        call.timeout_ms = strtoll(sim_parameter_text(f, timeout), NULL, 10);
    if (call.of_transaction && !s->transactions) {
        sim_raise(s, 15626, 1, NULL);
        return true;
    }
    if (call.timeout_ms < -1)
        return sim_raise(s, 1227, 1, "xp_userlock", NULL);
    if (!read_resource(f, find(params, n, "@Resource", 0), find(params, n, "@DbPrincipal", 4),
                       &call))
        return false;
    find_database(&call);
    *status = take(&call);
    return true;
}

bool sim_sp_releaseapplock(struct frame *f, struct parameter *params, int n, int *status)
{
    static const char *const names[] = {"sp_releaseapplock", "@Resource", "@LockOwner",
                                        "@DbPrincipal", NULL};
    struct session *s = f->session;
    struct call call = {.session = s, .resource = ""};
    *status = FAILED;
    if (!knows_names(s, params, n, names))
        return false;
    if (!read_owner(f, find(params, n, "@LockOwner", 1), &call))
        return true;
    if (call.of_transaction && !s->transactions)
        return sim_raise(s, 3918, 1, NULL);
    if (!read_resource(f, find(params, n, "@Resource", 0), find(params, n, "@DbPrincipal", 2),
                       &call))
        return false;
    find_database(&call);
    pthread_mutex_lock(&s->sim->lock);
    struct sim_applock *mine = own_locked(&call);
    bool held = mine && mine->count > 0;
    if (held && --mine->count == 0)
        remove_locked(s->sim, mine);
    pthread_mutex_unlock(&s->sim->lock);
    if (!held)
        return sim_raise(s, 1223, 1, call.principal, call.resource, NULL);
    *status = 0;
    return true;
}
