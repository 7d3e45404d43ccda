/* Definitions made at random, with hostile names and paths: whatever a kind makes of them, an
 * independent tokenizer finds nothing but the statements it may send, of one structure each, below
 * allowed folders only. `test_generated 1000000`: that many; every run has the same ones. */
#include "jobs/kind.h"
#include "jobs/run.h"
#include "jobs/state.h"
#include "server/mem.h"
#include "tests/jobs_kit.h"
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

/* --- a definition at random ----------------------------------------------------------------- */

static uint64_t seed;

static uint64_t next(void) /* splitmix64 */
{
    uint64_t z = (seed += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static int below(int n)
{
    return (int)(next() % (uint64_t)n);
}

#define CHARS_128                                                                                  \
    "aaaaaaaabbbbbbbbccccccccddddddddeeeeeeeeffffffffgggggggghhhhhhhh"                             \
    "iiiiiiiijjjjjjjjkkkkkkkkllllllllmmmmmmmmnnnnnnnnoooooooopppppppp"

static const char *const pieces[] = {
    "Sales",
    "a",
    " ",
    "]",
    "]]",
    "[",
    "'",
    "''",
    ";--",
    "--",
    "/*",
    "*/",
    "\"",
    "\\",
    "/",
    ".",
    "..",
    "%",
    "_",
    "*",
    "?",
    "$(x)",
    "{job}",
    "{seq}",
    "@x",
    "#t",
    "\n",
    "\t",
    "\xca\xbc",         /* U+02BC */
    "\xef\xbc\x87",     /* U+FF07 */
    "\xef\xbc\xbd",     /* U+FF3D, a wide ] */
    "\xf0\x9f\x90\xaf", /* an emoji */
    "\xe2\x80\xae",
    "\xd7\xa9\xd7\x9d", /* right to left */
    "\xe2\x80\xa8",     /* line separator */
    "e\xcc\x81",        /* combining */
    "] TO DISK = N'/etc/x' WITH FORMAT --",
    "'; KILL 51; --",
    "]; DROP DATABASE [Sales",
    " WITH INIT",
    "NUL",
    "COPY_ONLY",
    CHARS_128,
    CHARS_128 "x",
    "x" CHARS_128,
};

static void add_random(struct buf *out)
{
    for (int i = 1 + below(4); i > 0; i--)
        buf_add(out, pieces[below((int)(sizeof pieces / sizeof pieces[0]))]);
}

static cJSON *random_name(void)
{
    struct buf name = {0};
    if (below(3) == 0)
        buf_add(&name, "Sales");
    else
        add_random(&name);
    cJSON *item = cJSON_CreateString(buf_text(&name));
    buf_fini(&name);
    return item;
}

/* The instance's allow.paths. */
static const char *const allowed[] = {"/backup", "/var/opt/it's here", "D:\\Backup",
                                      "\\\\nas\\a b"};

static cJSON *random_path(void)
{
    struct buf path = {0};
    int choice = below(10);
    buf_add(&path, allowed[below((int)(sizeof allowed / sizeof allowed[0]))]);
    if (choice < 4)
        buf_add(&path, choice < 2 ? "" : "/deep");
    else if (choice < 6)
        add_random(&path);
    else if (choice == 6)
        buf_add(&path, "/../etc");
    else if (choice == 7)
        buf_add(&path, "up"); /* /backupup is not below /backup */
    if (choice >= 8) {
        buf_fini(&path);
        if (choice == 8)
            buf_add(&path, "NUL");
        else
            add_random(&path);
    }
    cJSON *item = cJSON_CreateString(buf_text(&path));
    buf_fini(&path);
    return item;
}

static cJSON *random_target(void)
{
    cJSON *target = cJSON_CreateObject();
    cJSON_AddItemToObject(target, "name", below(3) ? cJSON_CreateString("disk") : random_name());
    cJSON *paths = cJSON_AddArrayToObject(target, "paths");
    for (int i = below(8) ? 1 : 2; i > 0; i--)
        cJSON_AddItemToArray(paths, random_path());
    if (below(3) == 0)
        cJSON_AddNumberToObject(target, "files", below(6));
    return target;
}

static cJSON *random_list(cJSON *(*make)(void), int most)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 1 + below(most); i > 0; i--)
        cJSON_AddItemToArray(list, make());
    return list;
}

static cJSON *random_number(void)
{
    static const double numbers[] = {7, 50, 65536, 131072, 4194304, 512, 1, 0, -1, 1e9, 0.5, 65537};
    if (below(4) == 0)
        return cJSON_CreateString(below(4) ? "default" : "1; KILL 51");
    return cJSON_CreateNumber(numbers[below((int)(sizeof numbers / sizeof numbers[0]))]);
}

static cJSON *random_compression(void)
{
    static const char *const texts[] = {"default",     "off",  "on",   "MS_XPRESS",
                                        "QAT_DEFLATE", "ZSTD", "LZ4)", "on, FORMAT"};
    return cJSON_CreateString(texts[below((int)(sizeof texts / sizeof texts[0]))]);
}

static cJSON *random_flag(void)
{
    static const double flags[] = {3042, 3226, 1, -1, 3042.5, 1e12};
    return cJSON_CreateNumber(flags[below(12) < 9 ? below(2) : below(6)]);
}

static cJSON *random_location(void)
{
    cJSON *location = cJSON_CreateObject();
    cJSON_AddItemToObject(location, "name", random_name());
    cJSON_AddItemToObject(location, "path", random_path());
    return location;
}

static cJSON *random_type(void)
{
    static const char *const types[] = {"full", "diff", "log", "x'"};
    return cJSON_CreateString(types[below(4)]);
}

/* A member now and then. */
static void maybe(cJSON *tree, const char *name, cJSON *(*make)(void), int most)
{
    if (below(3) == 0)
        cJSON_AddItemToObject(tree, name, most > 0 ? random_list(make, most) : make());
}

static void sweep(cJSON *parameters)
{
    cJSON_AddItemToObject(parameters, "database", random_name());
    maybe(parameters, "targets", random_target, 2);
    maybe(parameters, "buffercount", random_number, 3);
    maybe(parameters, "maxtransfersize", random_number, 2);
    maybe(parameters, "blocksize", random_number, 2);
    maybe(parameters, "compression", random_compression, 2);
    maybe(parameters, "confirm_on", random_target, 0);
}

static void throughput(cJSON *parameters)
{
    cJSON_AddItemToObject(parameters, "databases", random_list(random_name, 2));
    cJSON_AddItemToObject(parameters, "targets", random_list(random_target, 2));
    maybe(parameters, "compression", random_compression, 0);
}

static void flags(cJSON *parameters)
{
    maybe(parameters, "flags", random_flag, 2);
    cJSON_AddItemToObject(parameters, "databases", random_list(random_name, 2));
    cJSON_AddItemToObject(parameters, "target", random_target());
    maybe(parameters, "compression", random_compression, 0);
}

static void snapshots(cJSON *parameters)
{
    static const char *const sources[] = {"Sales.Big", "[a]]b].[c'd]", "a.b.c", "x; DROP TABLE y",
                                          "dbo.[\xca\xbc]"};
    cJSON_AddItemToObject(parameters, "database", random_name());
    cJSON_AddItemToObject(parameters, "locations", random_list(random_location, 2));
    cJSON *workload = cJSON_AddObjectToObject(parameters, "workload");
    if (below(6) == 0) {
        cJSON_AddStringToObject(workload, "sql", "KILL 51");
        return;
    }
    cJSON *into = cJSON_AddObjectToObject(workload, "select_into");
    cJSON_AddStringToObject(into, "source", sources[below(5)]);
    cJSON_AddNumberToObject(into, "rows", 1000);
}

static void history(cJSON *parameters)
{
    maybe(parameters, "databases", random_name, 3);
    maybe(parameters, "types", random_type, 2);
    if (below(3) == 0)
        cJSON_AddStringToObject(parameters, "since",
                                below(2) ? "2020-01-01T00:00:00Z" : "2020'; KILL 51; --");
}

static const struct {
    const char *kind;
    void (*fill)(cJSON *parameters);
} makers[] = {
    {"backup_sweep", sweep},          {"backup_throughput", throughput}, {"trace_flag", flags},
    {"snapshot_overhead", snapshots}, {"backup_history", history},
};

static cJSON *random_definition(void)
{
    int choice = below((int)(sizeof makers / sizeof makers[0]));
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "kind", makers[choice].kind);
    cJSON_AddStringToObject(tree, "instance", "sql01");
    makers[choice].fill(cJSON_AddObjectToObject(tree, "parameters"));
    cJSON *design = cJSON_AddObjectToObject(tree, "design");
    cJSON_AddNumberToObject(design, "repetitions", 1);
    cJSON_AddNumberToObject(design, "warmups", 0);
    return tree;
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
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        size_t length = strlen(allowed[i]);
        if (strncasecmp(path, allowed[i], length) == 0 && is_sep(path[length]))
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
        if (found < 0)
            fail_with(tree, text, buf_text(&shape));
        shape_counts[found]++;
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
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
        cJSON_AddItemToArray(paths, cJSON_CreateString(allowed[i]));
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
    seed = SEED;
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
        "BACKUP DATABASE [a] TO DISK = N'/backup/sweetspot_{job}_1.bak' WITH NAME = N'x', STATS = "
        "5",
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
