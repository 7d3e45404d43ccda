#include "server/key_file.h"
#include "server/ids.h"
#include "server/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FILE_BYTES ((size_t)LIMIT_KEYS * KEY_BYTES)

static int system_error(struct err *err, const char *doing, const char *path)
{
    return err_set(err, ERR_SYSTEM, errno, "%s %s: %s", doing, path, strerrordesc_np(errno));
}

/* --- reading ------------------------------------------------------------------------------- */

static int check(const struct stat *info, const char *path, struct err *err)
{
    if (!S_ISREG(info->st_mode) || info->st_size == 0 || info->st_size % KEY_BYTES != 0 ||
        info->st_size > (off_t)FILE_BYTES)
        return err_set(err, ERR_REFUSED, 0,
                       "the key file %s is not %d bytes long, or up to %d keys of so many", path,
                       KEY_BYTES, LIMIT_KEYS);
    if (info->st_mode & 077)
        return err_set(err, ERR_REFUSED, 0,
                       "the key file %s can be read by others (mode %03o); make it 0600", path,
                       (unsigned)info->st_mode & 0777u);
    return 0;
}

static int split(const unsigned char *bytes, size_t length, const char *path, struct key_ring *out,
                 struct err *err)
{
    static const unsigned char zeros[KEY_BYTES];
    struct key_ring ring = {.count = 0};
    int rc = 0;
    for (size_t at = 0; at < length && rc == 0; at += KEY_BYTES) {
        if (memcmp(bytes + at, zeros, KEY_BYTES) == 0)
            rc = err_set(err, ERR_REFUSED, 0, "the key file %s holds a key of zeros only", path);
        else
            key_ring_add(&ring, bytes + at);
    }
    if (rc == 0)
        *out = ring;
    key_ring_wipe(&ring);
    return rc;
}

/* From the file that is open. */
static int read_open(int file, const char *path, struct key_ring *out, struct err *err)
{
    struct stat info;
    unsigned char bytes[FILE_BYTES];
    if (fstat(file, &info) != 0)
        return system_error(err, "look at the key file", path);
    if (check(&info, path, err) < 0)
        return -1;
    ssize_t got = pread(file, bytes, (size_t)info.st_size, 0);
    int rc = -1;
    if (got < 0)
        (void)system_error(err, "read the key file", path);
    else if (got != info.st_size)
        (void)err_set(err, ERR_REFUSED, 0, "the key file %s was cut while it was read", path);
    else
        rc = split(bytes, (size_t)got, path, out, err);
    explicit_bzero(bytes, sizeof bytes);
    return rc;
}

static int open_to_read(const char *path, int *out_file, struct err *err)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us */
    if (file < 0 && errno == ENOENT)
        return err_set(err, ERR_NOT_FOUND, errno, "there is no key file %s", path);
    if (file < 0)
        return system_error(err, "open the key file", path);
    *out_file = file;
    return 0;
}

int key_file_read(const char *path, struct key_ring *out, struct err *err)
{
    int file = -1;
    if (open_to_read(path, &file, err) < 0)
        return -1;
    int rc = read_open(file, path, out, err);
    (void)close(file); /* nothing was written */
    return rc;
}

/* --- making -------------------------------------------------------------------------------- */

/* The folder's entry must be on disk before anything is sealed with the key. */
static int sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? mem_format("%.*s/", (int)(slash - path), path) : mem_copy(".");
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    if (file < 0)
        return -1;
    int rc = fsync(file);
    (void)close(file); /* nothing was written through it */
    return rc;
}

static int write_keys(int file, const struct key_ring *ring)
{
    unsigned char bytes[FILE_BYTES];
    size_t length = ring->count * KEY_BYTES;
    for (size_t i = 0; i < ring->count; i++)
        memcpy(bytes + i * KEY_BYTES, ring->keys[i].bytes, KEY_BYTES);
    ssize_t written = write(file, bytes, length);
    explicit_bzero(bytes, sizeof bytes);
    if (written != (ssize_t)length) {
        errno = written < 0 ? errno : EIO;
        return -1;
    }
    return fsync(file);
}

static int write_fresh_key(int file)
{
    struct key_ring ring = {.count = 0};
    unsigned char key[KEY_BYTES];
    ids_random_bytes(key, sizeof key);
    key_ring_add(&ring, key);
    explicit_bzero(key, sizeof key);
    int rc = write_keys(file, &ring);
    key_ring_wipe(&ring);
    return rc;
}

/* A whole file appears under the name, or none: link() does not replace what another process has
 * made meanwhile, whose key is then read. */
int key_file_make(const char *path, struct err *err)
{
    int rc = -1;
    char *fresh = mem_format("%s.XXXXXX", path);
    int file = mkostemp(fresh, O_CLOEXEC); /* mode 0600 */
    if (file < 0) {
        rc = system_error(err, "make the key file", path);
        goto out;
    }
    if (write_fresh_key(file) < 0 || (link(fresh, path) < 0 && errno != EEXIST) ||
        sync_folder(path) < 0)
        rc = system_error(err, "write the key file", path);
    else
        rc = 0;
    (void)unlink(fresh); /* the link under its real name stays */
    (void)close(file);   /* fsync has told */
out:
    free(fresh);
    return rc;
}

/* --- changing ------------------------------------------------------------------------------ */

/* Opens the file and locks it. 1: another process has put a new one in its place meanwhile. */
static int lock_open(struct key_file *file, struct err *err)
{
    struct stat now;
    if (open_to_read(file->path, &file->fd, err) < 0)
        return -1;
    while (flock(file->fd, LOCK_EX) < 0)
        if (errno != EINTR)
            return system_error(err, "lock the key file", file->path);
    if (fstat(file->fd, &file->info) < 0)
        return system_error(err, "look at the key file", file->path);
    bool same = stat(file->path, &now) == 0 && now.st_dev == file->info.st_dev &&
                now.st_ino == file->info.st_ino;
    return same ? 0 : 1;
}

int key_file_hold(const char *path, struct key_file *out, struct err *err)
{
    *out = (struct key_file){.fd = -1, .path = realpath(path, NULL)};
    if (!out->path && errno == ENOENT)
        return err_set(err, ERR_NOT_FOUND, errno, "there is no key file %s", path);
    if (!out->path)
        return system_error(err, "find the key file", path);
    int rc = lock_open(out, err);
    while (rc == 1) { /* each turn another process has changed it */
        (void)close(out->fd);
        out->fd = -1;
        rc = lock_open(out, err);
    }
    return rc < 0 ? -1 : read_open(out->fd, out->path, &out->ring, err);
}

/* Of what is read already; who may not give a file away is not its owner. */
static int keep_owner(int file, const struct stat *info)
{
    struct stat made;
    if (fstat(file, &made) < 0)
        return -1;
    if ((made.st_uid != info->st_uid || made.st_gid != info->st_gid) &&
        fchown(file, info->st_uid, info->st_gid) < 0)
        return -1;
    return fchmod(file, info->st_mode & 0700);
}

int key_file_replace(struct key_file *held, const struct key_ring *ring, struct err *err)
{
    int rc = -1;
    char *fresh = mem_format("%s.new", held->path);
    (void)unlink(
        fresh); /* a killed command left it; nobody else makes one while we hold the lock */
    int file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) {
        rc = system_error(err, "make the key file", fresh);
        goto out;
    }
    if (write_keys(file, ring) < 0 || keep_owner(file, &held->info) < 0 ||
        rename(fresh, held->path) < 0 || sync_folder(held->path) < 0)
        rc = system_error(err, "replace the key file", held->path);
    else
        rc = 0;
    if (rc < 0)
        (void)unlink(fresh);
    (void)close(file); /* fsync has told */
out:
    free(fresh);
    return rc;
}

void key_file_release(struct key_file *held)
{
    if (held->fd >= 0)
        (void)close(held->fd); /* and with it the lock */
    free(held->path);
    key_ring_wipe(&held->ring);
    *held = (struct key_file){.fd = -1};
}
