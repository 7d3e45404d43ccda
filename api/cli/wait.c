#include "api/cli/wait.h"
#include "server/clock.h"
#include "server/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS 250   /* people see it move; a GET costs the server a tenth of a millisecond */
#define RETRY_MS 1000 /* while there is no server */
#define GIVE_UP_MS (INT64_C(1000) * CLI_GIVE_UP_S)
#define NS_PER_MS INT64_C(1000000)
#define DEFAULT_COLUMNS 80

volatile sig_atomic_t wait_signal;

static void on_signal(int signal)
{
    wait_signal = signal;
}

void wait_catch_signals(void)
{
    /* SA_RESETHAND: a second Ctrl-C ends us at once */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

bool wait_ms(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};
    while (!wait_signal && nanosleep(&left, &left) < 0 && errno == EINTR)
        continue;
    return !wait_signal;
}

bool wait_is_passing(long status)
{
    return status == 429 || (status >= 502 && status <= 504);
}

int wait_interrupted(const char *id, const struct cli_args *args)
{
    struct buf to = {0};
    cli_add_connection(args, &to);
    if (getenv("SWEETSPOT_DEMO_ENDS"))
        cli_say("interrupted; the server ends with it");
    else if (id)
        cli_say("interrupted; the job goes on. See it again: sweetspot watch %s%s\n"
                "           End it: sweetspot cancel %s%s",
                id, buf_text(&to), id, buf_text(&to));
    else
        cli_say("interrupted before the server answered; it may have taken the job");
    buf_fini(&to);
    return CLI_INTERRUPTED + wait_signal;
}

/* --- drawing ------------------------------------------------------------------------------- */

struct drawing {
    bool live;       /* one line that is redrawn; else a line per change */
    bool is_drawn;   /* the live line stands there now */
    struct buf last; /* the last plain line */
};

static bool can_draw(bool no_color)
{
    const char *term = getenv("TERM");
    const char *wish = getenv("NO_COLOR");
    return !no_color && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 &&
           !(wish && *wish);
}

static int count_columns(void)
{
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return DEFAULT_COLUMNS;
    return size.ws_col;
}

static void draw_line(struct drawing *drawing, const char *line)
{
    if (drawing->live) {
        (void)fprintf(stderr, "\r%s\033[K", line); /* erase to the end of the line */
        (void)fflush(stderr);
        drawing->is_drawn = true;
    } else if (strcmp(buf_text(&drawing->last), line) != 0) {
        (void)fprintf(stderr, "%s\n", line);
        buf_clear(&drawing->last);
        buf_add(&drawing->last, line);
    }
}

static void draw_job(struct drawing *drawing, const struct show_job *job)
{
    struct buf line = {0};
    if (drawing->live)
        show_progress(job, count_columns(), &line);
    else
        show_step(job, &line);
    draw_line(drawing, buf_text(&line));
    buf_fini(&line);
}

static void draw_end(struct drawing *drawing)
{
    if (drawing->is_drawn)
        (void)fputs("\r\033[K", stderr);
    buf_fini(&drawing->last);
}

/* --- polling ------------------------------------------------------------------------------- */

enum poll_result { POLL_GOES_ON, POLL_ENDED, POLL_NOT_NOW, POLL_FAILED };

struct poll { /* what one GET brought */
    struct show_job job;
    cJSON *tree;
    long status;    /* HTTP; 0: no answer */
    struct buf why; /* sentences, when it was no job */
};

static enum poll_result read_job(const struct http_answer *answer, struct poll *poll)
{
    struct err err = {0};
    if (answer->status != 200) {
        show_problem(answer->status, answer->body, answer->body_bytes, &poll->why);
        return wait_is_passing(answer->status) ? POLL_NOT_NOW : POLL_FAILED;
    }
    if (json_parse(answer->body, answer->body_bytes, &poll->tree, &err) < 0) {
        buf_format(&poll->why, "the server's answer is unreadable: %s\n", err.msg);
        return POLL_FAILED;
    }
    show_job_read(poll->tree, &poll->job);
    return show_job_has_ended(&poll->job) ? POLL_ENDED : POLL_GOES_ON;
}

static enum poll_result poll_once(struct http *http, const char *path, struct poll *poll)
{
    struct http_answer answer = {0};
    struct err err = {0};
    struct http_request request = {.method = "GET", .path = path};
    if (http_send(http, &request, &answer, &err) < 0) {
        buf_format(&poll->why, "%s\n", err.msg);
        return POLL_NOT_NOW;
    }
    poll->status = answer.status;
    enum poll_result result = read_job(&answer, poll);
    http_answer_fini(&answer);
    return result;
}

static void poll_clear(struct poll *poll)
{
    cJSON_Delete(poll->tree);
    buf_fini(&poll->why);
    *poll = (struct poll){0};
}

/* The server does not answer now. False when it has not for too long. */
static bool be_patient(int64_t *lost_at_ms, struct drawing *drawing)
{
    int64_t now_ms = clock_mono_ns() / NS_PER_MS;
    if (*lost_at_ms == 0)
        *lost_at_ms = now_ms;
    if (now_ms - *lost_at_ms >= GIVE_UP_MS)
        return false;
    draw_line(drawing, "the server does not answer; trying again");
    (void)wait_ms(RETRY_MS); /* the caller sees a signal */
    return true;
}

/* Polls until there is something final, which is left in *poll. */
static enum poll_result poll_until_final(struct http *http, const char *path, bool was_there,
                                         struct drawing *drawing, struct poll *poll)
{
    int64_t lost_at_ms = 0; /* monotonic; 0 while the server answers */
    while (!wait_signal) {
        poll_clear(poll);
        enum poll_result result = poll_once(http, path, poll);
        if (result == POLL_ENDED || result == POLL_FAILED)
            return result;
        if (result == POLL_NOT_NOW) {
            if (!was_there || (!wait_signal && !be_patient(&lost_at_ms, drawing)))
                return POLL_NOT_NOW;
            continue;
        }
        was_there = true;
        lost_at_ms = 0;
        draw_job(drawing, &poll->job);
        (void)wait_ms(POLL_MS); /* a signal ends the loop */
    }
    return POLL_GOES_ON;
}

static void tell_not_now(const struct poll *poll, const char *id, const struct cli_args *args)
{
    struct buf to = {0};
    cli_add_connection(args, &to);
    cli_say("%s           What it has taken, it keeps. See it again: sweetspot watch %s%s",
            buf_text(&poll->why), id, buf_text(&to));
    buf_fini(&to);
}

int wait_for_end(struct http *http, const char *id, const struct cli_args *args, cJSON **out_job)
{
    struct drawing drawing = {.live = can_draw(args->no_color)};
    struct poll poll = {0};
    char *path = mem_format("/v1/jobs/%s", id);
    int status = CLI_OK;
    enum poll_result result = poll_until_final(http, path, args->wait, &drawing, &poll);
    draw_end(&drawing);
    free(path);
    switch (result) {
    case POLL_ENDED:
        *out_job = poll.tree;
        poll.tree = NULL;
        break;
    case POLL_GOES_ON:
        status = wait_interrupted(id, args);
        break;
    case POLL_NOT_NOW:
        tell_not_now(&poll, id, args);
        status = CLI_UNREACHABLE;
        break;
    case POLL_FAILED:
        cli_say("%s", buf_text(&poll.why));
        status = poll.status == 200 ? CLI_FAILED : show_problem_exit(poll.status);
        break;
    }
    poll_clear(&poll);
    return status;
}
