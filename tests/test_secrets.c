/* Secrets: the key file, references, sealing. Everything happens in a folder of its own. */
#include "server/mem.h"
#include "server/secrets.h"

#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    char folder[64];
    struct config config;
    struct secrets *secrets;
    struct err err;
};

static void write_file(const char *path, const void *bytes, size_t length, mode_t mode)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, length), length);
    assert_int_equal(fchmod(file, mode), 0);
    assert_int_equal(close(file), 0);
}

static int make_place(void **state)
{
    struct place *place = mem_alloc(1, sizeof *place);
    (void)snprintf(place->folder, sizeof place->folder, "/tmp/sweetspot-secrets-XXXXXX");
    if (!mkdtemp(place->folder))
        return -1;
    place->config.key_file = mem_format("%s/key", place->folder);
    place->config.secrets_dir = mem_format("%s/secrets", place->folder);
    place->config.secrets_env = mem_copy("PGPASSWORD, OTHER_ONE");
    if (mkdir(place->config.secrets_dir, 0700) != 0)
        return -1;
    if (secrets_open(&place->config, &place->secrets, &place->err) < 0)
        return -1;
    *state = place;
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

static int clear_place(void **state)
{
    struct place *place = *state;
    secrets_close(place->secrets);
    (void)nftw(place->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(place->config.key_file);
    free(place->config.secrets_dir);
    free(place->config.secrets_env);
    free(place);
    return 0;
}

/* --- the key file ---------------------------------------------------------------------------- */

static void the_key_file_is_made_for_its_owner_only(void **state)
{
    struct place *place = *state;
    struct stat info;
    assert_int_equal(stat(place->config.key_file, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(info.st_size, 32);
    assert_int_equal(info.st_nlink, 1); /* nothing is left beside it */
}

static void the_same_key_is_read_again(void **state)
{
    struct place *place = *state;
    struct secrets *again = NULL;
    char *sealed = NULL;
    char *plain = NULL;
    assert_int_equal(secrets_seal(place->secrets, "https://x/y", "hook", &sealed, &place->err), 0);
    assert_int_equal(secrets_open(&place->config, &again, &place->err), 0);
    assert_int_equal(secrets_unseal(again, sealed, "hook", &plain, &place->err), 0);
    assert_string_equal(plain, "https://x/y");
    secrets_free(plain);
    free(sealed);
    secrets_close(again);
}

static void a_key_that_others_can_read_is_refused(void **state)
{
    struct place *place = *state;
    static const mode_t modes[] = {0640, 0604, 0660, 0644, 0610, 0601};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct secrets *again = NULL;
        assert_int_equal(chmod(place->config.key_file, modes[i]), 0);
        assert_int_equal(secrets_open(&place->config, &again, &place->err), -1);
        assert_int_equal(place->err.code, ERR_REFUSED);
        assert_null(again);
    }
}

static void a_key_of_another_length_is_refused(void **state)
{
    struct place *place = *state;
    static const size_t lengths[] = {0, 16, 31, 33, 63, 65, 9 * 32, 1024};
    unsigned char bytes[1024];
    memset(bytes, 1, sizeof bytes);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct secrets *again = NULL;
        write_file(place->config.key_file, bytes, lengths[i], 0600);
        assert_int_equal(secrets_open(&place->config, &again, &place->err), -1);
        assert_int_equal(place->err.code, ERR_REFUSED);
    }
}

/* As a crash leaves a file whose bytes never reached the disk. */
static void a_key_of_zeros_is_refused(void **state)
{
    struct place *place = *state;
    struct secrets *again = NULL;
    unsigned char bytes[64] = {1};
    write_file(place->config.key_file, bytes, 64, 0600); /* the second one */
    assert_int_equal(secrets_open(&place->config, &again, &place->err), -1);
    assert_int_equal(place->err.code, ERR_REFUSED);
    assert_non_null(strstr(place->err.msg, "zeros"));
}

static void a_folder_that_is_not_there_is_an_error_of_the_system(void **state)
{
    struct place *place = *state;
    struct secrets *none = NULL;
    mem_replace(&place->config.key_file, "/nonexistent/folder/key");
    assert_int_equal(secrets_open(&place->config, &none, &place->err), -1);
    assert_int_equal(place->err.code, ERR_SYSTEM);
    assert_non_null(strstr(place->err.msg, "/nonexistent/folder/key"));
}

static void *open_it(void *argument)
{
    struct place *place = argument;
    struct secrets *secrets = NULL;
    struct err err;
    return secrets_open(&place->config, &secrets, &err) == 0 ? secrets : NULL;
}

static void processes_that_start_together_agree_on_one_key(void **state)
{
    struct place *place = *state;
    pthread_t threads[8];
    char *sealed = NULL;
    assert_int_equal(unlink(place->config.key_file), 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_it, place), 0);
    for (int i = 0; i < 8; i++) {
        void *secrets = NULL;
        char *plain = NULL;
        assert_int_equal(pthread_join(threads[i], &secrets), 0);
        assert_non_null(secrets);
        if (!sealed)
            assert_int_equal(secrets_seal(secrets, "x", "c", &sealed, &place->err), 0);
        assert_int_equal(secrets_unseal(secrets, sealed, "c", &plain, &place->err), 0);
        secrets_free(plain);
        secrets_close(secrets);
    }
    free(sealed);
}

/* --- references ------------------------------------------------------------------------------ */

static cJSON *parse(const char *text)
{
    cJSON *tree = cJSON_Parse(text);
    assert_non_null(tree);
    return tree;
}

static void only_references_with_allowed_names_pass_the_check(void **state)
{
    struct place *place = *state;
    static const struct {
        const char *text;
        const char *pointer; /* of its fault; NULL: fine */
    } cases[] = {
        {"{\"env\": \"SWEETSPOT_SECRET_A\"}", NULL},
        {"{\"env\": \"PGPASSWORD\"}", NULL},
        {"{\"env\": \"OTHER_ONE\"}", NULL},
        {"{\"file\": \"sql01\"}", NULL},
        {"{\"file\": \"sql01.pw\"}", NULL},
        {"{\"env\": \"SWEETSPOT_SECRET_\"}", "/password/env"},
        {"{\"env\": \"PATH\"}", "/password/env"},
        {"{\"env\": \"OTHER\"}", "/password/env"},
        {"{\"env\": \"OTHER_ONE,\"}", "/password/env"},
        {"{\"env\": \"\"}", "/password/env"},
        {"{\"env\": \"SWEETSPOT_SECRET_A=B\"}", "/password/env"},
        {"{\"env\": \"sweetspot_secret_a\"}", "/password/env"},
        {"{\"file\": \"../key\"}", "/password/file"},
        {"{\"file\": \"..\"}", "/password/file"},
        {"{\"file\": \".hidden\"}", "/password/file"},
        {"{\"file\": \"a/b\"}", "/password/file"},
        {"{\"file\": \"/etc/passwd\"}", "/password/file"},
        {"{\"file\": \"\"}", "/password/file"},
        {"\"a literal\"", "/password"},
        {"null", "/password"},
        {"{}", "/password"},
        {"[]", "/password"},
        {"{\"env\": 1}", "/password"},
        {"{\"Env\": \"SWEETSPOT_SECRET_A\"}", "/password"},
        {"{\"env\": \"SWEETSPOT_SECRET_A\", \"file\": \"a\"}", "/password"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_faults faults = {0};
        cJSON *value = parse(cases[i].text);
        secrets_check(place->secrets, value, "/password", &faults);
        assert_int_equal(faults.count, cases[i].pointer ? 1 : 0);
        if (cases[i].pointer)
            assert_string_equal(faults.items[0].pointer, cases[i].pointer);
        json_faults_fini(&faults);
        cJSON_Delete(value);
    }
}

static void without_secrets_dir_files_are_refused(void **state)
{
    struct place *place = *state;
    struct secrets *without = NULL;
    struct json_faults faults = {0};
    cJSON *value = parse("{\"file\": \"sql01\"}");
    char *dir = place->config.secrets_dir;
    char *secret = NULL;
    place->config.secrets_dir = NULL;
    assert_int_equal(secrets_open(&place->config, &without, &place->err), 0);
    place->config.secrets_dir = dir;
    secrets_check(without, value, "/p", &faults);
    assert_int_equal(faults.count, 1);
    assert_int_equal(secrets_resolve(without, value, &secret, &place->err), -1);
    assert_int_equal(place->err.code, ERR_REFUSED);
    json_faults_fini(&faults);
    cJSON_Delete(value);
    secrets_close(without);
}

/* The secret, or NULL with place->err. */
static char *resolve(struct place *place, const char *text)
{
    char *secret = NULL;
    cJSON *value = parse(text);
    int rc = secrets_resolve(place->secrets, value, &secret, &place->err);
    assert_int_equal(rc, secret ? 0 : -1);
    cJSON_Delete(value);
    return secret;
}

static void a_secret_comes_from_the_environment(void **state)
{
    struct place *place = *state;
    assert_int_equal(setenv("SWEETSPOT_SECRET_TEST", "geheim \xF0\x9F\x94\x91", 1), 0);
    char *secret = resolve(place, "{\"env\": \"SWEETSPOT_SECRET_TEST\"}");
    assert_string_equal(secret, "geheim \xF0\x9F\x94\x91");
    secrets_free(secret);
    assert_int_equal(unsetenv("SWEETSPOT_SECRET_TEST"), 0);
    assert_null(resolve(place, "{\"env\": \"SWEETSPOT_SECRET_TEST\"}"));
    assert_int_equal(place->err.code, ERR_REFUSED);
    assert_non_null(strstr(place->err.msg, "SWEETSPOT_SECRET_TEST"));
}

static void a_variable_that_is_not_allowed_is_not_read(void **state)
{
    struct place *place = *state;
    assert_int_equal(setenv("SOME_TOKEN", "do not show", 1), 0);
    assert_null(resolve(place, "{\"env\": \"SOME_TOKEN\"}"));
    assert_int_equal(place->err.code, ERR_REFUSED);
    assert_null(strstr(place->err.msg, "do not show"));
    assert_int_equal(unsetenv("SOME_TOKEN"), 0);
}

static void a_secret_comes_from_a_file_without_its_newline(void **state)
{
    struct place *place = *state;
    static const struct {
        const char *content, *secret;
    } cases[] = {
        {"pass", "pass"},       {"pass\n", "pass"},   {"pass\r\n", "pass"},
        {"pass\n\n", "pass\n"}, {" pass ", " pass "}, {"two\nlines\n", "two\nlines"},
        {"\n", NULL},           {"", NULL},
    };
    char *path = mem_format("%s/sql01", place->config.secrets_dir);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(path, cases[i].content, strlen(cases[i].content), 0600);
        char *secret = resolve(place, "{\"file\": \"sql01\"}");
        if (cases[i].secret)
            assert_string_equal(secret, cases[i].secret);
        else
            assert_null(secret);
        secrets_free(secret);
    }
    free(path);
}

static void what_is_no_secret_file_is_refused(void **state)
{
    struct place *place = *state;
    char *big = mem_alloc(100000, 1);
    char *folder = mem_format("%s/folder", place->config.secrets_dir);
    char *pipe_path = mem_format("%s/pipe", place->config.secrets_dir);
    char *big_path = mem_format("%s/big", place->config.secrets_dir);
    char *nul_path = mem_format("%s/nul", place->config.secrets_dir);
    memset(big, 'x', 100000);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    write_file(big_path, big, 100000, 0600);
    write_file(nul_path, "a\0b", 3, 0600);
    static const char *const cases[] = {"{\"file\": \"folder\"}", "{\"file\": \"pipe\"}",
                                        "{\"file\": \"big\"}", "{\"file\": \"nul\"}",
                                        "{\"file\": \"absent\"}"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(resolve(place, cases[i]));
        assert_int_equal(place->err.code, ERR_REFUSED);
    }
    free(big);
    free(folder);
    free(pipe_path);
    free(big_path);
    free(nul_path);
}

/* --- sealing ---------------------------------------------------------------------------------- */

static void what_is_sealed_opens_again_in_its_context(void **state)
{
    struct place *place = *state;
    static const char *const texts[] = {"", "x", "https://chat.example.net/hooks/abc",
                                        "Gr\xC3\xBC\xC3\x9Fli \xF0\x9F\x98\x80"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char *sealed = NULL;
        char *plain = NULL;
        assert_int_equal(secrets_seal(place->secrets, texts[i], "hook", &sealed, &place->err), 0);
        if (strlen(texts[i]) > 8)
            assert_null(strstr(sealed, texts[i]));
        assert_int_equal(secrets_unseal(place->secrets, sealed, "hook", &plain, &place->err), 0);
        assert_string_equal(plain, texts[i]);
        secrets_free(plain);
        free(sealed);
    }
}

static void the_same_secret_is_sealed_differently_each_time(void **state)
{
    struct place *place = *state;
    char *first = NULL;
    char *second = NULL;
    assert_int_equal(secrets_seal(place->secrets, "same", "c", &first, &place->err), 0);
    assert_int_equal(secrets_seal(place->secrets, "same", "c", &second, &place->err), 0);
    assert_string_not_equal(first, second);
    free(first);
    free(second);
}

static void assert_does_not_open(struct place *place, const char *sealed, const char *context)
{
    char *plain = NULL;
    assert_int_equal(secrets_unseal(place->secrets, sealed, context, &plain, &place->err), -1);
    assert_int_equal(place->err.code, ERR_REFUSED);
    assert_null(plain);
}

static void sealed_text_that_was_moved_or_altered_does_not_open(void **state)
{
    struct place *place = *state;
    char *sealed = NULL;
    assert_int_equal(secrets_seal(place->secrets, "secret", "hook-a", &sealed, &place->err), 0);
    assert_does_not_open(place, sealed, "hook-b");
    assert_does_not_open(place, sealed, "");
    for (size_t i = 0; sealed[i] && sealed[i] != '='; i++) {
        char kept = sealed[i];
        sealed[i] = kept == 'A' ? 'B' : 'A';
        if (sealed[i + 1] != '=') /* the last character before = has bits without meaning */
            assert_does_not_open(place, sealed, "hook-a");
        sealed[i] = kept;
    }
    assert_does_not_open(place, "", "hook-a");
    assert_does_not_open(place, "AAAA", "hook-a");
    assert_does_not_open(place, "not base64 at all!", "hook-a");
    sealed[strlen(sealed) / 2] = '\0';
    assert_does_not_open(place, sealed, "hook-a");
    free(sealed);
}

static void another_key_does_not_open_it(void **state)
{
    struct place *place = *state;
    struct secrets *other = NULL;
    char *sealed = NULL;
    char *plain = NULL;
    assert_int_equal(secrets_seal(place->secrets, "secret", "c", &sealed, &place->err), 0);
    assert_int_equal(unlink(place->config.key_file), 0);
    assert_int_equal(secrets_open(&place->config, &other, &place->err), 0);
    assert_int_equal(secrets_unseal(other, sealed, "c", &plain, &place->err), -1);
    assert_int_equal(place->err.code, ERR_REFUSED);
    free(sealed);
    secrets_close(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, clear_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_key_file_is_made_for_its_owner_only),
        TEST(the_same_key_is_read_again),
        TEST(a_key_that_others_can_read_is_refused),
        TEST(a_key_of_another_length_is_refused),
        TEST(a_key_of_zeros_is_refused),
        TEST(a_folder_that_is_not_there_is_an_error_of_the_system),
        TEST(processes_that_start_together_agree_on_one_key),
        TEST(only_references_with_allowed_names_pass_the_check),
        TEST(without_secrets_dir_files_are_refused),
        TEST(a_secret_comes_from_the_environment),
        TEST(a_variable_that_is_not_allowed_is_not_read),
        TEST(a_secret_comes_from_a_file_without_its_newline),
        TEST(what_is_no_secret_file_is_refused),
        TEST(what_is_sealed_opens_again_in_its_context),
        TEST(the_same_secret_is_sealed_differently_each_time),
        TEST(sealed_text_that_was_moved_or_altered_does_not_open),
        TEST(another_key_does_not_open_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
