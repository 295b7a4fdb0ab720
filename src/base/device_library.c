#include "base/device_library.h"
#include "base/message.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
    const blv_device_tables *tables;
    blv_message reason;
} device_library;

static void load(void) {
    void *library = dlopen(BLV_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *said = dlerror();
        blv_explain(&device_library.reason, BLV_E_UNSUPPORTED, "no CUDA here: %.250s",
                    said ? said : "");
        return;
    }
    blv_device_entry entry = NULL;
    void *symbol = dlsym(library, BLV_DEVICE_ENTRY);
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no conversion */
    const blv_device_tables *found = entry ? entry() : NULL;
    if (!found || strcmp(found->version, blv_version()) != 0)
        blv_explain(&device_library.reason, BLV_E_UNSUPPORTED,
                    "no CUDA here: %s is not of version %s", BLV_CUDA_LIBRARY, blv_version());
    else if (found->open(&device_library.reason) == BLV_OK)
        device_library.tables = found;
}

const blv_device_tables *blv_device_library(blv_message *why) {
    pthread_once(&once, load);
    if (!device_library.tables)
        blv_explain(why, BLV_E_UNSUPPORTED, "%s", device_library.reason.text);
    return device_library.tables;
}
