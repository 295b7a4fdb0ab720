/* The sets of a problem: those that a caller hands over, and those that are loaded from files:
 * read, split, corrupt, scale, in this order. */
#include "problems/data_source.h"
#include "base/message.h"
#include "base/precision.h"
#include "bilevel/solver.h"
#include "data/dataset_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void data_sets_release(data_sets *sets) {
    blv_dataset_release(sets->train);
    blv_dataset_release(sets->val);
    blv_dataset_release(sets->test);
    *sets = (data_sets){NULL, NULL, NULL};
}

/* ---- Sets of a caller ---- */

/* What is wrong with a set beside the training set, or NULL. */
static const char *mismatch(const blv_dataset *train, const blv_dataset *set,
                            blv_precision precision) {
    const blv_dataset_view *t = blv_dataset_view_of(train), *v = blv_dataset_view_of(set);
    if (v->precision != precision)
        return "the sets and the problem have another precision";
    if (v->columns != t->columns || v->classes != t->classes || !v->dense != !t->dense)
        return "the sets have not the same columns, classes and layout";
    if (!v->target != !t->target)
        return "real targets beside classes";
    return v->label || v->target ? NULL : "a set has no classes and no targets";
}

blv_error data_sets_take(const blv_sets *given, bool complete, const blv_problem_options *options,
                         const char *owner, data_sets *sets, blv_problem_options *chosen,
                         blv_message *why) {
    blv_sets known;
    if (!given || !complete)
        return blv_explain(why, BLV_E_ARGUMENT, "%s: a NULL argument", owner);
    BLV_CHECK(blv_caller_struct(&known, sizeof known, given, "blv_sets", why));
    BLV_CHECK(blv_caller_struct(chosen, sizeof *chosen, options, "blv_problem_options", why));
    if (!known.train)
        return blv_explain(why, BLV_E_ARGUMENT, "%s: a training and a validation set are needed",
                           owner);
    const blv_dataset *const from[] = {known.train, known.val, known.test};
    blv_dataset **const to[] = {&sets->train, &sets->val, &sets->test};
    *sets = (data_sets){NULL, NULL, NULL};
    blv_error error = BLV_OK;
    for (size_t i = 0; error == BLV_OK && i < 3; i++) {
        if (!from[i])
            continue;
        const char *wrong = mismatch(known.train, from[i], chosen->precision);
        error = wrong ? blv_explain(why, BLV_E_VALUE, "%s: %s", owner, wrong)
                      : blv_dataset_copy(from[i], to[i], why);
        if (error == BLV_OK)
            error = blv_dataset_transpose(*to[i], why);
    }
    if (error != BLV_OK)
        data_sets_release(sets);
    return error;
}

/* ---- Sets from files ---- */

/* The path as it is when there is such a file, else below the folder of data. */
static const char *find_file(const char *folder, const char *path, char *buffer, size_t size) {
    if (path[0] == '/' || access(path, F_OK) == 0 || !folder || !*folder)
        return path;
    int length = snprintf(buffer, size, "%s/%s", folder, path);
    return length > 0 && (size_t)length < size && access(buffer, F_OK) == 0 ? buffer : path;
}

static void tell_dealt(const blv_dataset *set, const char *path, const blv_problem_options *asked) {
    blv_message line;
    const char *note;
    for (size_t i = 0; asked->warn && (note = blv_dataset_notes(set, i)); i++)
        if (strcmp(note, BLV_NOTE_DEALT) == 0) {
            blv_explain(&line, BLV_OK, "%.200s: %s", blv_shown_path(path), note);
            asked->warn(asked->context, line.text);
        }
}

/* train: the set whose columns these rows are encoded like; NULL: this is it. */
static blv_error read_file(const data_source *source, const char *path, const blv_dataset *train,
                           const blv_problem_options *asked, blv_dataset **set, blv_message *why) {
    static const blv_layout layouts[] = {BLV_LAYOUT_AUTO, BLV_LAYOUT_DENSE, BLV_LAYOUT_SPARSE};
    char buffer[2 * BLV_TEXT_SIZE], labels[2 * BLV_TEXT_SIZE];
    const bool is_train = !train;
    blv_read_options options = {.size = sizeof(blv_read_options),
                                .precision = asked->precision,
                                .layout = layouts[source->layout],
                                .label = source->label[0] ? source->label : NULL,
                                .header = source->header[0] ? source->header : NULL,
                                .targets = source->real ? BLV_TARGETS_REAL : BLV_TARGETS_CLASSES,
                                .recipe = blv_dataset_recipe(train),
                                .max_memory =
                                    isnan(source->max_memory) ? 0 : (uint64_t)source->max_memory,
                                .ranks = asked->ranks};
    if (source->labels[0] && is_train)
        options.labels = find_file(asked->data_folder, source->labels, labels, sizeof labels);
    path = find_file(asked->data_folder, path, buffer, sizeof buffer);
    BLV_CHECK(blv_dataset_read(set, path, &options, why));
    tell_dealt(*set, path, asked);
    if (is_train && !source->real)
        BLV_CHECK(blv_dataset_expect_classes(*set, path, why));
    return source->positive[0] ? blv_dataset_one_against_rest(*set, source->positive, why) : BLV_OK;
}

/* A file of its own, unless there is none; cut to a part of it when a size is given. */
static blv_error read_part(const data_source *source, const char *path, double size,
                           const blv_dataset *train, const blv_problem_options *options,
                           blv_dataset **set, blv_message *why) {
    if (!path[0])
        return BLV_OK;
    BLV_CHECK(read_file(source, path, train, options, set, why));
    if (isnan(size))
        return BLV_OK;
    blv_dataset *sample;
    BLV_CHECK(blv_dataset_subsample(*set, size, !source->real, (uint64_t)source->data_seed, &sample,
                                    why));
    blv_dataset_release(*set);
    *set = sample;
    return BLV_OK;
}

/* A share below 1 becomes a number of rows. */
static double rows_asked(double size, size_t rows) {
    return isnan(size) ? 0.0 : size < 1.0 ? round(size * (double)rows) : size;
}

static bool is_whole_or_share(double size) {
    return isnan(size) || size < 1.0 || size == floor(size);
}

/* Parts in random order, each class split alike; a size of 0 makes no part. */
static blv_error random_parts(const data_source *s, const blv_dataset *set, const double sizes[3],
                              blv_dataset *part[3], blv_message *why) {
    double wanted[3];
    size_t place[3], count = 0;
    blv_dataset *made[3];
    for (size_t i = 0; i < 3; i++)
        if (sizes[i] >= 1.0) {
            place[count] = i;
            wanted[count++] = sizes[i];
        }
    BLV_CHECK(blv_dataset_split(set, wanted, count, !s->real, (uint64_t)s->data_seed, made, why));
    for (size_t i = 0; i < count; i++)
        part[place[i]] = made[i];
    return BLV_OK;
}

/* Parts one after the other, as the rows come. */
static blv_error consecutive_parts(const blv_dataset *set, const double sizes[3],
                                   blv_dataset *part[3], blv_message *why) {
    size_t rows = blv_dataset_view_of(set)->rows, first = 0;
    size_t *index = malloc(rows * sizeof *index);
    if (!index)
        return blv_explain(why, BLV_E_MEMORY, "out of memory");
    for (size_t i = 0; i < rows; i++)
        index[i] = i;
    blv_error error = BLV_OK;
    for (size_t i = 0; error == BLV_OK && i < 3; i++) {
        size_t count = (size_t)sizes[i];
        if (count > 0)
            error = blv_dataset_select(set, index + first, count, &part[i], why);
        first += count;
    }
    free(index);
    for (size_t i = 0; error != BLV_OK && i < 3; i++) {
        blv_dataset_release(part[i]);
        part[i] = NULL;
    }
    return error;
}

/* Splits the training file into the parts that have no file of their own. */
static blv_error split(const data_source *s, data_sets *d, const char *owner, blv_message *why) {
    size_t rows = blv_dataset_view_of(d->train)->rows;
    bool split_val = !d->val, split_test = !d->test && !isnan(s->test_size);
    if (!is_whole_or_share(s->train_size) || !is_whole_or_share(s->val_size) ||
        !is_whole_or_share(s->test_size))
        return blv_explain(why, BLV_E_VALUE, "%s: a size from 1 on must be a whole number of rows",
                           owner);
    double val_size = isnan(s->val_size) ? 0.2 : s->val_size;
    double val = split_val ? rows_asked(val_size, rows) : 0.0;
    double test = split_test ? rows_asked(s->test_size, rows) : 0.0;
    double train =
        isnan(s->train_size) ? (double)rows - val - test : rows_asked(s->train_size, rows);
    if (split_val && !(val >= 1.0))
        return blv_explain(why, BLV_E_VALUE, "%s: val_size leaves no validation rows", owner);
    if (!(train >= 1.0) || train + val + test > (double)rows)
        return blv_explain(why, BLV_E_VALUE,
                           "%s: %zu rows are too few for train %g, val %g and test %g", owner, rows,
                           train, val, test);
    const double sizes[3] = {train, val, test};
    blv_dataset *part[3] = {NULL, NULL, NULL};
    BLV_CHECK(s->order == DATA_ORDER_FILE ? consecutive_parts(d->train, sizes, part, why)
                                          : random_parts(s, d->train, sizes, part, why));
    blv_dataset_release(d->train);
    d->train = part[0];
    d->val = part[1] ? part[1] : d->val;
    d->test = part[2] ? part[2] : d->test;
    return blv_dataset_relearn((blv_dataset *const[]){d->train, d->val, d->test}, 3, why);
}

/* Weights, and the vectors that a solver keeps beside them. */
static blv_error expect_weights(const data_source *s, const data_sets *d, blv_message *why) {
    enum { VECTORS = 4 };
    const blv_dataset_view *v = blv_dataset_view_of(d->train);
    return blv_dataset_expect_memory(d->train, (uint64_t)v->columns * (v->classes ? v->classes : 1),
                                     VECTORS * blv_value_size(v->precision), s->train,
                                     "weights of its columns", why);
}

static blv_error prepare(const data_source *s, data_sets *d, blv_message *why) {
    blv_dataset *sets[3] = {d->train, d->val, d->test};
    const char *files[3] = {s->train, s->val, s->test};
    size_t count = d->test ? 3 : 2;
    BLV_CHECK(blv_dataset_align(sets, files, count, why));
    BLV_CHECK(expect_weights(s, d, why));
    if (s->corrupt > 0.0)
        BLV_CHECK(blv_dataset_corrupt(d->train, (blv_corruption)s->corruption, s->corrupt,
                                      (uint64_t)s->data_seed, why));
    if (s->scaling > 0)
        BLV_CHECK(blv_dataset_scale(sets, count,
                                    s->scaling == 1 ? BLV_SCALE_STANDARD : BLV_SCALE_UNIT, why));
    for (size_t i = 0; i < count; i++) {
        if (s->unit_rows)
            BLV_CHECK(blv_dataset_unit_rows(sets[i], why));
        if (s->intercept)
            BLV_CHECK(blv_dataset_intercept(sets[i], why));
        BLV_CHECK(blv_dataset_transpose(sets[i], why));
    }
    return BLV_OK;
}

static blv_error load(const data_source *s, const char *owner, const blv_problem_options *options,
                      data_sets *d, blv_message *why) {
    BLV_CHECK(read_file(s, s->train, NULL, options, &d->train, why));
    if (s->val[0] || s->test[0])
        BLV_CHECK(blv_dataset_learn_fills(d->train, why));
    BLV_CHECK(read_part(s, s->val, s->val_size, d->train, options, &d->val, why));
    BLV_CHECK(read_part(s, s->test, s->test_size, d->train, options, &d->test, why));
    BLV_CHECK(split(s, d, owner, why));
    return prepare(s, d, why);
}

blv_error data_load(const data_source *source, const char *owner,
                    const blv_problem_options *options, data_sets *data, blv_message *why) {
    *data = (data_sets){NULL, NULL, NULL};
    if (!source->train[0])
        return blv_explain(why, BLV_E_VALUE,
                           "%s: a training file is needed: --problem-set train=FILE", owner);
    blv_error error = load(source, owner, options, data, why);
    if (error != BLV_OK)
        data_sets_release(data);
    return error;
}
