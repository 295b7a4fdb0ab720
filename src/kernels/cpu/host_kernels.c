/* The table of host memory: sweeps and element loops from their files, and the short loops that
 * need no special instructions, for both precisions. Serial, in a fixed order. */
#include "kernels/cpu/host_kernels.h"
#include "kernels/cpu/host_sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(size_t bytes) {
    return calloc(1, bytes ? bytes : 1);
}

static void write_bytes(size_t bytes, const void *host, void *to) {
    memcpy(to, host, bytes);
}

static bool rows_open(const blv_rows *host, blv_rows *rows) {
    *rows = *host;
    return true;
}

static void rows_close(blv_rows *rows) {
    *rows = (blv_rows){0};
}

static size_t row_at(const blv_rows *rows, size_t i) {
    return rows->index ? rows->index[i] : rows->first + i;
}

static size_t count_right(const blv_rows *rows, const int32_t *guess) {
    size_t right = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const size_t row = rows->index ? rows->index[i] : rows->first + i;
        right += guess[row] == rows->label[row];
    }
    return right;
}

extern const blv_element_loops blv_element_loops_f64_base, blv_element_loops_f64_avx2,
    blv_element_loops_f64_avx512, blv_element_loops_f32_base, blv_element_loops_f32_avx2,
    blv_element_loops_f32_avx512;

#define REAL double
#define NAMED(name) name##_f64
#define PRECISION BLV_F64
#define LOOPS(isa) &blv_element_loops_f64_##isa
#include "kernels/cpu/host_kernels_body.h"
#undef REAL
#undef NAMED
#undef PRECISION
#undef LOOPS

#define REAL float
#define NAMED(name) name##_f32
#define PRECISION BLV_F32
#define LOOPS(isa) &blv_element_loops_f32_##isa
#include "kernels/cpu/host_kernels_body.h"

const blv_kernels *blv_host_kernels(blv_precision precision) {
    const blv_instructions best = blv_usable_instructions(BLV_INSTRUCTIONS_BEST);
    return precision == BLV_F32 ? &host_f32[best] : &host_f64[best];
}
