/* Networks that cannot be made: when memory runs out at every request in turn, and from texts that
 * say too much. */
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
    blv_nn *net;
    blv_message why = {""};
    assert_int_equal(blv_nn_from_text(&net, "mlp:in-out", 3, 4097, &why), BLV_E_ARGUMENT);
    assert_null(net);
    expect_text(why.text, "the scores are 1 x 1 x 4097, expected 1 x 1 x 2 to 4096");
    assert_int_equal(blv_nn_from_text(&net, "mlp:in-out", 3, 1, NULL), BLV_E_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
