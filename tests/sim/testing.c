#include "testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct world world_start(const char *scenario)
{
    return world_start_as(scenario, "sa", "Sweetspot-1");
}

struct world world_start_as(const char *scenario, const char *user, const char *password)
{
    struct world w = {0};
    char error[SIM_ERROR_SIZE] = "";
    int number = 0;
    if (sim_start(scenario, &w.sim, error))
        fail_msg("%s", error);
    w.client = client_open(sim_port(w.sim), user, password, "", &number);
    if (!w.client)
        fail_msg("login failed with %d", number);
    return w;
}

void world_stop(struct world *w)
{
    client_close(w->client);
    sim_stop(w->sim);
}

void world_fault(struct world *w, const char *json)
{
    char error[SIM_ERROR_SIZE] = "";
    if (sim_fault(w->sim, json, error))
        fail_msg("%s", error);
}

void world_refuses(struct world *w, const char *sql, int number)
{
    struct client_reply r;
    client_run(w->client, sql, &r);
    if (!client_find(&r, number) || client_find(&r, 3014))
        fail_msg("%s\n  gave %d (%s), not %d", sql, r.message_count ? r.messages[0].number : 0,
                 r.message_count ? r.messages[0].text : "nothing", number);
    client_reply_free(&r);
}

void world_backs_up(struct world *w, const char *sql)
{
    struct client_reply r;
    client_run(w->client, sql, &r);
    if (!client_find(&r, 3014) || r.failed)
        fail_msg("%s\n  gave %d (%s)", sql, r.message_count ? r.messages[0].number : 0,
                 r.message_count ? r.messages[0].text : "nothing");
    client_reply_free(&r);
}

void world_says(struct world *w, const char *sql, const char *want)
{
    const char *got = client_text(w->client, sql);
    if (strcmp(got, want))
        fail_msg("%s\n  gave <%s>, not <%s>", sql, got, want);
}

void world_runs(struct world *w, const char *sql)
{
    struct client_reply r;
    client_run(w->client, sql, &r);
    if (r.failed)
        fail_msg("%s\n  gave %d (%s)", sql, r.message_count ? r.messages[0].number : 0,
                 r.message_count ? r.messages[0].text : "nothing");
    client_reply_free(&r);
}

size_t world_file_count(struct world *w)
{
    size_t n = 0;
    struct sim_left *files = sim_files(w->sim, &n);
    sim_files_free(files, n);
    return n;
}
