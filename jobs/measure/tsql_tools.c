/* A recommendation as the two tools most sites schedule their backups with take it (domain.md
 * 7.5): Ola Hallengren's DatabaseBackup and dbatools' Backup-DbaDatabase. */
#include "jobs/measure/tsql_text.h"

#include "server/limits.h"

#include <stdlib.h>
#include <string.h>

#define FOLDER_PLACEHOLDER "<your backup folder>"
#define INSTANCE_PLACEHOLDER "<your instance>"

/* Folders of the devices, each once, in order: NULL-terminated texts in `out`. */
struct folders {
    const char *start[LIMIT_STRIPES];
    size_t length[LIMIT_STRIPES];
    size_t count;
};

static void folder_of(const char *device, const char **out_start, size_t *out_length)
{
    bool nul = strcmp(device, TSQL_NUL) == 0;
    *out_start = nul ? FOLDER_PLACEHOLDER : device;
    *out_length = nul ? strlen(FOLDER_PLACEHOLDER) : tsql_folder_length(device);
}

static void collect_folders(const struct tsql_backup *backup, struct folders *out)
{
    out->count = 0;
    for (size_t i = 0; i < backup->device_count; i++) {
        const char *start = NULL;
        size_t length = 0;
        size_t same = 0;
        folder_of(backup->devices[i], &start, &length);
        while (same < out->count &&
               (out->length[same] != length || strncmp(out->start[same], start, length) != 0))
            same++;
        if (same < out->count)
            continue;
        out->start[out->count] = start;
        out->length[out->count++] = length;
    }
}

/* --- DatabaseBackup ------------------------------------------------------------------------ */

static bool is_plain_name(const char *name)
{
    for (const char *at = name; *at; at++) {
        bool plain = (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z') ||
                     (*at >= '0' && *at <= '9') || *at == '_' || (unsigned char)*at >= 0x80;
        if (!plain)
            return false;
    }
    return true;
}

/* @Databases is a list with words of its own (USER_DATABASES), a sign for "not" (-) and a
 * wildcard (%). In brackets a name is taken as it is, but for the comma and the wildcard. */
static void add_ola_databases(struct buf *out, const char *database)
{
    struct buf name = {0};
    if (is_plain_name(database) && !strstr(database, "_DATABASES"))
        buf_add(&name, database);
    else
        (void)tsql_add_name(&name, database);
    (void)tsql_add_text(out, buf_text(&name));
    buf_fini(&name);
}

static void add_ola_number(struct buf *out, const char *name, int64_t value)
{
    if (value > 0)
        buf_format(out, ", %s = %lld", name, (long long)value);
}

int tsql_recommendation_ola(const struct tsql_backup *backup, struct buf *out, struct err *err)
{
    if (tsql_backup_check(backup, err) < 0)
        return -1;
    struct buf text = {0};
    struct buf list = {0};
    struct folders folders;
    const struct tsql_compression *compression = tsql_compression_find(backup->compression);
    collect_folders(backup, &folders);
    for (size_t i = 0; i < folders.count; i++) {
        buf_add(&list, i > 0 ? "," : "");
        buf_add_bytes(&list, folders.start[i], folders.length[i]);
    }
    buf_add(&text, "EXECUTE dbo.DatabaseBackup @Databases = ");
    add_ola_databases(&text, backup->database);
    buf_add(&text, ", @Directory = ");
    (void)tsql_add_text(&text, buf_text(&list));
    buf_add(&text, ", @BackupType = 'FULL'");
    add_ola_number(&text, "@BufferCount", backup->buffercount);
    add_ola_number(&text, "@MaxTransferSize", backup->maxtransfersize);
    add_ola_number(&text, "@BlockSize", backup->blocksize);
    if (backup->device_count > 1)
        add_ola_number(&text, "@NumberOfFiles", (int64_t)backup->device_count);
    if (compression->compress)
        buf_format(&text, ", @Compress = '%s'", compression->compress);
    if (compression->algorithm)
        buf_format(&text, ", @CompressionAlgorithm = '%s'", compression->algorithm);
    if (folders.count > 1 && backup->device_count % folders.count != 0)
        buf_add(&text, " /* DatabaseBackup wants as many files in each directory */");
    if (strpbrk(backup->database, ",%"))
        buf_add(&text, " /* @Databases reads , as a list and % as a wildcard */");
    buf_fini(&list);
    return tsql_finish(&text, out, err);
}

/* --- Backup-DbaDatabase -------------------------------------------------------------------- */

/* PowerShell ends a text in single quotes at any of these, and takes each doubled as itself. */
static const char *const single_quotes[] = {
    "'", "\xE2\x80\x98", "\xE2\x80\x99", "\xE2\x80\x9A", "\xE2\x80\x9B", /* U+2018..201B */
};

static size_t quote_length(const char *text, size_t left)
{
    for (size_t i = 0; i < sizeof single_quotes / sizeof single_quotes[0]; i++) {
        size_t length = strlen(single_quotes[i]);
        if (length <= left && memcmp(text, single_quotes[i], length) == 0)
            return length;
    }
    return 0;
}

static void add_powershell_text(struct buf *out, const char *text, size_t length)
{
    buf_add_char(out, '\'');
    for (size_t i = 0; i < length;) {
        size_t quote = quote_length(text + i, length - i);
        if (quote > 0)
            buf_add_bytes(out, text + i, quote);
        buf_add_bytes(out, text + i, quote > 0 ? quote : 1);
        i += quote > 0 ? quote : 1;
    }
    buf_add_char(out, '\'');
}

static void add_dbatools_number(struct buf *out, const char *name, int64_t value)
{
    if (value > 0)
        buf_format(out, " %s %lld", name, (long long)value);
}

/* One folder: -FileCount says how many files. Several: -Path lists one folder per file, and
 * -FileCount is ignored. */
static void add_dbatools_paths(struct buf *out, const struct tsql_backup *backup,
                               const struct folders *folders)
{
    size_t count = folders->count > 1 ? backup->device_count : 1;
    buf_add(out, " -Path ");
    for (size_t i = 0; i < count; i++) {
        const char *start = NULL;
        size_t length = 0;
        folder_of(backup->devices[i], &start, &length);
        buf_add(out, i > 0 ? "," : "");
        add_powershell_text(out, start, length);
    }
}

int tsql_recommendation_dbatools(const struct tsql_backup *backup, struct buf *out, struct err *err)
{
    if (tsql_backup_check(backup, err) < 0)
        return -1;
    struct buf text = {0};
    struct folders folders;
    const struct tsql_compression *compression = tsql_compression_find(backup->compression);
    collect_folders(backup, &folders);
    buf_add(&text, "Backup-DbaDatabase -SqlInstance '" INSTANCE_PLACEHOLDER "' -Database ");
    add_powershell_text(&text, backup->database, strlen(backup->database));
    add_dbatools_paths(&text, backup, &folders);
    buf_add(&text, " -Type Full");
    add_dbatools_number(&text, "-BufferCount", backup->buffercount);
    add_dbatools_number(&text, "-MaxTransferSize", backup->maxtransfersize);
    add_dbatools_number(&text, "-BlockSize", backup->blocksize);
    if (backup->device_count > 1 && folders.count == 1)
        add_dbatools_number(&text, "-FileCount", (int64_t)backup->device_count);
    if (compression->compress)
        buf_add(&text,
                *compression->compress == 'Y' ? " -CompressBackup" : " -CompressBackup:$false");
    if (compression->algorithm)
        buf_format(&text,
                   " # dbatools cannot name %s: set the server's option"
                   " 'backup compression algorithm'",
                   compression->algorithm);
    return tsql_finish(&text, out, err);
}
