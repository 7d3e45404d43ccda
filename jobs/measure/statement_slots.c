#include "jobs/measure/statement_slots.h"
#include "jobs/measure/action.h"
#include "jobs/measure/own_name.h"
#include "jobs/measure/tsql_text.h"
#include "server/json.h"
#include "server/limits.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 19 /* of an int64_t */
#define NAME_PREFIX "sweetspot:"

/* --- reading ------------------------------------------------------------------------------- */

static bool take_literal(struct slot_reader *reader, const char *text, size_t length)
{
    if (strncmp(reader->at, text, length) != 0)
        return false;
    reader->at += length;
    return true;
}

/* What stands between quotes, doubled ones made single; NULL when it does not end. The caller frees
 * it. */
static char *take_quoted(struct slot_reader *reader, const char *opening, char closing)
{
    struct buf text = {0};
    if (!take_literal(reader, opening, strlen(opening)))
        return NULL;
    for (; *reader->at; reader->at++) {
        if (reader->at[0] == closing && reader->at[1] != closing) {
            reader->at++;
            return buf_take(&text);
        }
        reader->at += reader->at[0] == closing;
        buf_add_char(&text, *reader->at);
    }
    buf_fini(&text);
    return NULL;
}

static void tell(struct slot_reader *reader, const char *action, const char *object)
{
    if (reader->on_object)
        reader->on_object(reader->ctx, action, object);
}

static bool take_digits(struct slot_reader *reader, size_t most)
{
    size_t digits = strspn(reader->at, "0123456789");
    reader->at += digits;
    return digits >= 1 && digits <= most;
}

/* --- what slots take ----------------------------------------------------------------------- */

/* A name in brackets that takes() says yes to; told as an object of `action`, unless that is NULL.
 */
static bool take_name_of(struct slot_reader *reader, int own_numbers, const char *action)
{
    size_t utf16 = 0;
    char *name = take_quoted(reader, "[", ']');
    bool good = name && *name && tsql_text_is_clean(name, &utf16) && utf16 <= LIMIT_SQL_NAME_UTF16;
    if (good && action) {
        good = own_name_matches(name, own_numbers);
        tell(reader, action, name);
    }
    free(name);
    return good;
}

static bool take_database(struct slot_reader *reader)
{
    return take_name_of(reader, 0, NULL);
}

static bool take_snapshot(struct slot_reader *reader)
{
    return take_name_of(reader, OWN_SNAPSHOT_NUMBERS, JOURNAL_SNAPSHOT);
}

static bool take_table(struct slot_reader *reader)
{
    return take_name_of(reader, OWN_TABLE_NUMBERS, JOURNAL_TABLE);
}

static bool take_number(struct slot_reader *reader)
{
    return take_digits(reader, DIGITS_MAX);
}

static bool take_flag(struct slot_reader *reader)
{
    char flag[8];
    const char *start = reader->at;
    if (!take_digits(reader, sizeof flag - 1))
        return false;
    size_t length = (size_t)(reader->at - start);
    memcpy(flag, start, length);
    flag[length] = '\0';
    tell(reader, JOURNAL_FLAG, flag);
    return true;
}

static bool take_own_file(struct slot_reader *reader)
{
    char *path = take_quoted(reader, "N'", '\'');
    bool good = path && tsql_is_own_file(path);
    if (path)
        tell(reader, JOURNAL_FILE, path);
    free(path);
    return good;
}

/* A file of ours below allow.paths; NUL is told of as well, as everything is that is written to. */
static bool take_device(struct slot_reader *reader)
{
    char *path = take_quoted(reader, "N'", '\'');
    bool is_nul = path && strcmp(path, TSQL_NUL) == 0;
    bool good =
        is_nul || (path && tsql_is_own_file(path) &&
                   tsql_path_is_allowed(path, reader->rules->paths, reader->rules->path_count));
    if (path && !is_nul)
        tell(reader, JOURNAL_FILE, path);
    free(path);
    return good;
}

static bool take_snapshot_file(struct slot_reader *reader)
{
    char *path = take_quoted(reader, "N'", '\'');
    bool good = path && tsql_is_own_snapshot_file(path) &&
                tsql_path_is_allowed(path, reader->rules->paths, reader->rules->path_count);
    free(path);
    return good;
}

/* sweetspot:<job>:<seq>, by which history knows our own backups. */
static bool take_own_label(struct slot_reader *reader)
{
    char *label = take_quoted(reader, "N'", '\'');
    bool good = label && strncmp(label, NAME_PREFIX, strlen(NAME_PREFIX)) == 0 &&
                strlen(label) <= LIMIT_SQL_NAME_UTF16 &&
                strspn(label, "0123456789abcdefghijklmnopqrstuvwxyz:-") == strlen(label);
    free(label);
    return good;
}

/* Text of the job's own: all of it. */
static bool take_custom(struct slot_reader *reader)
{
    reader->at += strlen(reader->at);
    return true;
}

/* clang-format off */
static const char *const options[] = {
    ", BUFFERCOUNT = {number}", ", MAXTRANSFERSIZE = {number}", ", BLOCKSIZE = {number}",
    ", NO_COMPRESSION", ", COMPRESSION (ALGORITHM = MS_XPRESS)",
    ", COMPRESSION (ALGORITHM = QAT_DEFLATE)", ", COMPRESSION (ALGORITHM = ZSTD)",
    ", COMPRESSION", NULL,
};
static const char *const devices[] = {"DISK = {device}", NULL};
static const char *const snapshot_files[] = {"(NAME = {database}, FILENAME = {snapshot_file})", NULL};
static const char *const marks[] = {"?", NULL};
static const char *const filters[] = {
    " AND s.type <> 'D'", " AND s.type <> 'I'", " AND s.type <> 'L'",
    " AND s.database_name IN ({marks})",
    " AND (s.backup_start_date IS NULL OR s.backup_start_date >= CONVERT(datetime, LEFT(?, 19), 126))",
    NULL,
};

/* A slot takes one text by its function, or several clauses one after the other. */
static const struct slot {
    const char *name;
    bool (*take)(struct slot_reader *reader);
    const char *const *clauses; /* the longer ones first */
    const char *separator;      /* between clauses, one of which there must be; NULL: none needed */
} slots[] = {
    {"database",       take_database,      NULL, NULL}, /* any name in brackets */
    {"snapshot",       take_snapshot,      NULL, NULL},
    {"table",          take_table,         NULL, NULL},
    {"number",         take_number,        NULL, NULL},
    {"flag",           take_flag,          NULL, NULL},
    {"own_file",       take_own_file,      NULL, NULL},
    {"device",         take_device,        NULL, NULL},
    {"snapshot_file",  take_snapshot_file, NULL, NULL},
    {"name",           take_own_label,     NULL, NULL},
    {"custom",         take_custom,        NULL, NULL},
    {"options",        NULL, options,        NULL},
    {"filters",        NULL, filters,        NULL},
    {"devices",        NULL, devices,        ", "},
    {"snapshot_files", NULL, snapshot_files, ", "},
    {"marks",          NULL, marks,          ", "},
};
/* clang-format on */

/* --- patterns ------------------------------------------------------------------------------ */

static const struct slot *find_slot(const char *name, size_t length)
{
    for (size_t i = 0; i < JSON_COUNT(slots); i++)
        if (strlen(slots[i].name) == length && strncmp(slots[i].name, name, length) == 0)
            return &slots[i];
    return NULL;
}

/* One clause, whichever fits; the reader does not move when none does. */
static bool take_clause(struct slot_reader *reader, const char *const *clauses)
{
    const char *start = reader->at;
    for (; *clauses; clauses++) {
        reader->at = start;
        if (slot_take_pattern(reader, *clauses)) /* NOLINT(misc-no-recursion): two levels */
            return true;
    }
    reader->at = start;
    return false;
}

static bool take_clauses(struct slot_reader *reader, const struct slot *slot)
{
    bool any = false;
    while (!any || !slot->separator ||
           take_literal(reader, slot->separator, strlen(slot->separator))) {
        if (!take_clause(reader, slot->clauses)) /* NOLINT(misc-no-recursion): two levels */
            return !slot->separator;
        any = true;
    }
    return true;
}

/* NOLINTNEXTLINE(misc-no-recursion): clauses have slots that have no clauses but marks */
bool slot_take_pattern(struct slot_reader *reader, const char *pattern)
{
    while (*pattern) {
        const char *open = strchrnul(pattern, '{');
        if (!take_literal(reader, pattern, (size_t)(open - pattern)))
            return false;
        if (*open == '\0')
            return true;
        const char *close = strchrnul(open, '}');
        const struct slot *slot = find_slot(open + 1, (size_t)(close - open - 1));
        if (!slot || !(slot->take ? slot->take(reader) : take_clauses(reader, slot)))
            return false;
        pattern = close + 1;
    }
    return true;
}
