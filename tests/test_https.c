/* HTTPS: what is spoken, which certificate is shown, and how it changes. */
#include "server/log.h"
#include "server/mem.h"
#include "tests/certificate.h"
#include "tests/http_kit.h"
#include "tests/store_kit.h"
#include "tests/tls_client.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define GET "GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define ANY "NORMAL"

extern char **environ;

/* A kit that speaks TLS, with two certificates to choose from. */
struct place {
    struct http_kit *kit;
    char *cert, *key;             /* what is served */
    char *other_cert, *other_key; /* another pair */
};

static int set_up(void **state)
{
    struct place *place = mem_alloc(1, sizeof *place);
    place->kit = http_kit_start(0);
    const char *folder = place->kit->folder;
    place->cert = kit_path(folder, "cert.pem");
    place->key = kit_path(folder, "key.pem");
    place->other_cert = kit_path(folder, "other-cert.pem");
    place->other_key = kit_path(folder, "other-key.pem");
    assert_int_equal(certificate_make(place->cert, place->key, "localhost,127.0.0.1"), 0);
    assert_int_equal(certificate_make(place->other_cert, place->other_key, "localhost"), 0);
    http_kit_stop_http(place->kit);
    place->kit->parts.tls_cert_file = place->cert;
    place->kit->parts.tls_key_file = place->key;
    http_kit_start_http(place->kit);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    http_kit_stop(place->kit);
    free(place->cert);
    free(place->key);
    free(place->other_cert);
    free(place->other_key);
    free(place);
    return 0;
}
#define TLS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void assert_answers(struct tls_client *client)
{
    assert_true(tls_client_send(client, GET));
    char *answer = tls_client_read(client, "next_cursor");
    if (strncmp(answer, "HTTP/1.1 200 ", 13) != 0 || !strstr(answer, "X-Request-Id: ") ||
        !strstr(answer, "Strict-Transport-Security: max-age=31536000\r\n"))
        fail_msg("%s", answer);
    free(answer);
}

static void assert_shows(int port, const char *cert)
{
    struct tls_client client;
    char expected[65];
    tls_certificate_of(cert, expected);
    tls_client_open(&client, port, ANY);
    assert_int_equal(client.handshake, 0);
    assert_string_equal(client.certificate, expected);
    assert_answers(&client);
    tls_client_close(&client);
}

/* --- what is spoken ------------------------------------------------------------------------ */

static void only_tls_1_2_and_later_are_spoken(void **state)
{
    static const struct {
        const char *priority;
        bool works;
    } cases[] = {
        {"NORMAL:-VERS-ALL:+VERS-TLS1.3", true},
        {"NORMAL:-VERS-ALL:+VERS-TLS1.2", true},
        {"NORMAL:-VERS-ALL:+VERS-TLS1.1", false},
        {"NORMAL:-VERS-ALL:+VERS-TLS1.0", false},
        {"NONE:+VERS-TLS1.2:+CIPHER-ALL:+ARCFOUR-128:-AES-128-GCM:-AES-256-GCM:-AES-128-CBC:"
         "-AES-256-CBC:-AES-128-CCM:-AES-256-CCM:-CHACHA20-POLY1305:+MAC-ALL:+KX-ALL:+SIGN-ALL:"
         "+COMP-NULL:+GROUP-ALL",
         false},
    };
    const struct place *place = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tls_client client;
        tls_client_open(&client, place->kit->port, cases[i].priority);
        if ((client.handshake == 0) != cases[i].works)
            fail_msg("%s: %s", cases[i].priority, gnutls_strerror(client.handshake));
        if (cases[i].works)
            assert_answers(&client);
        tls_client_close(&client);
    }
}

static void plain_http_is_not_answered(void **state)
{
    const struct place *place = *state;
    struct client client = client_open(place->kit->port);
    client_send(&client, GET);
    assert_null(strstr(client_read_rest(&client), "HTTP/"));
    client_close(&client);
    assert_shows(place->kit->port, place->cert);
}

/* RFC 6797 7.2: who reads a plain answer could have been sent it by anybody. */
static void only_https_asks_to_come_back_by_https(void **state)
{
    struct place *place = *state;
    http_kit_stop_http(place->kit);
    place->kit->parts.tls_cert_file = NULL;
    place->kit->parts.tls_key_file = NULL;
    http_kit_start_http(place->kit);
    struct reply reply = call(place->kit->port, "GET", "/v1/jobs", NULL, NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Strict-Transport-Security"), "");
    reply_fini(&reply);
}

static void who_does_not_shake_hands_is_cut(void **state)
{
    struct place *place = *state;
    http_kit_stop_http(place->kit);
    place->kit->parts.request_ms = 300;
    http_kit_start_http(place->kit);
    struct client client = client_open(place->kit->port);
    client_send_bytes(&client, "\x16\x03\x01\x02", 4); /* the beginning of a ClientHello */
    assert_true(client_is_closed(&client));
    client_close(&client);
}

/* Suspending and going on goes through the TLS session. */
static void a_held_request_is_answered(void **state)
{
    const struct place *place = *state;
    struct tls_client client;
    tls_client_open(&client, place->kit->port, ANY);
    char *put = mem_format("PUT /v1/instances/sql01 HTTP/1.1\r\nHost: localhost\r\n"
                           "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                           strlen(http_kit_instance), http_kit_instance);
    assert_true(tls_client_send(&client, put));
    char *answer = tls_client_read(&client, "updated_at");
    assert_int_equal(strncmp(answer, "HTTP/1.1 201 ", 13), 0);
    free(answer);
    char *post = mem_format("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nPrefer: wait=1\r\n"
                            "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                            strlen(http_kit_job), http_kit_job);
    assert_true(tls_client_send(&client, post));
    answer = tls_client_read(&client, "Preference-Applied");
    assert_int_equal(strncmp(answer, "HTTP/1.1 202 ", 13), 0);
    tls_client_close(&client);
    free(answer);
    free(post);
    free(put);
}

/* --- certificates -------------------------------------------------------------------------- */

static void rename_over(const char *from, const char *to)
{
    assert_int_equal(rename(from, to), 0);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void after_a_reload_new_connections_get_the_new_one(void **state)
{
    struct place *place = *state;
    struct tls_client before;
    struct err err;
    tls_client_open(&before, place->kit->port, ANY);
    assert_answers(&before);
    assert_shows(place->kit->port, place->cert);
    rename_over(place->other_cert, place->cert);
    rename_over(place->other_key, place->key);
    char fresh[65];
    tls_certificate_of(place->cert, fresh);
    assert_string_not_equal(before.certificate, fresh);
    kit_ok(http_reload(place->kit->http, &err), &err);
    assert_shows(place->kit->port, place->cert);
    assert_answers(&before); /* goes on as it was */
    tls_client_close(&before);
}

static void a_broken_file_leaves_the_old_one(void **state)
{
    static const char *const texts[] = {
        "", "no PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"};
    struct place *place = *state;
    struct err err;
    char *old = kit_path(place->kit->folder, "old.pem");
    assert_int_equal(link(place->cert, old), 0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        (void)unlink(place->cert);
        write_file(place->cert, texts[i]);
        assert_int_equal(http_reload(place->kit->http, &err), -1);
        assert_non_null(strstr(err.msg, "cert.pem"));
        assert_shows(place->kit->port, old);
    }
    rename_over(place->other_cert, place->cert); /* whole, but of another key */
    assert_int_equal(http_reload(place->kit->http, &err), -1);
    assert_shows(place->kit->port, old);
    assert_int_equal(unlink(place->key), 0);
    assert_int_equal(http_reload(place->kit->http, &err), -1);
    assert_shows(place->kit->port, old);
    free(old);
}

static void without_a_good_pair_the_daemon_does_not_start(void **state)
{
    struct place *place = *state;
    char *nothing = kit_path(place->kit->folder, "nothing.pem");
    const struct {
        const char *cert, *key;
    } cases[] = {
        {nothing, place->key},
        {place->cert, nothing},
        {place->cert, place->other_key},
        {place->key, place->cert},
    };
    http_kit_stop_http(place->kit);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_parts parts = place->kit->parts;
        struct http *http = NULL;
        struct err err;
        parts.tls_cert_file = cases[i].cert;
        parts.tls_key_file = cases[i].key;
        assert_int_equal(http_start(&parts, &http, &err), -1);
        assert_int_equal(err.code, ERR_INPUT);
        assert_null(strstr(err.msg, "BEGIN"));
    }
    http_kit_start_http(place->kit);
    free(nothing);
}

/* --- the whole program --------------------------------------------------------------------- */

struct child {
    pid_t pid;
    FILE *out; /* both of its outputs */
};

static void child_start(struct child *child, const struct place *place)
{
    int ends[2];
    posix_spawn_file_actions_t files;
    char *program = mem_copy(getenv("SWEETSPOT_TEST_DAEMON"));
    char *dir = mem_format("--state-dir=%s/state", place->kit->folder);
    char *cert = mem_format("--tls-cert-file=%s", place->cert);
    char *key = mem_format("--tls-key-file=%s", place->key);
    char config[] = "--config=/dev/null";
    char listen[] = "--listen=127.0.0.1:0";
    char *argv[] = {program, config, listen, dir, cert, key, NULL};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(posix_spawn_file_actions_init(&files), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO), 0);
    assert_int_equal(posix_spawn(&child->pid, program, &files, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&files);
    (void)close(ends[1]);
    child->out = fdopen(ends[0], "r");
    assert_non_null(child->out);
    free(program);
    free(dir);
    free(cert);
    free(key);
}

/* Reads lines until one holds text, and returns it. */
static const char *child_says(struct child *child, const char *text)
{
    static char line[1000];
    while (fgets(line, sizeof line, child->out))
        if (strstr(line, text))
            return line;
    fail_msg("it ended and did not say %s", text);
    return NULL;
}

static void sighup_reads_the_certificate_again(void **state)
{
    struct place *place = *state;
    struct child child;
    int status;
    char *old = kit_path(place->kit->folder, "old.pem");
    assert_int_equal(link(place->cert, old), 0);
    child_start(&child, place);
    const char *line = child_says(&child, "ready on https://127.0.0.1:");
    int port = (int)strtol(strrchr(line, ':') + 1, NULL, 10);
    assert_shows(port, place->cert);
    rename_over(place->other_cert, place->cert);
    assert_int_equal(kill(child.pid, SIGHUP), 0); /* the key is still the old one */
    (void)child_says(&child, "event=reload_failed");
    assert_shows(port, old);
    rename_over(place->other_key, place->key);
    assert_int_equal(kill(child.pid, SIGHUP), 0);
    (void)child_says(&child, "event=reloaded");
    assert_shows(port, place->cert);
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)fclose(child.out);
    char *state_dir = kit_path(place->kit->folder, "state");
    kit_remove_folder(state_dir); /* frees it */
    free(old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TLS_TEST(only_tls_1_2_and_later_are_spoken),
        TLS_TEST(plain_http_is_not_answered),
        TLS_TEST(only_https_asks_to_come_back_by_https),
        TLS_TEST(who_does_not_shake_hands_is_cut),
        TLS_TEST(a_held_request_is_answered),
        TLS_TEST(after_a_reload_new_connections_get_the_new_one),
        TLS_TEST(a_broken_file_leaves_the_old_one),
        TLS_TEST(without_a_good_pair_the_daemon_does_not_start),
        TLS_TEST(sighup_reads_the_certificate_again),
    };
    if (!getenv("SWEETSPOT_TEST_DAEMON"))
        return 77; /* skipped: the build names the program */
    log_set_level(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
