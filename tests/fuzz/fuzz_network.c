/* Architectures of networks as texts. */
#include "nn/nn.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t inputs[] = {784, 3072, 48, 5};
    if (size == 0)
        return 0;
    char *text = malloc(size);
    if (!text)
        abort();
    memcpy(text, data, size - 1);
    text[size - 1] = '\0';
    blv_nn *net = NULL;
    blv_message why = {""};
    blv_error error = blv_nn_from_text(&net, text, inputs[data[size - 1] % 4], 10, &why);
    if ((error == BLV_OK) != (net != NULL) || (error != BLV_OK) != (why.text[0] != '\0'))
        abort();
    if (net && (blv_nn_classes(net) != 10 || blv_nn_dim(net) == 0))
        abort();
    blv_nn_destroy(net);
    free(text);
    return 0;
}
