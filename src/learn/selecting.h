/* What the methods of blv_select share. */
#pragma once

#include "base/arena.h"
#include "base/message.h"
#include "bilevel/select.h"
#include "bilevel/solver.h"

typedef struct blv_selecting {
    const blv_dataset *rows;
    const blv_dataset_view *view;
    const blv_selection *how;
    size_t *index;
    double *weight;   /* comes as 1 each */
    blv_arena *arena; /* lives until the rows are chosen */
    blv_message *why;
} blv_selecting;

static inline blv_error blv_select_reject(const blv_selecting *s, blv_error error,
                                          const char *text) {
    return blv_explain(s->why, error, "selection: %s", text);
}

static inline blv_error blv_select_memory(blv_message *why) {
    return blv_explain(why, BLV_E_MEMORY, "selection: out of memory");
}

/* Which scores a classifier gives; its rows may have fewer classes. */
size_t blv_classifier_classes(const blv_classifier *classifier);
/* How many rows are looked at by methods that cannot look at all. */
size_t blv_select_candidates(const blv_selecting *s);
/* `count` rows at random, in their order. */
blv_error blv_select_some(const blv_selecting *s, size_t count, const char *purpose, size_t *row);

/* How many of these rows each class has (row NULL: of all), and how many are to be chosen: as many
 * of each, as far as it has them. */
blv_error blv_select_shares(const blv_selecting *s, size_t classes, const size_t *row, size_t rows,
                            size_t **of_class, size_t **share);

/* Methods that solve a problem with weights, in select_bilevel.c. */
blv_error blv_select_by_solver(blv_selecting *s);
blv_error blv_select_greedy(blv_selecting *s);
blv_error blv_select_probabilistic(blv_selecting *s);
