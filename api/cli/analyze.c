#include "api/cli/analyze.h"
#include "jobs/evidence.h"
#include "jobs/measure/report.h"
#include "server/limits.h"
#include "server/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a line without its end into *line (emptied first). 1: there was one; 0: the end; -1: the
 * input failed. What is beyond the limit is read over, and buf_ok says so. */
static int read_line(FILE *file, struct buf *line)
{
    buf_fini(line);
    *line = BUF_WITH_MAX(LIMIT_EVIDENCE_BYTES);
    bool any = false;
    for (int byte = getc_unlocked(file); byte != EOF; byte = getc_unlocked(file)) {
        any = true;
        if (byte == '\n')
            return 1;
        buf_add_char(line, (char)byte);
    }
    return ferror(file) ? -1 : any;
}

static bool is_blank(const struct buf *line)
{
    const char *text = buf_text(line);
    return strspn(text, " \t\r") == line->length;
}

static char *report_text(const cJSON *report, const struct cli_args *args)
{
    if (args->html)
        return report_html(report);
    return args->markdown ? report_markdown(report) : json_print(report);
}

static int analyze_line(const struct buf *line, const struct cli_args *args, struct err *err)
{
    struct evidence evidence;
    struct outcome outcome;
    if (!buf_ok(line))
        return err_set(err, ERR_INPUT, 0, "longer than %d MiB", LIMIT_EVIDENCE_BYTES >> 20);
    if (evidence_read(buf_text(line), line->length, !args->no_checksum, &evidence, err) < 0)
        return -1;
    cJSON *report = evidence_report(&evidence, &outcome);
    char *text = report_text(report, args);
    (void)puts(text); /* main looks whether the output could be written */
    free(text);
    free(outcome.summary);
    cJSON_Delete(report);
    evidence_fini(&evidence);
    return 0;
}

static int analyze_file(FILE *file, const char *name, const struct cli_args *args)
{
    struct buf line = {0};
    size_t number = 0;
    size_t good = 0;
    size_t bad = 0;
    int rc = 0;
    while ((rc = read_line(file, &line)) == 1) {
        struct err err = {0};
        number++;
        if (is_blank(&line))
            continue;
        if (args->html && good > 0) {
            (void)err_set(&err, ERR_INPUT, 0, "--html makes one page, and one was made already");
        } else if (analyze_line(&line, args, &err) == 0) {
            good++;
            continue;
        }
        cli_say("%s, line %zu: %s", name, number, err.msg);
        bad++;
    }
    buf_fini(&line);
    if (rc < 0) {
        cli_say("cannot read %s: %s", name, strerror(errno));
        return CLI_USAGE;
    }
    if (good + bad == 0)
        cli_say("%s holds no evidence", name);
    return bad > 0 || good == 0 ? CLI_REFUSED : CLI_OK;
}

int analyze_run(struct http *http, const struct cli_args *args)
{
    (void)http; /* nobody is asked: that is the point */
    const char *path = args->operand_count > 0 ? args->operands[0] : "-";
    if (strcmp(path, "-") == 0)
        return analyze_file(stdin, "standard input", args);
    FILE *file = fopen(path, "re");
    if (!file) {
        cli_say("cannot read %.200s: %s", path, strerror(errno));
        return CLI_USAGE;
    }
    int status = analyze_file(file, path, args);
    (void)fclose(file); /* only read */
    return status;
}
