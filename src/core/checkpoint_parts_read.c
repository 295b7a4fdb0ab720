/* Reading the parts of a checkpoint, in pieces: a rank has its own elements and one piece. */
#include "base/hash.h"
#include "bilevel/ranks.h"
#include "core/checkpoint_parts.h"
#include "io/npz_private.h"
#include "space/rank_spaces.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 16 }; /* elements */

blv_error blv_parts_find(const char *lines, blv_parts *parts) {
    char key[BLV_LINE_KEY], value[BLV_LINE_VALUE], *end;
    if (!blv_key_values_find(lines, "parts/count", value))
        return BLV_OK;
    parts->count = strtoull(value, &end, 10);
    if (*end || parts->count < 1 || parts->count > strlen(lines) ||
        !blv_key_values_find(lines, "parts/set", value))
        return BLV_E_FORMAT;
    parts->set = strtoull(value, &end, 16);
    if (*end || strlen(value) != 16)
        return BLV_E_FORMAT;
    parts->facts = calloc(parts->count, sizeof *parts->facts);
    for (size_t k = 0; parts->facts && k < parts->count; k++) {
        blv_part_facts *f = &parts->facts[k];
        blv_checkpoint_key(key, "part/%zu", k);
        if (!blv_key_values_find(lines, key, value) ||
            sscanf(value, "%" SCNu64 " %" SCNx64, &f->bytes, &f->checksum) != 2)
            return BLV_E_FORMAT;
    }
    return parts->facts ? BLV_OK : BLV_E_MEMORY;
}

/* ---- Whether they are those that were written ---- */

/* *same: its bytes are those. */
static blv_error compare_bytes(const char *path, const blv_part_facts *facts, bool *same,
                               blv_message *why) {
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(PIECE);
    uint64_t checksum = BLV_HASH_EMPTY, size = 0;
    blv_error error = !file   ? blv_explain_errno(why, path, "open")
                      : bytes ? BLV_OK
                              : blv_explain_memory(why);
    for (size_t n; error == BLV_OK && (n = fread(bytes, 1, PIECE, file)) > 0; size += n)
        checksum = blv_hash_bytes(checksum, bytes, n);
    if (error == BLV_OK && ferror(file))
        error = blv_explain_errno(why, path, "read");
    *same = size == facts->bytes && checksum == facts->checksum;
    if (file)
        fclose(file);
    free(bytes);
    return error;
}

/* A part that is whole, but of another checkpoint. */
static bool is_of_another(const char *path, uint64_t set) {
    blv_npz *npz = NULL;
    char *text = NULL, expected[17];
    snprintf(expected, sizeof expected, "%016" PRIx64, set);
    const bool other = blv_npz_open(&npz, path, NULL) == BLV_OK &&
                       blv_npz_read_text(npz, BLV_PART_SET, &text, NULL) == BLV_OK &&
                       strcmp(text, expected) != 0;
    blv_npz_close(npz);
    free(text);
    return other;
}

static blv_error check_part(const blv_parts *parts, size_t number, const char *path,
                            blv_message *why) {
    bool same = false;
    BLV_CHECK(compare_bytes(path, &parts->facts[number], &same, why));
    if (same)
        return BLV_OK;
    return blv_explain(why, BLV_E_FORMAT,
                       is_of_another(path, parts->set)
                           ? "%.300s: it is a part of another checkpoint"
                           : "%.300s: it is damaged: not the part that was saved",
                       blv_shown_path(path));
}

/* ---- Elements ---- */

typedef struct reading {
    const blv_parts *parts;
    const blv_apart *apart;
    size_t count;
    const blv_space *space[2]; /* of both levels */
    size_t wanted, found;      /* elements of both */
    size_t *from, *to;         /* of a piece: where elements of this rank are, and which they are */
    blv_npz_place *place;      /* of the members */
    const char *path;
    blv_message *why;
} reading;

static blv_error locate(const reading *r, const blv_npz *npz, const char *name, size_t count,
                        blv_npz_place *place) {
    BLV_CHECK(blv_npz_locate(npz, name, place, r->why));
    const blv_npy_header *h = &place->header;
    if (h->ndim == 1 && place->at > 0 && (count == SIZE_MAX || h->count == count))
        return BLV_OK;
    return blv_explain(r->why, BLV_E_FORMAT, "%.300s: array '%.60s' is not as it was saved",
                       blv_shown_path(r->path), name);
}

static size_t local_dim(const blv_member *m) {
    return blv_space_local_dim(blv_vec_space(blv_member_vector(m, 0)));
}

size_t blv_apart_count(const blv_member *m) {
    return m->vectors * local_dim(m);
}

void blv_apart_take(const blv_apart *a) {
    const size_t local = local_dim(&a->member);
    for (size_t j = 0; j < a->member.vectors; j++) {
        blv_vec *vec = blv_member_vector(&a->member, j);
        const double *values = a->values + j * local;
        double *wide = blv_vec_f64_mut(vec);
        float *narrow = blv_vec_f32_mut(vec);
        if (!blv_space_is_spread(blv_vec_space(vec)))
            blv_vec_write(vec, values);
        else
            for (size_t i = 0; i < local; i++)
                if (wide)
                    wide[i] = values[i];
                else
                    narrow[i] = (float)values[i];
    }
}

static bool is_of(const blv_apart *a, const blv_space *space) {
    return blv_vec_space(blv_member_vector(&a->member, 0)) == space;
}

/* Both lists ascend. *next: of the elements here, the first that may come. */
static size_t match(const reading *r, const blv_space *space, const double *number, size_t count,
                    size_t *next) {
    const size_t local = blv_space_local_dim(space);
    size_t matches = 0;
    for (size_t i = 0; i < count && *next < local; i++) {
        while (*next < local && (double)blv_space_element(space, *next) < number[i])
            ++*next;
        if (*next < local && (double)blv_space_element(space, *next) == number[i]) {
            r->from[matches] = i;
            r->to[matches++] = (*next)++;
        }
    }
    return matches;
}

/* Elements first .. first + count - 1 of the part, of which some are of this rank. */
static blv_error take_piece(const reading *r, const blv_npz *npz, const blv_space *space,
                            size_t total, size_t first, size_t count, size_t matches) {
    const size_t local = blv_space_local_dim(space);
    double *piece;
    uLong crc;
    for (size_t a = 0; a < r->count; a++) {
        const size_t vectors = is_of(&r->apart[a], space) ? r->apart[a].member.vectors : 0;
        for (size_t j = 0; j < vectors; j++) {
            BLV_CHECK(blv_npz_read_rows(npz, &r->place[a], j * total + first, count, &piece, &crc,
                                        r->why));
            for (size_t i = 0; i < matches; i++)
                r->apart[a].values[j * local + r->to[i]] = piece[r->from[i]];
            free(piece);
        }
    }
    return BLV_OK;
}

static blv_error read_level(reading *r, const blv_npz *npz, int level) {
    const blv_space *space = r->space[level];
    blv_npz_place index;
    double *number;
    uLong crc;
    size_t next = 0;
    BLV_CHECK(locate(r, npz, BLV_PART_ELEMENTS(level), SIZE_MAX, &index));
    const size_t total = index.header.count;
    for (size_t a = 0; a < r->count; a++)
        if (is_of(&r->apart[a], space))
            BLV_CHECK(locate(r, npz, r->apart[a].member.name, total * r->apart[a].member.vectors,
                             &r->place[a]));
    for (size_t first = 0; first < total; first += PIECE) {
        const size_t count = total - first < PIECE ? total - first : PIECE;
        BLV_CHECK(blv_npz_read_rows(npz, &index, first, count, &number, &crc, r->why));
        const size_t matches = match(r, space, number, count, &next);
        free(number);
        if (matches > 0)
            BLV_CHECK(take_piece(r, npz, space, total, first, count, matches));
        r->found += matches;
    }
    return BLV_OK;
}

static blv_error read_part(reading *r, size_t number) {
    blv_npz *npz = NULL;
    char *path = NULL;
    bool wanted[2] = {false};
    blv_error error = blv_parts_path(r->parts, number, &path, r->why);
    r->path = path;
    if (error == BLV_OK)
        error = blv_npz_open(&npz, path, r->why);
    for (size_t a = 0; a < r->count; a++)
        wanted[is_of(&r->apart[a], r->space[BLV_LEVEL_X]) ? BLV_LEVEL_X : BLV_LEVEL_Y] = true;
    for (int level = BLV_LEVEL_X; level <= BLV_LEVEL_Y; level++)
        if (error == BLV_OK && wanted[level])
            error = read_level(r, npz, level);
    blv_npz_close(npz);
    free(path);
    return error == BLV_E_NAME ? BLV_E_FORMAT : error;
}

static blv_error check_parts(const blv_parts *parts, size_t rank, size_t ranks, blv_message *why) {
    blv_error error = BLV_OK;
    for (size_t k = rank; error == BLV_OK && k < parts->count; k += ranks) {
        char *path = NULL;
        error = blv_parts_path(parts, k, &path, why);
        if (error == BLV_OK)
            error = check_part(parts, k, path, why);
        free(path);
    }
    return error;
}

/* How many elements this rank has to find. */
static size_t count_wanted(const reading *r) {
    size_t wanted = 0;
    for (int level = BLV_LEVEL_X; level <= BLV_LEVEL_Y; level++)
        for (size_t a = 0; a < r->count; a++)
            if (is_of(&r->apart[a], r->space[level])) {
                wanted += blv_space_local_dim(r->space[level]);
                break;
            }
    return wanted;
}

/* From the part with the number of this rank on: on as many ranks as there were, that is all. */
static blv_error read_parts(reading *r, size_t rank) {
    for (size_t k = 0; k < r->parts->count && r->found < r->wanted; k++)
        BLV_CHECK(read_part(r, (rank + k) % r->parts->count));
    return r->found == r->wanted
               ? BLV_OK
               : blv_explain(r->why, BLV_E_FORMAT, "%.300s: its parts have %zu of %zu elements",
                             blv_shown_path(r->parts->base), r->found, r->wanted);
}

blv_error blv_parts_read(const blv_run *run, const blv_parts *parts, const blv_apart *apart,
                         size_t count, blv_message *why) {
    const blv_ranks *ranks = blv_space_ranks(run->def->space_y);
    const size_t rank = ranks ? (size_t)ranks->rank : 0;
    reading r = {.parts = parts,
                 .apart = apart,
                 .count = count,
                 .space = {run->def->space_x, run->def->space_y},
                 .from = malloc(PIECE * sizeof *r.from),
                 .to = malloc(PIECE * sizeof *r.to),
                 .place = malloc((count + 1) * sizeof *r.place),
                 .why = why};
    blv_error error = r.from && r.to && r.place ? BLV_OK : blv_explain_memory(why);
    if (r.space[BLV_LEVEL_X] == r.space[BLV_LEVEL_Y])
        r.space[BLV_LEVEL_Y] = NULL; /* once is enough */
    r.wanted = count_wanted(&r);
    if (error == BLV_OK)
        error = check_parts(parts, rank, ranks ? (size_t)ranks->count : 1, why);
    if (error == BLV_OK)
        error = read_parts(&r, rank);
    free(r.from);
    free(r.to);
    free(r.place);
    return error;
}
