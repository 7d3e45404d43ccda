/* No secret comes back: passwords, URLs of webhooks, their secrets and tokens are canaries here,
 * and none of them may stand, in any spelling, in the answer of any route, good or bad, in the log,
 * or in a file of the state folder. */
#include "api/route.h"
#include "server/log.h"
#include "server/mem.h"
#include "tests/http_client.h"
#include "tests/receiver.h"
#include "tests/sweep_kit.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PASSWORD "Zq7/Canary+Pass w0rd"
#define HOOK "T0kEn-InThePath-9x8y7z"
#define SIGNER "hush-hush-c4nary-0123456789"
#define TOKEN "sweetspot_CanaryTokenCanaryTokenCanaryTokenCanaryTok"
#define SIMULATOR "Sweetspot-1" /* what the good instance logs in with */
#define NEEDLES_MAX 64

static const char *const canaries[] = {PASSWORD, HOOK, SIGNER, TOKEN, SIMULATOR};
static char *needles[NEEDLES_MAX];
static size_t needle_count;
static size_t answers;

/* --- spellings ------------------------------------------------------------------------------ */

static void add_needle(char *text)
{
    assert_true(needle_count < NEEDLES_MAX);
    needles[needle_count++] = text;
}

/* What base64 makes of it wherever it stands in a text: three ways, without the ends that depend on
 * what is beside it. */
static char *base64_of(const char *text, size_t skip)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct buf out = {0};
    size_t length = strlen(text);
    for (size_t i = skip; i + 3 <= length; i += 3) {
        unsigned bits = (unsigned)(unsigned char)text[i] << 16 |
                        (unsigned)(unsigned char)text[i + 1] << 8 | (unsigned char)text[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            buf_add_char(&out, letters[bits >> shift & 63]);
    }
    return buf_take(&out);
}

static char *percent_of(const char *text)
{
    struct buf out = {0};
    for (; *text; text++)
        if (strchr("/+ ", *text))
            buf_format(&out, "%%%02X", (unsigned char)*text);
        else
            buf_add_char(&out, *text);
    return buf_take(&out);
}

static char *reversed(const char *text)
{
    size_t length = strlen(text);
    char *out = mem_alloc(length + 1, 1);
    for (size_t i = 0; i < length; i++)
        out[i] = text[length - 1 - i];
    return out;
}

static void make_needles(void)
{
    for (size_t i = 0; i < sizeof canaries / sizeof canaries[0]; i++) {
        size_t half = strlen(canaries[i]) / 2;
        add_needle(mem_copy(canaries[i]));
        add_needle(percent_of(canaries[i]));
        add_needle(reversed(canaries[i]));
        for (size_t skip = 0; skip < 3; skip++)
            add_needle(base64_of(canaries[i], skip));
        if (half < 8)
            continue; /* "Sweet" is in our own name */
        add_needle(mem_format("%.*s", (int)half, canaries[i]));
        add_needle(mem_copy(canaries[i] + half));
    }
}

static void expect_none(const char *what, const char *bytes, size_t length)
{
    for (size_t i = 0; i < needle_count; i++)
        if (memmem(bytes, length, needles[i], strlen(needles[i])))
            fail_msg("%s holds %s", what, needles[i]);
}

/* --- calls ---------------------------------------------------------------------------------- */

/* Whatever it is answered: all of it is looked at. Returns the status. */
static int look(struct harness *house, const char *method, const char *target, const char *headers,
                const char *body)
{
    char *json = body ? harness_json(body) : NULL;
    char *all = mem_format("Authorization: Bearer " TOKEN "\r\n%s", headers);
    struct reply reply = call(harness_port(house), method, target, all, json);
    char *what = mem_format("%s %s: %d", method, target, reply.status);
    assert_true(reply.status > 0 && (reply.status < 500 || reply.status == 503));
    expect_none(what, reply.head, strlen(reply.head));
    expect_none(what, reply.body, reply.body_length);
    int status = reply.status;
    answers++;
    reply_fini(&reply);
    free(what);
    free(json);
    free(all);
    return status;
}

/* The path with what there is in place of its parameters. The caller frees it. */
static char *target_of(const char *path, const char *job, const char *delivery)
{
    struct buf target = {0};
    for (const char *at = path; *at; at++) {
        if (*at != '{')
            buf_add_char(&target, *at);
        else if (strncmp(path, "/v1/jobs", 8) == 0)
            buf_add(&target, job);
        else if (strncmp(path, "/v1/deliveries", 14) == 0)
            buf_add(&target, delivery);
        else
            buf_add(&target, strncmp(path, "/v1/webhooks", 12) == 0 ? "dba" : "sql01");
        at += *at == '{' ? strcspn(at, "}") : 0;
    }
    return buf_take(&target);
}

/* Every route, as each of its media. A change is asked for with a body that is wrong; what deletes
 * is left out, as is the stream that does not end. */
static void ask_all(struct harness *house, const char *job, const char *delivery)
{
    static const char *const accepts[] = {"", "Accept: text/markdown\r\n", "Accept: text/csv\r\n",
                                          "Accept: text/html\r\n", "Accept: x/none\r\n"};
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &routes[i];
        if (strcmp(route->method, "DELETE") == 0 || strcmp(route->path, "/v1/events") == 0)
            continue;
        bool reads = strcmp(route->method, "GET") == 0;
        char *target = target_of(route->path, job, delivery);
        for (size_t a = 0; a < sizeof accepts / sizeof accepts[0]; a++)
            (void)look(house, route->method, target, accepts[a],
                       reads ? NULL : "{'" PASSWORD "':'" HOOK "'");
        free(target);
    }
    char *trends = mem_format("/v1/compare?base=%s&candidate=%s", job, job);
    (void)look(house, "GET", trends, "", NULL);
    (void)look(house, "GET", "/v1/trends?instance=sql01&kind=backup_sweep", "", NULL);
    free(trends);
}

/* Secrets where they do not belong, or in what is refused. */
static void ask_wrongly(struct harness *house)
{
    static const struct {
        const char *target;
        const char *body;
    } calls[] = {
        {"/v1/instances/x1", "{'host':'h','login':'l','password':'" PASSWORD "'}"},
        {"/v1/instances/x2", "{'host':'h','login':'l','password':{'env':'" PASSWORD "'}}"},
        {"/v1/instances/x3", "{'host':'h','login':'l','password':{'file':'/" PASSWORD "'}}"},
        {"/v1/instances/x4",
         "{'host':'h','login':'l','password':{'env':'SWEETSPOT_SECRET_X','value':'" PASSWORD "'}}"},
        {"/v1/instances/x5", "{'host':'h','login':'l','passwords':'" PASSWORD "'}"},
        {"/v1/webhooks/x1", "{'url':'http://10.0.0.1/" HOOK "','format':'json'}"},
        {"/v1/webhooks/x2", "{'url':'ftp://127.0.0.1/" HOOK "','format':'json'}"},
        {"/v1/webhooks/x3", "{'url':'http://u:" HOOK "@127.0.0.1/','format':'json'}"},
        {"/v1/webhooks/x4", "{'url':'http://127.0.0.1/" HOOK "','format':'none'}"},
        {"/v1/webhooks/x5",
         "{'url':'http://127.0.0.1/" HOOK "','format':'json','secret':'" SIGNER "'}"},
        {"/v1/webhooks/x6", "{'url':['" HOOK "'],'format':'json'}"},
        {"/v1/webhooks/x7", "{'url':'127.0.0.1/" HOOK "','format':'json'}"},
        {"/v1/webhooks/x8", "{'url':'http://127.0.0.1:99999/" HOOK "','format':'json'}"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (look(house, "PUT", calls[i].target, "", calls[i].body) < 400)
            fail_msg("%s was taken", calls[i].body);
}

/* --- files ---------------------------------------------------------------------------------- */

static size_t look_at_file(const char *path)
{
    size_t length = 0;
    size_t capacity = 0;
    char *bytes = NULL;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    for (int byte = getc(file); byte != EOF; byte = getc(file)) {
        bytes = mem_grow(bytes, &capacity, length + 1, 1);
        bytes[length++] = (char)byte;
    }
    (void)fclose(file); /* only read */
    expect_none(path, bytes ? bytes : "", length);
    free(bytes);
    return length;
}

static size_t look_at_folder(const char *folder)
{
    size_t files = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_type != DT_REG)
            continue;
        char *path = mem_format("%s/%s", folder, entry->d_name);
        (void)look_at_file(path);
        files++;
        free(path);
    }
    (void)closedir(dir);
    return files;
}

/* --- the test ------------------------------------------------------------------------------- */

static char *newest_delivery(struct harness *house)
{
    cJSON *list = harness_call(house, "GET", "/v1/webhooks/dba/deliveries", NULL, 200);
    char *id = mem_copy(text_at(list, "items/0/id"));
    cJSON_Delete(list);
    return id;
}

static void register_all(struct harness *house, int receiver_port)
{
    harness_register(house, ALLOW);
    char *bad = mem_format("{'host':'127.0.0.1','port':%d,'login':'sa','environment':'test',"
                           "'password':{'env':'SWEETSPOT_SECRET_CANARY'}}",
                           sim_port(house->sim));
    char *hook = mem_format("{'url':'http://127.0.0.1:%d/" HOOK "','format':'json','events':['*'],"
                            "'all_jobs':true,'secret':{'env':'SWEETSPOT_SECRET_SIGNER'}}",
                            receiver_port);
    cJSON_Delete(harness_call(house, "PUT", "/v1/instances/sql02", bad, 201));
    cJSON_Delete(harness_call(house, "PUT", "/v1/webhooks/dba", hook, 201));
    free(hook);
    free(bad);
}

static void no_secret_comes_back(void **state)
{
    (void)state;
    char log_path[] = "/tmp/sweetspot-log.XXXXXX";
    int log = mkstemp(log_path);
    int saved = dup(STDERR_FILENO);
    assert_true(log >= 0 && saved >= 0 && dup2(log, STDERR_FILENO) >= 0);
    assert_int_equal(setenv("SWEETSPOT_SECRET_CANARY", PASSWORD, 1), 0);
    assert_int_equal(setenv("SWEETSPOT_SECRET_SIGNER", SIGNER, 1), 0);
    make_needles();
    struct receiver *receiver = receiver_start();
    struct harness *house = harness_start(NULL);
    log_set_level(LOG_LEVEL_DEBUG);
    register_all(house, receiver_port(receiver));
    receiver_answer(receiver, 500, 1);
    char *job = NULL;
    cJSON_Delete(sweep_run(house, SWEEP(",'buffercount':[50]", SHORT), &job));
    cJSON_Delete(sweep_run_to(house, SWEEP_OF("sql02", "Sales", ",'buffercount':[50]", SHORT),
                              "failed", NULL));
    (void)receiver_wait(receiver, 1);
    char *delivery = newest_delivery(house);
    (void)look(house, "POST", "/v1/instances/sql02/check", "", NULL);
    ask_wrongly(house);
    ask_all(house, job, delivery);
    harness_stop_daemon(house);
    size_t files = look_at_folder(house->config.state_dir);
    harness_start_daemon(house);
    harness_stop(house);
    receiver_stop(receiver);
    log_set_level(LOG_LEVEL_ERROR);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(saved);
    (void)close(log);
    size_t logged = look_at_file(log_path);
    assert_true(logged > 1000 && answers > 100 && files > 1);
    print_message("%zu spellings of %zu secrets: in none of %zu answers, %zu files and %zu KiB of "
                  "log\n",
                  needle_count, sizeof canaries / sizeof canaries[0], answers, files,
                  logged / 1024);
    (void)unlink(log_path);
    for (size_t i = 0; i < needle_count; i++)
        free(needles[i]);
    free(delivery);
    free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_secret_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
