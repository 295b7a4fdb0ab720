#define _GNU_SOURCE /* dladdr */
#include "base/device_library.h"
#include "base/message.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
    const blv_device_tables *tables;
    blv_message reason;
} device_library;

/* Beside this library, else where the system looks. */
static void *open_library(void) {
    char path[4096];
    Dl_info here;
    if (dladdr(&device_library, &here) && here.dli_fname && strchr(here.dli_fname, '/')) {
        const int folder = (int)(strrchr(here.dli_fname, '/') - here.dli_fname);
        const int size =
            snprintf(path, sizeof path, "%.*s/%s", folder, here.dli_fname, BLV_CUDA_LIBRARY);
        if (size > 0 && (size_t)size < sizeof path && access(path, F_OK) == 0)
            return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return dlopen(BLV_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

static void load(void) {
    void *library = open_library();
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
