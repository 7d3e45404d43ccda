/* What a backup trial sends that changes something, for plans. */
#include "jobs/backup.h"
#include "jobs/files.h"
#include "jobs/member.h"

#include <stdlib.h>

#define JOB "{job}"
#define SEQ "{seq}"

/* As files_remove does it: on this server; on every server while it is not known. */
static void add_deletions(const struct run *run, const char *path, cJSON *statements)
{
    static const enum statement ways[] = {STATEMENT_DELETE_FILES, STATEMENT_DELETE_FILE};
    int major = run->plan.facts.version ? run->plan.facts.major : -1;
    for (size_t i = 0; i < JSON_COUNT(ways); i++) {
        if (!statement_is_for(ways[i], BY_BACKUPS, major))
            continue;
        char *text = files_deletion(ways[i], path);
        if (text)
            member_add_text_once(statements, text);
        free(text);
    }
}

/* The trial of a folder: a small backup of a system database, and its deletion. */
static void add_folder(const struct run *run, const char *folder, cJSON *statements)
{
    char *path = tsql_backup_path(folder, JOB, SEQ, 1);
    for (size_t i = 0; i < FILES_SMALL_DATABASES; i++) {
        struct buf text = {0};
        struct err ignored; /* it is short */
        if (files_small_statement(files_small_databases[i], path, JOB, SEQ, &text, &ignored) == 0)
            member_add_text_once(statements, buf_text(&text));
        buf_fini(&text);
    }
    add_deletions(run, path, statements);
    free(path);
}

void backup_templates(struct run *run, const struct backup_settings *settings, cJSON *statements)
{
    struct backup_settings fit = backup_fit_server(settings, &run->plan.facts);
    struct buf text = {0};
    struct err ignored; /* the definition was checked */
    char **paths = NULL;
    if (backup_statement(&fit, JOB, SEQ, &text, &paths, &ignored) == 0)
        member_add_text_once(statements, buf_text(&text));
    buf_fini(&text);
    if (!paths)
        return;
    for (int i = 0; i < fit.files && !backup_is_nul(&fit); i++)
        add_deletions(run, paths[i], statements);
    for (size_t i = 0; i < fit.folder_count && !backup_is_nul(&fit); i++)
        add_folder(run, fit.folders[i], statements);
    backup_paths_free(paths, fit.files);
}
