#include "server/config_file.h"
#include "server/buf.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES ((size_t)64 << 10) /* sixteen settings need less than one percent of it */

/* Cuts space off both ends, in place. */
static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* Ends the line where a comment begins: '#' first or after a space. */
static void cut_comment(char *line)
{
    for (char *at = strchr(line, '#'); at; at = strchr(at + 1, '#')) {
        if (at == line || isspace((unsigned char)at[-1])) {
            *at = '\0';
            return;
        }
    }
}

static int read_all(const char *path, struct buf *out, struct err *err)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return err_set(err, ERR_SYSTEM, errno, "cannot read %.200s: %s", path, strerror(errno));
    char block[4096];
    size_t bytes = 0;
    while ((bytes = fread(block, 1, sizeof block, file)) > 0)
        buf_add_bytes(out, block, bytes);
    int rc = 0;
    if (ferror(file))
        rc = err_set(err, ERR_SYSTEM, errno, "cannot read %.200s: %s", path, strerror(errno));
    else if (!buf_ok(out))
        rc = err_set(err, ERR_INPUT, 0, "%.200s is larger than %zu KiB", path, FILE_BYTES >> 10);
    else if (strlen(buf_text(out)) != out->length)
        rc = err_set(err, ERR_INPUT, 0, "%.200s holds a NUL byte", path);
    (void)fclose(file); /* only read */
    return rc;
}

static int take_line(char *line, int number, const char *path, config_file_line *take, void *arg,
                     struct err *err)
{
    cut_comment(line);
    line = trim(line);
    if (!*line)
        return 0;
    char *equals = strchr(line, '=');
    if (!equals)
        return err_set(err, ERR_INPUT, 0, "line %d of %.200s: expected name = value, not \"%.60s\"",
                       number, path, line);
    *equals = '\0';
    return take(arg, trim(line), trim(equals + 1), number, err);
}

int config_file_read(const char *path, config_file_line *take, void *arg, struct err *err)
{
    struct buf text = BUF_WITH_MAX(FILE_BYTES);
    int rc = read_all(path, &text, err);
    char *rest = text.data;
    for (int number = 1; rc == 0 && rest; number++) {
        char *line = strsep(&rest, "\n");
        rc = take_line(line, number, path, take, arg, err);
    }
    buf_fini(&text);
    return rc;
}
