#include "base/caller_struct.h"
#include "base/message.h"

#include <string.h>

blv_error blv_caller_struct(void *own, size_t own_size, const void *given, const char *name,
                            blv_message *why) {
    size_t size = 0;
    memset(own, 0, own_size);
    if (given)
        memcpy(&size, given, sizeof size);
    if (given && (size < sizeof size || size > own_size))
        return blv_explain(why, BLV_E_ARGUMENT,
                           "%s: its size is %zu; expected size = sizeof(%s), at most %zu here",
                           name, size, name, own_size);
    if (given)
        memcpy(own, given, size);
    memcpy(own, &own_size, sizeof own_size);
    return BLV_OK;
}
