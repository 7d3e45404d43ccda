#include "tests/mssql_place.h"
#include "server/mem.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

int place_init(void **state)
{
    (void)state;
    struct err err;
    (void)snprintf(folder, sizeof folder, "/tmp/sweetspot-mssql-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    return mssql_init(folder, &err);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

int place_fini(void **state)
{
    (void)state;
    mssql_fini();
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *place_folder(void)
{
    return folder;
}

struct place *place_make(const char *scenario)
{
    char problem[SIM_ERROR_SIZE] = "";
    struct place *place = mem_alloc(1, sizeof *place);
    if (sim_start(scenario, &place->sim, problem) != 0)
        fail_msg("%s", problem);
    place->target = (struct mssql_target){.host = "127.0.0.1",
                                          .port = sim_port(place->sim),
                                          .login = PLACE_LOGIN,
                                          .password = PLACE_PASSWORD,
                                          .encryption = "require",
                                          .app_name = "sweetspot test",
                                          .driver = mssql_default_driver()};
    return place;
}

void place_free(struct place *place)
{
    mssql_close(place->session);
    sim_stop(place->sim);
    free(place);
}

int place_open(struct place *place)
{
    mssql_close(place->session);
    place->session = NULL;
    err_clear(&place->err);
    return mssql_open(&place->target, &place->session, &place->err);
}

int place_start(void **state)
{
    struct place *place = place_make(NULL);
    *state = place;
    if (place_open(place) == 0)
        return 0;
    print_error("%s\n", place->err.msg);
    return -1;
}

int place_stop(void **state)
{
    place_free(*state);
    return 0;
}

void place_fault(struct place *place, const char *json)
{
    char problem[SIM_ERROR_SIZE] = "";
    if (sim_fault(place->sim, json, problem) != 0)
        fail_msg("%s", problem);
}

static void note(void *ctx, const struct mssql_message *message)
{
    struct place_batch *batch = ctx;
    if (batch->count < (int)(sizeof batch->numbers / sizeof batch->numbers[0]))
        batch->numbers[batch->count++] = message->number;
}

void place_run(struct place_batch *batch)
{
    batch->count = 0;
    err_clear(&batch->err);
    batch->rc = mssql_execute(batch->place->session, batch->text, note, batch, &batch->err);
}

static void *run_in_thread(void *argument)
{
    place_run(argument);
    return NULL;
}

void place_begin(struct place_batch *batch)
{
    assert_int_equal(pthread_create(&batch->thread, NULL, run_in_thread, batch), 0);
}

void place_end(struct place_batch *batch)
{
    assert_int_equal(pthread_join(batch->thread, NULL), 0);
}
