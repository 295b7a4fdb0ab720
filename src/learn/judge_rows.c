/* Rows judged by a network that is trained on them. */
#include "base/message.h"
#include "bilevel/classifier.h"
#include "bilevel/solver.h"

enum { STEPS = 1500, BATCH = 64 };
static const double first_step = 0.05, momentum = 0.9, decay = 1e-4;

blv_training blv_judge_training(size_t steps, uint64_t seed) {
    return (blv_training){.size = sizeof(blv_training),
                          .steps = steps > 0 ? steps : STEPS,
                          .batch = BATCH,
                          .step = first_step,
                          .momentum = momentum,
                          .decay = decay,
                          .cosine = true,
                          .seed = seed};
}

blv_error blv_judge_rows(const blv_dataset *rows, const double *weight, const blv_dataset *test,
                         const blv_classifier_options *given, size_t steps, double *accuracy,
                         blv_message *why) {
    if (!rows || !test || !accuracy)
        return blv_explain(why, BLV_E_ARGUMENT, "judging: a NULL argument");
    blv_classifier_options options;
    blv_classifier *network = NULL;
    const blv_dataset_view *view = blv_dataset_view_of(rows);
    BLV_CHECK(blv_caller_struct(&options, sizeof options, given, "blv_classifier_options", why));
    options.precision = view->precision;
    blv_training training = blv_judge_training(steps, options.seed);
    training.weight = weight;
    BLV_CHECK(blv_classifier_create(&network, view->columns, view->classes, &options, why));
    blv_error error = blv_classifier_train(network, rows, &training, why);
    if (error == BLV_OK)
        error = blv_classifier_accuracy(network, test, accuracy, why);
    blv_classifier_destroy(network);
    return error;
}
