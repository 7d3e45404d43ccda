#pragma once
/* The key file: one to LIMIT_KEYS keys of 32 bytes one behind the other, newest first; for its
 * owner only. It is always whole: a changed one takes the place of the former by a rename. Who
 * changes it holds it, so that of two at once neither loses the other's key. Threads: any. */
#include "server/err.h"
#include "server/key_ring.h"

#include <sys/stat.h>

/* Reads it; the caller wipes *out. ERR_NOT_FOUND: there is none; ERR_REFUSED: its length is not
 * that of keys, a key is all zeros (a file that a crash left empty), others can read it;
 * ERR_SYSTEM. */
MUST_CHECK int key_file_read(const char *path, struct key_ring *out, struct err *err);

/* Makes one with one fresh key and mode 0600, on disk when this returns. One that another process
 * has made meanwhile stays as it is. ERR_SYSTEM. */
MUST_CHECK int key_file_make(const char *path, struct err *err);

/* One that nobody else changes until it is released. */
struct key_file {
    char *path; /* of the file itself when the setting names a link */
    int fd;     /* its lock */
    struct stat info;
    struct key_ring ring;
};

/* Waits until nobody else holds it, and reads it. Errors as key_file_read. After it
 * key_file_release is due, whatever came out. */
MUST_CHECK int key_file_hold(const char *path, struct key_file *out, struct err *err);

/* Puts these keys in the place of those of *held, on disk when this returns; owner and mode stay.
 * Once for each hold: another process waits for the file that was there before. When it fails the
 * file holds the keys before or these, whole. ERR_SYSTEM. */
MUST_CHECK int key_file_replace(struct key_file *held, const struct key_ring *ring,
                                struct err *err);
void key_file_release(struct key_file *held);
