/* Sets of a problem: references to data sets, and those that a caller hands over. */
#include "base/caller_struct.h"
#include "base/message.h"
#include "problems/data_source.h"

void data_sets_release(data_sets *sets) {
    blv_dataset_release(sets->train);
    blv_dataset_release(sets->val);
    blv_dataset_release(sets->test);
    *sets = (data_sets){NULL, NULL, NULL};
}

uint64_t data_sets_fingerprint(const data_sets *sets) {
    const blv_dataset *const all[] = {sets->train, sets->val, sets->test};
    return blv_dataset_fingerprint_all(all, 3);
}

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

static blv_error check_sets(const data_sets *sets, blv_precision precision, const char *owner,
                            blv_message *why) {
    if (!sets->train)
        return blv_explain(why, BLV_E_ARGUMENT, "%s: a training and a validation set are needed",
                           owner);
    blv_dataset *const all[] = {sets->train, sets->val, sets->test};
    for (size_t i = 0; i < 3; i++) {
        if (!all[i])
            continue;
        const char *text = mismatch(sets->train, all[i], precision);
        if (text)
            return blv_explain(why, BLV_E_VALUE, "%s: %s", owner, text);
        blv_error error = blv_dataset_transpose(all[i], why);
        if (error != BLV_OK)
            return error;
    }
    return BLV_OK;
}

static blv_error copy_sets(const blv_sets *from, data_sets *to, blv_message *why) {
    *to = (data_sets){NULL, NULL, NULL};
    blv_error error = from->train ? blv_dataset_copy(from->train, &to->train, why) : BLV_OK;
    if (error == BLV_OK && from->val)
        error = blv_dataset_copy(from->val, &to->val, why);
    if (error == BLV_OK && from->test)
        error = blv_dataset_copy(from->test, &to->test, why);
    return error;
}

blv_error data_sets_take(const blv_sets *given_sets, bool given, const blv_problem_options *options,
                         const char *owner, data_sets *sets, blv_problem_options *chosen,
                         blv_message *why) {
    blv_sets known;
    if (!given_sets || !given)
        return blv_explain(why, BLV_E_ARGUMENT, "%s: a NULL argument", owner);
    blv_error error = blv_caller_struct(&known, sizeof known, given_sets, "blv_sets", why);
    if (error == BLV_OK)
        error = blv_caller_struct(chosen, sizeof *chosen, options, "blv_problem_options", why);
    if (error != BLV_OK)
        return error;
    error = copy_sets(&known, sets, why);
    if (error == BLV_OK)
        error = check_sets(sets, chosen->precision, owner, why);
    if (error != BLV_OK)
        data_sets_release(sets);
    return error;
}
