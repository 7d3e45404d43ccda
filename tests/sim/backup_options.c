/* backup_options.c: WITH … of BACKUP, and the ranges its values must have. */
#include <stdlib.h>
#include <string.h>

#include "backup.h"

enum opt {
    O_BUFFERCOUNT,
    O_MAXTRANSFERSIZE,
    O_BLOCKSIZE,
    O_STATS,
    O_COPY_ONLY,
    O_DIFFERENTIAL,
    O_COMPRESSION,
    O_NO_COMPRESSION,
    O_CHECKSUM,
    O_NO_CHECKSUM,
    O_INIT,
    O_NOINIT,
    O_FORMAT,
    O_NOFORMAT,
    O_SKIP,
    O_NAME,
    O_DESCRIPTION,
    O_MEDIANAME,
    O_MEDIADESCRIPTION,
    O_ENCRYPTION,
    O_CREDENTIAL,
    O_TEXT, /* taken and without effect */
    O_NUMBER,
    O_PLAIN,
    O_LOG_ONLY,
};

static const struct {
    const char *name;
    enum opt opt;
    int since;
    bool needs_value;
} options[] = {
    {"BUFFERCOUNT", O_BUFFERCOUNT, 0, true},
    {"MAXTRANSFERSIZE", O_MAXTRANSFERSIZE, 0, true},
    {"BLOCKSIZE", O_BLOCKSIZE, 0, true},
    {"STATS", O_STATS, 0, false},
    {"COPY_ONLY", O_COPY_ONLY, 9, false},
    {"DIFFERENTIAL", O_DIFFERENTIAL, 0, false},
    {"COMPRESSION", O_COMPRESSION, 10, false},
    {"NO_COMPRESSION", O_NO_COMPRESSION, 10, false},
    {"CHECKSUM", O_CHECKSUM, 9, false},
    {"NO_CHECKSUM", O_NO_CHECKSUM, 9, false},
    {"INIT", O_INIT, 0, false},
    {"NOINIT", O_NOINIT, 0, false},
    {"FORMAT", O_FORMAT, 0, false},
    {"NOFORMAT", O_NOFORMAT, 0, false},
    {"SKIP", O_SKIP, 0, false},
    {"NOSKIP", O_PLAIN, 0, false},
    {"NAME", O_NAME, 0, true},
    {"DESCRIPTION", O_DESCRIPTION, 0, true},
    {"MEDIANAME", O_MEDIANAME, 0, true},
    {"MEDIADESCRIPTION", O_MEDIADESCRIPTION, 0, true},
    {"EXPIREDATE", O_TEXT, 0, true},
    {"RETAINDAYS", O_NUMBER, 0, true},
    {"ENCRYPTION", O_ENCRYPTION, 12, false},
    {"CREDENTIAL", O_CREDENTIAL, 11, true},
    {"STOP_ON_ERROR", O_PLAIN, 9, false},
    {"CONTINUE_AFTER_ERROR", O_PLAIN, 9, false},
    {"REWIND", O_PLAIN, 0, false},
    {"NOREWIND", O_PLAIN, 0, false},
    {"UNLOAD", O_PLAIN, 0, false},
    {"NOUNLOAD", O_PLAIN, 0, false},
    {"RESTART", O_PLAIN, 0, false},
    {"NORECOVERY", O_LOG_ONLY, 0, false},
    {"NO_TRUNCATE", O_LOG_ONLY, 0, false},
};

static bool range(struct plan *p, int64_t v, const char *name)
{
    return sim_raise(p->session, 3250, 1, sim_num(p->session, v), name, NULL);
}

static bool number_in(struct plan *p, const struct option *o, const char *value, int64_t low,
                      int64_t high, const char *name, int64_t *out)
{
    char *end = NULL;
    int64_t v = strtoll(value ? value : "", &end, 10);
    if (!value || *end || end == value)
        return sim_raise(p->session, 102, 1, value ? value : name, NULL);
    if (v < low || v > high)
        return range(p, v, name);
    (void)o;
    *out = v;
    return true;
}

static bool text_in(struct plan *p, const char *value, size_t most, const char **out)
{
    if (sim_utf16_len(value) > most)
        return sim_raise(p->session, 103, 1, sim_utf16_cut(p->frame->arena, value, 0, 128), NULL);
    *out = value;
    return true;
}

static bool transfer_size(struct plan *p, const struct option *o, const char *value)
{
    bool url = p->targets[0].kind == TARGET_URL;
    bool s3 = url && sim_text_begins(p->targets[0].path, "s3:");
    int64_t low = s3 ? 5242880 : 65536;
    int64_t high = s3 || (url && p->sim->major >= 16) ? 20971520 : 4194304;

    if (!number_in(p, o, value, low, high, "MaxTransferSize", &p->transfer))
        return false;
    if (p->transfer % 65536 && p->transfer != 65537) /* 65537 is known to be taken */
        return range(p, p->transfer, "MaxTransferSize");
    return true;
}

static bool block_size(struct plan *p, const struct option *o, const char *value)
{
    if (!number_in(p, o, value, 512, 65536, "BlockSize", &p->block))
        return false;
    return p->block & (p->block - 1) ? sim_raise(p->session, 3253, 1, NULL) : true;
}

static bool compression(struct plan *p, const struct option *o)
{
    struct session *s = p->session;

    p->given_compression = p->compression = true;
    if (!o->value)
        return true;
    if (p->sim->major < 16)
        return sim_raise(s, 102, 1, "(", NULL);
    p->algorithm = sim_text_upper(p->frame->arena, o->value, false);
    bool known = !strcmp(p->algorithm, "MS_XPRESS") || !strcmp(p->algorithm, "QAT_DEFLATE") ||
                 (!strcmp(p->algorithm, "ZSTD") && p->sim->major >= 17);
    if (!known)
        return sim_raise(s, 155, 1, o->value, "BACKUP", NULL);
    if (!strcmp(p->algorithm, "QAT_DEFLATE") && p->sim->engine_edition != 3 &&
        p->sim->engine_edition != 2)
        return sim_raise(s, 1844, 1, "QAT_DEFLATE", p->sim->edition, NULL);
    if (!o->extra)
        return true;
    p->level = sim_text_upper(p->frame->arena, o->extra, false);
    if (p->sim->major < 17)
        return sim_raise(s, 155, 1, "LEVEL", "BACKUP", NULL);
    if (strcmp(p->level, "LOW") && strcmp(p->level, "MEDIUM") && strcmp(p->level, "HIGH"))
        return sim_raise(s, 155, 1, o->extra, "BACKUP", NULL);
    return true;
}

static bool numbers(struct plan *p, enum opt opt, const struct option *o, const char *value)
{
    int64_t v = 10;

    if (opt == O_BUFFERCOUNT)
        return number_in(p, o, value, 1, INT32_MAX, "BufferCount", &p->buffers);
    if (opt == O_MAXTRANSFERSIZE)
        return transfer_size(p, o, value);
    if (opt == O_BLOCKSIZE)
        return block_size(p, o, value);
    if (opt == O_NUMBER)
        return number_in(p, o, value, 0, 99999, "RetainDays", &v);
    if (value && !number_in(p, o, value, 1, 100, "Stats", &v))
        return false;
    p->stats = (int)v;
    return true;
}

static bool flags(struct plan *p, enum opt opt, const struct option *o)
{
    bool *const yes[] = {[O_COPY_ONLY] = &p->copy_only,
                         [O_DIFFERENTIAL] = &p->differential,
                         [O_CHECKSUM] = &p->checksum,
                         [O_INIT] = &p->init,
                         [O_FORMAT] = &p->format,
                         [O_SKIP] = &p->skip,
                         [O_ENCRYPTION] = &p->encrypt,
                         [O_CREDENTIAL] = &p->page_blob,
                         [O_LOG_ONLY] = NULL};
    if (opt == O_COMPRESSION)
        return compression(p, o);
    if (opt == O_NO_COMPRESSION) {
        p->given_compression = true;
        p->compression = false;
    } else if (opt == O_NO_CHECKSUM) {
        p->checksum = false;
    } else if (opt == O_LOG_ONLY && !p->log) {
        return sim_raise(p->session, 3032, 2, sim_text_upper(p->frame->arena, o->name, true), NULL);
    } else if (opt < sizeof(yes) / sizeof(*yes) && yes[opt]) {
        *yes[opt] = true;
    }
    return true;
}

static bool texts(struct plan *p, enum opt opt, const char *value)
{
    const char *ignored = NULL;
    if (opt == O_NAME)
        return text_in(p, value, 128, &p->name);
    if (opt == O_DESCRIPTION)
        return text_in(p, value, 255, &p->description);
    return text_in(p, value, opt == O_MEDIANAME ? 128 : 255, &ignored);
}

static bool one_option(struct plan *p, const struct option *o)
{
    struct session *s = p->session;
    const char *value = o->value;

    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        if (!sim_text_is(options[i].name, o->name) || p->sim->major < options[i].since)
            continue;
        if (o->var && value && o->var == value) {
            const struct variable *v = sim_variable_find(p->frame, o->var);
            if (!v)
                return sim_raise(s, 137, 2, o->var, NULL);
            value = v->value.is_null ? "" : sim_value_text(p->frame->arena, &v->value, 0);
        }
        enum opt opt = options[i].opt;
        if (options[i].needs_value && !value)
            return sim_raise(s, 102, 1, o->name, NULL);
        if (opt <= O_STATS || opt == O_NUMBER)
            return numbers(p, opt, o, value);
        if ((opt >= O_NAME && opt <= O_MEDIADESCRIPTION) || opt == O_TEXT)
            return texts(p, opt, value);
        return flags(p, opt, o);
    }
    return sim_raise(s, 155, 1, o->name, "BACKUP", NULL);
}

static bool conflicts(struct plan *p, const struct stmt *st)
{
    static const char *const pairs[][2] = {{"INIT", "NOINIT"},
                                           {"FORMAT", "NOFORMAT"},
                                           {"COMPRESSION", "NO_COMPRESSION"},
                                           {"CHECKSUM", "NO_CHECKSUM"},
                                           {"FORMAT", "NOINIT"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        bool a = false, b = false;
        for (int k = 0; k < st->option_count; k++) {
            a = a || sim_text_is(st->options[k].name, pairs[i][0]);
            b = b || sim_text_is(st->options[k].name, pairs[i][1]);
        }
        if (a && b)
            return sim_raise(p->session, 3031, 1,
                             sim_text_upper(p->frame->arena, pairs[i][1], true),
                             sim_text_upper(p->frame->arena, pairs[i][0], true), NULL);
    }
    return true;
}

bool sim_backup_options(struct plan *p, const struct stmt *st)
{
    static const char *const algorithms[] = {"MS_XPRESS", "MS_XPRESS", "QAT_DEFLATE", "ZSTD"};

    pthread_mutex_lock(&p->sim->lock);
    p->compression = p->sim->config_compression && p->sim->major >= 10;
    p->checksum =
        (p->sim->config_checksum && p->sim->major >= 12) || sim_flag_is_on_locked(p->sim, 3023);
    p->algorithm = algorithms[p->sim->config_algorithm & 3];
    pthread_mutex_unlock(&p->sim->lock);
    p->level = "LOW";
    for (int i = 0; i < st->option_count; i++)
        if (!one_option(p, &st->options[i]))
            return false;
    if (p->format)
        p->skip = p->init = true;
    if (p->page_blob && p->targets[0].kind == TARGET_URL && p->transfer)
        return sim_raise(p->session, 3291, 1, "MAXTRANSFERSIZE", NULL);
    return conflicts(p, st);
}
