/* Networks: derivatives of every layer against central differences in f64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blv_testing.h"
#include "nn/nn_private.h"
#include "nn_testing.h"

#include <stdio.h>

typedef struct setting {
    const blv_nn *net;
    const nn_sample *sample;
    const double *statistics; /* NULL: own */
    bool drop;
    bool kinks;        /* derivatives jump: smaller steps, so that none is crossed */
    blv_nn_work *work; /* f64 */
} setting;

static double step_of(const setting *s) {
    return s->kinks ? 1e-7 : 2e-5;
}

static double tolerance_of(const setting *s) {
    return s->kinks ? 1e-6 : 1e-7;
}

static double loss_at(const setting *s, const double *params) {
    blv_rows rows = nn_rows(s->sample, BLV_F64);
    double loss;
    blv_nn_pass pass = {.params = params,
                        .scale = 0.7,
                        .statistics = s->statistics,
                        .drop = s->drop,
                        .drop_seed = 5,
                        .loss = &loss};
    blv_nn_run(s->work, &rows, &pass);
    return loss;
}

/* Gradient, Hv, losses and products of rows; any of them may be NULL. */
static double derive(const setting *s, const double *params, const double *v, double *gradient,
                     double *hessian, double *row_loss, double *row_cross) {
    blv_rows rows = nn_rows(s->sample, BLV_F64);
    size_t dim = blv_nn_dim(s->net);
    double loss;
    if (gradient)
        memset(gradient, 0, dim * sizeof *gradient);
    if (hessian)
        memset(hessian, 0, dim * sizeof *hessian);
    blv_nn_pass pass = {.params = params,
                        .v = v,
                        .scale = 0.7,
                        .statistics = s->statistics,
                        .drop = s->drop,
                        .drop_seed = 5,
                        .loss = &loss,
                        .gradient = gradient,
                        .hessian = hessian,
                        .row_loss = row_loss,
                        .row_cross = row_cross};
    blv_nn_run(s->work, &rows, &pass);
    return loss;
}

static void moved(size_t dim, const double *params, double h, const double *along, double *out) {
    for (size_t i = 0; i < dim; i++)
        out[i] = params[i] + h * along[i];
}

/* Along one direction, the derivative of the loss by differences of fourth order. */
static double slope_along(const setting *s, const double *params, const double *along, double h) {
    size_t dim = blv_nn_dim(s->net);
    double *at = make_numbers(dim), value[4];
    static const double steps[] = {-2.0, -1.0, 1.0, 2.0};
    for (size_t i = 0; i < 4; i++) {
        moved(dim, params, steps[i] * h, along, at);
        value[i] = loss_at(s, at);
    }
    free(at);
    return (8.0 * (value[2] - value[1]) - (value[3] - value[0])) / (12.0 * h);
}

/* Directions within one part of the parameters at a time: each layer stands for itself. */
static void check_gradient(const setting *s, const double *params, const double *gradient) {
    size_t dim = blv_nn_dim(s->net);
    double *along = make_numbers(dim);
    for (size_t i = 0; i < blv_nn_parts(s->net); i++) {
        const blv_nn_part *part = blv_nn_part_at(s->net, i);
        for (uint64_t trial = 0; trial < 3; trial++) {
            double *numbers = nn_normals(part->count, 1.0, 100 * i + trial);
            memset(along, 0, dim * sizeof *along);
            memcpy(along + part->offset, numbers, part->count * sizeof *numbers);
            double size = dense_size(part->count, numbers);
            double expected = slope_along(s, params, along, step_of(s) / size);
            double allowed =
                tolerance_of(s) * (dense_size(part->count, gradient + part->offset) * size + 1.0);
            double got = dense_inner(dim, gradient, along);
            if (!(fabs(got - expected) <= allowed))
                fail_msg("gradient by %s: %.12g, differences say %.12g", part->name, got, expected);
            free(numbers);
        }
    }
    free(along);
}

static void check_product(const setting *s, const double *params, const double *v,
                          const double *hessian) {
    size_t dim = blv_nn_dim(s->net);
    double h = step_of(s) / dense_size(dim, v), *at = make_numbers(dim), *sum = make_numbers(dim);
    double *gradient = make_numbers(dim);
    static const double steps[] = {-2.0, -1.0, 1.0, 2.0}, factors[] = {1.0, -8.0, 8.0, -1.0};
    for (size_t i = 0; i < 4; i++) {
        moved(dim, params, steps[i] * h, v, at);
        derive(s, at, NULL, gradient, NULL, NULL, NULL);
        for (size_t j = 0; j < dim; j++)
            sum[j] += factors[i] * gradient[j] / (12.0 * h);
    }
    for (size_t i = 0; i < blv_nn_parts(s->net); i++) {
        const blv_nn_part *part = blv_nn_part_at(s->net, i);
        double off = dense_gap(part->count, sum + part->offset, hessian + part->offset);
        double size = dense_size(part->count, hessian + part->offset);
        if (!(off <= 10.0 * tolerance_of(s) * (1.0 + size)))
            fail_msg("Hv in %s: off by %.3g of %.3g", part->name, off, size);
    }
    free(at);
    free(sum);
    free(gradient);
}

/* Losses, products and weights of single rows. */
static void check_rows(const setting *s, const double *params, const double *v,
                       const double *row_loss, const double *row_cross, double loss,
                       const double *gradient) {
    size_t n = s->sample->rows, dim = blv_nn_dim(s->net);
    double h = step_of(s) / dense_size(dim, v), *at = make_numbers(dim), sum = 0.0, cross = 0.0;
    double *above = make_numbers(n), *below = make_numbers(n);
    moved(dim, params, h, v, at);
    derive(s, at, NULL, NULL, NULL, above, NULL);
    moved(dim, params, -h, v, at);
    derive(s, at, NULL, NULL, NULL, below, NULL);
    for (size_t i = 0; i < n; i++) {
        double expected = (above[i] - below[i]) / (2.0 * h);
        assert_near(row_cross[i], expected, 1e-5 * (1.0 + fabs(expected)));
        sum += s->sample->weight[i] * row_loss[i];
        cross += s->sample->weight[i] * row_cross[i];
    }
    assert_near(loss, 0.7 * sum, 1e-12 * (1.0 + fabs(sum)));
    assert_near(dense_inner(dim, gradient, v), 0.7 * cross, 1e-10 * (1.0 + fabs(cross)));
    free(at);
    free(above);
    free(below);
}

/* Outputs asked for alone have the same bits, and are added to what is there. */
static void check_alone(const setting *s, const double *params, const double *v,
                        const double *gradient, const double *hessian, const double *row_cross) {
    size_t dim = blv_nn_dim(s->net), n = s->sample->rows;
    double *one = make_numbers(dim), *cross = make_numbers(n);
    derive(s, params, NULL, one, NULL, NULL, NULL);
    assert_memory_equal(one, gradient, dim * sizeof *one);
    derive(s, params, v, NULL, one, NULL, NULL);
    assert_memory_equal(one, hessian, dim * sizeof *one);
    derive(s, params, v, NULL, NULL, NULL, cross);
    assert_memory_equal(cross, row_cross, n * sizeof *cross);
    for (size_t i = 0; i < dim; i++)
        one[i] = 1000.0;
    blv_rows rows = nn_rows(s->sample, BLV_F64);
    blv_nn_pass pass = {.params = params,
                        .scale = 0.7,
                        .statistics = s->statistics,
                        .drop = s->drop,
                        .drop_seed = 5,
                        .gradient = one};
    blv_nn_run(s->work, &rows, &pass);
    for (size_t i = 0; i < dim; i++)
        assert_near(one[i] - 1000.0, gradient[i], 1e-11);
    free(one);
    free(cross);
}

static void check_symmetry(const setting *s, const double *params, const double *v,
                           const double *hessian) {
    size_t dim = blv_nn_dim(s->net);
    double *u = nn_normals(dim, 1.0, 77), *product = make_numbers(dim);
    derive(s, params, u, NULL, product, NULL, NULL);
    double uhv = dense_inner(dim, u, hessian), vhu = dense_inner(dim, v, product);
    assert_near(uhv, vhu, 1e-12 * (dense_size(dim, u) * dense_size(dim, hessian) + 1.0));
    free(u);
    free(product);
}

static void check_derivatives(const setting *given, uint64_t seed) {
    setting s = *given;
    size_t dim = blv_nn_dim(s.net), n = s.sample->rows;
    double *params = nn_params(s.net, seed), *v = nn_normals(dim, 1.0, seed + 9);
    double *gradient = make_numbers(dim), *hessian = make_numbers(dim);
    double *row_loss = make_numbers(n), *row_cross = make_numbers(n);
    double loss = derive(&s, params, v, gradient, hessian, row_loss, row_cross);
    check_gradient(&s, params, gradient);
    check_product(&s, params, v, hessian);
    check_rows(&s, params, v, row_loss, row_cross, loss, gradient);
    check_alone(&s, params, v, gradient, hessian, row_cross);
    check_symmetry(&s, params, v, hessian);
    double *const arrays[] = {params, v, gradient, hessian, row_loss, row_cross};
    for (size_t i = 0; i < 6; i++)
        free(arrays[i]);
}

static void check_network(blv_nn *net, size_t rows, uint64_t seed, bool kinks) {
    nn_sample sample = nn_make_sample(rows, blv_nn_inputs(net), blv_nn_classes(net), seed);
    double *statistics = statistics_of(net);
    setting s = {.net = net,
                 .sample = &sample,
                 .statistics = statistics,
                 .kinks = kinks,
                 .work = nn_work(net, BLV_F64, rows, 0, 2)};
    check_derivatives(&s, seed);
    if (net->dropouts > 0) {
        s.drop = true;
        check_derivatives(&s, seed + 1);
    }
    if (blv_nn_statistics(net) > 0) {
        s.statistics = NULL;
        check_derivatives(&s, seed + 2);
    }
    blv_nn_work_destroy(s.work);
    free(statistics);
    nn_free_sample(&sample);
    blv_nn_destroy(net);
}

static void test_mlp(void **state) {
    (void)state;
    static const char *const texts[] = {"mlp:7-3",
                                        "mlp:7-16-3",
                                        "mlp:in-20-33-out,act=softplus",
                                        "mlp:7-17-3,act=gelu",
                                        "mlp:7-9-9-3,act=softplus,dropout=0.5",
                                        "mlp:7-40-3,dropout=0.2",
                                        "mlp:7-130-20-3,act=gelu,dropout=0.3"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_network(nn_text(texts[i], 7, 3), 37, 10 * i + 1, !strstr(texts[i], "act="));
}

static void test_every_layer(void **state) {
    (void)state;
    for (blv_nn_activation act = BLV_NN_RELU; act <= BLV_NN_GELU; act++)
        for (int planar = 0; planar < 2; planar++)
            check_network(nn_everything(act, planar), 11, 3 + (uint64_t)act, true);
}

/* Activations of what other layers need as well, sums of the same thing, ReLU of ReLU. */
static void test_shared_nodes(void **state) {
    (void)state;
    for (blv_nn_activation act = BLV_NN_RELU; act <= BLV_NN_GELU; act++) {
        blv_nn *b = blv_nn_begin((blv_nn_shape){1, 1, 5}, false);
        assert_non_null(b);
        int first = blv_nn_linear(b, "a", 0, 6), second = blv_nn_linear(b, "b", 0, 6);
        int bent = blv_nn_activate(b, first, act);
        int twice = blv_nn_add(b, bent, bent);
        int again = blv_nn_activate(b, blv_nn_activate(b, second, BLV_NN_RELU), act);
        int dropped = blv_nn_dropout(b, again, 0.3);
        int node = blv_nn_add(b, blv_nn_add(b, first, twice), dropped);
        node = blv_nn_norm(b, "norm", node);
        /* more rows than a block has */
        check_network(nn_finish(b, blv_nn_linear(b, "c", node, 3)), 150, 40 + (uint64_t)act, true);
    }
}

static void test_resnet18(void **state) {
    (void)state;
    blv_nn *net = nn_text("resnet18:2,image=1x8x10,act=softplus", 80, 3);
    assert_int_equal(blv_nn_layers(net), 2 * 20 + 1);
    check_network(net, 6, 71, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlp),
        cmocka_unit_test(test_every_layer),
        cmocka_unit_test(test_shared_nodes),
        cmocka_unit_test(test_resnet18),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
