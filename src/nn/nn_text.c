/* Networks from a short text: "mlp:784-128-10,act=gelu,dropout=0.2", "resnet18:16". */
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
    blv_error error;
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
    r->error = BLV_E_VALUE;
    if (r->why) {
        char what[200];
        va_list args;
        va_start(args, format);
        vsnprintf(what, sizeof what, format, args);
        va_end(args);
        snprintf(r->why->text, sizeof r->why->text, "network '%.100s': at character %td: %s",
                 r->text, r->at - r->text + 1, what);
    }
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

static size_t word_length(const reader *r) {
    return strcspn(r->at, ",-");
}

static bool take_word(reader *r, const char *word) {
    return word_length(r) == strlen(word) && take(r, word);
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
    blv_nn_shape *image = &p->image;
    const char *first = r->at;
    if (!take_whole(r, UNITS_MAX, "channels", &image->channels))
        return false;
    if (!take(r, "x"))
        return wrong(r, "expected 'x' and the height");
    if (!take_whole(r, UNITS_MAX, "the height", &image->height))
        return false;
    if (!take(r, "x"))
        return wrong(r, "expected 'x' and the width");
    if (!take_whole(r, UNITS_MAX, "the width", &image->width))
        return false;
    if (image->channels * image->height * image->width == r->inputs)
        return true;
    r->at = first;
    return wrong(r, "an image of %zu numbers, but a row of the data has %zu",
                 image->channels * image->height * image->width, r->inputs);
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

/* ---- The architectures ---- */

static blv_error make_mlp(const plan *p, blv_nn **net, blv_message *why) {
    blv_nn_builder *b = blv_nn_begin((blv_nn_shape){1, 1, p->sizes[0]}, false);
    int node = 0;
    for (size_t i = 1; i < p->size_count; i++) {
        char name[24];
        snprintf(name, sizeof name, "fc%zu", i);
        node = blv_nn_linear(b, name, node, p->sizes[i]);
        if (i + 1 == p->size_count)
            break;
        node = blv_nn_activate(b, node, p->activation);
        if (p->dropout > 0.0)
            node = blv_nn_dropout(b, node, p->dropout);
    }
    return blv_nn_finish(b, node, net, why);
}

static int convolve(blv_nn_builder *b, const char *block, const char *what, int from,
                    size_t channels, size_t kernel, size_t stride) {
    char name[96];
    snprintf(name, sizeof name, "%s%s", block, what);
    const int node = blv_nn_convolution(b, name, from, channels, kernel, stride, kernel / 2, false);
    snprintf(name, sizeof name, "%s%s.norm", block, what);
    return blv_nn_norm(b, name, node);
}

/* Two convolutions and a way around them. */
static int residual(blv_nn_builder *b, const char *block, int from, size_t channels, size_t stride,
                    blv_nn_activation activation) {
    int node = convolve(b, block, ".conv1", from, channels, 3, stride);
    node = blv_nn_activate(b, node, activation);
    node = convolve(b, block, ".conv2", node, channels, 3, 1);
    const bool same = stride == 1 && blv_nn_shape_of(b, from).channels == channels;
    const int around = same ? from : convolve(b, block, ".around", from, channels, 1, stride);
    return blv_nn_activate(b, blv_nn_add(b, node, around), activation);
}

static blv_error make_resnet18(const plan *p, size_t classes, blv_nn **net, blv_message *why) {
    const size_t planes = p->sizes[0];
    blv_nn_builder *b = blv_nn_begin(p->image, true);
    int node = convolve(b, "stem", "", 0, planes, 3, 1);
    node = blv_nn_activate(b, node, p->activation);
    for (size_t stage = 0; stage < 4; stage++)
        for (size_t i = 0; i < 2; i++) {
            char block[64];
            snprintf(block, sizeof block, "stage%zu.block%zu", stage + 1, i + 1);
            const size_t stride = stage > 0 && i == 0 ? 2 : 1;
            node = residual(b, block, node, planes << stage, stride, p->activation);
        }
    node = blv_nn_pool_all(b, node);
    node = blv_nn_linear(b, "fc", node, classes);
    return blv_nn_finish(b, node, net, why);
}

static bool is_square(size_t pixels, size_t *side) {
    *side = (size_t)(sqrt((double)pixels) + 0.5);
    return *side * *side == pixels;
}

static bool guess_image(reader *r, plan *p) {
    size_t side;
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
    if (!mlp && !take(&r, "resnet18:")) {
        wrong(&r, "expected mlp: or resnet18:");
        return r.error;
    }
    if (!(mlp ? take_sizes(&r, &p) : take_whole(&r, PLANES_MAX, "a number of planes", p.sizes)) ||
        !take_options(&r, &p, !mlp) || !(mlp || p.image.channels > 0 || guess_image(&r, &p)))
        return r.error;
    return mlp ? make_mlp(&p, net, why) : make_resnet18(&p, classes, net, why);
}
