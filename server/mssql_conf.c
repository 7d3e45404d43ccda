#include "server/mssql_conf.h"
#include "server/buf.h"
#include "server/lock.h"
#include "server/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECTIONS_MAX 10000 /* more distinct servers than one daemon measures; ends a runaway */

extern char **environ;

static struct lock conf_lock = LOCK_INIT; /* guards everything below */
static char *conf_path;
static int memory_file = -1; /* in place of a file, on a disk where none can be written */
static char **sections;      /* the text below each heading; its index is the section's name */
static size_t section_count;
static size_t section_capacity;

/* TDSDUMP writes statements and logins to a file, TDSHOST and TDSPORT send us elsewhere; later
 * versions may know more such names. */
static void clear_environment(void)
{
    size_t i = 0;
    while (environ && environ[i]) {
        char name[64];
        size_t length = strcspn(environ[i], "=");
        bool ours = strncmp(environ[i], "TDS", 3) == 0 || strncmp(environ[i], "FREETDS", 7) == 0;
        if (!ours || length >= sizeof name) {
            i++;
            continue;
        }
        memcpy(name, environ[i], length);
        name[length] = '\0';
        (void)unsetenv(name); /* fails only for a malformed name */
        i = 0;                /* the array has moved */
    }
}

static int write_all(int file, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t written = write(file, text, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -1;
        text += written;
        length -= (size_t)written;
    }
    return 0;
}

static int replace_file(const char *text, size_t length)
{
    int rc = -1;
    char *fresh = mem_format("%s.XXXXXX", conf_path);
    int file = mkostemp(fresh, O_CLOEXEC); /* mode 0600 */
    if (file < 0)
        goto out;
    if (write_all(file, text, length) < 0)
        goto out;
    rc = rename(fresh, conf_path);
out:
    if (file >= 0) {
        int saved = errno;
        if (rc < 0)
            (void)unlink(fresh); /* best effort: the first failure is the one to report */
        (void)close(file);
        errno = saved;
    }
    free(fresh);
    return rc;
}

/* The path names a descriptor; a later version takes that over as a whole, so that no reader sees
 * half of it. */
static int replace_in_memory(const char *text, size_t length)
{
    int fresh = memfd_create("freetds.conf", MFD_CLOEXEC);
    if (fresh < 0)
        return -1;
    if (write_all(fresh, text, length) < 0 ||
        (memory_file >= 0 && dup3(fresh, memory_file, O_CLOEXEC) < 0)) {
        int saved = errno;
        (void)close(fresh);
        errno = saved;
        return -1;
    }
    if (memory_file >= 0)
        (void)close(fresh); /* the other name stays */
    else
        memory_file = fresh;
    return 0;
}

/* A full disk must not keep the daemon from starting: what is left on servers has to be undone.
 * Only before there are threads, for the path changes. */
static int turn_to_memory(const char *text, size_t length)
{
    int saved = errno;
    if ((saved != ENOSPC && saved != EDQUOT) || replace_in_memory(text, length) < 0)
        return errno = saved, -1;
    free(conf_path);
    conf_path = mem_format("/proc/self/fd/%d", memory_file);
    if (access(conf_path, R_OK) == 0)
        return 0;
    (void)close(memory_file); /* no /proc */
    memory_file = -1;
    return errno = saved, -1;
}

static int write_conf_locked(bool first, struct err *err) NEEDS(conf_lock)
{
    struct buf buf = {0};
    buf_add(&buf, "# Written by sweetspotd; changes are lost.\n");
    for (size_t i = 0; i < section_count; i++)
        buf_format(&buf, "[sweetspot-%zu]\n%s", i, sections[i]);
    int rc = memory_file >= 0 ? replace_in_memory(buf_text(&buf), buf.length)
                              : replace_file(buf_text(&buf), buf.length);
    if (rc < 0 && first)
        rc = turn_to_memory(buf_text(&buf), buf.length);
    if (rc < 0)
        rc = err_set(err, ERR_SYSTEM, errno, "write %s: %s", conf_path, strerrordesc_np(errno));
    buf_fini(&buf);
    return rc;
}

int mssql_conf_init(const char *conf_dir, struct err *err)
{
    clear_environment();
    lock_take(&conf_lock);
    free(conf_path);
    conf_path = mem_format("%s/freetds.conf", conf_dir);
    int rc = write_conf_locked(true, err);
    if (rc == 0 && setenv("FREETDSCONF", conf_path, 1) != 0)
        rc = err_set(err, ERR_SYSTEM, errno, "set FREETDSCONF: %s", strerrordesc_np(errno));
    lock_drop(&conf_lock);
    return rc;
}

void mssql_conf_fini(void)
{
    lock_take(&conf_lock);
    for (size_t i = 0; i < section_count; i++)
        free(sections[i]);
    free(sections);
    free(conf_path);
    if (memory_file >= 0)
        (void)close(memory_file);
    memory_file = -1;
    sections = NULL;
    conf_path = NULL;
    section_count = section_capacity = 0;
    lock_drop(&conf_lock);
}

static char *section_text(const struct mssql_target *target)
{
    return mem_format("\thost = %s\n\tport = %d\n\ttds version = 7.4\n\tencryption = %s\n"
                      "\tca file = %s\n\tcheck certificate hostname = %s\n\tenable tls v1 = no\n",
                      target->host, target->port, target->encryption, target->ca_file,
                      target->verify_host ? "yes" : "no");
}

static int add_section_locked(char *text, struct err *err) NEEDS(conf_lock)
{
    if (section_count >= SECTIONS_MAX)
        return err_set(err, ERR_REFUSED, 0, "more than %d servers with certificate checks",
                       SECTIONS_MAX);
    sections = mem_grow(sections, &section_capacity, section_count + 1, sizeof *sections);
    sections[section_count++] = text;
    if (write_conf_locked(false, err) == 0)
        return 0;
    section_count--;
    return -1;
}

int mssql_conf_section(const struct mssql_target *target, char out_name[MSSQL_CONF_NAME_SIZE],
                       struct err *err)
{
    int rc = 0;
    char *text = section_text(target);
    size_t i = 0;
    lock_take(&conf_lock);
    while (i < section_count && strcmp(sections[i], text) != 0)
        i++;
    if (i == section_count) {
        rc = add_section_locked(text, err);
        text = rc == 0 ? NULL : text;
    }
    lock_drop(&conf_lock);
    if (rc == 0)
        (void)snprintf(out_name, MSSQL_CONF_NAME_SIZE, "sweetspot-%zu", i);
    free(text);
    return rc;
}
