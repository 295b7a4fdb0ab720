/* Networks from a short text: "mlp:784-128-10,act=gelu,dropout=0.2", "resnet18:16". */
#include "base/message.h"
#include "base/number_text.h"
#include "nn/nn.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES_MAX = 32, UNITS_MAX = 1 << 20, PLANES_MAX = 1024 };

typedef struct reader {
    const char *text, *at;
    size_t inputs, classes;
    blv_message *why;
} reader;

/* What follows the first colon: all that a text can say. */
typedef struct plan {
    size_t sizes[SIZES_MAX], size_count;
    blv_nn_activation activation;
    double dropout;
    blv_nn_shape image;
} plan;

static bool wrong(reader *r, const char *format, ...) BLV_PRINTF(2, 3);

static bool wrong(reader *r, const char *format, ...) {
    char what[200];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    blv_explain(r->why, BLV_E_VALUE, "network '%.100s': at character %td: %s", r->text,
                r->at - r->text + 1, what);
    return false;
}

/* Goes past the word when it is there and ends there. */
static bool take(reader *r, const char *word) {
    const size_t length = strlen(word);
    if (strncmp(r->at, word, length) != 0)
        return false;
    r->at += length;
    return true;
}

static bool take_word(reader *r, const char *word) {
    return strcspn(r->at, ",-") == strlen(word) && take(r, word);
}

static bool take_whole(reader *r, size_t most, const char *what, size_t *value) {
    const size_t length = strspn(r->at, "0123456789");
    unsigned long number = length > 0 && length < 10 ? strtoul(r->at, NULL, 10) : 0;
    if (number == 0 || number > most)
        return wrong(r, "expected %s, from 1 to %zu", what, most);
    *value = number;
    r->at += length;
    return true;
}

static bool take_size(reader *r, plan *p) {
    if (p->size_count == SIZES_MAX)
        return wrong(r, "more than %d sizes", SIZES_MAX);
    size_t *size = &p->sizes[p->size_count++];
    if (take_word(r, "in"))
        *size = r->inputs;
    else if (take_word(r, "out"))
        *size = r->classes;
    else
        return take_whole(r, UNITS_MAX, "a number of units, `in` or `out`", size);
    return true;
}

static bool take_sizes(reader *r, plan *p) {
    const char *first = r->at, *last;
    do {
        last = r->at;
        if (!take_size(r, p))
            return false;
    } while (take(r, "-"));
    if (*r->at && *r->at != ',')
        return wrong(r, "expected '-', ',' or the end");
    if (p->size_count < 2)
        return wrong(r, "expected '-' and the next number of units");
    if (p->sizes[0] != r->inputs) {
        r->at = first;
        return wrong(r, "%zu inputs, but a row of the data has %zu numbers", p->sizes[0],
                     r->inputs);
    }
    if (p->sizes[p->size_count - 1] != r->classes) {
        r->at = last;
        return wrong(r, "%zu outputs, but the data have %zu classes", p->sizes[p->size_count - 1],
                     r->classes);
    }
    return true;
}

static bool take_activation(reader *r, plan *p) {
    static const char *const names[] = {"relu", "softplus", "gelu"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (take_word(r, names[i])) {
            p->activation = (blv_nn_activation)i;
            return true;
        }
    return wrong(r, "expected relu, softplus or gelu");
}

static bool take_share(reader *r, plan *p) {
    const size_t length = strspn(r->at, "0123456789.");
    char number[24] = "";
    if (length < sizeof number)
        memcpy(number, r->at, length);
    if (blv_number_parse(number, &p->dropout) != 0 || !(p->dropout < 1.0))
        return wrong(r, "expected a share from 0 to below 1");
    r->at += length;
    return true;
}

static bool take_image(reader *r, plan *p) {
    static const char *const names[] = {"channels", "the height", "the width"};
    const char *first = r->at;
    size_t sizes[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        if (i > 0 && !take(r, "x"))
            return wrong(r, "expected 'x' and %s", names[i]);
        if (!take_whole(r, UNITS_MAX, names[i], &sizes[i]))
            return false;
    }
    p->image = (blv_nn_shape){.channels = sizes[0], .height = sizes[1], .width = sizes[2]};
    if (sizes[0] * sizes[1] * sizes[2] == r->inputs)
        return true;
    r->at = first;
    return wrong(r, "an image of %zu numbers, but a row of the data has %zu",
                 sizes[0] * sizes[1] * sizes[2], r->inputs);
}

static bool take_options(reader *r, plan *p, bool image) {
    bool good = true;
    while (good && take(r, ",")) {
        if (take(r, "act="))
            good = take_activation(r, p);
        else if (!image && take(r, "dropout="))
            good = take_share(r, p);
        else if (image && take(r, "image="))
            good = take_image(r, p);
        else
            return wrong(r, "expected act= or %s", image ? "image=" : "dropout=");
    }
    return good && (!*r->at || wrong(r, "expected ',' or the end"));
}

/* ---- The architectures: each returns its scores ---- */

static int add_mlp(blv_nn *net, const plan *p) {
    int node = 0;
    for (size_t i = 1;; i++) {
        char name[24];
        snprintf(name, sizeof name, "fc%zu", i);
        node = blv_nn_linear(net, name, node, p->sizes[i]);
        if (i + 1 == p->size_count)
            return node;
        node = blv_nn_activate(net, node, p->activation);
        if (p->dropout > 0.0)
            node = blv_nn_dropout(net, node, p->dropout);
    }
}

static int convolve(blv_nn *net, const char *block, const char *what, int from, size_t channels,
                    size_t kernel, size_t stride) {
    char name[96];
    snprintf(name, sizeof name, "%s%s", block, what);
    const int node = blv_nn_convolution(net, name, from, channels, kernel, stride, kernel / 2);
    snprintf(name, sizeof name, "%s%s.norm", block, what);
    return blv_nn_norm(net, name, node);
}

/* Two convolutions and a way around them. */
static int residual(blv_nn *net, const char *block, int from, size_t channels, size_t stride,
                    blv_nn_activation activation) {
    int node = convolve(net, block, ".conv1", from, channels, 3, stride);
    node = blv_nn_activate(net, node, activation);
    node = convolve(net, block, ".conv2", node, channels, 3, 1);
    const bool same = stride == 1 && blv_nn_shape_of(net, from).channels == channels;
    const int around = same ? from : convolve(net, block, ".around", from, channels, 1, stride);
    return blv_nn_activate(net, blv_nn_add(net, node, around), activation);
}

static int add_resnet18(blv_nn *net, const plan *p, size_t classes) {
    const size_t planes = p->sizes[0];
    int node = convolve(net, "stem", "", 0, planes, 3, 1);
    node = blv_nn_activate(net, node, p->activation);
    for (size_t stage = 0; stage < 4; stage++)
        for (size_t i = 0; i < 2; i++) {
            char block[64];
            snprintf(block, sizeof block, "stage%zu.block%zu", stage + 1, i + 1);
            const size_t stride = stage > 0 && i == 0 ? 2 : 1;
            node = residual(net, block, node, planes << stage, stride, p->activation);
        }
    return blv_nn_linear(net, "fc", blv_nn_pool(net, node), classes);
}

static bool is_square(size_t pixels, size_t *side) {
    *side = (size_t)(sqrt((double)pixels) + 0.5);
    return *side * *side == pixels;
}

/* The image, unless the text has told. */
static bool guess_image(reader *r, plan *p) {
    size_t side;
    if (p->image.channels > 0)
        return true;
    if (r->inputs % 3 == 0 && is_square(r->inputs / 3, &side))
        p->image = (blv_nn_shape){side, side, 3};
    else if (is_square(r->inputs, &side))
        p->image = (blv_nn_shape){side, side, 1};
    else
        return wrong(r,
                     "rows of %zu numbers are no square image: add "
                     ",image=CHANNELSxHEIGHTxWIDTH",
                     r->inputs);
    return true;
}

blv_error blv_nn_from_text(blv_nn **net, const char *text, size_t inputs, size_t classes,
                           blv_message *why) {
    reader r = {.text = text, .at = text, .inputs = inputs, .classes = classes, .why = why};
    plan p = {.activation = BLV_NN_RELU};
    *net = NULL;
    const bool mlp = take(&r, "mlp:");
    const bool good = mlp ? take_sizes(&r, &p) && take_options(&r, &p, false)
                      : take(&r, "resnet18:")
                          ? take_whole(&r, PLANES_MAX, "a number of planes", p.sizes) &&
                                take_options(&r, &p, true) && guess_image(&r, &p)
                          : wrong(&r, "expected mlp: or resnet18:");
    if (!good)
        return BLV_E_VALUE;
    blv_nn *made = blv_nn_begin(mlp ? (blv_nn_shape){1, 1, inputs} : p.image, !mlp);
    if (!made)
        return blv_explain(why, BLV_E_MEMORY, "network: out of memory");
    blv_error error =
        blv_nn_finish(made, mlp ? add_mlp(made, &p) : add_resnet18(made, &p, classes), why);
    if (error == BLV_OK)
        *net = made;
    else
        blv_nn_destroy(made);
    return error;
}
