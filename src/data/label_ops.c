/* Changes of labels: corruption, two classes from many, other labels. */
#include "base/random.h"
#include "data/dataset_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Corruption ---- */

static const char *const kind_word[] = {[BLV_CORRUPT_UNIFORM] = "uniform",
                                        [BLV_CORRUPT_PAIRWISE] = "pairwise",
                                        [BLV_CORRUPT_REDRAW] = "redraw"};

static blv_error check_corruption(const blv_dataset *dataset, blv_corruption kind, double share,
                                  blv_message *why) {
    if (!dataset)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_corrupt: dataset is NULL");
    if ((unsigned)kind >= sizeof kind_word / sizeof kind_word[0])
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_corrupt: unknown kind");
    if (!(share >= 0.0 && share <= 1.0))
        return blv_explain(why, BLV_E_VALUE, "corrupt: share %g; expected 0 to 1", share);
    if (!dataset->view.label)
        return blv_explain(why, BLV_E_VALUE, "corrupt: the set has no classes");
    if (dataset->view.classes < 2 && kind != BLV_CORRUPT_REDRAW)
        return blv_explain(why, BLV_E_VALUE,
                           "corrupt: the set has one class only, and no label can change");
    return BLV_OK;
}

/* The label that takes the place of an old one. Draws are numbered by row. */
static int32_t new_label(blv_corruption kind, int32_t old, size_t classes, const blv_stream *draws,
                         size_t row) {
    if (kind == BLV_CORRUPT_PAIRWISE)
        return (int32_t)(((size_t)old + 1) % classes);
    if (kind == BLV_CORRUPT_REDRAW)
        return (int32_t)blv_random_below(draws, row, classes);
    int32_t other = (int32_t)blv_random_below(draws, row, classes - 1);
    return other < old ? other : other + 1;
}

blv_error blv_dataset_corrupt(blv_dataset *dataset, blv_corruption kind, double share,
                              uint64_t seed, blv_message *why) {
    BLV_CHECK(check_corruption(dataset, kind, share, why));
    const blv_dataset_view *v = &dataset->view;
    size_t count = (size_t)round(share * (double)v->rows), changes = 0;
    blv_dataset *changed = blv_dataset_share(dataset);
    size_t *order = blv_data_alloc(v->rows, sizeof *order);
    if (changed && !v->true_label)
        blv_dataset_put_shared(changed, BLV_PART_TRUE_LABEL, dataset->part[BLV_PART_LABEL]);
    int32_t *label =
        changed ? blv_dataset_own(changed, BLV_PART_LABEL, v->rows * sizeof *label) : NULL;
    bool ok = label && order;
    blv_stream choice = blv_stream_make(seed, "corrupt rows");
    blv_stream draws = blv_stream_make(seed, "corrupt labels");
    if (ok)
        blv_random_permutation(&choice, 0, v->rows, order);
    for (size_t i = 0; ok && i < count; i++) {
        size_t row = order[i];
        label[row] = new_label(kind, v->label[row], v->classes, &draws, row);
        changes += label[row] != v->label[row];
    }
    free(order);
    ok = ok &&
         blv_dataset_record(changed, "corrupt %s %g, seed %llu: %zu of %zu labels changed",
                            kind_word[kind], share, (unsigned long long)seed, changes, v->rows);
    return blv_dataset_commit(dataset, changed, ok, why);
}

/* ---- Two classes from many ---- */

bool blv_dataset_put_mapped(blv_dataset *dataset, const int32_t *to_class, const char *const *names,
                            size_t classes) {
    static const blv_part_name parts[] = {BLV_PART_LABEL, BLV_PART_TRUE_LABEL};
    const size_t rows = dataset->view.rows;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        if (!dataset->part[parts[p]])
            continue;
        int32_t *label = blv_dataset_own(dataset, parts[p], rows * sizeof *label);
        if (!label)
            return false;
        for (size_t i = 0; i < rows; i++)
            label[i] = to_class[label[i]];
    }
    dataset->view.classes = classes;
    return blv_dataset_put(dataset, BLV_PART_CLASS_NAMES, blv_strings_copy(names, classes));
}

blv_error blv_dataset_one_against_rest(blv_dataset *dataset, const char *name, blv_message *why) {
    if (!dataset || !name)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "blv_dataset_one_against_rest: dataset or name is NULL");
    const blv_dataset_view *v = &dataset->view;
    if (!v->label)
        return blv_explain(why, BLV_E_VALUE, "one against rest: the set has no classes");
    size_t one = 0;
    while (one < v->classes && strcmp(v->class_names[one], name) != 0)
        one++;
    if (one == v->classes)
        return blv_explain(why, BLV_E_NAME, "one against rest: there is no class '%.100s'", name);
    const char *words[2] = {"rest", name};
    int32_t *to_class = calloc(v->classes, sizeof *to_class);
    blv_dataset *changed = to_class ? blv_dataset_share(dataset) : NULL;
    if (to_class)
        to_class[one] = 1;
    bool ok =
        changed && blv_dataset_put_mapped(changed, to_class, words, 2) &&
        blv_dataset_record(changed, "class %s against the rest of %zu classes", name, v->classes);
    free(to_class);
    return blv_dataset_commit(dataset, changed, ok, why);
}

/* ---- Other labels ---- */

blv_error blv_dataset_relabel(const blv_dataset *dataset, const int32_t *label,
                              blv_dataset **relabelled, blv_message *why) {
    if (!dataset || !label || !relabelled)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_relabel: an argument is NULL");
    *relabelled = NULL;
    const blv_dataset_view *v = &dataset->view;
    size_t changes = 0;
    if (!v->label)
        return blv_explain(why, BLV_E_VALUE, "relabel: the set has no classes");
    for (size_t i = 0; i < v->rows; i++) {
        if (label[i] < 0 || (size_t)label[i] >= v->classes)
            return blv_explain(why, BLV_E_VALUE, "relabel: row %zu: class %ld of %zu", i,
                               (long)label[i], v->classes);
        changes += label[i] != v->label[i];
    }
    blv_dataset *d = blv_dataset_share(dataset);
    bool ok = d &&
              blv_dataset_put(d, BLV_PART_LABEL, blv_data_copy(label, v->rows, sizeof *label)) &&
              blv_dataset_record(d, "relabel: %zu of %zu labels changed", changes, v->rows);
    return blv_dataset_deliver(relabelled, d, ok, why);
}
