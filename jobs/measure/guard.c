#include "jobs/measure/guard.h"

#include "server/mem.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1 << 20)

/* --- ranges (domain.md 1.1) ---------------------------------------------------------------- */

#define TRANSFER_STEP 65536
#define TRANSFER_MAX_DISK 4194304
#define TRANSFER_DEFAULT MIB
/* 65537, no such multiple, is known from scripts that made encrypted databases compress; what is
 * measured here is only what the documentation has, and 131072 does that as well */
#define TRANSFER_RULE_DISK                                                                         \
    "MAXTRANSFERSIZE must be a multiple of 65536 from 65536 to 4194304 bytes; where scripts use "  \
    "65537, 131072 does the same"
#define BLOCK_MIN 512
#define BLOCK_MAX 65536

const char *guard_buffercount(int64_t value)
{
    if (value < 1)
        return "BUFFERCOUNT must be a positive integer";
    if (value > INT_MAX)
        return "BUFFERCOUNT must be at most 2147483647 (SQL Server reads 32 bits)";
    return NULL;
}

/* Both devices are DISK to BACKUP; a device with other ranges (URL, S3) gets its own row here. */
static const struct {
    enum device_kind device;
    int64_t max;
    const char *rule;
} transfer_ranges[] = {
    {DEVICE_NUL, TRANSFER_MAX_DISK, TRANSFER_RULE_DISK},
    {DEVICE_DISK, TRANSFER_MAX_DISK, TRANSFER_RULE_DISK},
};

const char *guard_maxtransfersize(int64_t value, enum device_kind device)
{
    for (size_t i = 0; i < sizeof transfer_ranges / sizeof transfer_ranges[0]; i++) {
        if (transfer_ranges[i].device != device)
            continue;
        bool legal =
            value >= TRANSFER_STEP && value <= transfer_ranges[i].max && value % TRANSFER_STEP == 0;
        return legal ? NULL : transfer_ranges[i].rule;
    }
    return "MAXTRANSFERSIZE cannot be set for this device";
}

const char *guard_blocksize(int64_t value)
{
    bool power_of_two = value > 0 && (value & (value - 1)) == 0;
    if (power_of_two && value >= BLOCK_MIN && value <= BLOCK_MAX)
        return NULL;
    return "BLOCKSIZE must be 512, 1024, 2048, 4096, 8192, 16384, 32768 or 65536 bytes";
}

/* --- compression by version and edition (domain.md 1.1, 1.2) -------------------------------- */

enum engine { ENGINE_STANDARD = 2, ENGINE_ENTERPRISE = 3, ENGINE_EXPRESS = 4, ENGINE_AZURE_DB = 5 };

/* Editions behind ENGINE_STANDARD that compress; Web, its neighbour, does not. */
static const int64_t compressing_editions[] = {
    -1534726760, /* Standard */
    -1785266663, /* Standard Developer, 2025 */
    284895786,   /* Business Intelligence, 2012 and 2014 */
};

/* Words of `compression` and the first version that knows them. */
static const struct {
    const char *word;
    int first_major;
    const char *rule;
} compression_words[] = {
    {"default", 0, NULL},
    {"off", 0, NULL}, /* SQL Server 2005 is sent no word: it compresses nothing anyhow */
    {"on", 10, "COMPRESSION needs SQL Server 2008 or later"},
    {"MS_XPRESS", 16, "COMPRESSION (ALGORITHM = MS_XPRESS) needs SQL Server 2022 or later"},
    {"QAT_DEFLATE", 16, "COMPRESSION (ALGORITHM = QAT_DEFLATE) needs SQL Server 2022 or later"},
    {"ZSTD", 17, "COMPRESSION (ALGORITHM = ZSTD) needs SQL Server 2025 or later"},
};

static bool is_2008_before_r2(const struct server_facts *facts)
{
    return facts->major == 10 && facts->version && strncmp(facts->version, "10.0", 4) == 0;
}

/* What is unknown counts as able: the server then says 1844 itself. */
static const char *guard_edition(const struct server_facts *facts)
{
    if (facts->engine_edition == ENGINE_EXPRESS)
        return "Express edition cannot compress backups";
    if (facts->engine_edition != ENGINE_STANDARD)
        return NULL;
    if (is_2008_before_r2(facts))
        return "SQL Server 2008 compresses backups in Enterprise edition only";
    bool known = facts->edition_id != -1 && facts->edition_id != 0;
    for (size_t i = 0; i < sizeof compressing_editions / sizeof compressing_editions[0]; i++)
        if (facts->edition_id == compressing_editions[i])
            return NULL;
    return known ? "Web and Workgroup edition cannot compress backups" : NULL;
}

const char *guard_compression(const char *word, const struct server_facts *facts)
{
    if (facts->engine_edition == ENGINE_AZURE_DB)
        return "Azure SQL Database has no BACKUP DATABASE";
    for (size_t i = 0; i < sizeof compression_words / sizeof compression_words[0]; i++) {
        if (strcmp(word, compression_words[i].word) != 0)
            continue;
        if (facts->major >= 0 && facts->major < compression_words[i].first_major)
            return compression_words[i].rule;
        bool compresses = strcmp(word, "default") != 0 && strcmp(word, "off") != 0;
        return compresses ? guard_edition(facts) : NULL;
    }
    return "compression must be default, off, on, MS_XPRESS, QAT_DEFLATE or ZSTD";
}

/* --- encrypted databases (domain.md 1.5) ----------------------------------------------------- */

#define MAJOR_2016 13           /* the first that compresses before it encrypts … */
#define BUILD_2016_SP1_CU4 4446 /* … and does it well */
#define MAJOR_2019 15
#define BUILD_2019_CU5 4043 /* chooses large enough transfers by itself */

int64_t guard_build(const struct server_facts *facts)
{
    const char *dot = facts->version ? strchr(facts->version, '.') : NULL;
    dot = dot ? strchr(dot + 1, '.') : NULL;
    return dot ? strtol(dot + 1, NULL, 10) : -1;
}

enum guard_tde guard_tde(int major, int64_t build)
{
    if (major <= 0)
        return GUARD_TDE_UNKNOWN;
    if (major < MAJOR_2016 || (major == MAJOR_2016 && build > 0 && build < BUILD_2016_SP1_CU4))
        return GUARD_TDE_NEVER;
    if (major < MAJOR_2019 || (major == MAJOR_2019 && build < BUILD_2019_CU5)) /* or unknown */
        return GUARD_TDE_LARGE_TRANSFERS;
    return GUARD_TDE_BY_ITSELF;
}

const char *guard_tde_advice(const struct server_facts *facts)
{
    switch (guard_tde(facts->major, guard_build(facts))) {
    case GUARD_TDE_NEVER:
        return "If the database is encrypted (TDE), leave compression out: before SQL Server 2016 "
               "SP1 CU4 it saves nothing there.";
    case GUARD_TDE_LARGE_TRANSFERS:
        return "If the database is encrypted (TDE), send MAXTRANSFERSIZE = 131072: before SQL "
               "Server 2019 CU5 it is only compressed with more than 65536.";
    case GUARD_TDE_UNKNOWN:
    case GUARD_TDE_BY_ITSELF:
        break;
    }
    return NULL;
}

/* --- Azure block blobs (domain.md 2.2, 3063) ------------------------------------------------- */

#define BLOCKS_A_BLOB 50000

int64_t guard_blob_stripes(int64_t bytes, int64_t maxtransfersize)
{
    int64_t block = maxtransfersize > 0 ? maxtransfersize : TRANSFER_DEFAULT;
    int64_t most = BLOCKS_A_BLOB * block; /* at most 50,000 x 4 MiB: no overflow */
    return bytes <= 0 ? 1 : bytes / most + (bytes % most != 0);
}

/* --- memory (domain.md 1.4) ---------------------------------------------------------------- */

#define SETS_PLAIN 1
#define SETS_COMPRESSED 3

int guard_buffer_sets(const char *compression)
{
    /* "default" may compress: that is for the server's setting to say, and more is safer */
    return !compression || strcmp(compression, "off") == 0 ? SETS_PLAIN : SETS_COMPRESSED;
}

double guard_buffer_memory_mib(int64_t buffercount, int64_t maxtransfersize,
                               const char *compression)
{
    if (buffercount <= 0 || maxtransfersize < 0)
        return NAN;
    int64_t bytes = maxtransfersize > 0 ? maxtransfersize : TRANSFER_DEFAULT;
    if (__builtin_mul_overflow(bytes, buffercount, &bytes) ||
        __builtin_mul_overflow(bytes, guard_buffer_sets(compression), &bytes))
        return INFINITY;
    return (double)bytes / MIB;
}

/* --- facts -------------------------------------------------------------------------------- */

void server_facts_fini(struct server_facts *facts)
{
    if (!facts)
        return;
    free(facts->version);
    free(facts->edition);
    free(facts->platform);
    free(facts->host_name);
    *facts = (struct server_facts){0};
}

struct facts_members {
    int64_t major, engine_edition, edition_id, cpu_count, memory_mib, started_at;
    bool windows, simulated;
    const char *version, *edition, *platform, *host_name;
};

/* clang-format off */
#define AT(member) offsetof(struct facts_members, member)
static const struct json_field facts_fields[] = {
    {.name = "version",        .type = JSON_TEXT, .offset = AT(version)},
    {.name = "major",          .type = JSON_INT,  .offset = AT(major), .min = -1, .max = INT_MAX},
    {.name = "edition",        .type = JSON_TEXT, .offset = AT(edition)},
    {.name = "engine_edition", .type = JSON_INT,  .offset = AT(engine_edition), .min = -1, .max = INT_MAX},
    {.name = "edition_id",     .type = JSON_INT,  .offset = AT(edition_id)},
    {.name = "platform",       .type = JSON_TEXT, .offset = AT(platform)},
    {.name = "windows",        .type = JSON_BOOL, .offset = AT(windows)},
    {.name = "host_name",      .type = JSON_TEXT, .offset = AT(host_name)},
    {.name = "cpu_count",      .type = JSON_INT,  .offset = AT(cpu_count)},
    {.name = "memory_mib",     .type = JSON_INT,  .offset = AT(memory_mib)},
    {.name = "started_at",     .type = JSON_INT,  .offset = AT(started_at)},
    {.name = "simulated",      .type = JSON_BOOL, .offset = AT(simulated)},
};
#undef AT
/* clang-format on */

cJSON *server_facts_to_json(const struct server_facts *facts)
{
    const struct facts_members in = {.major = facts->major,
                                     .engine_edition = facts->engine_edition,
                                     .edition_id = facts->edition_id,
                                     .cpu_count = facts->cpu_count,
                                     .memory_mib = facts->memory_mib,
                                     .started_at = facts->started_at,
                                     .windows = facts->windows,
                                     .simulated = facts->simulated,
                                     .version = facts->version,
                                     .edition = facts->edition,
                                     .platform = facts->platform,
                                     .host_name = facts->host_name};
    cJSON *tree = cJSON_CreateObject();
    for (size_t i = 0; i < JSON_COUNT(facts_fields); i++) {
        const struct json_field *field = &facts_fields[i];
        const void *at = (const char *)&in + field->offset;
        cJSON *item = NULL;
        if (field->type == JSON_TEXT)
            item = json_text(*(const char *const *)at);
        else if (field->type == JSON_BOOL)
            item = cJSON_CreateBool(*(const bool *)at);
        else
            item = cJSON_CreateNumber((double)*(const int64_t *)at);
        (void)cJSON_AddItemToObject(tree, field->name, item);
    }
    return tree;
}

void server_facts_from_json(const cJSON *tree, struct server_facts *out)
{
    struct facts_members in = {.major = -1,
                               .engine_edition = -1,
                               .edition_id = -1,
                               .cpu_count = -1,
                               .memory_mib = -1,
                               .started_at = -1};
    struct json_faults ignored = {0}; /* what cannot be read stays unknown */
    json_read(tree, facts_fields, JSON_COUNT(facts_fields), "", &in, &ignored);
    json_faults_fini(&ignored);
    *out = (struct server_facts){.major = (int)in.major,
                                 .engine_edition = (int)in.engine_edition,
                                 .edition_id = in.edition_id,
                                 .windows = in.windows,
                                 .version = mem_copy(in.version),
                                 .edition = mem_copy(in.edition),
                                 .platform = mem_copy(in.platform),
                                 .host_name = mem_copy(in.host_name),
                                 .cpu_count = in.cpu_count,
                                 .memory_mib = in.memory_mib,
                                 .started_at = in.started_at,
                                 .simulated = in.simulated};
}
