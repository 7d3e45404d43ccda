#include "jobs/measure/tsql.h"

#include "jobs/measure/tsql_text.h"
#include "server/limits.h"

#include <string.h>

/* --- text --------------------------------------------------------------------------------- */

static bool is_control(const char *character, size_t bytes)
{
    unsigned char first = (unsigned char)character[0];
    if (bytes == 1)
        return first < 0x20 || first == 0x7F;
    return bytes == 2 && first == 0xC2 && (unsigned char)character[1] < 0xA0; /* U+0080..009F */
}

bool tsql_text_is_clean(const char *text, size_t *out_utf16)
{
    size_t left = strlen(text);
    size_t utf16 = 0;
    while (left > 0) {
        size_t bytes = json_utf8_length(text, left);
        if (bytes == 0 || is_control(text, bytes))
            return false;
        utf16 += bytes == 4 ? 2 : 1;
        text += bytes;
        left -= bytes;
    }
    if (out_utf16)
        *out_utf16 = utf16;
    return true;
}

void tsql_add_doubling(struct buf *out, const char *text, char doubled)
{
    for (; *text; text++) {
        if (*text == doubled)
            buf_add_char(out, doubled);
        buf_add_char(out, *text);
    }
}

bool tsql_add_name(struct buf *out, const char *name)
{
    size_t utf16 = 0;
    if (!tsql_text_is_clean(name, &utf16) || utf16 == 0 || utf16 > LIMIT_SQL_NAME_UTF16)
        return false;
    buf_add_char(out, '[');
    tsql_add_doubling(out, name, ']');
    buf_add_char(out, ']');
    return true;
}

bool tsql_add_text(struct buf *out, const char *text)
{
    if (!tsql_text_is_clean(text, NULL))
        return false;
    buf_add(out, "N'");
    tsql_add_doubling(out, text, '\'');
    buf_add_char(out, '\'');
    return true;
}

/* --- the parts of a backup ---------------------------------------------------------------- */

static const struct tsql_compression compressions[] = {
    {"default", NULL, NULL, NULL},
    {"off", "NO_COMPRESSION", "N", NULL},
    {"on", "COMPRESSION", "Y", NULL},
    {"MS_XPRESS", "COMPRESSION (ALGORITHM = MS_XPRESS)", "Y", "MS_XPRESS"},
    {"QAT_DEFLATE", "COMPRESSION (ALGORITHM = QAT_DEFLATE)", "Y", "QAT_DEFLATE"},
    {"ZSTD", "COMPRESSION (ALGORITHM = ZSTD)", "Y", "ZSTD"},
};

const struct tsql_compression *tsql_compression_find(const char *word)
{
    for (size_t i = 0; word && i < sizeof compressions / sizeof compressions[0]; i++)
        if (strcmp(word, compressions[i].word) == 0)
            return &compressions[i];
    return NULL;
}

static int check_devices(const struct tsql_backup *backup, struct err *err)
{
    if (backup->device_count < 1 || backup->device_count > LIMIT_STRIPES)
        return err_set(err, ERR_INPUT, 0, "a backup takes 1 to %d devices, not %zu", LIMIT_STRIPES,
                       backup->device_count);
    for (size_t i = 0; i < backup->device_count; i++) {
        size_t utf16 = 0;
        const char *device = backup->devices[i];
        if (!tsql_text_is_clean(device, &utf16) || utf16 > LIMIT_PATH_UTF16)
            return err_set(err, ERR_INPUT, 0,
                           "device %zu is no valid path of at most %d characters", i + 1,
                           LIMIT_PATH_UTF16);
        if (strcmp(device, TSQL_NUL) != 0 && !tsql_path_is_full(device))
            return err_set(err, ERR_INPUT, 0, "device \"%s\" is neither NUL nor a full path",
                           device);
    }
    return 0;
}

int tsql_backup_check(const struct tsql_backup *backup, struct err *err)
{
    struct buf scratch = BUF_WITH_MAX(1024);
    bool name_fits = tsql_add_name(&scratch, backup->database);
    buf_fini(&scratch);
    if (!name_fits)
        return err_set(err, ERR_INPUT, 0,
                       "the database's name must be 1 to %d characters without control characters",
                       LIMIT_SQL_NAME_UTF16);
    if (backup->buffercount < 0 || backup->maxtransfersize < 0 || backup->blocksize < 0)
        return err_set(err, ERR_INPUT, 0, "a backup option cannot be negative");
    if (!tsql_compression_find(backup->compression))
        return err_set(err, ERR_INPUT, 0, "compression \"%s\" is unknown",
                       backup->compression ? backup->compression : "");
    return check_devices(backup, err);
}

/* " WITH " before the first option, ", " before the others. */
struct options {
    struct buf *out;
    bool any;
};

static void begin_option(struct options *options)
{
    buf_add(options->out, options->any ? ", " : " WITH ");
    options->any = true;
}

static void add_option(struct options *options, const char *text)
{
    begin_option(options);
    buf_add(options->out, text);
}

static void add_number(struct options *options, const char *name, int64_t value)
{
    if (value <= 0)
        return;
    begin_option(options);
    buf_format(options->out, "%s = %lld", name, (long long)value);
}

static void add_head(struct buf *out, const char *database)
{
    buf_add(out, "BACKUP DATABASE ");
    (void)tsql_add_name(out, database); /* checked before */
    buf_add(out, " TO ");
}

/* What is measured, in the order in which people read it. */
static void add_measured(struct options *options, const struct tsql_backup *backup)
{
    const char *compression = tsql_compression_find(backup->compression)->tsql;
    add_number(options, "BUFFERCOUNT", backup->buffercount);
    add_number(options, "MAXTRANSFERSIZE", backup->maxtransfersize);
    add_number(options, "BLOCKSIZE", backup->blocksize);
    if (compression)
        add_option(options, compression);
}

int tsql_finish(struct buf *text, struct buf *out, struct err *err)
{
    bool fits = buf_ok(text);
    if (fits)
        buf_add(out, buf_text(text));
    buf_fini(text);
    if (!fits || !buf_ok(out))
        return err_set(err, ERR_INPUT, 0, "the statement is too long");
    return 0;
}

int tsql_backup(const struct tsql_backup *backup, struct buf *out, struct err *err)
{
    size_t name_utf16 = 0;
    struct buf text = {0};
    struct options options = {.out = &text};
    if (tsql_backup_check(backup, err) < 0)
        return -1;
    if (backup->name &&
        (!tsql_text_is_clean(backup->name, &name_utf16) || name_utf16 > LIMIT_SQL_NAME_UTF16))
        return err_set(err, ERR_INPUT, 0, "NAME must be at most %d characters",
                       LIMIT_SQL_NAME_UTF16);
    add_head(&text, backup->database);
    for (size_t i = 0; i < backup->device_count; i++) {
        buf_add(&text, i > 0 ? ", DISK = " : "DISK = ");
        (void)tsql_add_text(&text, backup->devices[i]);
    }
    /* always: a benchmark must not become the base of somebody's differential backups */
    add_option(&options, "COPY_ONLY");
    add_measured(&options, backup);
    if (backup->name) {
        add_option(&options, "NAME = ");
        (void)tsql_add_text(&text, backup->name);
    }
    add_option(&options, "STATS = 5");
    return tsql_finish(&text, out, err);
}

int tsql_recommendation(const struct tsql_backup *backup, struct buf *out, struct err *err)
{
    struct buf text = {0};
    struct options options = {.out = &text};
    if (tsql_backup_check(backup, err) < 0)
        return -1;
    add_head(&text, backup->database);
    for (size_t i = 0; i < backup->device_count; i++) {
        struct buf path = {0};
        tsql_add_production_path(&path, backup, i);
        buf_add(&text, i > 0 ? ", DISK = " : "DISK = ");
        (void)tsql_add_text(&text, buf_text(&path));
        buf_fini(&path);
    }
    add_measured(&options, backup);
    return tsql_finish(&text, out, err);
}
