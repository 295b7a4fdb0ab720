/* Networks that cannot be made: when memory runs out at every request in turn, by builders that
 * were asked for too much, and from texts that say too much. */
#include "run_testing.h"

#include "memory_sweep.h"
#include "nn/nn.h"

/* ---- Memory ---- */

typedef struct wish {
    const char *text;
    size_t inputs, classes;
    blv_precision precision;
} wish;

static blv_error make_and_pass(void *context, blv_message *why) {
    const wish *w = context;
    blv_nn *net;
    blv_error error = blv_nn_from_text(&net, w->text, w->inputs, w->classes, why);
    assert_true((error == BLV_OK) == (net != NULL));
    if (error != BLV_OK)
        return error;
    blv_nn_work *work = blv_nn_work_create(net, w->precision, 5, 2, 1);
    if (!work)
        snprintf(why->text, sizeof why->text, "no memory for passes");
    error = work ? BLV_OK : BLV_E_MEMORY;
    assert_true(!work || blv_nn_work_bytes(work) > 0);
    blv_nn_work_destroy(work);
    blv_nn_destroy(net);
    return error;
}

static void test_memory(void **state) {
    (void)state;
    const wish wishes[] = {{"mlp:in-out", 3, 2, BLV_F64},
                           {"mlp:in-5-6-7-8-out,act=gelu,dropout=0.2", 4, 3, BLV_F32},
                           {"resnet18:2,image=1x8x8", 64, 3, BLV_F32},
                           {"resnet18:2,act=softplus", 75, 3, BLV_F64}};
    for (size_t i = 0; i < LENGTH(wishes); i++) {
        wish w = wishes[i];
        fail_every_request(w.text, make_and_pass, &w, true);
    }
}

/* ---- Builders ---- */

enum { HEIGHT = 6, WIDTH = 5, CHANNELS = 2 };

static int convolution_of(blv_nn_builder *b, size_t channels, size_t kernel, size_t stride,
                          size_t padding) {
    return blv_nn_convolution(b, "c", 0, channels, kernel, stride, padding, true);
}

static int image(blv_nn_builder *b) {
    return convolution_of(b, 4, 3, 1, 1);
}

static int nothing(blv_nn_builder *b) {
    (void)b;
    return 0;
}

static int no_outputs(blv_nn_builder *b) {
    return blv_nn_linear(b, "a", 0, 0);
}

static int one_class(blv_nn_builder *b) {
    return blv_nn_linear(b, "a", 0, 1);
}

static int no_channels(blv_nn_builder *b) {
    return convolution_of(b, 0, 3, 1, 1);
}

static int no_kernel(blv_nn_builder *b) {
    return convolution_of(b, 4, 0, 1, 0);
}

static int no_stride(blv_nn_builder *b) {
    return convolution_of(b, 4, 3, 0, 1);
}

static int wide_padding(blv_nn_builder *b) {
    return convolution_of(b, 4, 3, 1, 3);
}

static int convolution_of_nothing(blv_nn_builder *b) {
    return blv_nn_convolution(b, "c", -1, 4, 3, 1, 1, true);
}

static int norm_of_nothing(blv_nn_builder *b) {
    return blv_nn_norm(b, "n", 3);
}

static int sum_with_nothing(blv_nn_builder *b) {
    return blv_nn_add(b, image(b), 9);
}

static int sum_with_input(blv_nn_builder *b) {
    return blv_nn_add(b, image(b), 0);
}

static int other_width(blv_nn_builder *b) {
    return blv_nn_add(b, image(b), convolution_of(b, 4, 3, 1, 0));
}

static int pool_of_nothing(blv_nn_builder *b) {
    return blv_nn_pool(b, 9, BLV_NN_MAX, 2, 2);
}

static int pool_without_size(blv_nn_builder *b) {
    return blv_nn_pool(b, image(b), BLV_NN_MAX, 0, 1);
}

static int pool_without_stride(blv_nn_builder *b) {
    return blv_nn_pool(b, image(b), BLV_NN_MAX, 2, 0);
}

static int wide_pool(blv_nn_builder *b) {
    return blv_nn_pool(b, image(b), BLV_NN_AVERAGE, HEIGHT, 1); /* the width is less */
}

static int pool_of_all_of_nothing(blv_nn_builder *b) {
    return blv_nn_pool_all(b, 9);
}

static int dropout_of_nothing(blv_nn_builder *b) {
    return blv_nn_dropout(b, 9, 0.1);
}

static int negative_dropout(blv_nn_builder *b) {
    return blv_nn_dropout(b, image(b), -0.1);
}

static int used_scores(blv_nn_builder *b) {
    int scores = blv_nn_linear(b, "a", 0, 3);
    (void)blv_nn_activate(b, scores, BLV_NN_RELU);
    return scores;
}

/* The first mistake is told, whatever comes after it. */
static int two_mistakes(blv_nn_builder *b) {
    (void)no_outputs(b);
    assert_int_equal(no_stride(b), -1);
    return blv_nn_linear(b, "z", 77, 3);
}

static void test_builders(void **state) {
    (void)state;
    static const struct {
        int (*make)(blv_nn_builder *b);
        const char *says;
    } mistakes[] = {{nothing, "the scores are 6 x 5 x 2"},
                    {no_outputs, "layer a: no outputs"},
                    {one_class, "the scores are 1 x 1 x 1"},
                    {no_channels, "must be positive"},
                    {no_kernel, "must be positive"},
                    {no_stride, "must be positive"},
                    {wide_padding, "smaller than the kernel"},
                    {convolution_of_nothing, "no layer with the output -1"},
                    {norm_of_nothing, "no layer with the output 3"},
                    {sum_with_nothing, "no layer with the output 9"},
                    {sum_with_input, "first layer"},
                    {other_width, "a sum of 6 x 5 x 4 and 4 x 3 x 4"},
                    {pool_of_nothing, "no layer with the output 9"},
                    {pool_without_size, "a pool of 0 x 0 pixels"},
                    {pool_without_stride, "stride 0"},
                    {wide_pool, "a pool of 6 x 6 pixels"},
                    {pool_of_all_of_nothing, "no layer with the output 9"},
                    {dropout_of_nothing, "no layer with the output 9"},
                    {negative_dropout, "dropout of -0.1"},
                    {used_scores, "output 1 is used after the scores"},
                    {two_mistakes, "layer a: no outputs"}};
    for (size_t i = 0; i < LENGTH(mistakes); i++)
        for (int silent = 0; silent < 2; silent++) {
            blv_nn_builder *b = blv_nn_begin((blv_nn_shape){HEIGHT, WIDTH, CHANNELS}, true);
            blv_nn *net = (blv_nn *)&net;
            blv_message why = {""};
            int scores = mistakes[i].make(b);
            assert_int_not_equal(blv_nn_finish(b, scores, &net, silent ? NULL : &why), BLV_OK);
            assert_null(net);
            if (!silent)
                expect_text(why.text, mistakes[i].says);
        }
}

/* An input of two classes that is at once the scores; an input of nothing. */
static void test_inputs(void **state) {
    (void)state;
    blv_nn *net;
    blv_message why = {""};
    blv_nn_builder *b = blv_nn_begin((blv_nn_shape){1, 1, 2}, false);
    assert_int_equal(blv_nn_finish(b, 0, &net, &why), BLV_E_ARGUMENT);
    expect_text(why.text, "there is no layer");
    b = blv_nn_begin((blv_nn_shape){1, 0, 2}, false);
    assert_int_equal(blv_nn_shape_of(b, 5).channels, 0);
    assert_int_equal(blv_nn_shape_of(b, -1).channels, 0);
    assert_int_equal(blv_nn_finish(b, blv_nn_linear(b, "a", 0, 2), &net, &why), BLV_E_ARGUMENT);
    expect_text(why.text, "an input of no numbers");
}

/* A builder for which there was no memory is passed on until the end. */
static void test_no_builder(void **state) {
    (void)state;
    blv_nn *net;
    blv_message why = {""};
    assert_int_equal(blv_nn_shape_of(NULL, 0).channels, 0);
    int node = blv_nn_linear(NULL, "a", 0, 3);
    node = blv_nn_convolution(NULL, "c", node, 1, 1, 1, 0, false);
    node = blv_nn_add(NULL, blv_nn_norm(NULL, "n", node), node);
    node = blv_nn_pool(NULL, blv_nn_activate(NULL, node, BLV_NN_RELU), BLV_NN_MAX, 1, 1);
    node = blv_nn_dropout(NULL, blv_nn_pool_all(NULL, node), 0.5);
    assert_int_equal(node, -1);
    assert_int_equal(blv_nn_finish(NULL, node, &net, &why), BLV_E_MEMORY);
    expect_text(why.text, "memory");
    assert_int_equal(blv_nn_finish(NULL, node, &net, NULL), BLV_E_MEMORY);
}

/* ---- Texts ---- */

static void refuse_text(const char *text, size_t inputs, const char *part) {
    blv_message why = {""};
    blv_nn *net = (blv_nn *)&net;
    assert_int_equal(blv_nn_from_text(&net, text, inputs, 10, NULL), BLV_E_VALUE);
    assert_int_equal(blv_nn_from_text(&net, text, inputs, 10, &why), BLV_E_VALUE);
    assert_null(net);
    expect_text(why.text, part);
}

static void test_texts(void **state) {
    (void)state;
    char sizes[160] = "mlp:in";
    for (int i = 0; i < 32; i++)
        snprintf(sizes + strlen(sizes), sizeof sizes - strlen(sizes), "-9");
    refuse_text(sizes, 64, "more than 32 sizes");
    refuse_text("mlp:in-out,dropout=0.0000000000000000000000000000001", 64, "expected a share");
    refuse_text("resnet18:4,image=0x8x8", 64, "expected channels");
    refuse_text("resnet18:4,image=1", 64, "expected 'x' and the height");
    refuse_text("resnet18:4,image=1x0x8", 64, "expected the height");
    refuse_text("resnet18:4,image=1x8x", 64, "expected the width");
    refuse_text("resnet18:4,dropout=0.1", 64, "expected act= or image=");
    refuse_text("resnet18:4", 30, "no square image"); /* nor thrice a square */
    refuse_text("resnet18:4", 65, "no square image");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory), cmocka_unit_test(test_builders),
        cmocka_unit_test(test_inputs), cmocka_unit_test(test_no_builder),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
