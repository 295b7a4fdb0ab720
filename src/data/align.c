/* Sets that are used together: the columns, classes, layout and precision of the first for all. */
#include "data/dataset_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Checks ---- */

/* A set and what it is called in messages. */
typedef struct named_view {
    const blv_dataset_view *view;
    const char *name;
} named_view;

/* libsvm files do not tell their width: zeros at the end are left out. All others do. */
static bool width_is_open(const blv_dataset_view *v) {
    return v->format && strcmp(v->format, "libsvm") == 0;
}

static blv_error check_columns(const named_view *set, const named_view *to, blv_message *why) {
    const blv_dataset_view *v = set->view, *r = to->view;
    if (v->columns != r->columns && !width_is_open(v) && !width_is_open(r))
        return blv_explain(why, BLV_E_VALUE, "%.200s: %zu features; expected %zu as in %.200s",
                           set->name, v->columns, r->columns, to->name);
    for (size_t j = 0; v->feature_names && r->feature_names && j < v->columns && j < r->columns;
         j++)
        if (strcmp(v->feature_names[j], r->feature_names[j]) != 0)
            return blv_explain(why, BLV_E_VALUE,
                               "%.120s: feature %zu is '%.100s'; expected '%.100s' as in %.120s",
                               set->name, j, v->feature_names[j], r->feature_names[j], to->name);
    return BLV_OK;
}

static const char *label_word(const blv_dataset_view *v) {
    return v->label ? "classes" : v->target ? "real targets" : "no labels";
}

static blv_error check_kind(const named_view *set, const named_view *to, blv_message *why) {
    if (!set->view->label == !to->view->label && !set->view->target == !to->view->target)
        return BLV_OK;
    return blv_explain(why, BLV_E_VALUE, "%.200s: %s; expected %s as in %.200s", set->name,
                       label_word(set->view), label_word(to->view), to->name);
}

/* ---- Classes ---- */

/* The class of that name, or one whose name is the same number ("+1" and "1"), or classes. */
static size_t find_class(const blv_dataset_view *v, const char *name) {
    for (size_t c = 0; c < v->classes; c++)
        if (strcmp(v->class_names[c], name) == 0)
            return c;
    size_t c = 0;
    while (c < v->classes && !blv_same_class(v->class_names[c], name))
        c++;
    return c;
}

/* to_class[c]: the other's number of class c. A class that no row has needs none. */
static blv_error map_classes(const named_view *set, const named_view *to, int32_t *to_class,
                             blv_message *why) {
    const blv_dataset_view *v = set->view;
    const bool model = !to->view->dense && !to->view->row_start;
    for (size_t c = 0; c < v->classes; c++) {
        size_t found = find_class(to->view, v->class_names[c]);
        to_class[c] = found < to->view->classes ? (int32_t)found : -1;
    }
    for (size_t i = 0; i < v->rows; i++) {
        int32_t c = v->label[i];
        if (to_class[c] >= 0 && v->true_label)
            c = v->true_label[i];
        if (to_class[c] < 0)
            return blv_explain(why, BLV_E_VALUE,
                               "%.150s: row %zu has class '%.100s', which %.150s does not have%s",
                               set->name, i, v->class_names[c], to->name,
                               model ? "; label none reads the rows without labels" : "");
    }
    return BLV_OK;
}

static blv_error set_classes(blv_dataset *d, const char *name, const named_view *to,
                             blv_message *why) {
    if (!d->view.label)
        return BLV_OK;
    int32_t *to_class = blv_data_alloc(d->view.classes, sizeof *to_class);
    blv_error error = to_class ? map_classes(&(named_view){&d->view, name}, to, to_class, why)
                               : blv_explain_memory(why);
    if (!error && !blv_dataset_put_mapped(d, to_class, to->view->class_names, to->view->classes))
        error = blv_explain_memory(why);
    free(to_class);
    return error;
}

/* ---- Columns ---- */

/* Columns of zeros; new columns have no names, so the names go. */
static blv_error widen(blv_dataset *d, size_t columns, blv_message *why) {
    blv_dataset_view *v = &d->view;
    void *dense = v->dense ? blv_dense_rows(v, columns, 0.0) : NULL;
    bool ok = blv_dataset_record(d, "align: widened from %zu to %zu columns", v->columns, columns);
    v->columns = columns;
    ok = (!v->dense || blv_dataset_put(d, BLV_PART_DENSE, dense)) && ok;
    blv_dataset_drop(d, BLV_PART_FEATURE_NAMES);
    return blv_need_memory(ok, why);
}

/* ---- Sets ---- */

/* Changes d, a set that shares its parts with the caller's. Where the other has no features (it may
 * be a model), layout and precision stay. */
static blv_error align_one(blv_dataset *d, const char *name, const named_view *to, size_t columns,
                           blv_message *why) {
    const blv_dataset_view *r = to->view;
    const bool has_features = r->dense || r->row_start;
    const bool dense = has_features ? r->dense != NULL : d->view.dense != NULL;
    BLV_CHECK(check_columns(&(named_view){&d->view, name}, to, why));
    BLV_CHECK(set_classes(d, name, to, why));
    if (d->view.columns < columns)
        BLV_CHECK(widen(d, columns, why));
    BLV_CHECK(blv_dataset_convert(d, dense ? BLV_LAYOUT_DENSE : BLV_LAYOUT_SPARSE,
                                  has_features ? r->precision : d->view.precision, name, why));
    return blv_need_memory(blv_dataset_record(d, "align: %zu columns and %zu classes as in %s",
                                              columns, d->view.classes, to->name),
                           why);
}

blv_error blv_dataset_align_to(blv_dataset *dataset, const char *name,
                               const blv_dataset_view *reference, const char *reference_name,
                               blv_message *why) {
    BLV_CHECK(blv_need_arguments(dataset && reference, __func__, why));
    const named_view to = {reference, reference_name ? reference_name : "the other set"};
    blv_dataset *changed = blv_dataset_share(dataset);
    BLV_CHECK(blv_need_memory(changed, why));
    name = name ? name : "the set";
    blv_error error = align_one(changed, name, &to, reference->columns, why);
    if (!error && changed->view.columns > reference->columns)
        error = blv_explain(why, BLV_E_VALUE, "%.200s: %zu features; expected %zu as in %.200s",
                            name, changed->view.columns, reference->columns, to.name);
    if (!error)
        return blv_dataset_commit(dataset, changed, true, why);
    blv_dataset_release(changed);
    return error;
}

/* The name of set i: that given, or "set i". */
static const char *name_of(const char *const *names, size_t i, char room[40]) {
    if (names && names[i] && *names[i])
        return blv_shown_path(names[i]);
    snprintf(room, 40, "set %zu", i);
    return room;
}

/* Makes changed[i], which shares the parts of set i, like the first set. */
static blv_error align_set(blv_dataset *const *datasets, const char *const *names, size_t i,
                           size_t columns, blv_dataset **changed, blv_message *why) {
    char room[40], first_room[40];
    const named_view first = {&datasets[0]->view, name_of(names, 0, first_room)};
    const named_view set = {&datasets[i]->view, name_of(names, i, room)};
    changed[i] = blv_dataset_share(datasets[i]);
    BLV_CHECK(blv_need_memory(changed[i], why));
    if (i == 0)
        return set.view->columns < columns ? widen(changed[0], columns, why) : BLV_OK;
    BLV_CHECK(check_kind(&set, &first, why));
    return align_one(changed[i], set.name, &first, columns, why);
}

blv_error blv_dataset_align(blv_dataset *const *datasets, const char *const *names, size_t count,
                            blv_message *why) {
    if (!datasets || count == 0 || !datasets[0])
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_align: there is no first set");
    size_t columns = 0;
    for (size_t i = 0; i < count; i++)
        if (datasets[i] && datasets[i]->view.columns > columns)
            columns = datasets[i]->view.columns;
    blv_dataset **changed = calloc(count, sizeof(blv_dataset *));
    BLV_CHECK(blv_need_memory(changed, why));
    blv_error error = BLV_OK;
    for (size_t i = 0; !error && i < count; i++)
        if (datasets[i])
            error = align_set(datasets, names, i, columns, changed, why);
    for (size_t i = 0; i < count; i++) {
        if (!error && datasets[i])
            blv_dataset_commit(datasets[i], changed[i], true, why);
        else
            blv_dataset_release(changed[i]);
    }
    free(changed);
    return error;
}

/* ---- Classes that are needed ---- */

blv_error blv_dataset_expect_classes(const blv_dataset *dataset, const char *name,
                                     blv_message *why) {
    BLV_CHECK(blv_need_arguments(dataset && name, __func__, why));
    const blv_dataset_view *v = &dataset->view;
    if (!v->label)
        return blv_explain(why, BLV_E_FORMAT, "%.200s: %s", name,
                           v->target ? "the labels are real numbers; expected classes"
                                     : "no labels that name a class");
    for (size_t i = 1; i < v->rows; i++)
        if (v->label[i] != v->label[0])
            return BLV_OK;
    return blv_explain(why, BLV_E_FORMAT,
                       "%.200s: one class only ('%.100s'); expected at least two", name,
                       v->class_names[v->label[0]]);
}
