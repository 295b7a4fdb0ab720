#include "base/instructions.h"
#include "base/message.h"
#include "bilevel/arithmetic.h"

#include <stdatomic.h>
#include <string.h>

/* The best set that may be used. */
static atomic_int instructions_limit = BLV_INSTRUCTIONS_AVX512;

static const char *const names[] = {
#if defined(__aarch64__)
    "neon"
#elif defined(__x86_64__)
    "base", "avx2", "avx512"
#else
    "base"
#endif
};
#define QUOTE(x) #x
#define VERSION_TEXT(major, minor, patch) QUOTE(major) "." QUOTE(minor) "." QUOTE(patch)
#define VERSION VERSION_TEXT(BLV_VERSION_MAJOR, BLV_VERSION_MINOR, BLV_VERSION_PATCH)

enum { NAMES = sizeof names / sizeof *names };

#if defined(__x86_64__)
bool blv_has_instructions(blv_instructions instructions) {
    __builtin_cpu_init();
    switch (instructions) {
    case BLV_INSTRUCTIONS_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("fma");
    case BLV_INSTRUCTIONS_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    default:
        return true;
    }
}
#else
bool blv_has_instructions(blv_instructions instructions) {
    return instructions == BLV_INSTRUCTIONS_BASE;
}
#endif

bool blv_instructions_fused(blv_instructions instructions) {
#if defined(__aarch64__)
    (void)instructions;
    return true;
#else
    return blv_usable_instructions(instructions) != BLV_INSTRUCTIONS_BASE;
#endif
}

blv_instructions blv_usable_instructions(blv_instructions wanted) {
    if (wanted == BLV_INSTRUCTIONS_BEST)
        wanted = (blv_instructions)atomic_load(&instructions_limit);
    while (!blv_has_instructions(wanted))
        wanted = (blv_instructions)(wanted - 1);
    return wanted;
}

const char *blv_instructions_name(void) {
    return names[blv_usable_instructions(BLV_INSTRUCTIONS_BEST)];
}

blv_error blv_instructions_use(const char *name, blv_message *why) {
    if (!name || strcmp(name, "best") == 0) {
        atomic_store(&instructions_limit, BLV_INSTRUCTIONS_AVX512);
        return BLV_OK;
    }
    for (int i = 0; i < NAMES; i++) {
        if (strcmp(name, names[i]) != 0)
            continue;
        if (!blv_has_instructions((blv_instructions)i))
            return blv_explain(why, BLV_E_UNSUPPORTED, "this processor has no %s", name);
        atomic_store(&instructions_limit, i);
        return BLV_OK;
    }
    return blv_explain(why, BLV_E_NAME, "there are no instructions '%.40s'; expected best, %s%s",
                       name, names[0], NAMES > 1 ? ", avx2 or avx512" : "");
}

const char *blv_arithmetic_version(void) {
#if defined(__aarch64__)
    return VERSION " on ARM";
#else
    return blv_instructions_fused(BLV_INSTRUCTIONS_BEST) ? blv_version() : VERSION " without FMA";
#endif
}
