/* What the parts of bench_cuda share. */
#pragma once

#include "bilevel/bilevel.h"
#include "bilevel/cuda.h"
#include "bilevel/registry.h"
extern "C" {
#include "base/device_library.h"
#include "kernels/kernel_table.h"
}

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <string>
#include <vector>

extern cudaStream_t stream;
extern const blv_device_tables *tables;

void measure_steps();
void measure_clean();
/* The ratios of the other tools to our seconds, and the end of the line. */
void print_ratios(const char *name, size_t n, double ours);
/* Seconds of another tool; NAN: not measured. */
double peer_seconds(const std::string &name);

inline void expect(bool well, const char *text) {
    if (well)
        return;
    fprintf(stderr, "bench_cuda: %s\n", text);
    exit(1);
}

inline void check(cudaError_t error) {
    expect(error == cudaSuccess, cudaGetErrorString(error));
}

/* Median seconds of a call. */
template <class F> double seconds_of(F call, int samples = 15, int calls = 1) {
    std::vector<float> times;
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    for (int i = 0; i < samples + 3; i++) {
        float milliseconds;
        check(cudaEventRecord(begin, stream));
        for (int c = 0; c < calls; c++)
            call();
        check(cudaEventRecord(end, stream));
        check(cudaEventSynchronize(end));
        check(cudaEventElapsedTime(&milliseconds, begin, end));
        if (i >= 3)
            times.push_back(milliseconds);
    }
    std::sort(times.begin(), times.end());
    return 1e-3 * times[times.size() / 2] / calls;
}

/* ---- A sweep ---- */

template <class real> __global__ void fill_random(size_t n, real *out, float size, uint64_t seed) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
         i += size_t(gridDim.x) * blockDim.x) {
        uint64_t z = i * 0x9e3779b97f4a7c15u + seed * 0xd1b54a32d192ed03u;
        z = (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u;
        z ^= z >> 32;
        out[i] = real(size * (float(z >> 40) * 0x1p-24f - 0.5f));
    }
}

template <class real> real *randoms(size_t n, float size, uint64_t seed) {
    real *out;
    check(cudaMalloc(&out, (n + 4) * sizeof(real)));
    fill_random<<<1024, 256, 0, stream>>>(n, out, size, seed);
    return out;
}

enum { GRADIENT = 1, HESSIAN = 2, CROSS = 4, ALL = 7, AGAIN = 8 };

/* The same numbers in either precision. */
template <class real> struct instance {
    size_t rows, columns, classes;
    const blv_kernels *k;
    blv_rows data = {};
    blv_sweep sweep = {};
    blv_sweep_work *work;

    instance(size_t n, size_t d, size_t c) : rows(n), columns(d), classes(c) {
        k = static_cast<const blv_kernels *>(tables->kernels[sizeof(real) == 4 ? BLV_F32 : BLV_F64]);
        std::vector<int32_t> label(n);
        for (size_t i = 0; i < n; i++)
            label[i] = int32_t((i * 2654435761u >> 7) % (c > 1 ? c : 2));
        blv_rows raw = {};
        raw.rows = raw.count = n;
        raw.columns = raw.stride = d;
        raw.dense = randoms<real>(n * d, 1.0f, 1);
        raw.label = label.data();
        expect(k->rows_open(&raw, &data), "no memory for rows");
        check(cudaFree(const_cast<void *>(raw.dense)));
        data.logit = randoms<real>(n, 4.0f, 2);
        sweep.classes = c;
        sweep.w = randoms<real>(c * d, 0.1f, 3);
        sweep.v = randoms<real>(c * d, 0.1f, 4);
        sweep.scale = 1.0 / double(n);
        sweep.ridge = 1e-3;
        sweep.row_slope = sweep.scale;
        work = k->sweep_open(c, d, false, n, 1);
        k->sweep_keep(work, n);
        gradient = randoms<real>(c * d, 1.0f, 5);
        hessian = randoms<real>(c * d, 1.0f, 6);
        cross = randoms<real>(n, 1.0f, 7);
    }
    ~instance() {
        k->sweep_close(work);
        for (const void *p : {data.logit, sweep.w, sweep.v, static_cast<const void *>(gradient),
                              static_cast<const void *>(hessian), static_cast<const void *>(cross)})
            cudaFree(const_cast<void *>(p));
        k->rows_close(&data);
    }
    void run(int outputs) {
        blv_sweep s = sweep;
        if (!(outputs & (HESSIAN | CROSS)))
            s.v = nullptr;
        s.gradient = outputs & GRADIENT ? gradient : nullptr;
        s.hessian = outputs & HESSIAN ? hessian : nullptr;
        s.row_cross = outputs & CROSS ? cross : nullptr;
        s.keep = outputs & AGAIN;
        k->sweep(&data, &s, work);
    }
    real *gradient, *hessian, *cross;

    std::vector<double> got(const real *from, size_t n) const {
        std::vector<double> host(n);
        k->read(n, from, host.data());
        return host;
    }
};
