#include "server/log.h"
#include "server/clock.h"
#include "server/unseen.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOG_LINE_SIZE 2048
#define LOG_QUOTE_SIZE 512
#define LOG_CONTEXT_SIZE 100
#define LOG_QUOTE_SLOTS 5 /* a caller's four, and the context's */

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static atomic_int current_level = LOG_LEVEL_INFO;
static _Thread_local const char *context_key; /* NULL: none */
static _Thread_local char context_value[LOG_CONTEXT_SIZE];

void log_set_level(enum log_level level)
{
    atomic_store(&current_level, (int)level);
}

int log_level_by_name(const char *name)
{
    for (int i = 0; i < (int)(sizeof level_names / sizeof level_names[0]); i++)
        if (strcmp(name, level_names[i]) == 0)
            return i;
    return -1;
}

void log_context(const char *key, const char *value)
{
    context_key = value ? key : NULL;
    size_t length = context_key ? strnlen(value, sizeof context_value - 1) : 0;
    memcpy(context_value, value ? value : "", length); /* quoted only when a line is written */
    context_value[length] = '\0';
}

bool log_is_on(enum log_level level)
{
    return (int)level <= atomic_load(&current_level);
}

void log_event(enum log_level level, const char *event, const char *format, ...)
{
    if (!log_is_on(level))
        return;
    char when[CLOCK_TEXT_SIZE];
    char line[LOG_LINE_SIZE];
    int length = snprintf(line, sizeof line, "time=%s level=%s event=%s%s%s%s%s",
                          clock_format(clock_wall_ms(), when), level_names[level], event,
                          context_key ? " " : "", context_key ? context_key : "",
                          context_key ? "=" : "", context_key ? log_quote(context_value) : "");
    if (format && length > 0 && (size_t)length + 1 < sizeof line) {
        line[length++] = ' ';
        va_list args;
        va_start(args, format);
        int more = vsnprintf(line + length, sizeof line - (size_t)length, format, args);
        va_end(args);
        length += more > 0 ? more : 0;
    }
    if ((size_t)length > sizeof line - 1)
        length = (int)sizeof line - 1;
    line[length < (int)sizeof line - 1 ? length : (int)sizeof line - 2] = '\n';
    size_t total = (size_t)(length < (int)sizeof line - 1 ? length + 1 : (int)sizeof line - 1);
    ssize_t written = write(STDERR_FILENO, line, total); /* one call, one whole line */
    (void)written;                                       /* nowhere to report it */
}

const char *log_quote(const char *text)
{
    static _Thread_local char slots[LOG_QUOTE_SLOTS][LOG_QUOTE_SIZE];
    static _Thread_local unsigned next;
    char *out = slots[next++ % LOG_QUOTE_SLOTS];
    size_t used = 0;
    out[used++] = '"';
    bool unseen;
    size_t step;
    for (const char *at = text ? text : ""; *at && used <= LOG_QUOTE_SIZE - 16; at += step) {
        step = unseen_step(at, &unseen);
        if (unseen && step == 1) {
            used += (size_t)snprintf(out + used, 8, "\\x%02x", (unsigned char)*at);
            continue;
        }
        if (unseen || *at == '"' || *at == '\\')
            out[used++] = unseen ? '?' : '\\';
        if (!unseen)
            memcpy(out + used, at, step);
        used += unseen ? 0 : step;
    }
    out[used++] = '"';
    out[used] = '\0';
    return out;
}
