#include "server/db_sqlite.h"
#include "server/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* File systems on which another machine, or a helper process, stands between us and the disk:
 * SQLite's locks and shared memory do not work there, or a flush may not be one. */
static const struct {
    unsigned long type;
    const char *name;
} unfit_file_systems[] = {
    /* clang-format off */
    {0x6969,     "NFS"},
    {0x517B,     "SMB"},
    {0xFF534D42, "CIFS"},
    {0xFE534D42, "SMB2"},
    {0x65735546, "FUSE"},
    {0x01021997, "9P"},
    {0x00C36400, "Ceph"},
    {0x0BD00BD0, "Lustre"},
    {0x47504653, "GPFS"},
    {0x01161970, "GFS2"},
    {0x7461636F, "OCFS2"},
    {0x5346414F, "AFS"},
    {0x6B414653, "AFS"},
    {0x73757245, "Coda"},
    {0x564C,     "NCP"},
    {0xAAD7AAEA, "PanFS"},
    /* clang-format on */
};

const char *db_sqlite_unfit_file_system(unsigned long type)
{
    for (size_t i = 0; i < sizeof unfit_file_systems / sizeof unfit_file_systems[0]; i++) {
        if (unfit_file_systems[i].type == type)
            return unfit_file_systems[i].name;
    }
    return NULL;
}

/* The folder part of a path, "." when it has none. The caller frees it. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return mem_copy(".");
    if (slash == path)
        return mem_copy("/");
    return mem_format("%.*s", (int)(slash - path), path);
}

/* A new name is durable only when its folder was flushed. */
static void flush_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return; /* it may be unreadable to us; then the system flushes it in its own time */
    (void)fsync(fd);
    (void)close(fd);
}

static int make_folder(const char *folder, struct err *err)
{
    if (mkdir(folder, 0700) < 0) {
        if (errno == EEXIST)
            return 0;
        return err_set(err, ERR_SYSTEM, errno, "make the folder %s of the results database: %s",
                       folder, strerror(errno));
    }
    char *parent = folder_of(folder);
    flush_folder(parent);
    free(parent);
    return 0;
}

int db_sqlite_prepare_folder(const char *path, struct err *err)
{
    int rc = -1;
    char *folder = folder_of(path);
    struct statfs stats;
    if (make_folder(folder, err) < 0)
        goto out;
    if (statfs(folder, &stats) < 0) {
        (void)err_set(err, ERR_SYSTEM, errno, "look at the folder %s of the results database: %s",
                      folder, strerror(errno));
        goto out;
    }
    /* f_type is signed and narrower on some machines: the low 32 bits are what counts */
    const char *unfit = db_sqlite_unfit_file_system((unsigned long)stats.f_type & 0xFFFFFFFF);
    if (unfit) {
        (void)err_set(err, ERR_REFUSED, 0,
                      "the folder %s lies on a network or user-space file system (%s), where a "
                      "SQLite database is not safe; choose a local disk, or a SQL Server database",
                      folder, unfit);
        goto out;
    }
    rc = 0;
out:
    free(folder);
    return rc;
}

/* The number in the lock file, 0 when it is empty or something else. */
static pid_t read_pid(int fd)
{
    char text[32] = "";
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    if (length <= 0)
        return 0;
    long pid = strtol(text, NULL, 10);
    return pid > 0 ? (pid_t)pid : 0;
}

/* Between taking the lock and writing its pid the holder leaves an old or no pid there for a
 * moment, so one that does not live is read again, for half a second at most. */
static pid_t find_holder(int fd)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    pid_t pid = 0;
    for (int tries = 0; tries < 50; tries++) {
        pid = read_pid(fd);
        if (pid && (kill(pid, 0) == 0 || errno == EPERM))
            return pid;
        (void)nanosleep(&pause, NULL);
    }
    return pid; /* of another pid namespace, perhaps: still the best hint */
}

static int write_pid(int fd)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%d\n", (int)getpid());
    if (pwrite(fd, text, (size_t)length, 0) != length)
        return -1;
    return ftruncate(fd, length);
}

int db_sqlite_take_lock(const char *path, int *out_fd, struct err *err)
{
    char *name = mem_format("%s.lock", path);
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        (void)err_set(err, ERR_SYSTEM, errno, "open the lock file %s: %s", name, strerror(errno));
        goto failed;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int code = errno;
        if (code == EWOULDBLOCK)
            (void)err_set(err, ERR_REFUSED, 0,
                          "the results database %s is in use by process %d; stop that one first, "
                          "or choose another state folder",
                          path, (int)find_holder(fd));
        else
            (void)err_set(err, ERR_SYSTEM, code, "lock %s: %s", name, strerror(code));
        goto failed;
    }
    /* it only helps people; on a full disk the lock itself holds */
    if (write_pid(fd) < 0 && errno != ENOSPC && errno != EDQUOT) {
        (void)err_set(err, ERR_SYSTEM, errno, "write %s: %s", name, strerror(errno));
        goto failed;
    }
    free(name);
    *out_fd = fd;
    return 0;
failed:
    free(name);
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

int db_sqlite_prepare_file(const char *path, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        if (errno == EEXIST)
            return 0;
        return err_set(err, ERR_SYSTEM, errno, "make the results database %s: %s", path,
                       strerror(errno));
    }
    (void)close(fd);
    char *folder = folder_of(path);
    flush_folder(folder);
    free(folder);
    return 0;
}
