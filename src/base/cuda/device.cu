#include "base/cuda/device.cuh"

#include <cstdio>
#include <cstring>

namespace gpu {

cudaStream_t stream;
int processors;
size_t shared_most;
std::recursive_mutex lock;

/* ---- Failures ---- */

static char failed[300];
static cudaError_t failed_with = cudaSuccess;

bool check(cudaError_t error, const char *call) {
    if (error == cudaSuccess)
        return true;
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (!failed[0]) {
        snprintf(failed, sizeof failed, "CUDA: %.150s: %s", call, cudaGetErrorString(error));
        failed_with = error;
    }
    return false;
}

const char *failure() {
    return failed[0] ? failed : nullptr;
}

blv_error failure_kind() {
    return failed_with == cudaErrorMemoryAllocation ? BLV_E_MEMORY : BLV_E_DEVICE;
}

/* ---- Opening ---- */

static answer *answers; /* memory of the host that the GPU sees */
static answer *answers_there;

/* Of no driver CUDA says that it is too old. */
static const char *reason(cudaError_t error) {
    int driver = 0;
    const bool none = error == cudaErrorInsufficientDriver &&
                      cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0;
    return none ? "no NVIDIA driver" : cudaGetErrorString(error);
}

blv_error open(blv_message *why) {
    int count = 0, device = 0, most = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count == 0)
        error = cudaErrorNoDevice;
    if (error == cudaSuccess)
        error = cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaHostAlloc(reinterpret_cast<void **>(&answers), SCALARS * sizeof *answers,
                              cudaHostAllocMapped);
    if (error == cudaSuccess)
        error = cudaHostGetDevicePointer(reinterpret_cast<void **>(&answers_there), answers, 0);
    if (error != cudaSuccess) {
        if (why)
            snprintf(why->text, sizeof why->text, "no GPU here: %s", reason(error));
        return BLV_E_UNSUPPORTED;
    }
    memset(answers, 0, SCALARS * sizeof *answers);
    shared_most = static_cast<size_t>(most);
    return BLV_OK;
}

/* ---- Memory ---- */

void *allocate(size_t bytes) {
    void *memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, bytes ? bytes : 1);
    if (error == cudaErrorMemoryAllocation) {
        size_t left = 0, all = 0;
        char call[120];
        cudaGetLastError();
        cudaMemGetInfo(&left, &all);
        snprintf(call, sizeof call, "%zu bytes asked for, %zu of %zu free", bytes, left, all);
        check(error, call);
        return nullptr;
    }
    if (!check(error, "cudaMalloc") || !GPU_CHECK(cudaMemsetAsync(memory, 0, bytes, stream)))
        return nullptr;
    return memory;
}

void release(void *memory) {
    if (!memory)
        return;
    flush();
    GPU_CHECK(cudaFree(memory)); /* waits for what uses it */
}

void upload(void *to, const void *host, size_t bytes) {
    flush();
    GPU_CHECK(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, stream));
    GPU_CHECK(cudaStreamSynchronize(stream));
}

void download(void *host, const void *from, size_t bytes) {
    flush();
    GPU_CHECK(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, stream));
    GPU_CHECK(cudaStreamSynchronize(stream));
}

/* ---- Scalars ---- */

static unsigned long long questions;

question ask() {
    std::lock_guard<std::recursive_mutex> hold(lock);
    const unsigned long long number = ++questions;
    const size_t at = number % SCALARS;
    return {answers_there + at, answers + at, number};
}

bool wait(const question &asked) {
    enum { LOOKS = 4096 };
    for (;;) {
        for (int i = 0; i < LOOKS; i++)
            if (asked.here->number == asked.number) {
                __atomic_thread_fence(__ATOMIC_ACQUIRE);
                return true;
            }
        const cudaError_t error = cudaStreamQuery(stream);
        if (error == cudaErrorNotReady)
            continue;
        if (error == cudaSuccess && asked.here->number == asked.number)
            continue;
        check(error != cudaSuccess ? error : cudaErrorUnknown, "a kernel");
        return false;
    }
}

} // namespace gpu
