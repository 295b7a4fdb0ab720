/* The problems on data from sets in memory. */
#include "base/struct_size.h"
#include "bilevel/linear.h"
#include "problems/hyperclean.h"
#include "problems/l2reg.h"

#include <math.h>
#include <stdio.h>

static blv_error refuse(blv_message *why, blv_error error, const char *owner, const char *text) {
    if (why)
        snprintf(why->text, sizeof why->text, "problem %s: %s", owner, text);
    return error;
}

/* What is wrong with a set beside the training set, or NULL. */
static const char *mismatch(const blv_dataset *train, const blv_dataset *set,
                            blv_precision precision) {
    const blv_dataset_view *t = blv_dataset_view_of(train), *v = blv_dataset_view_of(set);
    if (v->precision != precision)
        return "the sets and the problem have another precision";
    if (v->columns != t->columns || v->classes != t->classes || !v->dense != !t->dense)
        return "the sets have not the same columns, classes and layout";
    return v->label ? NULL : "a set has no classes";
}

static blv_error check_sets(const linear_data *sets, blv_precision precision, const char *owner,
                            blv_message *why) {
    if (!sets->train || !sets->val)
        return refuse(why, BLV_E_ARGUMENT, owner, "a training and a validation set are needed");
    blv_dataset *all[] = {sets->train, sets->val, sets->test};
    for (size_t i = 0; i < 3 && all[i]; i++) {
        const char *text = mismatch(sets->train, all[i], precision);
        if (text)
            return refuse(why, BLV_E_VALUE, owner, text);
        blv_error error = blv_dataset_transpose(all[i], why);
        if (error != BLV_OK)
            return error;
    }
    return BLV_OK;
}

/* given: whether the other arguments are there */
static blv_error take_sets(const blv_sets *sets, bool given, const blv_problem_options *options,
                           const char *owner, linear_data *data, blv_problem_options *chosen,
                           blv_message *why) {
    blv_sets known = {.size = sizeof known};
    *chosen = (blv_problem_options){.size = sizeof *chosen};
    if (!sets)
        return refuse(why, BLV_E_ARGUMENT, owner, "a NULL argument");
    if (!blv_struct_take(&known, sizeof known, sets))
        return refuse(why, BLV_E_ARGUMENT, owner, "sets without the size of their struct");
    blv_error error = linear_data_copy(data, &known, why);
    if (error != BLV_OK)
        return error;
    if (!given)
        error = refuse(why, BLV_E_ARGUMENT, owner, "a NULL argument");
    else if (options && !blv_struct_take(chosen, sizeof *chosen, options))
        error = refuse(why, BLV_E_ARGUMENT, owner, "options without their size");
    else
        error = check_sets(data, chosen->precision, owner, why);
    if (error != BLV_OK)
        linear_data_destroy(data);
    return error;
}

blv_error blv_hyperclean_create(const blv_sets *sets, double C, const blv_problem_options *options,
                                blv_problem **problem, blv_message *why) {
    blv_problem_options chosen;
    linear_data data;
    if (problem)
        *problem = NULL;
    blv_error error = take_sets(sets, problem, options, "hyperclean", &data, &chosen, why);
    if (error != BLV_OK)
        return error;
    if (!(C > 0.0) || !isfinite(C)) {
        linear_data_destroy(&data);
        return refuse(why, BLV_E_VALUE, "hyperclean", "C must be above 0");
    }
    return hyperclean_make(C, LINEAR_ORDER_FILE, &data, &chosen, problem, why);
}

blv_error blv_l2reg_create(const blv_sets *sets, const blv_l2reg_setting *setting,
                           const blv_problem_options *options, blv_problem **problem,
                           blv_message *why) {
    blv_problem_options chosen;
    blv_l2reg_setting s = {.size = sizeof s};
    linear_data data;
    if (problem)
        *problem = NULL;
    blv_error error = take_sets(sets, setting && problem, options, "l2reg", &data, &chosen, why);
    if (error != BLV_OK)
        return error;
    if (!blv_struct_take(&s, sizeof s, setting)) {
        linear_data_destroy(&data);
        return refuse(why, BLV_E_ARGUMENT, "l2reg", "a setting without its size");
    }
    bool bad = !(s.scale > 0.0) || !isfinite(s.scale) || isnan(s.lo) || isnan(s.hi) ||
               (unsigned)s.penalty > BLV_PENALTY_GROUPS ||
               (s.penalty == BLV_PENALTY_GROUPS && !s.group);
    if (bad) {
        linear_data_destroy(&data);
        return refuse(
            why, BLV_E_VALUE, "l2reg",
            "the scale must be above 0, bounds numbers, the penalty known, and groups given");
    }
    l2reg_params params = {
        .penalty = (int)s.penalty, .group_of = s.group, .scale = s.scale, .lo = s.lo, .hi = s.hi};
    params.source.order = LINEAR_ORDER_FILE;
    return l2reg_make(&params, "l2reg", &data, &chosen, problem, why);
}
