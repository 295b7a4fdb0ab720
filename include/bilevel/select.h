/* Choosing rows: a few that represent all of them.
 *
 * blv_select does it by name, with the bilevel methods and the usual others to compare them with;
 * the problem behind the bilevel ones can be had alone. Same seed, same choice, whatever the number
 * of threads. */
#ifndef BILEVEL_SELECT_H
#define BILEVEL_SELECT_H

#include "bilevel/classifier.h"
#include "bilevel/linear.h"
#include "bilevel/run.h"
#include "bilevel/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- By name ---- */

typedef struct blv_selection_method {
    const char *name, *summary;
    bool needs_model; /* features or gradients of a trained network */
    bool is_bilevel;  /* a solver of that name runs on the problem coreset */
} blv_selection_method;

/* The i-th, NULL after the last. */
BLV_API const blv_selection_method *blv_selection_method_at(size_t i);
/* NULL when there is no such name, and why then names all. */
BLV_API const blv_selection_method *blv_selection_method_find(const char *name, blv_message *why);

/* All fields but size, method and count may be 0. */
typedef struct blv_selection {
    size_t size; /* sizeof(blv_selection) */
    const blv_selection_method *method;
    size_t count; /* rows to choose */
    uint64_t seed;
    int threads; /* 0: all processors */
    /* Trained on the rows. Methods that need a model train one where this is NULL; bcsr, s-tfbo and
     * d-tfbo choose by its features, and by those of the rows where it is NULL. Borrowed. */
    blv_classifier *model;
    /* Bilevel methods: iterations of a run, 0: 300, and 900
     * for s-tfbo; the initial value (bcsr: step_x times the
     * candidates, 0: 5; tuning-free methods: alpha0, beta0 and gamma0, 0: 1); ridge and C of the
     * problem, 0: 0.001 (0.03 with a model) and 0.3; and how many rows are candidates, 0: ten
     * times the size, at least 2000; that also of facility-location. */
    uint64_t iterations;
    double first;
    double ridge, C;
    size_t candidates;
    bool by_class; /* bilevel methods: as many rows of each class, as far as it has some */
} blv_selection;

/* index: `count` different rows. weight: of each in training, their sum is 1; NULL: not wanted.
 * rows must be dense, with at least two classes. */
BLV_API blv_error blv_select(const blv_dataset *rows, const blv_selection *selection, size_t *index,
                             double *weight, blv_message *why);

/* ---- The same with everything about the choice ---- */

typedef struct blv_select_options {
    size_t size; /* sizeof(blv_select_options) */
    /* Its size may be 0. Its method may be NULL: of choices of d-tfbo, kmeans-by-class,
     * facility-by-class (all with as many rows of each class) and uniform the one on which
     * networks train best, by their accuracy on rows that are in none of the choices. */
    blv_selection selection;
    bool compare;    /* train networks on the chosen rows, on as many at random, on all */
    const char *net; /* of these networks; NULL: mlp:in-128-out */
    size_t steps;    /* of their training; 0: 1500 */
} blv_select_options;

typedef struct blv_select_result {
    const blv_selection_method *method;
    size_t rows, count;
    size_t *index;  /* the chosen rows, the heaviest first */
    double *weight; /* of each; their sum is 1 */
    size_t classes;
    size_t *of_class, *chosen_of_class; /* rows of each class, and chosen ones */
    double seconds;                     /* of choosing */
    double chosen_accuracy, uniform_accuracy, all_accuracy; /* NaN without compare */
} blv_select_result;

/* test: rows that networks are compared on; NULL: all rows. hooks may be NULL. */
BLV_API blv_error blv_select_rows(const blv_dataset *rows, const blv_dataset *test,
                                  const blv_select_options *options, blv_select_result **result,
                                  const blv_task_hooks *hooks, blv_message *why);
BLV_API void blv_select_result_destroy(blv_select_result *result); /* NULL is allowed */

/* ---- The problem coreset on sets at hand (docs/networks.md) ---- */

typedef struct blv_coreset_setting {
    size_t size;     /* sizeof(blv_coreset_setting) */
    size_t K;        /* rows that are to have most of the weight */
    double C;        /* what weight on the K largest is worth */
    double delta;    /* size of the noise that smooths */
    size_t draws;    /* of the noise, 0: 8 */
    double ridge;    /* weight of |y|^2 in g */
    const char *net; /* NULL: mlp:in-out */
    uint64_t seed;
    bool over_val; /* f is about the validation rows, not the training rows */
} blv_coreset_setting;

/* x has an entry for each row of train, in its order. The sets stay the caller's, as with
 * blv_hyperclean_create. options may be NULL. */
BLV_API blv_error blv_coreset_create(const blv_sets *sets, const blv_coreset_setting *setting,
                                     const blv_problem_options *options, blv_problem **problem,
                                     blv_message *why);

#ifdef __cplusplus
}
#endif
#endif
