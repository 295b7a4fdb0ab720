/* Which instructions of the processor the loops of the library use, and what that means for bits.
 *
 * Build, seed, precision and arithmetic determine a result, bit by bit. The arithmetic is one of:
 *
 *   x86-64 with AVX2 or AVX-512 and FMA (Intel since 2013, AMD since 2015): a product is not
 * rounded before it is added x86-64 without FMA: it is rounded first 64-bit ARM: as x86-64 with
 * FMA, and the loops over data and vectors give the same bits; but functions of the C library do
 * not (of glibc 2.36 hypot and cbrt, which some solvers use), so that whole runs may differ in last
 * bits
 *
 * The functions of the C library (exp, log, pow) may also differ from one version of it to another.
 */
#ifndef BILEVEL_ARITHMETIC_H
#define BILEVEL_ARITHMETIC_H

#include "bilevel/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "avx512", "avx2", "neon" or "base": what is in use. Static storage. */
BLV_API const char *blv_instructions_name(void);

/* Uses no better instructions than these from here on, in the whole process: "base" computes on any
 * processor what one without FMA does, "best" (or NULL) is the default. For problems and spaces
 * that are created afterwards; call it before any other function. BLV_E_NAME where there is no such
 * name, BLV_E_UNSUPPORTED where the processor does not have them. */
BLV_API blv_error blv_instructions_use(const char *name, blv_message *why);

/* The version, with " without FMA" or " on ARM" where that is so: programs for which this is the
 * same, with the same C library, give the same bits. Runs and checkpoints keep it. Static storage.
 */
BLV_API const char *blv_arithmetic_version(void);

#ifdef __cplusplus
}
#endif

#endif
