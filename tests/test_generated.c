/* Definitions made at random, with hostile names and paths: whatever a kind makes of them, an
 * independent tokenizer finds nothing but the statements it may send, of one structure each, below
 * allowed folders only. `test_generated 1000000`: that many; every run has the same ones. */
#include "jobs/kind.h"
#include "jobs/run.h"
#include "jobs/state.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"
#include "tests/random_definition.h"
#include "tests/sql_shape.h"

#include <inttypes.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SHORT_COUNT 20000
#define SEED UINT64_C(20260101)

static long count = SHORT_COUNT; /* set by main */

/* --- what may be sent, told once more ------------------------------------------------------- */

#define FILES "\\( NAME = N , FILENAME = S \\)"
#define NAME3 "N \\. N \\. N"

static const char *const changes[] = {
    "BACKUP DATABASE N TO DISK = S( , DISK = S)* WITH COPY_ONLY( , BUFFERCOUNT = #)?"
    "( , MAXTRANSFERSIZE = #)?( , BLOCKSIZE = #)?( , NO_COMPRESSION| , COMPRESSION"
    "( \\( ALGORITHM = (MS_XPRESS|QAT_DEFLATE|ZSTD) \\))?)? , NAME = S , STATS = #",
    "EXECUTE MASTER \\. (SYS \\. XP_DELETE_FILES|DBO \\. XP_DELETE_FILE # ,) S",
    "DBCC TRACE(ON|OFF) \\( # , - # \\)",
    "CREATE DATABASE N ON " FILES "( , " FILES ")* AS SNAPSHOT OF N",
    "SELECT TOP \\( # \\) \\* INTO " NAME3 " FROM " NAME3,
    "DROP (DATABASE N|TABLE " NAME3 ")",
};
static const char *const reads[] = {
    "DBCC TRACESTATUS \\( # , - # \\)",
    "USE N",
    "SELECT .*",
};
/* Words that no statement holds outside of texts and names. */
static const char *const banned[] = {
    "RESTORE",
    "ALTER",
    "KILL",
    "SP_CONFIGURE",
    "XP_CMDSHELL",
    "LOG",
    "DIFFERENTIAL",
    "FORMAT",
    "INIT",
    "SKIP",
    "NOFORMAT",
    "NOINIT",
    "MIRROR",
    "URL",
    "TAPE",
    "RECONFIGURE",
    "SHUTDOWN",
    "TRUNCATE",
    "DELETE",
    "UPDATE",
    "INSERT",
    "MERGE",
    "GRANT",
    "NORECOVERY",
    "STANDBY",
    "CHECKDB",
    "EXEC",
    "FREEPROCCACHE",
    "DROPCLEANBUFFERS",
};

static regex_t change_shapes[sizeof changes / sizeof changes[0]];
static regex_t read_shapes[sizeof reads / sizeof reads[0]];
static long shape_counts[sizeof changes / sizeof changes[0]];

static void compile(const char *const *texts, size_t n, regex_t *out)
{
    for (size_t i = 0; i < n; i++) {
        char *whole = mem_format("^(%s)$", texts[i]);
        assert_int_equal(regcomp(&out[i], whole, REG_EXTENDED | REG_NOSUB), 0);
        free(whole);
    }
}

static int find_shape(const regex_t *shapes, size_t n, const char *shape)
{
    for (size_t i = 0; i < n; i++)
        if (regexec(&shapes[i], shape, 0, NULL, 0) == 0)
            return (int)i;
    return -1;
}

static bool holds_banned(const char *shape)
{
    for (size_t i = 0; i < sizeof banned / sizeof banned[0]; i++) {
        size_t length = strlen(banned[i]);
        for (const char *at = strstr(shape, banned[i]); at; at = strstr(at + 1, banned[i]))
            if ((at == shape || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
                return true;
    }
    return false;
}

/* --- looking ---------------------------------------------------------------------------------- */

static bool is_sep(char character)
{
    return character == '/' || character == '\\';
}

/* Below one of the allowed folders by whole components, and nowhere up. */
static bool is_below_allowed(const char *path)
{
    for (const char *at = strstr(path, ".."); at; at = strstr(at + 1, ".."))
        if (at > path && is_sep(at[-1]) && (is_sep(at[2]) || at[2] == '\0'))
            return false;
    for (size_t i = 0; i < random_allowed_count; i++) {
        size_t length = strlen(random_allowed[i]);
        if (strncasecmp(path, random_allowed[i], length) == 0 && is_sep(path[length]))
            return true;
    }
    return false;
}

/* The texts of a change: files of ours below allowed folders, NUL, or the label of a backup. */
static bool texts_are_good(const char *texts)
{
    bool good = true;
    char *copy = mem_copy(texts);
    char *rest = copy;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        if (line[0] != 'S')
            continue;
        const char *value = line + 2;
        const char *name = value;
        for (const char *at = value; *at; at++)
            name = is_sep(*at) ? at + 1 : name;
        bool is_file = strncmp(name, "sweetspot_{job}_", 16) == 0 && is_below_allowed(value);
        good = good && (is_file || strcmp(value, "NUL") == 0 ||
                        strncmp(value, "sweetspot:{job}:", 16) == 0);
    }
    free(copy);
    return good;
}

static void fail_with(const cJSON *tree, const char *text, const char *why)
{
    fail_msg("%s: %s\nof %s", why, text, cJSON_PrintUnformatted(tree));
}

static void look(const cJSON *tree, const char *text, bool changes_something)
{
    struct buf shape = {0};
    struct buf texts = {0};
    if (!sql_shape(text, &shape, &texts))
        fail_with(tree, text, "a quote or comment is open");
    if (holds_banned(buf_text(&shape)))
        fail_with(tree, text, "a banned word");
    if (changes_something) {
        int found = find_shape(change_shapes, sizeof changes / sizeof changes[0], buf_text(&shape));
        if (found >= 0)
            shape_counts[found]++;
        else
            fail_with(tree, text, buf_text(&shape));
        if (!texts_are_good(buf_text(&texts)))
            fail_with(tree, text, "a text that is no file of ours in an allowed folder");
    } else if (strstr(buf_text(&shape), " INTO ") ||
               find_shape(read_shapes, sizeof reads / sizeof reads[0], buf_text(&shape)) < 0) {
        fail_with(tree, text, buf_text(&shape));
    }
    buf_fini(&shape);
    buf_fini(&texts);
}

static void look_at_plan(const cJSON *tree, struct run *run)
{
    const struct job_kind *kind = run->definition.kind;
    const cJSON *text;
    cJSON *statements = cJSON_CreateArray();
    cJSON *probes = cJSON_CreateArray();
    if (kind->arms)
        kind->arms(run);
    for (size_t i = 0; i < run->plan.arm_count && kind->templates; i++)
        kind->templates(run, &run->plan.arms[i], statements);
    if (kind->probes)
        kind->probes(run, probes);
    cJSON_ArrayForEach(text, statements)
        look(tree, text->valuestring, true);
    cJSON_ArrayForEach(text, probes)
        look(tree, text->valuestring, false);
    cJSON_Delete(statements);
    cJSON_Delete(probes);
}

/* True when it would be accepted. */
static bool try_one(const cJSON *tree, const struct instance *instance)
{
    struct json_faults faults = {0};
    struct run *run = mem_alloc(1, sizeof *run);
    run->looks_only = true;
    run->warnings = BUF_WITH_MAX(64 << 10);
    bool good = definition_read(tree, &run->definition, &faults) == 0;
    if (good)
        run->definition.kind->check(&run->definition, instance, &faults);
    good = good && faults.count == 0;
    run->instance = *instance;
    if (good)
        look_at_plan(tree, run);
    plan_fini(&run->plan);
    buf_fini(&run->warnings);
    free(run);
    json_faults_fini(&faults);
    return good;
}

static void read_instance(struct jobs_place *place, struct instance *out)
{
    struct json_faults faults = {0};
    cJSON *tree = jobs_kit_json(JOBS_KIT_INSTANCE);
    jobs_kit_set(tree, "/allow/trace_flags", "[3042,3226]");
    cJSON *paths = cJSON_CreateArray();
    for (size_t i = 0; i < random_allowed_count; i++)
        cJSON_AddItemToArray(paths, cJSON_CreateString(random_allowed[i]));
    cJSON *allow = cJSON_GetObjectItemCaseSensitive(tree, "allow");
    cJSON_ReplaceItemInObjectCaseSensitive(allow, "paths", paths);
    (void)(instance_read(tree, place->secrets, out, &faults) < 0); /* asked just below */
    jobs_kit_expect_none(&faults);
    json_faults_fini(&faults);
}

static void nothing_but_what_may_be_sent_is_made_of_any_definition(void **state)
{
    struct instance instance;
    long accepted = 0;
    long statements = 0;
    read_instance(*state, &instance);
    compile(changes, sizeof changes / sizeof changes[0], change_shapes);
    compile(reads, sizeof reads / sizeof reads[0], read_shapes);
    random_start(SEED);
    for (long i = 0; i < count; i++) {
        cJSON *tree = random_definition();
        accepted += try_one(tree, &instance);
        cJSON_Delete(tree);
    }
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        assert_true(shape_counts[i] > 0); /* else it proved nothing about this one */
        statements += shape_counts[i];
        regfree(&change_shapes[i]);
    }
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++)
        regfree(&read_shapes[i]);
    assert_true(accepted > count / 10);
    print_message("seed %" PRIu64
                  ": %ld definitions, %ld accepted, %ld changing statements: 0 that "
                  "may not be sent\n",
                  SEED, count, accepted, statements);
    instance_fini(&instance);
}

static void the_look_itself_finds_what_is_forbidden(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "BACKUP DATABASE [a] TO DISK = N'/backup/sweetspot_{job}_1.bak' WITH NAME = N'x'",
        "BACKUP LOG [a] TO DISK = N'NUL' WITH COPY_ONLY, NAME = N'x', STATS = 5",
        "BACKUP DATABASE [a] TO DISK = N'NUL' WITH COPY_ONLY, DIFFERENTIAL, NAME = N'x', STATS = 5",
        "BACKUP DATABASE [a] TO DISK = N'NUL' WITH COPY_ONLY, FORMAT, NAME = N'x', STATS = 5",
        "BACKUP DATABASE [a]] TO DISK = N'NUL' WITH COPY_ONLY, NAME = N'x', STATS = 5",
        "DBCC DROPCLEANBUFFERS",
        "DROP DATABASE [a]; KILL 51",
    };
    compile(changes, sizeof changes / sizeof changes[0], change_shapes);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct buf shape = {0};
        struct buf texts = {0};
        bool whole = sql_shape(bad[i], &shape, &texts);
        assert_true(!whole || find_shape(change_shapes, sizeof changes / sizeof changes[0],
                                         buf_text(&shape)) < 0);
        buf_fini(&shape);
        buf_fini(&texts);
    }
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        regfree(&change_shapes[i]);
    assert_false(texts_are_good("S /etc/sweetspot_{job}_1_1.bak"));
    assert_false(texts_are_good("S /backup/../etc/sweetspot_{job}_1_1.bak"));
    assert_false(texts_are_good("S /backupup/sweetspot_{job}_1_1.bak"));
    assert_false(texts_are_good("S /backup/other.bak"));
    assert_true(texts_are_good("N [\nS /backup/sweetspot_{job}_1_1.bak"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        JOBS_TEST(the_look_itself_finds_what_is_forbidden),
        JOBS_TEST(nothing_but_what_may_be_sent_is_made_of_any_definition),
    };
    if (argc > 1)
        count = strtol(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
