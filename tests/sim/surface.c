/* surface.c: how long a backup takes, and what it costs.
 * Reading saturates with the bytes in flight; writing, compression and the target limit it. */
#include <math.h>

#include "backup.h"

static double default_buffers(const struct plan *p)
{
    return p->sim->surface.start + 3 * (p->stripes - 1);
}

static double smallest(double a, double b)
{
    /* a soft minimum: two stages of a pipeline disturb each other when they are close */
    return pow(pow(a, -8) + pow(b, -8), -1.0 / 8);
}

static double read_rate(struct plan *p)
{
    const struct sim_surface *s = &p->sim->surface;
    double size = p->transfer ? (double)p->transfer : 1048576;
    double buffers = p->buffers ? (double)p->buffers : default_buffers(p);
    double in_flight = buffers * pow(size / 1048576, 0.3);
    double missing = (1 - s->floor) * exp(-(in_flight - s->start) / s->knee);

    if (missing > 0.97)
        missing = 0.97;
    p->starved = missing;
    double rate = s->read_mib_s * (1 - missing);
    rate *= (1 + s->transfer_penalty) / (1 + s->transfer_penalty * 1048576 / size);
    rate *= 1 + s->stripe_gain * (1 - 1.0 / p->stripes) * 0.4;
    if (p->checksum)
        rate *= 1 - s->checksum_cost;
    return rate;
}

static double compression_ratio(const struct plan *p, const struct sim_db *db)
{
    bool optimised = p->sim->major >= 13 && p->transfer > 65536;
    double ratio = db->ratio;

    if (p->sim->major > 15 || (p->sim->major == 15 && p->sim->build >= 4043))
        optimised = true; /* the server raises the transfer size by itself */
    if (db->encrypted && !optimised)
        return 1.0;
    if (sim_text_is(p->algorithm, "ZSTD"))
        ratio *= sim_text_is(p->level, "HIGH")     ? 1.35
                 : sim_text_is(p->level, "MEDIUM") ? 1.22
                                                   : 1.12;
    return ratio < 1 ? 1 : ratio;
}

static double compress_rate(const struct plan *p)
{
    double cores = 1 + 2 * p->stripes;
    double factor = sim_text_is(p->algorithm, "ZSTD") ? (sim_text_is(p->level, "HIGH")     ? 0.35
                                                         : sim_text_is(p->level, "MEDIUM") ? 0.7
                                                                                           : 1.4)
                    : sim_text_is(p->algorithm, "QAT_DEFLATE") ? 2.2
                                                               : 1;
    if (cores > p->sim->cpu_count)
        cores = p->sim->cpu_count;
    return p->sim->surface.compress_mib_s * cores * factor;
}

/* Of bytes as they leave the server; 0 = no limit. */
static double write_rate(struct plan *p)
{
    double rate = 0, volumes = 0;

    for (int i = 0; i < p->stripes; i++) {
        const struct target *t = &p->targets[i];
        if (t->kind == TARGET_NUL)
            continue;
        const struct sim_volume *v =
            t->kind == TARGET_DISK ? sim_volume_of_locked(p->sim, t->path) : NULL;
        rate += v ? v->write_mib_s : 120;
        volumes++;
    }
    if (volumes == 0)
        return 0;
    rate /= volumes;
    rate *= 1 + p->sim->surface.stripe_gain * (1 - 1 / volumes);
    if (p->block > 512)
        rate *= 1 + p->sim->surface.block_gain * log2((double)p->block / 512) / 7;
    double buffers = p->buffers ? (double)p->buffers : default_buffers(p);
    return rate * (1 - 0.12 * exp(-buffers / 30)); /* the target also likes a full queue */
}

void sim_surface_locked(struct plan *p, double slow)
{
    struct sim *sim = p->sim;
    const struct sim_db *db = sim_db_by_id_locked(sim, p->db_id);
    double mib = (double)p->total_pages * SIM_PAGE / 1048576;
    double ratio = p->compression && db ? compression_ratio(p, db) : 1;
    double rate = read_rate(p), device = write_rate(p);
    bool preallocates = p->compression && device > 0;

    if (p->compression)
        rate = smallest(rate, compress_rate(p));
    if (device > 0) {
        rate = smallest(rate, device * ratio);
        p->write_share = rate / (device * ratio);
    }
    double log_noise =
        sim->noise * sim_random_normal(&sim->noise_random) + sim->drift * sim->trials++;
    double luck = (double)(sim_random(&sim->noise_random) >> 11) / 9007199254740992.0;
    if (luck < sim->outlier_rate)
        log_noise -= log(sim->outlier_factor);
    double seconds = mib / (rate * exp(log_noise)) + 0.002;
    if (preallocates && sim_flag_is_on_locked(sim, 3042))
        seconds *= 1.05;
    p->took_ms = (int64_t)(seconds * 1000 * slow);
    if (p->took_ms < 1)
        p->took_ms = 1;
    p->cut_bytes =
        p->log || p->file_count ? 512 * (int64_t)(sim_random(&sim->noise_random) % 16) : 0;
    int64_t bytes = p->total_pages * SIM_PAGE + 66560;
    p->written_bytes = p->compression ? (int64_t)((double)bytes / ratio) + 4096 : bytes;
    double buffers = p->buffers ? (double)p->buffers : default_buffers(p);
    double cpu = mib * sim->surface.cpu_ms_per_mib * (1 + sim->surface.buffer_cpu * buffers / 100);
    if (p->compression)
        cpu += mib / sim->surface.compress_mib_s * 1000;
    if (p->checksum)
        cpu += mib * 0.03;
    p->cpu_ms = (int64_t)cpu + 1;
}
