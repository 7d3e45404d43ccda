/* procs_rest.c: sp_invoke_external_rest_endpoint of SQL Server 2025, for addresses of this machine,
 * and the credentials of databases that it sends. */
#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "procs.h"

#define ANSWER_BYTES (100 << 20)

enum rest_argument { URL, PAYLOAD, HEADERS, METHOD, TIMEOUT, CREDENTIAL, RESPONSE, ARGUMENTS };

static const char *const names[ARGUMENTS] = {"@url",     "@payload",    "@headers", "@method",
                                             "@timeout", "@credential", "@response"};

struct call {
    const char *text[ARGUMENTS]; /* NULL: not given */
    struct bytes body;
    cJSON *headers; /* of the answer */
    long status;
    CURLcode code;
};

/* --- credentials --------------------------------------------------------------------------- */

bool sim_create_credential(struct frame *f, const struct stmt *st)
{
    struct session *s = f->session;
    struct sim *sim = s->sim;
    if (!sim_in_role(s, s->database, "db_owner"))
        return sim_raise(s, 15247, 1, NULL);
    pthread_mutex_lock(&sim->lock);
    sim->credentials = sim_realloc(sim->credentials,
                                   (size_t)(sim->credential_count + 1) * sizeof(*sim->credentials));
    sim->credentials[sim->credential_count++] = (struct sim_credential){
        sim_dup(s->database), sim_dup(st->alias), sim_dup(st->names[0]), sim_dup(st->names[1])};
    pthread_mutex_unlock(&sim->lock);
    return true;
}

/* The secret of the database's credential; NULL when there is none. */
static const char *find_secret(struct frame *f, const char *name, bool *out_in_headers)
{
    struct sim *sim = f->session->sim;
    const char *secret = NULL;
    pthread_mutex_lock(&sim->lock);
    for (int i = 0; i < sim->credential_count; i++) {
        const struct sim_credential *c = &sim->credentials[i];
        if (sim_text_is(c->database, f->session->database) && sim_text_is(c->name, name)) {
            secret = sim_arena_dup(f->arena, c->secret);
            *out_in_headers = sim_text_is(c->identity, "HTTPEndpointHeaders");
        }
    }
    pthread_mutex_unlock(&sim->lock);
    return secret;
}

/* --- one request --------------------------------------------------------------------------- */

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct call *call = arg;
    if (call->body.len + size * count > ANSWER_BYTES)
        return 0;
    sim_bytes_put(&call->body, bytes, size * count);
    return size * count;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
    struct call *call = arg;
    size_t length = size * count;
    const char *colon = memchr(bytes, ':', length);
    if (colon) {
        char *name = strndup(bytes, (size_t)(colon - bytes));
        const char *from = colon + 1 + strspn(colon + 1, " ");
        char *value = strndup(from, strcspn(from, "\r\n"));
        cJSON_AddStringToObject(call->headers, name, value);
        free(name);
        free(value);
    }
    return length;
}

/* Each member of a flat JSON object as a header. */
static struct curl_slist *add_headers(struct curl_slist *list, struct arena *arena,
                                      const char *json)
{
    cJSON *object = json ? cJSON_Parse(json) : NULL;
    const cJSON *m = NULL;
    cJSON_ArrayForEach(m, object) {
        if (cJSON_IsString(m))
            list = curl_slist_append(list,
                                     sim_arena_printf(arena, "%s: %s", m->string, m->valuestring));
    }
    cJSON_Delete(object);
    return list;
}

static void set_up(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT); /* a failure shows at the first request */
}

/* The certificate is not looked at: here it is one that a test made. */
static void send_request(struct frame *f, struct call *call, const char *secret)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, set_up);
    CURL *curl = curl_easy_init();
    struct curl_slist *list = NULL;
    list = curl_slist_append(list, "Content-Type: application/json; charset=utf-8");
    list = curl_slist_append(list, "Accept: application/json");
    list = add_headers(list, f->arena, call->text[HEADERS]);
    list = add_headers(list, f->arena, secret);
    (void)curl_easy_setopt(curl, CURLOPT_URL, call->text[URL]);
    (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->text[METHOD]);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, strtol(call->text[TIMEOUT], NULL, 10));
    (void)curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, call);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, call);
    if (call->text[PAYLOAD])
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->text[PAYLOAD]);
    call->code = curl_easy_perform(curl);
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &call->status);
    curl_slist_free_all(list);
    curl_easy_cleanup(curl);
}

/* What @response gets. */
static const char *response_text(struct frame *f, struct call *call)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON *response = cJSON_AddObjectToObject(tree, "response");
    cJSON *http = cJSON_AddObjectToObject(cJSON_AddObjectToObject(response, "status"), "http");
    cJSON *result = cJSON_Parse(sim_bytes_str(&call->body));
    cJSON_AddNumberToObject(http, "code", (double)call->status);
    cJSON_AddStringToObject(http, "description", "");
    cJSON_AddItemToObject(response, "headers", call->headers);
    if (result)
        cJSON_AddItemToObject(tree, "result", result);
    char *text = cJSON_PrintUnformatted(tree);
    const char *kept = sim_arena_dup(f->arena, text);
    cJSON_Delete(tree);
    free(text);
    return kept;
}

/* --- the procedure ------------------------------------------------------------------------- */

static int index_of(const char *name, int position)
{
    if (!*name)
        return position < ARGUMENTS ? position : -1;
    for (int i = 0; i < ARGUMENTS; i++)
        if (sim_text_is(names[i], name))
            return i;
    return -1;
}

static bool read_arguments(struct frame *f, const struct parameter *params, int n,
                           struct call *call)
{
    struct session *s = f->session;
    call->text[METHOD] = "POST";
    call->text[TIMEOUT] = "5";
    for (int k = 0; k < n; k++) {
        int i = index_of(params[k].name, k);
        if (i < 0)
            return sim_raise(s, 8145, 1, params[k].name, "sp_invoke_external_rest_endpoint", NULL);
        if (!params[k].value.is_null)
            call->text[i] = sim_parameter_text(f, &params[k]);
    }
    if (!call->text[URL])
        return sim_raise(s, 201, 4, "sp_invoke_external_rest_endpoint", "@url", NULL);
    long timeout = strtol(call->text[TIMEOUT], NULL, 10);
    if (timeout < 1 || timeout > 230)
        return sim_raise(s, 16902, 1, "sp_invoke_external_rest_endpoint", "@timeout", NULL);
    return true;
}

/* Only encrypted, and only this machine. */
static bool may_call(const char *url)
{
    return sim_text_begins(url, "https://127.0.0.1:") || sim_text_begins(url, "https://localhost:");
}

bool sim_sp_invoke_rest(struct frame *f, struct parameter *params, int n, int *status)
{
    struct session *s = f->session;
    struct call call = {.headers = NULL};
    const char *secret = NULL;
    bool in_headers = false;

    *status = 1;
    if (!s->sim->config_rest)
        return sim_raise(s, 15281, 1, "procedure", "sys.sp_invoke_external_rest_endpoint",
                         "external rest endpoint enabled", NULL);
    if (!s->sysadmin && !sim_may_server(s, "EXECUTE ANY EXTERNAL ENDPOINT"))
        return sim_raise(s, 229, 5, "EXECUTE", "sp_invoke_external_rest_endpoint",
                         "mssqlsystemresource", "sys", NULL);
    if (!read_arguments(f, params, n, &call))
        return false;
    if (call.text[CREDENTIAL]) {
        secret = find_secret(f, call.text[CREDENTIAL], &in_headers);
        /* the name is the address, or the beginning of it */
        if (!secret || !in_headers || !sim_text_begins(call.text[URL], call.text[CREDENTIAL]))
            return sim_raise(s, 15151, 1, "use", "credential", call.text[CREDENTIAL], NULL);
    }
    if (!may_call(call.text[URL]))
        return sim_raise(s, 31608, 1, "0x80072ee7", NULL);
    call.headers = cJSON_CreateObject();
    send_request(f, &call, secret);
    const char *text = response_text(f, &call);
    sim_bytes_fini(&call.body);
    if (call.code != CURLE_OK)
        return sim_raise(s, 31608, 1, "0x80072efd", NULL);
    for (int k = 0; k < n; k++)
        if (params[k].output && index_of(params[k].name, k) == RESPONSE)
            params[k].value = sim_text(text);
    *status = call.status >= 200 && call.status < 300 ? 0 : (int)call.status;
    return true;
}
