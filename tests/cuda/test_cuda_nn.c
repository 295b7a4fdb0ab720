/* Networks on a GPU against those of the host in f64: losses, gradients, second-order products and
 * what is handed out by row, for every activation, lists of rows, dropout, uncertain labels and
 * slices; the same bits twice; networks that cannot be there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bilevel/cuda.h"
#include "kernels/kernel_table.h"
#include "nn_testing.h"

#include <stdio.h>

enum { ROWS = 301, COLUMNS = 37, CLASSES = 5 };

typedef struct nn_case {
    const char *net;
    size_t slice;
    bool list, weights, drop, chance;
} nn_case;

static const nn_case cases[] = {
    {"mlp:in-out", 0, false, false, false, false},
    {"mlp:in-24-out", 0, false, true, false, false},
    {"mlp:in-24-18-out,act=softplus", 64, false, true, false, false},
    {"mlp:in-24-18-out,act=gelu", 0, true, true, false, false},
    {"mlp:in-50-24-18-out,act=relu,dropout=0.3", 100, true, true, true, false},
    {"mlp:in-24-out,act=gelu,dropout=0.2", 0, false, false, true, false},
    {"mlp:in-24-out", 33, true, true, false, true},
};
enum { CASES = sizeof cases / sizeof *cases };

/* All outputs of a pass, as doubles: gradient, Hv, then by row. */
enum { GRADIENT, HESSIAN, LOSS, CROSS, PROBABILITY, SCORES, FEATURES, OUTPUTS };
typedef struct outputs {
    double loss;
    size_t size[OUTPUTS];
    double *of[OUTPUTS];
    size_t right; /* rows whose class is their label */
} outputs;

static const char *const names[OUTPUTS] = {"gradient",        "Hv",     "row_loss", "row_cross",
                                           "row_probability", "scores", "features"};

static void set_sizes(const blv_nn *net, outputs *o) {
    const size_t sizes[OUTPUTS] = {blv_nn_dim(net),
                                   blv_nn_dim(net),
                                   ROWS,
                                   ROWS,
                                   ROWS,
                                   ROWS * CLASSES,
                                   ROWS * blv_nn_features(net)};
    memcpy(o->size, sizes, sizeof sizes);
}

static void drop_outputs(outputs *o) {
    for (size_t i = 0; i < OUTPUTS; i++)
        free(o->of[i]);
}

/* Numbers in the memory of a table; those that a pass adds to, or leaves alone, begin like this. */
static void *there(const blv_kernels *k, size_t n, const double *numbers) {
    double *zero = nn_memory(n, sizeof *zero);
    void *memory = k->allocate(n * k->real_size);
    assert_non_null(memory);
    for (size_t i = 0; i < n; i++)
        zero[i] = 0.25;
    k->write(n, numbers ? numbers : zero, memory);
    free(zero);
    return memory;
}

static const size_t list[] = {3,   300, 17,  3,  99, 250, 4,  5,  6,  7,  8,
                              120, 121, 122, 0,  33, 34,  35, 36, 37, 38, 39,
                              40,  41,  42,  43, 44, 45,  46, 47, 48, 49, 50};

static outputs run_case(const nn_case *c, const nn_sample *sample, blv_memory_kind memory,
                        blv_precision precision) {
    const blv_kernels *k = blv_kernels_for(memory, precision);
    const blv_nn_kernels *nn = blv_nn_kernels_for(memory);
    assert_non_null(k);
    assert_non_null(nn);
    blv_nn *net = nn_text(c->net, COLUMNS, CLASSES);
    blv_message why = {""};
    if (nn->fits && nn->fits(net, &why) != BLV_OK)
        fail_msg("%s", why.text);
    blv_nn_work *work = nn->work_create(net, precision, ROWS, c->slice, 2);
    assert_non_null(work);
    const blv_rows host = nn_rows(sample, precision);
    blv_rows rows;
    assert_true(k->rows_open(&host, &rows));
    double *params = nn_params(net, 3), *along = nn_normals(blv_nn_dim(net), 0.3, 11);
    double chance[CLASSES * CLASSES];
    for (size_t i = 0; i < CLASSES * CLASSES; i++)
        chance[i] = i % (CLASSES + 1) == 0 ? 0.8 : 0.05;
    void *w = there(k, blv_nn_dim(net), params), *v = there(k, blv_nn_dim(net), along);
    void *weight = there(k, ROWS, sample->weight);
    rows.weight = c->weights ? weight : NULL;
    if (c->list) {
        rows.index = list;
        rows.index_memory = BLV_MEMORY_HOST;
        rows.count = sizeof list / sizeof *list;
    } else {
        rows.first = 5;
        rows.count = ROWS - 9;
    }
    outputs o = {0};
    set_sizes(net, &o);
    void *to[OUTPUTS];
    for (size_t i = 0; i < OUTPUTS; i++)
        to[i] = there(k, o.size[i], NULL);
    int32_t *classes = k->allocate(ROWS * sizeof *classes);
    const bool second = !c->chance;
    const blv_nn_pass pass = {.params = w,
                              .v = second ? v : NULL,
                              .scale = 0.7,
                              .drop = c->drop,
                              .drop_seed = 5,
                              .chance = c->chance ? chance : NULL,
                              .loss = &o.loss,
                              .gradient = to[GRADIENT],
                              .hessian = second ? to[HESSIAN] : NULL,
                              .row_loss = to[LOSS],
                              .row_cross = second ? to[CROSS] : NULL,
                              .row_probability = second ? to[PROBABILITY] : NULL,
                              .row_class = second ? classes : NULL,
                              .row_scores = to[SCORES],
                              .row_features = to[FEATURES]};
    nn->run(work, &rows, &pass);
    for (size_t i = 0; i < OUTPUTS; i++) {
        o.of[i] = nn_memory(o.size[i], sizeof(double));
        k->read(o.size[i], to[i], o.of[i]);
        k->release(to[i]);
    }
    if (k->failure && k->failure())
        fail_msg("%s", k->failure());
    o.right = second ? k->count_right(&rows, classes) : 0;
    k->release(classes);
    k->release(w);
    k->release(v);
    k->release(weight);
    k->rows_close(&rows);
    nn->work_destroy(work);
    blv_nn_destroy(net);
    free(params);
    free(along);
    return o;
}

static double apart(size_t n, const double *a, const double *b) {
    double off = 0.0, size = 0.0;
    for (size_t i = 0; i < n; i++) {
        off += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(off) / (size > 0.0 ? sqrt(size) : 1.0);
}

static void test_against_host(void **state) {
    (void)state;
    nn_sample sample = nn_make_sample(ROWS, COLUMNS, CLASSES, 1);
    for (size_t i = 0; i < 2 * CASES; i++) {
        const nn_case *c = &cases[i / 2];
        const blv_precision precision = i % 2 ? BLV_F32 : BLV_F64;
        const double allowed = precision == BLV_F32 ? 5e-6 : 1e-13;
        outputs a = run_case(c, &sample, BLV_MEMORY_HOST, BLV_F64),
                b = run_case(c, &sample, BLV_MEMORY_CUDA, precision);
        if (!(fabs(b.loss - a.loss) <= allowed * fabs(a.loss)))
            fail_msg("%s: loss %.17g, not %.17g", c->net, b.loss, a.loss);
        assert_int_equal(b.right, a.right);
        for (size_t o = 0; o < OUTPUTS; o++) {
            const double off = apart(a.size[o], b.of[o], a.of[o]);
            if (!(off <= allowed))
                fail_msg("%s %s: %s is %g off, allowed %g", c->net,
                         precision == BLV_F32 ? "f32" : "f64", names[o], off, allowed);
        }
        drop_outputs(&a);
        drop_outputs(&b);
    }
    nn_free_sample(&sample);
}

static void test_same_bits(void **state) {
    (void)state;
    nn_sample sample = nn_make_sample(ROWS, COLUMNS, CLASSES, 2);
    outputs a = run_case(&cases[4], &sample, BLV_MEMORY_CUDA, BLV_F32),
            b = run_case(&cases[4], &sample, BLV_MEMORY_CUDA, BLV_F32);
    assert_true(a.loss == b.loss);
    for (size_t o = 0; o < OUTPUTS; o++)
        assert_memory_equal(a.of[o], b.of[o], a.size[o] * sizeof(double));
    drop_outputs(&a);
    drop_outputs(&b);
    nn_free_sample(&sample);
}

static void test_refused(void **state) {
    (void)state;
    const blv_nn_kernels *nn = blv_nn_kernels_for(BLV_MEMORY_CUDA);
    blv_nn *net = nn_text("resnet18:4,image=3x8x8", 192, 3);
    blv_message why = {""};
    assert_int_equal(nn->fits(net, &why), BLV_E_UNSUPPORTED);
    assert_non_null(strstr(why.text, "mlp"));
    blv_nn_destroy(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_host),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
