/* Settings: where they come from, which wins, and how a mistake is told. */
#include "server/buf.h"
#include "server/config.h"
#include "server/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX_ARGS 8

/* Writes text into a fresh file; the caller removes and frees the path. */
static char *make_file(const char *text, size_t length)
{
    char *path = mem_copy("/tmp/sweetspot-config-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_true(write(file, text, length) == (ssize_t)length);
    close(file);
    return path;
}

/* Loads with the file's text (never the machine's own file) and up to MAX_ARGS - 3 flags. */
static int load(const char *file_text, const char *const *flags, struct config *out,
                struct err *err)
{
    char *path = make_file(file_text, strlen(file_text));
    char *argv[MAX_ARGS + 1] = {mem_copy("sweetspotd"), mem_copy("--config"), path};
    int argc = 3;
    bool help = false;
    bool version = false;
    while (flags && *flags && argc < MAX_ARGS)
        argv[argc++] = mem_copy(*flags++);
    int rc = config_load(argc, argv, out, &help, &version, err);
    unlink(path);
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    return rc;
}

static void defaults_are_safe_and_complete(void **state)
{
    (void)state;
    struct config config;
    struct err err = {0};
    char host[256] = "";
    assert_int_equal(load("", NULL, &config, &err), 0);
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    assert_string_equal(config.listen, "127.0.0.1:8484");
    assert_string_equal(config.state_dir, "/var/lib/sweetspot");
    assert_string_equal(config.store, "sqlite:/var/lib/sweetspot/sweetspot.db");
    assert_string_equal(config.key_file, "/var/lib/sweetspot/key");
    assert_string_equal(config.node_name, host);
    assert_string_equal(config.node_labels, "");
    assert_string_equal(config.webhooks_allow, "");
    assert_string_equal(config.public_url, "");
    assert_string_equal(config.secrets_env, "");
    assert_string_equal(config.odbc_driver, "");
    assert_string_equal(config.log_level, "info");
    assert_true(config.workers == 8 && config.unreachable_minutes == 60);
    assert_null(config.store_password_file);
    assert_null(config.secrets_dir);
    assert_null(config.tls_cert_file);
    assert_null(config.tls_key_file);
    config_fini(&config);
}

static void flags_win_over_environment_over_file(void **state)
{
    (void)state;
    static const char *const flags[] = {"--listen", "127.0.0.1:3", "--state-dir=/c", NULL};
    struct config config;
    setenv("SWEETSPOT_LISTEN", "127.0.0.1:2", 1);
    setenv("SWEETSPOT_WORKERS", "12", 1);
    setenv("SWEETSPOT_LOG_LEVEL", "", 1); /* as compose files do for what is not set */
    assert_int_equal(load("listen = 127.0.0.1:1\nworkers = 11\nlog_level=debug\nstate_dir=/a\n",
                          flags, &config, NULL),
                     0);
    unsetenv("SWEETSPOT_LISTEN");
    unsetenv("SWEETSPOT_WORKERS");
    unsetenv("SWEETSPOT_LOG_LEVEL");
    assert_string_equal(config.listen, "127.0.0.1:3");
    assert_true(config.workers == 12);
    assert_string_equal(config.log_level, "debug");
    assert_string_equal(config.store, "sqlite:/c/sweetspot.db");
    config_fini(&config);
}

static void a_file_may_have_comments_and_space(void **state)
{
    (void)state;
    struct config config;
    assert_int_equal(load("# first\r\n\n  workers\t=  3  # three\r\nnode_labels = a:b#c,d:e\n"
                          "secrets_dir =\nstate_dir = /with space\n#workers = 4",
                          NULL, &config, NULL),
                     0);
    assert_true(config.workers == 3);
    assert_string_equal(config.node_labels, "a:b#c,d:e");
    assert_string_equal(config.state_dir, "/with space");
    assert_null(config.secrets_dir);
    config_fini(&config);
}

static void mistakes_in_the_file_name_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *told; /* a part of the message */
    } cases[] = {
        {"\n\nworker = 3\n", "unknown setting \"worker\"; did you mean \"workers\"?"},
        {"\n\nworker = 3\n", "line 3 of /tmp/sweetspot-config-"},
        {"Workers = 3\n", "unknown setting \"Workers\"; did you mean \"workers\"?"},
        {"colour = red\n", "line 1 of"},
        {"colour = red\n", "unknown setting \"colour\""},
        {"workers = many\n", "workers must be a whole number from 1 to 256, not \"many\""},
        {"workers = 0\n", "from 1 to 256"},
        {"workers = 257\n", "from 1 to 256"},
        {"workers = +3\n", "from 1 to 256"},
        {"workers = 0x3\n", "from 1 to 256"},
        {"workers = 99999999999999999999\n", "from 1 to 256"},
        {"workers =\n", "from 1 to 256"},
        {"unreachable_minutes = 10081\n", "from 1 to 10080"},
        {"public_url = sweetspot.example.net\n", "public_url must be http(s)://HOST[:PORT][/PATH]"},
        {"public_url = https://\n", "http(s)://HOST"},
        {"public_url = https://user@host\n", "http(s)://HOST"},
        {"public_url = https://host/?x=1\n", "http(s)://HOST"},
        {"public_url = https://host/<x|y>\n", "http(s)://HOST"},
        {"workers = 1\nlisten = :1\n", "line 2 of"},
        {"workers = 1\nworkers = 1\n", "workers is already set on line 1"},
        {"listen = 8484\n", "listen must be HOST:PORT"},
        {"listen = :8484\n", "listen must be HOST:PORT"},
        {"listen = a:65536\n", "listen must be HOST:PORT"},
        {"listen = a:\n", "listen must be HOST:PORT"},
        {"listen = ::1:8484\n", "listen must be HOST:PORT"},
        {"store = postgres://x\n", "store must be sqlite:PATH, not"},
        {"store = mssql://u@h:1433/d\n", "mssql:// is not supported yet; use sqlite:PATH"},
        {"store = sqlite:\n", "store must be sqlite:PATH, not"},
        {"log_level = loud\n", "log_level must be error, warn, info or debug, not \"loud\""},
        {"[section]\n", "expected name = value, not \"[section]\""},
        {"workers 3\n", "expected name = value"},
        {"tls_cert_file = /x\n", "only tls_cert_file"},
        {"tls_key_file = /x\n", "only tls_key_file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config;
        struct err err = {0};
        if (load(cases[i].text, NULL, &config, &err) == 0)
            fail_msg("%s was taken", cases[i].text);
        assert_int_equal(err.code, ERR_INPUT);
        if (!strstr(err.msg, cases[i].told))
            fail_msg("%s: %s", cases[i].text, err.msg);
    }
}

static void addresses_and_stores_of_all_forms_are_taken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "listen = localhost:0\n",
        "listen = [::1]:8484\n",
        "store = sqlite:/srv/results.db\n",
        "tls_cert_file = /a\ntls_key_file = /b\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct config config;
        struct err err = {0};
        if (load(texts[i], NULL, &config, &err) < 0)
            fail_msg("%s: %s", texts[i], err.msg);
        config_fini(&config);
    }
}

static void mistakes_in_flags_name_the_flag(void **state)
{
    (void)state;
    static const struct {
        const char *flags[3];
        const char *told;
    } cases[] = {
        {{"--worker=3"}, "unknown flag --worker; did you mean --workers?"},
        {{"--state_dir", "/x"}, "unknown flag --state_dir; did you mean --state-dir?"},
        {{"--colour"}, "unknown flag --colour; see --help"},
        {{"--workers"}, "--workers needs a value"},
        {{"--workers", "x"}, "--workers: workers must be a whole number"},
        {{"--workers="}, "--workers: workers must be a whole number"},
        {{"extra"}, "unexpected argument \"extra\""},
        {{"-x"}, "unexpected argument \"-x\""},
        {{"--"}, "unexpected argument \"--\""},
        {{"--config"}, "--config needs a value"},
        {{"--config", "/nonexistent/file"}, "cannot read /nonexistent/file: No such file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config;
        struct err err = {0};
        assert_int_equal(load("", cases[i].flags, &config, &err), -1);
        if (!strstr(err.msg, cases[i].told))
            fail_msg("%s: %s", cases[i].flags[0], err.msg);
    }
}

static void mistakes_in_the_environment_name_the_variable(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
        const char *told; /* NULL: no mistake */
    } cases[] = {
        {"SWEETSPOT_WORKERS", "x", "SWEETSPOT_WORKERS: workers must be a whole number"},
        {"SWEETSPOT_WORKER", "3",
         "SWEETSPOT_WORKER in the environment; did you mean "
         "SWEETSPOT_WORKERS?"},
        {"SWEETSPOT_SECRET_SQL01", "secret", NULL},
        {"SWEETSPOT_TOKEN_FILE", "/x", NULL},
        {"SWEETSPOT_URL", "http://127.0.0.1:1", NULL},
        {"SWEETSPOT_PORT_8484_TCP_ADDR", "10.0.0.1", NULL},
        {"SWEETSPOT_SERVICE_HOST", "10.0.0.1", NULL},
        {"SWEETSPOT_PORT", "tcp://10.0.0.1:8484", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config = {0};
        struct err err = {0};
        setenv(cases[i].name, cases[i].value, 1);
        int rc = load("", NULL, &config, &err);
        unsetenv(cases[i].name);
        assert_int_equal(rc, cases[i].told ? -1 : 0);
        if (cases[i].told && !strstr(err.msg, cases[i].told))
            fail_msg("%s: %s", cases[i].name, err.msg);
        config_fini(&config);
    }
}

static void a_file_that_is_no_text_is_refused(void **state)
{
    (void)state;
    static char large[70000];
    memset(large, '#', sizeof large);
    static const struct {
        const char *text;
        size_t length;
        const char *told;
    } cases[] = {
        {"workers = 1\0\n", 13, "holds a NUL byte"},
        {large, sizeof large, "is larger than 64 KiB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *path = make_file(cases[i].text, cases[i].length);
        char *argv[] = {mem_copy("sweetspotd"), mem_copy("--config"), path, NULL};
        struct config config;
        struct err err = {0};
        bool help = false;
        bool version = false;
        assert_int_equal(config_load(3, argv, &config, &help, &version, &err), -1);
        assert_non_null(strstr(err.msg, cases[i].told));
        unlink(path);
        for (int k = 0; k < 3; k++)
            free(argv[k]);
    }
}

static void help_and_version_win_over_everything(void **state)
{
    (void)state;
    static const char *const flags[] = {"--help", "-h", "--version"};
    for (size_t i = 0; i < 3; i++) {
        char *argv[] = {mem_copy("sweetspotd"), mem_copy("--nonsense"), mem_copy(flags[i]), NULL};
        struct config config;
        bool help = false;
        bool version = false;
        assert_int_equal(config_load(3, argv, &config, &help, &version, NULL), 0);
        assert_int_equal(help, i < 2);
        assert_int_equal(version, i == 2);
        config_fini(&config);
        for (int k = 0; k < 3; k++)
            free(argv[k]);
    }
}

static void help_names_each_setting_and_its_default(void **state)
{
    (void)state;
    char *help = config_help();
    struct config_setting setting;
    size_t count = 0;
    for (; config_setting(count, &setting); count++) {
        char *flag = mem_format("\n  --%s\n      %s\n", setting.name, setting.help);
        for (char *at = flag; *at != '\n' || at == flag; at++) {
            if (*at == '_')
                *at = '-';
        }
        if (!strstr(help, flag))
            fail_msg("--help lacks %s", flag);
        free(flag);
    }
    assert_int_equal(count, 19);
    free(help);
}

static void the_sample_file_says_the_defaults(void **state)
{
    (void)state;
    struct config plain;
    struct config sampled;
    struct err err = {0};
    struct config_setting setting;
    char *sample = config_sample();
    struct buf active = {0}; /* the sample with every line taken in that has a literal default */
    for (size_t i = 0; config_setting(i, &setting); i++) {
        char *line = mem_format("\n#%s = %s\n", setting.name, setting.fallback);
        if (!strstr(sample, line))
            fail_msg("the sample lacks %s", line);
        bool found_out = strstr("store key_file node_name odbc_driver", setting.name) != NULL;
        buf_add(&active, found_out ? "" : line + strlen("\n#"));
        free(line);
    }
    assert_int_equal(load(sample, NULL, &plain, &err), 0);
    if (load(buf_text(&active), NULL, &sampled, &err) < 0)
        fail_msg("%s", err.msg);
    assert_string_equal(plain.listen, sampled.listen);
    assert_string_equal(plain.state_dir, sampled.state_dir);
    assert_string_equal(plain.store, sampled.store);
    assert_string_equal(plain.key_file, sampled.key_file);
    assert_string_equal(plain.log_level, sampled.log_level);
    assert_string_equal(plain.webhooks_allow, sampled.webhooks_allow);
    assert_true(plain.workers == sampled.workers);
    assert_true(plain.unreachable_minutes == sampled.unreachable_minutes);
    assert_null(sampled.tls_cert_file);
    config_fini(&plain);
    config_fini(&sampled);
    buf_fini(&active);
    free(sample);
}

/* README.md's table of settings is the table of config.c. */
static void the_readme_lists_every_setting(void **state)
{
    (void)state;
    const char *source = getenv("SWEETSPOT_TEST_SOURCE");
    if (!source)
        skip(); /* run by hand, without meson */
    char *path = mem_format("%s/README.md", source);
    struct buf text = {0};
    char block[4096];
    size_t bytes = 0;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while ((bytes = fread(block, 1, sizeof block, file)) > 0)
        buf_add_bytes(&text, block, bytes);
    fclose(file);
    free(path);
    struct config_setting setting;
    for (size_t i = 0; config_setting(i, &setting); i++) {
        char *row =
            mem_format("\n| `%s` | %s | %s |\n", setting.name, setting.fallback, setting.help);
        if (!strstr(buf_text(&text), row))
            fail_msg("README.md lacks %s", row);
        free(row);
    }
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_safe_and_complete),
        cmocka_unit_test(flags_win_over_environment_over_file),
        cmocka_unit_test(a_file_may_have_comments_and_space),
        cmocka_unit_test(mistakes_in_the_file_name_their_line),
        cmocka_unit_test(addresses_and_stores_of_all_forms_are_taken),
        cmocka_unit_test(mistakes_in_flags_name_the_flag),
        cmocka_unit_test(mistakes_in_the_environment_name_the_variable),
        cmocka_unit_test(a_file_that_is_no_text_is_refused),
        cmocka_unit_test(help_and_version_win_over_everything),
        cmocka_unit_test(help_names_each_setting_and_its_default),
        cmocka_unit_test(the_sample_file_says_the_defaults),
        cmocka_unit_test(the_readme_lists_every_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
