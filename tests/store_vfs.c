#include "tests/store_vfs.h"
#include "server/lock.h"
#include "server/mem.h"

#include <assert.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512        /* a write is torn between sectors, not inside one */
#define LOG_WRITER_LOCK 0 /* who writes the log holds this one of the locks in shared memory */

struct vfs_faults vfs_faults;

struct shim_file {
    sqlite3_file base;
    const char *path; /* SQLite keeps it as long as the file is open; NULL for a temporary file */
    bool is_log;
    sqlite3_file *real; /* stands behind this struct */
};

/* What one write replaced; newest first. A flush of the file forgets them. */
struct undo {
    char *path;
    sqlite3_int64 offset;
    int length;
    sqlite3_int64 size_before;
    char *bytes;
    struct undo *next;
};

static struct lock undo_lock = LOCK_INIT; /* guards the next one */
static struct undo *undos;
static sqlite3_vfs *real_vfs;
static sqlite3_vfs shim_vfs;

static struct shim_file *shim_of(sqlite3_file *file)
{
    return (struct shim_file *)(void *)file;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return shim_of(file)->real;
}

/* --- losing what was not flushed ------------------------------------------------------------ */

static void remember(struct shim_file *file, sqlite3_int64 offset, int length)
{
    if (!file->path || vfs_faults.death != VFS_POWER || !atomic_load(&vfs_faults.die_at))
        return;
    struct undo *undo = mem_alloc(1, sizeof *undo);
    undo->path = mem_copy(file->path);
    undo->offset = offset;
    undo->length = length;
    undo->bytes = mem_alloc((size_t)length, 1);
    (void)file->real->pMethods->xFileSize(file->real, &undo->size_before);
    (void)file->real->pMethods->xRead(file->real, undo->bytes, length, offset); /* rest is zero */
    lock_take(&undo_lock);
    undo->next = undos;
    undos = undo;
    lock_drop(&undo_lock);
}

static void forget(const char *path)
{
    lock_take(&undo_lock);
    struct undo **link = &undos;
    while (*link) {
        struct undo *undo = *link;
        if (path && strcmp(undo->path, path) != 0) {
            link = &undo->next;
            continue;
        }
        *link = undo->next;
        free(undo->path);
        free(undo->bytes);
        free(undo);
    }
    lock_drop(&undo_lock);
}

/* Puts old bytes back, sector by sector at random, unless the whole write survives. */
static void lose(const struct undo *undo, unsigned *seed)
{
    bool is_torn = rand_r(seed) % 2;
    FILE *file = fopen(undo->path, "r+b");
    if (!file)
        return;
    for (int at = 0; at < undo->length; at += SECTOR) {
        int part = undo->length - at < SECTOR ? undo->length - at : SECTOR;
        if (is_torn && rand_r(seed) % 2)
            continue;
        (void)fseek(file, (long)undo->offset + at, SEEK_SET);
        (void)fwrite(undo->bytes + at, 1, (size_t)part, file);
    }
    (void)fclose(file);
    if (!is_torn && truncate(undo->path, (off_t)undo->size_before) < 0)
        return; /* the file is gone: so is the write */
}

static void cut_power(void)
{
    unsigned seed = vfs_faults.seed;
    lock_take(&undo_lock);
    for (struct undo *undo = undos; undo; undo = undo->next) {
        if (rand_r(&seed) % 2)
            lose(undo, &seed);
    }
    lock_drop(&undo_lock);
}

/* Counts an operation; true when it must fail. Does not return when the process is to end. */
static bool must_fail(bool is_sync)
{
    int operation = atomic_fetch_add(&vfs_faults.operations, 1) + 1;
    if (operation == atomic_load(&vfs_faults.die_at)) {
        if (vfs_faults.death == VFS_POWER)
            cut_power();
        (void)kill(getpid(), SIGKILL);
        (void)pause();
    }
    int fail_at = atomic_load(&vfs_faults.fail_at);
    if (!fail_at || (atomic_load(&vfs_faults.fail_only_sync) && !is_sync))
        return false;
    return operation >= fail_at && operation <= fail_at + atomic_load(&vfs_faults.fail_count);
}

/* --- the methods of a file ------------------------------------------------------------------ */

static int shim_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int shim_read(sqlite3_file *file, void *bytes, int length, sqlite3_int64 offset)
{
    return real_of(file)->pMethods->xRead(real_of(file), bytes, length, offset);
}

static int shim_write(sqlite3_file *file, const void *bytes, int length, sqlite3_int64 offset)
{
    if (must_fail(false))
        return SQLITE_FULL;
    remember(shim_of(file), offset, length);
    return real_of(file)->pMethods->xWrite(real_of(file), bytes, length, offset);
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    sqlite3_int64 before = 0;
    if (must_fail(false))
        return SQLITE_IOERR_TRUNCATE;
    (void)real_of(file)->pMethods->xFileSize(real_of(file), &before);
    if (before > size)
        remember(shim_of(file), size, (int)(before - size));
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int shim_sync(sqlite3_file *file, int flags)
{
    if (shim_of(file)->is_log)
        atomic_fetch_add(&vfs_faults.log_syncs, 1);
    if (must_fail(true))
        return SQLITE_IOERR_FSYNC;
    if (shim_of(file)->path)
        forget(shim_of(file)->path);
    return real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int shim_size(sqlite3_file *file, sqlite3_int64 *out_size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), out_size);
}

static int shim_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int shim_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int shim_check_lock(sqlite3_file *file, int *out_held)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out_held);
}

static int shim_control(sqlite3_file *file, int operation, void *arg)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), operation, arg);
}

static int shim_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

/* The real disk may promise that writes survive whole; ours does not. */
static int shim_device(sqlite3_file *file)
{
    (void)file;
    return 0;
}

static int shim_shm_map(sqlite3_file *file, int region, int size, int extend,
                        void volatile **out_memory)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), region, size, extend, out_memory);
}

static int shim_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    if (offset == LOG_WRITER_LOCK && flags & SQLITE_SHM_UNLOCK) {
        void (*committed)(void *ctx) = atomic_exchange(&vfs_faults.committed, NULL);
        if (committed)
            committed(vfs_faults.committed_ctx);
    }
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void shim_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int shim_shm_unmap(sqlite3_file *file, int remove_it)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), remove_it);
}

/* Version 2: no memory-mapped reading, which would go past us. */
static const sqlite3_io_methods shim_methods = {
    .iVersion = 2,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_lock,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector,
    .xDeviceCharacteristics = shim_device,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

static int shim_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base, int flags,
                     int *out_flags)
{
    (void)vfs;
    struct shim_file *file = shim_of(base);
    memset(file, 0, sizeof *file);
    file->real = (sqlite3_file *)(void *)(file + 1);
    file->path = path;
    file->is_log = flags & SQLITE_OPEN_WAL;
    int code = real_vfs->xOpen(real_vfs, path, file->real, flags, out_flags);
    if (file->real->pMethods)
        base->pMethods = &shim_methods;
    return code;
}

void vfs_install(void)
{
    real_vfs = sqlite3_vfs_find(NULL);
    assert(real_vfs && real_vfs != &shim_vfs);
    shim_vfs = *real_vfs;
    shim_vfs.zName = "failing";
    shim_vfs.szOsFile = (int)sizeof(struct shim_file) + real_vfs->szOsFile;
    shim_vfs.pNext = NULL;
    shim_vfs.xOpen = shim_open;
    int code = sqlite3_vfs_register(&shim_vfs, 1);
    assert(code == SQLITE_OK);
    (void)code;
}

void vfs_reset(void)
{
    forget(NULL);
    atomic_store(&vfs_faults.log_syncs, 0);
    atomic_store(&vfs_faults.operations, 0);
    atomic_store(&vfs_faults.fail_at, 0);
    atomic_store(&vfs_faults.fail_count, 0);
    atomic_store(&vfs_faults.fail_only_sync, 0);
    atomic_store(&vfs_faults.die_at, 0);
    atomic_store(&vfs_faults.committed, NULL);
}
