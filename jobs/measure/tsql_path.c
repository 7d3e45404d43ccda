/* Paths as the measured server sees them: built, and judged before anything is written or
 * deleted. Both separators count everywhere: SQL Server on Linux takes either. */
#include "jobs/measure/own_name.h"
#include "jobs/measure/tsql_text.h"

#include "server/ids.h"
#include "server/limits.h"
#include "server/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum path_kind { PATH_RELATIVE, PATH_DRIVE, PATH_UNC, PATH_UNIX };

static bool is_separator(char character)
{
    return character == '/' || character == '\\';
}

static bool is_letter(char character)
{
    return (character >= 'A' && character <= 'Z') || (character >= 'a' && character <= 'z');
}

static enum path_kind kind_of(const char *path)
{
    if (is_letter(path[0]) && path[1] == ':' && is_separator(path[2]))
        return PATH_DRIVE;
    if (path[0] == '\\' && path[1] == '\\')
        return PATH_UNC;
    if (path[0] == '/' && !is_separator(path[1])) /* "//server" is a share to Windows */
        return PATH_UNIX;
    return PATH_RELATIVE;
}

bool tsql_path_is_full(const char *path)
{
    return kind_of(path) != PATH_RELATIVE;
}

bool tsql_path_is_windows(const char *path)
{
    return (is_letter(path[0]) && path[1] == ':') || (path[0] == '\\' && path[1] == '\\');
}

/* The next component at or after *at; returns its length and moves *at to its start. */
static size_t next_component(const char **at)
{
    size_t length = 0;
    while (is_separator(**at))
        (*at)++;
    while ((*at)[length] && !is_separator((*at)[length]))
        length++;
    return length;
}

/* Windows drops dots and blanks from the end of a component: ".. " is "..", and a component made
 * of nothing else leads somewhere else. */
static bool is_dots(const char *component, size_t length)
{
    size_t dots = 0;
    while (dots < length && (component[dots] == '.' || component[dots] == ' '))
        dots++;
    return dots == length;
}

/* A full path without wildcards, alternate streams ("file:stream"), control characters or
 * components that lead elsewhere. */
static bool is_plain(const char *path)
{
    enum path_kind kind = kind_of(path);
    size_t utf16 = 0;
    if (kind == PATH_RELATIVE || !tsql_text_is_clean(path, &utf16) || utf16 > LIMIT_PATH_UTF16)
        return false;
    if (strpbrk(path, "*?") || (kind != PATH_UNIX && strchr(path + 2, ':')))
        return false;
    const char *at = path;
    for (size_t length = next_component(&at); length > 0; length = next_component(&at)) {
        if (is_dots(at, length))
            return false;
        at += length;
    }
    return true;
}

/* --- building ----------------------------------------------------------------------------- */

static size_t trimmed_length(const char *dir)
{
    size_t length = strlen(dir);
    while (length > 0 && is_separator(dir[length - 1]))
        length--;
    return length;
}

char *tsql_backup_path(const char *dir, const char *job, const char *seq, int stripe)
{
    if (strcmp(dir, TSQL_NUL) == 0)
        return mem_copy(TSQL_NUL);
    return mem_format("%.*s%csweetspot_%s_%s_%d.bak", (int)trimmed_length(dir), dir,
                      tsql_path_is_windows(dir) ? '\\' : '/', job, seq, stripe);
}

size_t tsql_folder_length(const char *path)
{
    size_t length = strlen(path);
    while (length > 0 && !is_separator(path[length - 1]))
        length--;
    bool is_root = length <= 1 || (length == 3 && kind_of(path) == PATH_DRIVE);
    return is_root ? length : length - 1;
}

void tsql_add_production_path(struct buf *out, const struct tsql_backup *backup, size_t i)
{
    const char *device = backup->devices[i];
    if (strcmp(device, TSQL_NUL) == 0) {
        buf_add(out, "<path of your backup file");
    } else {
        size_t length = tsql_folder_length(device);
        buf_add_bytes(out, device, length);
        if (length > 0 && !is_separator(device[length - 1]))
            buf_add_char(out, tsql_path_is_windows(device) ? '\\' : '/');
        buf_add(out, "<name of your backup file");
    }
    if (backup->device_count > 1)
        buf_format(out, " %zu", i + 1);
    buf_add_char(out, '>');
    if (strcmp(device, TSQL_NUL) != 0)
        buf_add(out, ".bak");
}

/* --- judging ------------------------------------------------------------------------------ */

#define OWN_PREFIX "sweetspot_"
#define OWN_SUFFIX ".bak"
#define OWN_SNAPSHOT_SUFFIX ".ss"
#define DIGITS_MAX 19 /* of an int64_t */

/* Moves behind 1..19 digits; false when there are none or more. */
static bool skip_number(const char **at)
{
    size_t digits = strspn(*at, "0123456789");
    *at += digits;
    return digits >= 1 && digits <= DIGITS_MAX;
}

static bool skip_text(const char **at, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(*at, text, length) != 0)
        return false;
    *at += length;
    return true;
}

static bool is_own_name(const char *name)
{
    char id[IDS_TEXT_SIZE];
    if (!skip_text(&name, OWN_PREFIX) || strlen(name) < sizeof id)
        return false;
    memcpy(id, name, sizeof id - 1);
    id[sizeof id - 1] = '\0';
    name += sizeof id - 1;
    if (!ids_is_valid(id))
        return false;
    if (strcmp(name, "_probe" OWN_SUFFIX) == 0)
        return true;
    return skip_text(&name, "_") && skip_number(&name) && skip_text(&name, "_") &&
           skip_number(&name) && strcmp(name, OWN_SUFFIX) == 0;
}

/* The last component; NULL when the path is none that something is written to or deleted from. */
static const char *last_component(const char *path)
{
    if (!is_plain(path) || strstr(path, ".."))
        return NULL;
    const char *name = path + strlen(path);
    while (name > path && !is_separator(name[-1]))
        name--;
    return name;
}

bool tsql_is_own_file(const char *path)
{
    const char *name = last_component(path);
    return name && is_own_name(name);
}

bool tsql_is_own_snapshot_file(const char *path)
{
    const char *name = last_component(path);
    size_t length = name ? strlen(name) : 0;
    size_t suffix = strlen(OWN_SNAPSHOT_SUFFIX);
    if (length <= suffix || strcmp(name + length - suffix, OWN_SNAPSHOT_SUFFIX) != 0)
        return false;
    char *stem = mem_format("%.*s", (int)(length - suffix), name);
    bool own = own_name_matches(stem, OWN_SNAPSHOT_FILE_NUMBERS);
    free(stem);
    return own;
}

static bool same_component(const char *a, const char *b, size_t length, bool ignore_case)
{
    return ignore_case ? strncasecmp(a, b, length) == 0 : strncmp(a, b, length) == 0;
}

/* True when the components of folder are the first of path's. */
static bool is_below(const char *path, const char *folder, bool ignore_case)
{
    for (;;) {
        size_t wanted = next_component(&folder);
        if (wanted == 0)
            return true;
        if (next_component(&path) != wanted || !same_component(path, folder, wanted, ignore_case))
            return false;
        path += wanted;
        folder += wanted;
    }
}

bool tsql_path_is_allowed(const char *path, const char *const *allowed, size_t allowed_count)
{
    if (strcmp(path, TSQL_NUL) == 0)
        return true;
    if (!is_plain(path))
        return false;
    enum path_kind kind = kind_of(path);
    for (size_t i = 0; i < allowed_count; i++)
        if (is_plain(allowed[i]) && kind_of(allowed[i]) == kind &&
            is_below(path, allowed[i], kind != PATH_UNIX))
            return true;
    return false;
}
