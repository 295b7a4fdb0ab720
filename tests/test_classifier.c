/* Networks as classifiers: a step of training against the softmax gradient by hand, scores and
 * features against each other and against a plain forward pass, learning, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bilevel/classifier.h"
#include "blv_testing.h"
#include "nn_testing.h"

/* ---- Scores and features of a pass ---- */

/* The last layer on the features must give the scores, whatever made the features. */
static void check_last_layer(const blv_nn *net, const nn_sample *s, const double *params,
                             const double *scores, const double *features) {
    const blv_nn_part *weight = blv_nn_part_at(net, blv_nn_parts(net) - 2);
    const blv_nn_part *bias = blv_nn_part_at(net, blv_nn_parts(net) - 1);
    const size_t width = blv_nn_features(net), classes = blv_nn_classes(net);
    assert_int_equal(weight->count, width * classes);
    for (size_t i = 0; i < s->rows; i++)
        for (size_t k = 0; k < classes; k++) {
            double sum = params[bias->offset + k];
            for (size_t j = 0; j < width; j++)
                sum += features[i * width + j] * params[weight->offset + j * classes + k];
            assert_near(scores[i * classes + k], sum, 1e-12 * (1.0 + fabs(sum)));
        }
}

static void check_outputs(blv_nn *net, size_t columns) {
    enum { ROWS = 77 };
    nn_sample s = nn_make_sample(ROWS, columns, blv_nn_classes(net), 5);
    double *params = nn_params(net, 3);
    const size_t width = blv_nn_features(net), classes = blv_nn_classes(net);
    double *scores = nn_memory(ROWS * classes, sizeof *scores);
    double *features = nn_memory(ROWS * width, sizeof *features);
    double *statistics = nn_memory(blv_nn_statistics(net) + 1, sizeof *statistics);
    int32_t guess[ROWS];
    size_t order[ROWS];
    blv_rows rows = nn_rows(&s, BLV_F64);
    for (size_t i = 0; i < ROWS; i++)
        order[i] = (i * 30 + 7) % ROWS;
    blv_nn_work *work = nn_work(net, BLV_F64, ROWS, 16, 2);
    blv_nn_observe(work, &rows, params, statistics);
    rows.index = order;
    blv_nn_run(work, &rows,
               &(blv_nn_pass){.params = params,
                              .scale = 1.0,
                              .statistics = statistics,
                              .row_class = guess,
                              .row_scores = scores,
                              .row_features = features});
    check_last_layer(net, &s, params, scores, features);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < classes; k++)
            assert_true(scores[i * classes + k] <= scores[i * classes + (size_t)guess[i]]);
    blv_nn_work_destroy(work);
    nn_free_sample(&s);
    free(params);
    free(scores);
    free(features);
    free(statistics);
    blv_nn_destroy(net);
}

static void test_outputs(void **state) {
    (void)state;
    check_outputs(nn_everything(BLV_NN_GELU, true), 7 * 6 * 3);
    check_outputs(nn_text("mlp:9-14-6-4", 9, 4), 9);
    check_outputs(nn_text("mlp:9-4", 9, 4), 9);
}

/* Hidden units of an mlp by hand. */
static void test_hidden_features(void **state) {
    (void)state;
    enum { ROWS = 5, IN = 3, HIDDEN = 4, OUT = 2 };
    blv_nn *net = nn_text("mlp:3-4-2", IN, OUT);
    nn_sample s = nn_make_sample(ROWS, IN, OUT, 1);
    double *params = nn_params(net, 8), features[ROWS * HIDDEN];
    blv_rows rows = nn_rows(&s, BLV_F64);
    blv_nn_work *work = nn_work(net, BLV_F64, ROWS, 0, 1);
    blv_nn_run(work, &rows,
               &(blv_nn_pass){.params = params, .scale = 1.0, .row_features = features});
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < HIDDEN; j++) {
            double sum = params[IN * HIDDEN + j];
            for (size_t k = 0; k < IN; k++)
                sum += s.a[i * s.stride + k] * params[k * HIDDEN + j];
            assert_near(features[i * HIDDEN + j], fmax(sum, 0.0), 1e-14 * (1.0 + fabs(sum)));
        }
    blv_nn_work_destroy(work);
    nn_free_sample(&s);
    free(params);
    blv_nn_destroy(net);
}

/* ---- A step of training by hand ---- */

enum { D = 4, C = 3, N = 7, M = 5 };

static blv_dataset *make_set(size_t rows, uint64_t seed, blv_precision precision) {
    blv_dataset *set;
    nn_sample s = nn_make_sample(rows, D, C, seed);
    blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                             .rows = rows,
                             .columns = D,
                             .precision = precision,
                             .dense = precision == BLV_F32 ? (void *)s.a_f32 : (void *)s.a,
                             .stride = s.stride,
                             .classes = C,
                             .label = s.label};
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    nn_free_sample(&s);
    return set;
}

static blv_classifier *make_linear(uint64_t seed, int threads) {
    blv_classifier *c;
    const blv_classifier_options options = {.size = sizeof(blv_classifier_options),
                                            .net = "mlp:in-out",
                                            .precision = BLV_F64,
                                            .threads = threads,
                                            .seed = seed};
    assert_int_equal(blv_classifier_create(&c, D, C, &options, NULL), BLV_OK);
    return c;
}

/* W (D x C) and b of a linear classifier, from its scores of unit rows and of a row of zeros. */
static void read_linear(blv_classifier *c, double *w, double *b) {
    double a[(D + 1) * D] = {0.0}, scores[(D + 1) * C];
    const int32_t label[D + 1] = {0};
    for (size_t j = 0; j < D; j++)
        a[j * D + j] = 1.0;
    blv_dataset *set;
    const blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                   .rows = D + 1,
                                   .columns = D,
                                   .dense = a,
                                   .stride = D,
                                   .classes = C,
                                   .label = label};
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    assert_int_equal(blv_classifier_scores(c, set, scores, NULL), BLV_OK);
    memcpy(b, scores + D * C, C * sizeof *b);
    for (size_t j = 0; j < D; j++)
        for (size_t k = 0; k < C; k++)
            w[j * C + k] = scores[j * C + k] - b[k];
    blv_dataset_release(set);
}

/* Adds scale weight_i (p_i - e_i) a_i'. */
static void add_softmax(const blv_dataset *set, const double *weight, double scale, const double *w,
                        const double *b, double *gw, double *gb) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    double sum = 0.0;
    for (size_t i = 0; i < v->rows; i++)
        sum += weight ? weight[i] / (double)v->rows : 0.0;
    for (size_t i = 0; i < v->rows; i++) {
        const double *a = (const double *)v->dense + i * v->stride;
        double p[C], total = 0.0;
        for (size_t k = 0; k < C; k++) {
            p[k] = b[k];
            for (size_t j = 0; j < D; j++)
                p[k] += a[j] * w[j * C + k];
            total += p[k] = exp(p[k]);
        }
        for (size_t k = 0; k < C; k++) {
            const double r = scale * (weight ? weight[i] / sum : 1.0) *
                             (p[k] / total - ((int32_t)k == v->label[i]));
            gb[k] += r;
            for (size_t j = 0; j < D; j++)
                gw[j * C + k] += r * a[j];
        }
    }
}

/* Two steps with momentum and decay on whole batches of two sets. */
static void test_steps(void **state) {
    (void)state;
    const double weight[N] = {1.0, 4.0, 0.5, 0.0, 2.0, 2.5, 3.0}, step = 0.3, decay = 0.02;
    blv_dataset *set = make_set(N, 3, BLV_F64), *other = make_set(M, 4, BLV_F64);
    blv_classifier *c = make_linear(9, 1);
    double w[D * C], b[C], vw[D * C] = {0.0}, vb[C] = {0.0}, end_w[D * C], end_b[C];
    read_linear(c, w, b);
    for (int k = 0; k < 2; k++) {
        double gw[D * C] = {0.0}, gb[C] = {0.0};
        add_softmax(set, weight, 1.0 / (N + M), w, b, gw, gb);
        add_softmax(other, NULL, 1.0 / (N + M), w, b, gw, gb);
        for (size_t i = 0; i < D * C; i++)
            w[i] -= step * (vw[i] = 0.9 * vw[i] + gw[i] + decay * w[i]);
        for (size_t i = 0; i < C; i++)
            b[i] -= step * (vb[i] = 0.9 * vb[i] + gb[i] + decay * b[i]);
    }
    const blv_training training = {.size = sizeof(blv_training),
                                   .steps = 2,
                                   .batch = 100,
                                   .step = step,
                                   .momentum = 0.9,
                                   .decay = decay,
                                   .weight = weight,
                                   .also = other};
    assert_int_equal(blv_classifier_train(c, set, &training, NULL), BLV_OK);
    read_linear(c, end_w, end_b);
    for (size_t i = 0; i < D * C; i++)
        assert_near(end_w[i], w[i], 1e-13);
    for (size_t i = 0; i < C; i++)
        assert_near(end_b[i], b[i], 1e-13);
    blv_classifier_destroy(c);
    blv_dataset_release(set);
    blv_dataset_release(other);
}

/* ---- Learning, and the same bits ---- */

static void test_learning(void **state) {
    (void)state;
    enum { ROWS = 300 };
    double a[ROWS * D], scores[2][ROWS * C], accuracy = 0.0;
    int32_t label[ROWS];
    blv_stream stream = blv_stream_make(2, "blobs");
    for (size_t i = 0; i < ROWS; i++) {
        label[i] = (int32_t)(i % C);
        for (size_t j = 0; j < D; j++)
            a[i * D + j] = 0.2 * blv_random_normal(&stream, i * D + j) + (j == i % C);
    }
    blv_dataset *set;
    const blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                   .rows = ROWS,
                                   .columns = D,
                                   .dense = a,
                                   .stride = D,
                                   .classes = C,
                                   .label = label};
    assert_int_equal(blv_dataset_create(&set, &view, NULL, NULL), BLV_OK);
    for (int run = 0; run < 2; run++) {
        blv_classifier *c = make_linear(1, run == 0 ? 1 : 4);
        const blv_training training = {.size = sizeof(blv_training),
                                       .steps = 300,
                                       .step = 0.3,
                                       .momentum = 0.9,
                                       .cosine = true};
        assert_int_equal(blv_classifier_train(c, set, &training, NULL), BLV_OK);
        assert_int_equal(blv_classifier_accuracy(c, set, &accuracy, NULL), BLV_OK);
        assert_true(accuracy > 0.97);
        assert_int_equal(blv_classifier_scores(c, set, scores[run], NULL), BLV_OK);
        blv_classifier_restart(c, 5);
        assert_int_equal(blv_classifier_accuracy(c, set, &accuracy, NULL), BLV_OK);
        assert_true(accuracy < 0.9);
        blv_classifier_destroy(c);
    }
    assert_memory_equal(scores[0], scores[1], sizeof scores[0]);
    blv_dataset_release(set);
}

static void test_refusals(void **state) {
    (void)state;
    blv_message why = {""};
    blv_classifier *c;
    blv_classifier_options bad = {.size = sizeof(blv_classifier_options), .net = "mlp:in-x-out"};
    assert_int_equal(blv_classifier_create(&c, D, C, &bad, &why), BLV_E_VALUE);
    assert_non_null(strstr(why.text, "at character 8"));
    c = make_linear(0, 1);
    blv_dataset *single = make_set(N, 1, BLV_F32), *set = make_set(N, 1, BLV_F64);
    double accuracy;
    assert_int_equal(blv_classifier_accuracy(c, single, &accuracy, &why), BLV_E_VALUE);
    assert_non_null(strstr(why.text, "precision"));
    const blv_training wild = {
        .size = sizeof(blv_training), .steps = 300, .step = 1e3, .decay = 1.0};
    assert_int_equal(blv_classifier_train(c, set, &wild, &why), BLV_E_VALUE);
    assert_non_null(strstr(why.text, "diverged"));
    blv_classifier_destroy(c);
    blv_dataset_release(single);
    blv_dataset_release(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs),  cmocka_unit_test(test_hidden_features),
        cmocka_unit_test(test_steps),    cmocka_unit_test(test_learning),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
