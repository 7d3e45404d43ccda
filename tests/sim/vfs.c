/* vfs.c: the simulated server's files, folders and volumes. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

bool sim_path_same(const struct sim *sim, const char *a, const char *b)
{
    if (!sim->windows)
        return strcmp(a, b) == 0;
    while (*a && *b) { /* either slash, no case */
        uint32_t x = sim_fold(sim_utf8_next(&a)), y = sim_fold(sim_utf8_next(&b));
        if ((x == '/' ? '\\' : x) != (y == '/' ? '\\' : y))
            return false;
    }
    return !*a && !*b;
}

struct sim_vfile *sim_vfile_find_locked(struct sim *sim, const char *path)
{
    for (int i = 0; i < sim->file_count; i++)
        if (sim_path_same(sim, sim->files[i].path, path))
            return &sim->files[i];
    return NULL;
}

struct sim_vfile *sim_vfile_add_locked(struct sim *sim, const char *path)
{
    sim->files = sim_realloc(sim->files, (size_t)(sim->file_count + 1) * sizeof(*sim->files));
    struct sim_vfile *f = &sim->files[sim->file_count++];
    *f = (struct sim_vfile){.path = sim_dup(path), .modified_us = sim_now_us_locked(sim)};
    return f;
}

void sim_vfile_remove_locked(struct sim *sim, struct sim_vfile *file)
{
    free(file->path);
    ptrdiff_t at = file - sim->files;
    memmove(file, file + 1, (size_t)(sim->file_count - at - 1) * sizeof(*file));
    sim->file_count--;
}

static bool starts_path(const struct sim *sim, const char *path, const char *prefix)
{
    size_t n = strlen(prefix);
    while (n > 1 && (prefix[n - 1] == '/' || prefix[n - 1] == '\\'))
        n--;
    if (strlen(path) < n)
        return false;
    bool same = sim->windows ? sim_text_is_n(path, prefix, n) : strncmp(path, prefix, n) == 0;
    return same && (!path[n] || path[n] == '/' || path[n] == '\\' || n == 1);
}

struct sim_volume *sim_volume_of_locked(struct sim *sim, const char *path)
{
    struct sim_volume *best = NULL;
    for (int i = 0; i < sim->volume_count; i++)
        if (starts_path(sim, path, sim->volumes[i].mount) &&
            (!best || strlen(sim->volumes[i].mount) > strlen(best->mount)))
            best = &sim->volumes[i];
    return best;
}

int64_t sim_volume_free_locked(struct sim *sim, const struct sim_volume *volume)
{
    int64_t used = volume->used_bytes;
    for (int i = 0; i < sim->file_count; i++)
        if (sim_volume_of_locked(sim, sim->files[i].path) == volume)
            used += sim->files[i].size_bytes;
    for (int d = 0; d < sim->db_count; d++)
        for (int f = 0; f < sim->dbs[d]->file_count; f++) {
            const struct sim_dbfile *file = &sim->dbs[d]->files[f];
            if (sim_volume_of_locked(sim, file->path) == volume)
                used += file->sparse ? file->sparse_bytes : file->pages * SIM_PAGE;
        }
    return volume->total_bytes > used ? volume->total_bytes - used : 0;
}

const struct sim_folder *sim_folder_find_locked(struct sim *sim, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && (path[n - 1] == '/' || (path[n - 1] == '\\' && sim->windows)))
        n--;
    for (int i = 0; i < sim->folder_count; i++) {
        const char *have = sim->folders[i].path;
        size_t m = strlen(have);
        while (m > 1 && (have[m - 1] == '/' || have[m - 1] == '\\'))
            m--;
        if (m == n && (sim->windows ? sim_text_is_n(have, path, n) : !strncmp(have, path, n)))
            return &sim->folders[i];
    }
    return NULL;
}

char *sim_parent_folder(const struct sim *sim, struct arena *arena, const char *path)
{
    size_t n = strlen(path), cut = 0;
    for (size_t i = 0; i < n; i++)
        if (path[i] == '/' || (path[i] == '\\' && sim->windows))
            cut = i;
    return sim_arena_dupn(arena, path, cut ? cut : path[0] == '/');
}

int sim_path_check_locked(struct sim *sim, const char *path)
{
    struct arena arena = {0};
    int error = 0;

    if (!sim->windows && !strcmp(path, "/dev/null"))
        return 31;
    const char *parent = sim_parent_folder(sim, &arena, path);
    const struct sim_folder *folder = sim_folder_find_locked(sim, parent);
    if (sim_folder_find_locked(sim, path))
        error = 5; /* it is a folder itself */
    else if (!folder)
        error = sim->windows ? 3 : 2;
    else if (folder->denied)
        error = 5;
    sim_arena_fini(&arena);
    return error;
}

const char *sim_os_error(const struct sim *sim, int number)
{
    if (number == 2)
        return "2(The system cannot find the file specified.)";
    if (number == 3)
        return "3(The system cannot find the path specified.)";
    if (number == 5)
        return "5(Access is denied.)";
    if (number == 31)
        return "31(A device attached to the system is not functioning.)";
    if (number == 32)
        return "32(The process cannot access the file because it is being used by another "
               "process.)";
    if (number == 87)
        return "87(The parameter is incorrect.)";
    if (number == 112)
        return "112(There is not enough space on the disk.)";
    return sim->windows ? "1117(The request could not be performed because of an I/O device error.)"
                        : "1117(I/O error)";
}

/* '*' and '?' as the operating system has them. */
static bool wild(const struct sim *sim, const char *text, const char *pattern)
{
    for (; *pattern; pattern++) {
        if (*pattern == '*') {
            for (;; text++) {
                if (wild(sim, text, pattern + 1))
                    return true;
                if (!*text || *text == '/' || *text == '\\')
                    return false;
            }
        }
        char one[2] = {*text, 0}, other[2] = {*pattern, 0};
        if (!*text || (*pattern != '?' && !sim_path_same(sim, one, other)))
            return false;
        text++;
    }
    return !*text;
}

int sim_delete_matching_locked(struct sim *sim, const char *pattern)
{
    int deleted = 0;
    for (int i = sim->file_count - 1; i >= 0; i--)
        if (wild(sim, sim->files[i].path, pattern)) {
            sim_vfile_remove_locked(sim, &sim->files[i]);
            deleted++;
        }
    return deleted;
}
