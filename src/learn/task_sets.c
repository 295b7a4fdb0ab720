/* The data of a task: read, put into the same columns and classes, scaled, with an intercept. */
#include "base/arena.h"
#include "base/message.h"
#include "base/precision.h"
#include "base/rank_exchange.h"
#include "bilevel/ranks.h"
#include "learn/row_sets.h"
#include "learn/task_runner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* From here on f32 does not hold every whole number. */
static const double inexact_in_f32 = 16777216.0;

typedef struct owned_sets {
    blv_task_sets sets;
    blv_arena arena;
    blv_dataset *raw; /* train before it was scaled, where values were missing */
    blv_task_scaling scaling;
    bool wide; /* read in f64 and scaled before they are in f32 */
} owned_sets;

/* ---- Checks ---- */

/* Rows of each class, by the labels as given; NULL where memory is short. */
static size_t *count_classes(const blv_dataset_view *view) {
    size_t *count = calloc(view->classes + 1, sizeof *count);
    for (size_t i = 0; count && i < view->rows; i++)
        count[view->label[i]]++;
    return count;
}

blv_error blv_expect_all_classes(const blv_task_sets *s, blv_message *why) {
    const blv_dataset_view *train = blv_dataset_view_of(s->train);
    size_t *wanted = count_classes(train), *found = count_classes(blv_dataset_view_of(s->val));
    size_t missing = 0;
    bool well = wanted && found;
    while (well && missing < train->classes && (wanted[missing] == 0 || found[missing] > 0))
        missing++;
    free(wanted);
    free(found);
    if (!well)
        return blv_explain_memory(why);
    if (missing == train->classes)
        return BLV_OK;
    return blv_explain(why, BLV_E_VALUE,
                       "%s: no row of class '%s', which %s has; every class must be validated",
                       s->val_name, train->class_names[missing], s->train_name);
}

static blv_error align(blv_task_sets *s, blv_message *why) {
    blv_dataset *const all[] = {s->train, s->val, s->test};
    const char *const names[] = {s->train_name, s->val_name, s->test_name};
    return blv_dataset_align(all, names, 3, why);
}

/* ---- Scaling ---- */

/* Whether missing values of a column were filled, by the last number before its levels. */
static bool has_fills(const char *recipe) {
    bool filled = false;
    for (const char *p = recipe; p && *p && !filled; p += strcspn(p, "\n") + 1) {
        const char *at = p;
        for (int tabs = 0; tabs < 3 && at; tabs++) {
            at += strcspn(at, "\t\n");
            at = *at == '\t' ? at + 1 : NULL;
        }
        filled = at && (*at == '1' || *at == '3');
    }
    return filled;
}

/* By all[0], and with a column of ones. */
static blv_error scale(blv_dataset *const *all, size_t count, blv_task_scaling scaling,
                       blv_message *why) {
    if (scaling == BLV_TASK_SCALE_UNIT || scaling == BLV_TASK_SCALE_STANDARD)
        BLV_CHECK(blv_dataset_scale(
            all, count, scaling == BLV_TASK_SCALE_UNIT ? BLV_SCALE_UNIT : BLV_SCALE_STANDARD, why));
    for (size_t i = 0; i < count; i++) {
        if (scaling == BLV_TASK_SCALE_ROWS)
            BLV_CHECK(blv_dataset_unit_rows(all[i], why));
        BLV_CHECK(blv_dataset_intercept(all[i], why));
    }
    return BLV_OK;
}

static blv_error narrow(blv_dataset *const *all, size_t count, blv_message *why) {
    for (size_t i = 0; i < count; i++) {
        blv_dataset_view as = *blv_dataset_view_of(all[i]);
        as.precision = BLV_F32;
        BLV_CHECK(blv_dataset_align_to(all[i], NULL, &as, NULL, why));
    }
    return BLV_OK;
}

const blv_dataset *blv_task_raw(const blv_task_sets *sets) {
    return ((const owned_sets *)(const void *)sets)->raw;
}

blv_error blv_task_refill(const blv_task_sets *sets, blv_dataset *const *rows, size_t count,
                          blv_message *why) {
    const owned_sets *o = (const owned_sets *)(const void *)sets;
    BLV_CHECK(blv_dataset_relearn(rows, count, why));
    BLV_CHECK(scale(rows, count, o->scaling, why));
    return o->wide ? narrow(rows, count, why) : BLV_OK;
}

/* Weights in double precision, and the vectors that a solver keeps beside them. */
static blv_error expect_weights(const blv_task_sets *s, blv_message *why) {
    enum { VECTORS = 4 };
    const blv_dataset_view *v = blv_dataset_view_of(s->train);
    return blv_dataset_expect_memory(s->train, (uint64_t)v->columns * (v->classes ? v->classes : 1),
                                     VECTORS * sizeof(double), s->train_name,
                                     "weights of its columns", why);
}

/* Columns of numbers next to categories have units of their own, which lengths of rows would mix.
 */
static blv_error choose_scaling(blv_dataset *const *all, size_t count, bool stay_sparse,
                                bool standard, blv_task_scaling *scaling, blv_message *why) {
    bool mixed = false;
    if (*scaling != BLV_TASK_SCALE_AUTO)
        return BLV_OK;
    BLV_CHECK(blv_dataset_centre_table(all, count, stay_sparse, &mixed, why));
    *scaling = !blv_dataset_view_of(all[0])->dense && !mixed ? BLV_TASK_SCALE_ROWS
               : standard                                    ? BLV_TASK_SCALE_STANDARD
                                                             : BLV_TASK_SCALE_UNIT;
    return BLV_OK;
}

static blv_error prepare(owned_sets *o, blv_task_scaling scaling, bool stay_sparse, bool standard,
                         blv_message *why) {
    blv_task_sets *s = &o->sets;
    blv_dataset *all[3] = {s->train};
    size_t count = 1;
    if (s->val)
        all[count++] = s->val;
    if (s->test)
        all[count++] = s->test;
    BLV_CHECK(choose_scaling(all, count, stay_sparse, standard, &scaling, why));
    s->features = blv_dataset_view_of(s->train)->columns;
    BLV_CHECK(expect_weights(s, why));
    double *shift = blv_arena_alloc(&o->arena, s->features + 1, sizeof *shift);
    double *divisor = blv_arena_alloc(&o->arena, s->features + 1, sizeof *divisor);
    if (!shift || !divisor)
        return blv_explain_memory(why);
    for (size_t j = 0; j < s->features; j++)
        divisor[j] = 1.0;
    s->shift = shift;
    s->divisor = divisor;
    o->scaling = scaling;
    s->unit_rows = scaling == BLV_TASK_SCALE_ROWS;
    if (scaling == BLV_TASK_SCALE_UNIT || scaling == BLV_TASK_SCALE_STANDARD)
        BLV_CHECK(blv_dataset_scale_numbers(
            s->train, scaling == BLV_TASK_SCALE_UNIT ? BLV_SCALE_UNIT : BLV_SCALE_STANDARD, shift,
            divisor, why));
    if (has_fills(blv_dataset_recipe(s->train)))
        BLV_CHECK(blv_dataset_copy(s->train, &o->raw, why));
    BLV_CHECK(scale(all, count, scaling, why));
    return o->wide ? narrow(all, count, why) : BLV_OK;
}

/* ---- What is known about them ---- */

typedef struct warning_list {
    blv_arena *arena;
    const char **lines;
    size_t count;
} warning_list;

static void add_warning(void *context, const char *line) {
    warning_list *list = context;
    list->lines = blv_arena_grow(list->arena, list->lines, list->count + 1, sizeof *list->lines);
    if (list->lines)
        list->lines[list->count++] = blv_arena_copy(list->arena, line);
}

/* Before any scaling. */
static blv_error describe(owned_sets *o, blv_message *why) {
    blv_task_sets *s = &o->sets;
    char kinds[300];
    const blv_dataset *const all[] = {s->train, s->val, s->test};
    const char *const names[] = {s->train_name, s->val_name, s->test_name};
    warning_list list = {.arena = &o->arena,
                         .lines = blv_arena_alloc(&o->arena, 1, sizeof(char *))};
    BLV_CHECK(blv_dataset_kinds(s->train, kinds, sizeof kinds, why));
    BLV_CHECK(blv_dataset_warn(all, names, 3, add_warning, &list, why));
    s->kinds = blv_arena_copy(&o->arena, kinds);
    s->warnings = list.lines;
    return o->arena.failed ? blv_explain_memory(why) : BLV_OK;
}

/* ---- True labels, where they are known ---- */

/* The file has the columns row, given and true, and a line for each row of train. */
static blv_error compare_truth(const char *path, const blv_dataset *file, const blv_task_sets *s,
                               bool *wrong, blv_message *why) {
    const blv_dataset_view *v = blv_dataset_view_of(file), *train = blv_dataset_view_of(s->train);
    if (v->rows != train->rows)
        return blv_explain(why, BLV_E_VALUE, "%s: %zu rows; expected %zu as in %s", path, v->rows,
                           train->rows, s->train_name);
    for (size_t i = 0; i < v->rows; i++) {
        const char *given = train->class_names[train->label[i]];
        bool same = blv_value_get(v->dense, v->precision, i * v->stride) == (double)i &&
                    strcmp(given, v->class_names[v->label[i]]) == 0;
        if (!same)
            return blv_explain(why, BLV_E_VALUE, "%s: row %zu is not row %zu of %s with its label",
                               path, i, i, s->train_name);
        wrong[i] = v->label[i] != v->true_label[i];
    }
    return BLV_OK;
}

/* path: a file with the true labels; NULL: train has them, if anything. */
static blv_error find_wrong(owned_sets *o, const char *path, blv_message *why) {
    const blv_dataset_view *train = blv_dataset_view_of(o->sets.train);
    if (!path && !train->true_label)
        return BLV_OK;
    bool *wrong = blv_arena_alloc(&o->arena, train->rows + 1, sizeof *wrong);
    if (!wrong)
        return blv_explain_memory(why);
    o->sets.wrong = wrong;
    for (size_t i = 0; !path && i < train->rows; i++)
        wrong[i] = train->label[i] != train->true_label[i];
    if (!path)
        return BLV_OK;
    blv_read_options options = {.size = sizeof options,
                                .layout = BLV_LAYOUT_DENSE,
                                .label = "given",
                                .truth = "true",
                                .header = "yes"};
    blv_dataset *file = NULL;
    blv_error error = blv_dataset_read(&file, path, &options, why);
    if (error == BLV_OK)
        error = compare_truth(path, file, &o->sets, wrong, why);
    blv_dataset_release(file);
    return error;
}

/* ---- From files and from memory ---- */

static owned_sets *new_sets(const char *train, const char *val, const char *test) {
    owned_sets *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->sets.train_name = blv_arena_copy(&o->arena, train);
    o->sets.val_name = blv_arena_copy(&o->arena, val ? val : "val");
    o->sets.test_name = blv_arena_copy(&o->arena, test ? test : "test");
    if (o->sets.train_name && o->sets.val_name && o->sets.test_name)
        return o;
    blv_task_sets_destroy(&o->sets);
    return NULL;
}

/* Validation rows are no part of what is learned from train. */
static blv_error split_train(blv_task_sets *s, const blv_task_files *files, bool real,
                             blv_message *why) {
    const double sizes[] = {1.0 - files->val_share, files->val_share};
    blv_dataset *parts[2];
    if (!(files->val_share < 1.0))
        return blv_explain(why, BLV_E_VALUE, "sets: a share of 1 or more for validation");
    BLV_CHECK(blv_dataset_split(s->train, sizes, 2, !real, files->seed, parts, why));
    blv_dataset_release(s->train);
    s->train = parts[0];
    s->val = parts[1];
    return blv_dataset_relearn(parts, 2, why);
}

/* Whether values lose digits in f32. */
static blv_error are_inexact(const blv_dataset *set, bool *inexact, blv_message *why) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    const size_t held = v->ranks ? v->held : v->rows;
    const size_t rows = v->dense ? held : 1;
    const size_t width = v->dense ? v->columns : v->row_start[held];
    double any = 0.0;
    for (size_t i = 0; i < rows && any == 0.0; i++)
        for (size_t k = 0; k < width && any == 0.0; k++)
            any = fabs(blv_value_get(v->dense ? v->dense : v->value, v->precision,
                                     i * v->stride + k)) >= inexact_in_f32;
    if (v->ranks && !v->ranks->sum(v->ranks->context, 1, &any))
        return blv_explain(why, BLV_E_DEVICE, BLV_NO_EXCHANGE);
    *inexact = any > 0.0;
    return BLV_OK;
}

/* Times in seconds differ in digits that f32 does not hold, and some values do not fit into it:
 * where a file can be read again it is, in f64. After scaling, f32 does for all of them. */
static blv_error read_train(owned_sets *o, const char *path, blv_read_options *reading,
                            blv_message *why) {
    struct stat about;
    blv_error error = blv_dataset_read(&o->sets.train, path, reading, why);
    bool again = error == BLV_E_FORMAT;
    if (error == BLV_OK && reading->precision == BLV_F32)
        BLV_CHECK(are_inexact(o->sets.train, &again, why));
    if (!again || reading->precision != BLV_F32 || stat(path, &about) || !S_ISREG(about.st_mode))
        return error;
    blv_dataset_release(o->sets.train);
    o->sets.train = NULL;
    o->wide = true;
    reading->precision = BLV_F64;
    return blv_dataset_read(&o->sets.train, path, reading, why);
}

/* The layout is that of train; labels are in the file itself. */
static blv_error read_files(owned_sets *o, const blv_task_files *files, blv_message *why) {
    blv_task_sets *s = &o->sets;
    blv_read_options reading = {.size = sizeof reading, .precision = BLV_F32};
    if (files->reading)
        BLV_CHECK(
            blv_caller_struct(&reading, sizeof reading, files->reading, "blv_read_options", why));
    const bool stay_sparse = reading.layout == BLV_LAYOUT_SPARSE;
    bool truth_is_file = files->truth && access(files->truth, F_OK) == 0;
    reading.truth = truth_is_file ? NULL : files->truth;
    BLV_CHECK(read_train(o, files->train, &reading, why));
    const bool real = files->for_tune && blv_dataset_view_of(s->train)->target;
    if (!real)
        BLV_CHECK(blv_dataset_expect_classes(s->train, files->train, why));
    if (!files->val && files->val_share > 0.0)
        BLV_CHECK(split_train(s, files, real, why));
    BLV_CHECK(blv_dataset_learn_fills(s->train, why));
    reading.truth = reading.labels = NULL;
    reading.recipe = blv_dataset_recipe(s->train);
    reading.targets = real ? BLV_TARGETS_REAL : BLV_TARGETS_CLASSES;
    reading.layout = blv_dataset_view_of(s->train)->dense ? BLV_LAYOUT_DENSE : BLV_LAYOUT_SPARSE;
    if (files->val)
        BLV_CHECK(blv_dataset_read(&s->val, files->val, &reading, why));
    if (files->test)
        BLV_CHECK(blv_dataset_read(&s->test, files->test, &reading, why));
    BLV_CHECK(align(s, why));
    if (files->for_tune && s->val && !real)
        BLV_CHECK(blv_expect_all_classes(s, why));
    BLV_CHECK(find_wrong(o, truth_is_file ? files->truth : NULL, why));
    BLV_CHECK(describe(o, why));
    return prepare(o, files->scaling, stay_sparse, files->for_tune, why);
}

static blv_error hand_out(owned_sets *o, blv_error error, blv_task_sets **sets) {
    if (error == BLV_OK)
        *sets = &o->sets;
    else
        blv_task_sets_destroy(&o->sets);
    return error;
}

blv_error blv_task_sets_read(blv_task_sets **sets, const blv_task_files *given, blv_message *why) {
    blv_task_files files;
    if (!sets || !given)
        return blv_explain(why, BLV_E_ARGUMENT, "sets: a NULL argument");
    *sets = NULL;
    BLV_CHECK(blv_caller_struct(&files, sizeof files, given, "blv_task_files", why));
    if (!files.train)
        return blv_explain(why, BLV_E_ARGUMENT, "sets: no file to train on");
    const double begin = blv_wall_clock();
    owned_sets *o = new_sets(files.train, files.val, files.test);
    if (!o)
        return blv_explain_memory(why);
    const blv_error error = read_files(o, &files, why);
    o->sets.seconds = blv_wall_clock() - begin;
    return hand_out(o, error, sets);
}

static blv_error take_sets(owned_sets *o, const blv_dataset *train, const blv_dataset *val,
                           const blv_dataset *test, blv_task_scaling scaling, blv_message *why) {
    blv_task_sets *s = &o->sets;
    BLV_CHECK(blv_dataset_copy(train, &s->train, why));
    if (val)
        BLV_CHECK(blv_dataset_copy(val, &s->val, why));
    if (test)
        BLV_CHECK(blv_dataset_copy(test, &s->test, why));
    if (!blv_dataset_view_of(s->train)->target)
        BLV_CHECK(blv_dataset_expect_classes(s->train, s->train_name, why));
    BLV_CHECK(align(s, why));
    BLV_CHECK(blv_dataset_learn_fills(s->train, why));
    BLV_CHECK(find_wrong(o, NULL, why));
    BLV_CHECK(describe(o, why));
    return prepare(o, scaling, false, false, why);
}

blv_error blv_task_sets_create(blv_task_sets **sets, const blv_dataset *train,
                               const blv_dataset *val, const blv_dataset *test,
                               blv_task_scaling scaling, blv_message *why) {
    if (!sets || !train)
        return blv_explain(why, BLV_E_ARGUMENT, "sets: a NULL argument");
    *sets = NULL;
    owned_sets *o = new_sets("train", NULL, NULL);
    return o ? hand_out(o, take_sets(o, train, val, test, scaling, why), sets)
             : blv_explain_memory(why);
}

void blv_task_sets_destroy(blv_task_sets *sets) {
    if (!sets)
        return;
    owned_sets *o = (owned_sets *)(void *)sets; /* its first member */
    blv_dataset_release(sets->train);
    blv_dataset_release(sets->val);
    blv_dataset_release(sets->test);
    blv_dataset_release(o->raw);
    blv_arena_free(&o->arena);
    free(o);
}

uint64_t blv_task_sets_fingerprint(const blv_task_sets *sets) {
    if (!sets)
        return blv_dataset_fingerprint_all(NULL, 0);
    const blv_dataset *const all[] = {sets->train, sets->val, sets->test};
    return blv_dataset_fingerprint_all(all, 3);
}
