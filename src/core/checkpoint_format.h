/* What writing and reading a checkpoint share. docs/store.md describes the file. */
#pragma once

#include "core/key_value_text.h"
#include "core/run_private.h"

enum { BLV_CHECKPOINT_VERSION = 2, BLV_CHECKPOINT_NUMBERS = 8 };
#define BLV_CHECKPOINT_HEADER "checkpoint" /* the member that holds the lines */
#define BLV_CHECKPOINT_FORMAT "bilevel checkpoint"

/* What must agree between the run that saved and the run that loads, as lines. */
#define BLV_CHECKPOINT_SAME "same/"
void blv_checkpoint_identity(blv_run *run, blv_key_values *lines);
/* Makes it known: with several ranks, all of them are needed for that. */
void blv_checkpoint_fingerprint(blv_run *run);

/* Whole numbers of the run, as lines; ends with a NULL key. */
typedef struct blv_checkpoint_counter {
    const char *key;
    size_t offset; /* of a uint64_t in blv_run */
} blv_checkpoint_counter;
extern const blv_checkpoint_counter blv_checkpoint_counters[];
uint64_t *blv_checkpoint_counter_of(blv_run *run, const blv_checkpoint_counter *counter);

/* The arrays of the state, one after the other: vec or numbers is set. Those of vectors are their
 * elements, one vector after the other. */
enum { BLV_MEMBER_NAME = 64 };
typedef struct blv_member {
    char name[BLV_MEMBER_NAME];
    blv_vec *vec;
    const blv_numbers_entry *numbers;
    size_t count, vectors;
} blv_member;
static inline blv_vec *blv_member_vector(const blv_member *m, size_t j) {
    return m->vec ? m->vec : m->numbers->kept.vectors[j];
}
/* Fills in the member and moves *i on; false after the last. */
bool blv_checkpoint_next(const blv_run *run, size_t *i, blv_member *member);

/* "moved/y", "note/3/text" */
void blv_checkpoint_key(char key[BLV_LINE_KEY], const char *format, ...) BLV_PRINTF(2, 3);

/* In blv_run_create: clock and metrics become part of the state. */
blv_error blv_checkpoint_register(blv_run *run);
/* At the end of blv_run_open: the solver's parameters, before steps change them. */
blv_error blv_checkpoint_note_parameters(blv_run *run);
