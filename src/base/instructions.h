/* Instruction sets that loops are compiled for; the best one is picked at run time.
 *
 * A source of loops is compiled once for each precision and instruction set (blv_isa_sources in
 * src/CMakeLists.txt), with REAL_IS_FLOAT, BLV_PRECISION and BLV_ISA. Each copy has one table of
 * functions. */
#pragma once

#include <stdbool.h>

/* In order of preference. Targets other than x86-64 have the base set alone. */
typedef enum blv_instructions {
    BLV_INSTRUCTIONS_BASE, /* what every processor of the target has */
    BLV_INSTRUCTIONS_AVX2,
    BLV_INSTRUCTIONS_AVX512,
    BLV_INSTRUCTIONS_BEST, /* the best that this processor has */
    BLV_INSTRUCTION_SETS = BLV_INSTRUCTIONS_BEST
} blv_instructions;

bool blv_has_instructions(blv_instructions instructions); /* whether this processor does */
/* The best set up to the wanted one that this processor has; never BEST. */
blv_instructions blv_usable_instructions(blv_instructions wanted);

/* Whether products are not rounded before they are added (fused multiply-add). Loops of all sets
 * that do so give the same bits on every processor, as those do among each other that do not. */
bool blv_instructions_fused(blv_instructions instructions);

/* The name of this copy's table. */
#define BLV_TABLE(name) BLV_TABLE_(name, BLV_PRECISION, BLV_ISA)
#define BLV_TABLE_(name, precision, isa) BLV_TABLE__(name, precision, isa)
#define BLV_TABLE__(name, precision, isa) name##_##precision##_##isa

/* All copies of a table, as name_tables[whether in single precision][instructions]. */
#if defined(__x86_64__)
#define BLV_TABLES(type, name)                                                                     \
    extern const type name##_f64_base, name##_f64_avx2, name##_f64_avx512;                         \
    extern const type name##_f32_base, name##_f32_avx2, name##_f32_avx512;                         \
    static const type *const name##_tables[2][BLV_INSTRUCTION_SETS] = {                            \
        {&name##_f64_base, &name##_f64_avx2, &name##_f64_avx512},                                  \
        {&name##_f32_base, &name##_f32_avx2, &name##_f32_avx512}}
#else
#define BLV_TABLES(type, name)                                                                     \
    extern const type name##_f64_base, name##_f32_base;                                            \
    static const type *const name##_tables[2][BLV_INSTRUCTION_SETS] = {{&name##_f64_base},         \
                                                                       {&name##_f32_base}}
#endif
