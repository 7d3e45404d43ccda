/* Any text as the messages of a BACKUP, one a line, "NUMBER SEVERITY TEXT": no figure is read that
 * cannot be one. */
#include "jobs/measure/messages.h"
#include "server/mem.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_line(const struct backup_line *line)
{
    assert(line->pages >= 0);
    assert(isfinite(line->seconds) && line->seconds >= 0);
    assert(isfinite(line->printed_rate) && line->printed_rate >= 0);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct backup_messages messages = {0};
    char *text = mem_format("%.*s", (int)size, (const char *)data);
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        struct backup_line found = {0};
        char *end = line;
        int number = (int)(strtol(line, &end, 10) & 0xFFFF);
        int severity = (int)(strtol(end, &end, 10) & 0x1F);
        if (message_read_success(end, &found))
            check_line(&found);
        int percent = message_read_percent(end);
        assert(percent >= -1 && percent <= 100);
        backup_messages_take(&messages, number, severity, end);
    }
    if (messages.line.pages >= 0) /* else 3014 came without its figures */
        check_line(&messages.line);
    assert(messages.percent >= 0 && messages.percent <= 100);
    assert(strlen(messages.error_text) < sizeof messages.error_text);
    assert(!backup_messages_ok(&messages, true) || (messages.success_seen && messages.errors == 0));
    free(text);
    return 0;
}
