#include "base/caller_struct.h"
#include "base/message.h"
#include "base/struct_size.h"

blv_error blv_caller_struct(void *own, size_t own_size, const void *given, const char *name,
                            blv_message *why) {
    memset(own, 0, own_size);
    if (blv_struct_take(own, own_size, given))
        return BLV_OK;
    size_t size;
    memcpy(&size, given, sizeof size);
    return blv_explain(why, BLV_E_ARGUMENT,
                       "%s: its size is %zu; expected size = sizeof(%s), at most %zu here", name,
                       size, name, own_size);
}
