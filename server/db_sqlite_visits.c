#include "server/db_sqlite.h"
#include "server/ids.h"
#include "server/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Made when absent; -1 with errno. Nobody ever makes it shorter, so that who has it mapped can read
 * it at any time. */
static int open_visits(const char *path)
{
    struct stat database;
    char *name = mem_format("%s.visits", path);
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    free(name);
    /* a command that root types makes it for the user whose database it is */
    if (fd >= 0 && geteuid() == 0 && stat(path, &database) == 0)
        (void)(fchown(fd, database.st_uid, database.st_gid) < 0); /* then it is root's alone */
    return fd;
}

static bool write_visit(int fd, uint64_t visit)
{
    errno = EIO; /* of a short write */
    return pwrite(fd, &visit, sizeof visit, 0) == sizeof visit;
}

uint64_t *db_sqlite_visits_map(const char *path)
{
    struct stat info;
    void *bytes = MAP_FAILED;
    int fd = open_visits(path);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        (info.st_size >= (off_t)sizeof(uint64_t) || write_visit(fd, 0)))
        bytes = mmap(NULL, sizeof(uint64_t), PROT_READ, MAP_SHARED, fd, 0);
    (void)close(fd); /* the mapping stays */
    return bytes == MAP_FAILED ? NULL : bytes;
}

void db_sqlite_visits_forget(uint64_t *visits)
{
    if (visits)
        (void)munmap(visits, sizeof *visits); /* fails for no mapping of ours */
}

int db_sqlite_visits_tell(const char *path, struct err *err)
{
    uint64_t visit;
    ids_random_bytes(&visit, sizeof visit);
    int fd = open_visits(path);
    bool is_told = fd >= 0 && write_visit(fd, visit);
    int code = errno;
    if (fd >= 0)
        (void)close(fd); /* nothing more was written */
    if (is_told)
        return 0;
    return err_set(err, ERR_SYSTEM, code, "write %s.visits: %s", path, strerror(code));
}
