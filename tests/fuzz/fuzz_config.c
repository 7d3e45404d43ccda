/* Any bytes as the configuration file: read, or refused with the line. */
#include "server/config.h"
#include "server/mem.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct config config = {0};
    struct err err = {0};
    bool help;
    bool version;
    int fd = memfd_create("config", MFD_CLOEXEC);
    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    char program[] = "sweetspotd";
    char *file = mem_format("--config=/proc/self/fd/%d", fd);
    char *argv[] = {program, file, NULL};
    if (config_load(2, argv, &config, &help, &version, &err) < 0)
        assert(err.msg[0]);
    else
        assert(config.workers >= 1 && config.workers <= 256);
    config_fini(&config);
    free(file);
    (void)close(fd);
    return 0;
}
