/* Networks: losses against a plain forward pass of the test's own, channel by channel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blv_testing.h"
#include "nn/nn_loops.h"
#include "nn_testing.h"

#include <stdio.h>

typedef struct plain {
    size_t c, h, w;
    long double *at;
} plain;

static plain plain_make(size_t c, size_t h, size_t w) {
    return (plain){c, h, w, nn_memory(c * h * w, sizeof(long double))};
}

static long double *pixel(const plain *p, size_t c, size_t y, size_t x) {
    return &p->at[(c * p->h + y) * p->w + x];
}

static const double *part_named(const blv_nn *net, const double *params, const char *name) {
    for (size_t i = 0; i < blv_nn_parts(net); i++)
        if (strcmp(blv_nn_part_at(net, i)->name, name) == 0)
            return params + blv_nn_part_at(net, i)->offset;
    return NULL;
}

static plain plain_convolve(const blv_nn *net, const double *params, const char *name,
                            const plain *in, size_t channels, size_t kernel, size_t stride,
                            size_t padding) {
    char part[64];
    snprintf(part, sizeof part, "%s.weight", name);
    const double *weight = part_named(net, params, part);
    plain out = plain_make(channels, (in->h + 2 * padding - kernel) / stride + 1,
                           (in->w + 2 * padding - kernel) / stride + 1);
    for (size_t o = 0; o < channels; o++)
        for (size_t y = 0; y < out.h; y++)
            for (size_t x = 0; x < out.w; x++) {
                long double sum = 0.0L;
                for (size_t i = 0; i < kernel; i++)
                    for (size_t j = 0; j < kernel; j++)
                        for (size_t c = 0; c < in->c; c++) {
                            long yy = (long)(y * stride + i) - (long)padding;
                            long xx = (long)(x * stride + j) - (long)padding;
                            if (yy < 0 || xx < 0 || yy >= (long)in->h || xx >= (long)in->w)
                                continue;
                            sum += *pixel(in, c, (size_t)yy, (size_t)xx) *
                                   weight[((i * kernel + j) * in->c + c) * channels + o];
                        }
                *pixel(&out, o, y, x) = sum;
            }
    return out;
}

static void plain_norm(const double *scale, const double *shift, const double *statistics,
                       plain *p) {
    for (size_t c = 0; c < p->c; c++)
        for (size_t i = 0; i < p->h * p->w; i++) {
            long double *x = &p->at[c * p->h * p->w + i];
            *x = scale[c] * (*x - statistics[c]) / sqrtl(statistics[p->c + c] + 1e-5L) + shift[c];
        }
}

static void plain_activate(blv_nn_activation act, plain *p) {
    for (size_t i = 0; i < p->c * p->h * p->w; i++) {
        long double x = p->at[i];
        p->at[i] = act == BLV_NN_RELU       ? fmaxl(x, 0.0L)
                   : act == BLV_NN_SOFTPLUS ? log1pl(expl(x))
                                            : 0.5L * x * erfcl(-x * sqrtl(0.5L));
    }
}

static void plain_add(plain *p, const plain *q) {
    for (size_t i = 0; i < p->c * p->h * p->w; i++)
        p->at[i] += q->at[i];
}

static plain plain_pool(const plain *in) {
    plain out = plain_make(in->c, 1, 1);
    for (size_t c = 0; c < out.c; c++) {
        for (size_t i = 0; i < in->h * in->w; i++)
            out.at[c] += in->at[c * in->h * in->w + i];
        out.at[c] /= (long double)(in->h * in->w);
    }
    return out;
}

static plain plain_linear(const blv_nn *net, const double *params, const char *name,
                          const plain *in, size_t outputs) {
    char part[64];
    snprintf(part, sizeof part, "%s.weight", name);
    const double *weight = part_named(net, params, part);
    snprintf(part, sizeof part, "%s.bias", name);
    const double *bias = part_named(net, params, part);
    plain out = plain_make(outputs, 1, 1);
    for (size_t o = 0; o < outputs; o++) {
        out.at[o] = bias[o];
        for (size_t c = 0; c < in->c; c++)
            out.at[o] += in->at[c] * weight[c * outputs + o];
    }
    return out;
}

static void replace(plain *p, plain by) {
    free(p->at);
    *p = by;
}

static long double plain_loss(const plain *scores, size_t label, size_t *best,
                              long double *probability) {
    long double sum = 0.0L;
    *best = 0;
    for (size_t k = 0; k < scores->c; k++)
        if (scores->at[k] > scores->at[*best])
            *best = k;
    for (size_t k = 0; k < scores->c; k++)
        sum += expl(scores->at[k] - scores->at[*best]);
    *probability = expl(scores->at[label] - scores->at[*best]) / sum;
    return logl(sum) + scores->at[*best] - scores->at[label];
}

/* nn_everything without dropout, on one row. */
static plain plain_everything(const blv_nn *net, const double *params, const double *statistics,
                              const double *row, blv_nn_activation act, bool planar) {
    plain x = plain_make(3, 7, 6);
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < 42; i++)
            x.at[c * 42 + i] = row[planar ? c * 42 + i : i * 3 + c];
    replace(&x, plain_convolve(net, params, "conv1", &x, 5, 3, 1, 1));
    plain_norm(part_named(net, params, "norm1.scale"), part_named(net, params, "norm1.shift"),
               statistics, &x);
    plain_activate(act, &x);
    plain y = plain_convolve(net, params, "conv2", &x, 5, 3, 1, 1);
    plain_norm(part_named(net, params, "norm2.scale"), part_named(net, params, "norm2.shift"),
               statistics + 10, &y);
    plain_add(&y, &x);
    replace(&x, y);
    plain_activate(act, &x);
    replace(&x, plain_convolve(net, params, "conv3", &x, 18, 2, 2, 0));
    plain_activate(act, &x);
    plain window = plain_convolve(net, params, "window", &x, 18, 3, 1, 0);
    y = plain_convolve(net, params, "point", &x, 18, 1, 1, 0);
    plain_add(&y, &x);
    replace(&x, y);
    replace(&x, plain_pool(&x));
    plain_add(&x, &window);
    free(window.at);
    replace(&x, plain_linear(net, params, "fc1", &x, 9));
    plain_activate(act, &x);
    replace(&x, plain_linear(net, params, "fc2", &x, 4));
    return x;
}

static void test_losses(void **state) {
    (void)state;
    for (blv_nn_activation act = BLV_NN_RELU; act <= BLV_NN_GELU; act++)
        for (int planar = 0; planar < 2; planar++) {
            blv_nn *net = nn_everything(act, planar);
            nn_sample sample = nn_make_sample(9, 126, 4, 8);
            double *params = nn_params(net, 4), *statistics = statistics_of(net);
            double loss[9], probability[9];
            int32_t class_of[9];
            blv_nn_work *work = nn_work(net, BLV_F64, 9, 0, 1);
            blv_rows rows = nn_rows(&sample, BLV_F64);
            blv_nn_pass pass = {.params = params,
                                .scale = 1.0,
                                .statistics = statistics,
                                .row_loss = loss,
                                .row_probability = probability,
                                .row_class = class_of};
            blv_nn_run(work, &rows, &pass);
            for (size_t i = 0; i < 9; i++) {
                plain scores = plain_everything(net, params, statistics,
                                                sample.a + i * sample.stride, act, planar);
                size_t best;
                long double likely,
                    expected = plain_loss(&scores, (size_t)sample.label[i], &best, &likely);
                assert_near(loss[i], (double)expected, 1e-12);
                assert_near(probability[i], (double)likely, 1e-13);
                assert_int_equal(class_of[i], best);
                free(scores.at);
            }
            blv_nn_work_destroy(work);
            free(params);
            free(statistics);
            nn_free_sample(&sample);
            blv_nn_destroy(net);
        }
}

/* Pixels of 128 doubles, which is where rows get a gap behind them. */
static void test_wide_pool(void **state) {
    (void)state;
    blv_nn *net = blv_nn_begin((blv_nn_shape){2, 3, 2}, true);
    assert_non_null(net);
    const int node = blv_nn_convolution(net, "wide", 0, 128, 1, 1, 0);
    net = nn_finish(net, blv_nn_linear(net, "fc", blv_nn_pool(net, node), 4));
    nn_sample sample = nn_make_sample(5, 12, 4, 8);
    double *params = nn_params(net, 4), loss[5];
    blv_nn_work *work = nn_work(net, BLV_F64, 5, 0, 1);
    blv_rows rows = nn_rows(&sample, BLV_F64);
    blv_nn_run(work, &rows, &(blv_nn_pass){.params = params, .scale = 1.0, .row_loss = loss});
    for (size_t i = 0; i < 5; i++) {
        plain x = plain_make(2, 2, 3);
        for (size_t j = 0; j < 12; j++)
            x.at[j] = sample.a[i * sample.stride + j];
        replace(&x, plain_convolve(net, params, "wide", &x, 128, 1, 1, 0));
        replace(&x, plain_pool(&x));
        replace(&x, plain_linear(net, params, "fc", &x, 4));
        size_t best;
        long double likely, expected = plain_loss(&x, (size_t)sample.label[i], &best, &likely);
        assert_near(loss[i], (double)expected, 1e-12);
        free(x.at);
    }
    blv_nn_work_destroy(work);
    free(params);
    nn_free_sample(&sample);
    blv_nn_destroy(net);
}

/* Own statistics are the means and variances over all rows and pixels: what blv_nn_observe says,
 * and given to a pass they change nothing. */
static void test_statistics(void **state) {
    (void)state;
    blv_nn *net = nn_everything(BLV_NN_GELU, true);
    nn_sample sample = nn_make_sample(13, 126, 4, 21);
    double *params = nn_params(net, 6), *seen = make_numbers(blv_nn_statistics(net)), own, given;
    blv_nn_work *work = nn_work(net, BLV_F64, 13, 0, 2);
    blv_rows rows = nn_rows(&sample, BLV_F64);
    blv_nn_observe(work, &rows, params, seen);
    blv_nn_pass pass = {.params = params, .scale = 1.0, .loss = &own};
    blv_nn_run(work, &rows, &pass);
    pass.statistics = seen;
    pass.loss = &given;
    blv_nn_run(work, &rows, &pass);
    assert_near(own, given, 1e-12);
    long double mean[5] = {0.0L}, square[5] = {0.0L};
    for (size_t i = 0; i < 13; i++) {
        plain x = {3, 7, 6, nn_memory(126, sizeof(long double))};
        for (size_t j = 0; j < 126; j++)
            x.at[j] = sample.a[i * sample.stride + j];
        replace(&x, plain_convolve(net, params, "conv1", &x, 5, 3, 1, 1));
        for (size_t c = 0; c < 5; c++)
            for (size_t j = 0; j < 42; j++) {
                mean[c] += x.at[c * 42 + j] / (13 * 42);
                square[c] += x.at[c * 42 + j] * x.at[c * 42 + j] / (13 * 42);
            }
        free(x.at);
    }
    for (size_t c = 0; c < 5; c++) {
        assert_near(seen[c], (double)mean[c], 1e-13);
        assert_near(seen[5 + c], (double)(square[c] - mean[c] * mean[c]), 1e-12);
    }
    blv_nn_work_destroy(work);
    free(params);
    free(seen);
    nn_free_sample(&sample);
    blv_nn_destroy(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_wide_pool),
        cmocka_unit_test(test_statistics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
