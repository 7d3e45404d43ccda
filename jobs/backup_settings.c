#include "jobs/backup_settings.h"
#include "jobs/member.h"

#include <stdlib.h>
#include <string.h>

static const cJSON *find_target(const char *name, const cJSON *targets, const cJSON *extra)
{
    const cJSON *target;
    const char *extra_name = member_text(extra, "name");
    if (extra_name && strcmp(extra_name, name) == 0)
        return extra;
    cJSON_ArrayForEach(target, targets) {
        const char *own = member_text(target, "name");
        if (own && strcmp(own, name) == 0)
            return target;
    }
    return NULL;
}

bool backup_settings_read(const cJSON *settings, const cJSON *targets, const cJSON *extra,
                          struct backup_settings *out)
{
    const char *name = member_text(settings, "target");
    const cJSON *target = name ? find_target(name, targets, extra) : NULL;
    if (!target)
        return false;
    int64_t paths = cJSON_GetArraySize(json_member(target, "paths")); /* one stripe each */
    *out = (struct backup_settings){
        .database = member_text(settings, "database"),
        .files = (int)member_int(settings, "files", member_int(target, "files", paths)),
        .buffercount = member_int(settings, "buffercount", 0),
        .maxtransfersize = member_int(settings, "maxtransfersize", 0),
        .blocksize = member_int(settings, "blocksize", 0),
        .compression = member_text(settings, "compression"),
    };
    if (!out->compression)
        out->compression = "off";
    const cJSON *path;
    cJSON_ArrayForEach(path, json_member(target, "paths")) {
        if (cJSON_IsString(path) && out->folder_count < LIMIT_STRIPES)
            out->folders[out->folder_count++] = path->valuestring;
    }
    return out->database && out->folder_count > 0 && out->files >= 1 && out->files <= LIMIT_STRIPES;
}

bool backup_is_nul(const struct backup_settings *settings)
{
    return strcmp(settings->folders[0], "NUL") == 0;
}

void backup_paths_free(char **paths, int count)
{
    for (int i = 0; paths && i < count; i++)
        free(paths[i]);
    free(paths);
}
