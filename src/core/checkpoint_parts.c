#include "core/checkpoint_parts.h"
#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/rank_exchange.h"
#include "bilevel/checkpoint.h"
#include "space/rank_spaces.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool blv_member_is_spread(const blv_member *m) {
    return m->vectors > 0 && blv_space_is_spread(blv_vec_space(blv_member_vector(m, 0)));
}

bool blv_parts_needed(const blv_run *run) {
    return blv_space_is_spread(run->def->space_x) || blv_space_is_spread(run->def->space_y);
}

void blv_parts_free(blv_parts *parts) {
    free(parts->base);
    free(parts->facts);
    *parts = (blv_parts){0};
}

blv_error blv_parts_path(const blv_parts *parts, size_t number, char **path, blv_message *why) {
    const size_t size = strlen(parts->base) + 48;
    *path = malloc(size);
    if (!*path)
        return blv_explain_memory(why);
    snprintf(*path, size, "%s.%016" PRIx64 ".part%zu", parts->base, parts->set, number);
    return BLV_OK;
}

/* ---- Writing ---- */

typedef struct part_file {
    blv_atomic_file file;
    blv_part_facts facts;
} part_file;

static int write_counted(void *context, const void *bytes, size_t count) {
    part_file *p = context;
    p->facts.bytes += count;
    p->facts.checksum = blv_hash_bytes(p->facts.checksum, bytes, count);
    return blv_atomic_file_write(&p->file, bytes, count);
}

static blv_error add_index(blv_npz_writer *writer, const char *name, const blv_space *space,
                           blv_message *why) {
    const size_t local = blv_space_local_dim(space);
    int64_t *number = malloc((local + 1) * sizeof *number);
    if (!number)
        return blv_explain_memory(why);
    for (size_t i = 0; i < local; i++)
        number[i] = (int64_t)blv_space_element(space, i);
    blv_error error = blv_npz_add_i64(writer, name, 1, &local, number, why);
    free(number);
    return error;
}

/* The elements of all vectors one after the other. */
static blv_error add_joined(blv_npz_writer *writer, const blv_member *m, size_t local,
                            blv_message *why) {
    const size_t total = m->vectors * local;
    double *joined = malloc((total + 1) * sizeof *joined), *to = joined;
    if (!joined)
        return blv_explain_memory(why);
    for (size_t j = 0; j < m->vectors; j++) {
        const double *wide = blv_vec_f64(blv_member_vector(m, j));
        const float *narrow = blv_vec_f32(blv_member_vector(m, j));
        for (size_t i = 0; i < local; i++)
            *to++ = wide ? wide[i] : (double)narrow[i];
    }
    blv_error error = blv_npz_add_f64(writer, m->name, 1, &total, joined, why);
    free(joined);
    return error;
}

static blv_error add_member(blv_npz_writer *writer, const blv_member *m, blv_message *why) {
    const size_t local = blv_space_local_dim(blv_vec_space(blv_member_vector(m, 0)));
    if (!m->vec)
        return add_joined(writer, m, local, why);
    return blv_vec_f64(m->vec)
               ? blv_npz_add_f64(writer, m->name, 1, &local, blv_vec_f64(m->vec), why)
               : blv_npz_add_f32(writer, m->name, 1, &local, blv_vec_f32(m->vec), why);
}

static blv_error add_all(const blv_run *run, blv_npz_writer *writer, const blv_parts *parts,
                         blv_message *why) {
    const blv_space *const space[] = {run->def->space_x, run->def->space_y};
    char set[17];
    blv_member m;
    snprintf(set, sizeof set, "%016" PRIx64, parts->set);
    BLV_CHECK(blv_npz_add_text(writer, BLV_PART_SET, set, why));
    for (int level = BLV_LEVEL_X; level <= BLV_LEVEL_Y; level++)
        if (blv_space_is_spread(space[level]))
            BLV_CHECK(add_index(writer, BLV_PART_ELEMENTS(level), space[level], why));
    for (size_t i = 0; blv_checkpoint_next(run, &i, &m);)
        if (blv_member_is_spread(&m))
            BLV_CHECK(add_member(writer, &m, why));
    return BLV_OK;
}

static blv_error write_file(const blv_run *run, const blv_parts *parts, const char *path,
                            blv_part_facts *facts, blv_message *why) {
    part_file p = {.facts = {.checksum = BLV_HASH_EMPTY}};
    blv_npz_writer *writer = NULL;
    BLV_CHECK(blv_atomic_file_open(&p.file, path, why));
    blv_error error = blv_npz_create_to(&writer, path, write_counted, &p, why);
    if (error == BLV_OK)
        error = add_all(run, writer, parts, why);
    if (error == BLV_OK)
        error = blv_npz_commit(writer, why);
    else
        blv_npz_discard(writer);
    if (error == BLV_OK)
        error = blv_atomic_file_commit(&p.file, why);
    else
        blv_atomic_file_discard(&p.file);
    *facts = p.facts;
    return error;
}

static blv_error write_part(const blv_run *run, const blv_ranks *ranks, const blv_parts *parts,
                            blv_part_facts *facts, blv_message *why) {
    char *path = NULL;
    blv_error error = blv_parts_path(parts, (size_t)ranks->rank, &path, why);
    if (error == BLV_OK)
        error = write_file(run, parts, path, facts, why);
    free(path);
    return error;
}

/* Another one for each checkpoint, whoever makes it. */
static uint64_t new_set(const blv_run *run) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t set = blv_hash_word(1 + run->result.iterations, (uint64_t)now.tv_sec);
    set = blv_hash_word(set, (uint64_t)now.tv_nsec);
    set = blv_hash_word(set, (uint64_t)getpid());
    return set ? set : 1;
}

static blv_error no_exchange(blv_message *why) {
    return blv_explain(why, BLV_E_DEVICE, BLV_NO_EXCHANGE);
}

/* Where rank 0 says that they are. */
static blv_error share_base(const blv_run *run, const blv_ranks *ranks, const char *base,
                            blv_parts *parts, blv_message *why) {
    size_t size = strlen(base) + 1;
    parts->set = new_set(run);
    if (!ranks->broadcast(ranks->context, 0, &parts->set, sizeof parts->set) ||
        !ranks->broadcast(ranks->context, 0, &size, sizeof size))
        return no_exchange(why);
    parts->base = calloc(size, 1);
    BLV_CHECK(blv_ranks_agree(ranks, parts->base ? BLV_OK : blv_explain_memory(why), why));
    if (ranks->rank == 0)
        memcpy(parts->base, base, size);
    return ranks->broadcast(ranks->context, 0, parts->base, size) ? BLV_OK : no_exchange(why);
}

blv_error blv_parts_write(const blv_run *run, const char *base, blv_parts *parts,
                          blv_message *why) {
    const blv_ranks *ranks = blv_space_ranks(run->def->space_y);
    blv_part_facts facts = {0};
    BLV_CHECK(share_base(run, ranks, base, parts, why));
    blv_error error = blv_ranks_agree(ranks, write_part(run, ranks, parts, &facts, why), why);
    if (error == BLV_OK) {
        void *all;
        error =
            blv_ranks_gather(ranks, &facts, sizeof facts, &all, NULL) ? BLV_OK : no_exchange(why);
        parts->count = (size_t)ranks->count;
        parts->facts = all;
    }
    if (error != BLV_OK)
        blv_parts_discard(run, parts);
    return error;
}

void blv_parts_discard(const blv_run *run, const blv_parts *parts) {
    char *path = NULL;
    const blv_ranks *ranks = blv_space_ranks(run->def->space_y);
    if (parts->base && blv_parts_path(parts, (size_t)ranks->rank, &path, NULL) == BLV_OK)
        unlink(path);
    free(path);
}

void blv_parts_put_lines(const blv_parts *parts, blv_key_values *lines) {
    char key[BLV_LINE_KEY];
    if (parts->count == 0)
        return;
    blv_key_values_put(lines, "parts/set", "%016" PRIx64, parts->set);
    blv_key_values_put(lines, "parts/count", "%zu", parts->count);
    for (size_t k = 0; k < parts->count; k++) {
        blv_checkpoint_key(key, "part/%zu", k);
        blv_key_values_put(lines, key, "%" PRIu64 " %016" PRIx64, parts->facts[k].bytes,
                           parts->facts[k].checksum);
    }
}

/* ---- Removing ---- */

/* Whether the name is that of a part, or of one that was being written. */
static bool is_part(const char *name, const char *base, uint64_t *set) {
    const size_t length = strlen(base);
    char digits[17] = "", *end;
    if (strncmp(name, base, length) != 0 || name[length] != '.' || strlen(name) < length + 23)
        return false;
    memcpy(digits, name + length + 1, 16);
    *set = strtoull(digits, &end, 16);
    return *end == '\0' && strncmp(name + length + 17, ".part", 5) == 0;
}

blv_error blv_run_drop_parts(const char *base, const blv_run *keep) {
    if (!base)
        return BLV_E_ARGUMENT;
    if (keep && !blv_run_writes(keep))
        return BLV_OK;
    const char *slash = strrchr(base, '/'), *name = slash ? slash + 1 : base;
    char *path = slash ? strndup(base, (size_t)(name - base)) : strdup(".");
    DIR *folder = path ? opendir(path) : NULL;
    const blv_error error = !path || (!folder && errno == ENOMEM) ? BLV_E_MEMORY : BLV_OK;
    const struct dirent *entry;
    uint64_t set;
    while (folder && (entry = readdir(folder)))
        if (is_part(entry->d_name, name, &set) && (!keep || set != keep->part_set))
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    free(path);
    return error;
}
