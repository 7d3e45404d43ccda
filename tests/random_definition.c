#include "tests/random_definition.h"
#include "server/buf.h"

#include <stdbool.h>
#include <string.h>

static uint64_t seed;

void random_start(uint64_t first)
{
    seed = first;
}

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

const char *const random_allowed[] = {"/backup", "/var/opt/it's here", "D:\\Backup",
                                      "\\\\nas\\a b"};
const size_t random_allowed_count = sizeof random_allowed / sizeof random_allowed[0];

static cJSON *random_path(void)
{
    struct buf path = {0};
    int choice = below(10);
    buf_add(&path, random_allowed[below((int)random_allowed_count)]);
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

cJSON *random_definition(void)
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
