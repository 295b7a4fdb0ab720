/* Checkpoints of several ranks. Vectors that are spread are not in the file of the checkpoint: each
 * rank writes its elements of them to a file of its own beside it,
 *
 *     BASE.SET.partN      SET: 16 hexadecimal digits, another for each checkpoint; N: the rank
 *
 * with the numbers of its elements, so that any number of ranks can read them. The file has SET and
 * the size and checksum of each part, and is written after them: until it is there, the checkpoint
 * before is whole. */
#pragma once

#include "core/checkpoint_format.h"

typedef struct blv_part_facts {
    uint64_t bytes, checksum;
} blv_part_facts;

typedef struct blv_parts {
    char *base;
    uint64_t set;
    size_t count;          /* 0: the file has everything */
    blv_part_facts *facts; /* of each */
} blv_parts;
void blv_parts_free(blv_parts *parts);

/* What a part has beside the members that are spread: SET, and the numbers of its elements. */
#define BLV_PART_SET "set"
#define BLV_PART_ELEMENTS(level) ((level) == BLV_LEVEL_X ? "elements of x" : "elements of y")
blv_error blv_parts_path(const blv_parts *parts, size_t number, char **path, blv_message *why);

/* Whether some vector of the run is spread. */
bool blv_parts_needed(const blv_run *run);
bool blv_member_is_spread(const blv_member *member);

/* Writes the part of this rank, on all ranks or on none. base: what rank 0 says. */
blv_error blv_parts_write(const blv_run *run, const char *base, blv_parts *parts, blv_message *why);
/* Takes the part of this rank back. */
void blv_parts_discard(const blv_run *run, const blv_parts *parts);
void blv_parts_put_lines(const blv_parts *parts, blv_key_values *lines);

/* From the lines: none where they name none. BLV_E_FORMAT: they are malformed. */
blv_error blv_parts_find(const char *lines, blv_parts *parts);
/* A member whose elements are in the parts: values gets those of this rank, vector after vector. */
typedef struct blv_apart {
    blv_member member;
    double *values;
} blv_apart;
/* How many those are. */
size_t blv_apart_count(const blv_member *member);
/* The vectors get them. */
void blv_apart_take(const blv_apart *apart);
/* Checks some of the parts, which together with the other ranks are all, and reads from those that
 * have elements of this rank. */
blv_error blv_parts_read(const blv_run *run, const blv_parts *parts, const blv_apart *apart,
                         size_t count, blv_message *why);
