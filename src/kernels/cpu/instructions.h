/* Instruction sets that kernels are compiled for; the best one is picked at run time. */
#ifndef BLV_KERNELS_CPU_INSTRUCTIONS_H
#define BLV_KERNELS_CPU_INSTRUCTIONS_H

#include <stdbool.h>

/* In order of preference. */
typedef enum blv_instructions {
    BLV_INSTRUCTIONS_BASE,
    BLV_INSTRUCTIONS_AVX2,
    BLV_INSTRUCTIONS_AVX512,
    BLV_INSTRUCTIONS_BEST, /* the best that this processor has */
    BLV_INSTRUCTION_SETS = BLV_INSTRUCTIONS_BEST
} blv_instructions;

bool blv_has_instructions(blv_instructions instructions); /* whether this processor does */
/* The best set up to the wanted one that this processor has; never BEST. */
blv_instructions blv_usable_instructions(blv_instructions wanted);

#endif
