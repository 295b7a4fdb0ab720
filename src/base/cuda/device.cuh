/* The GPU: its stream, memory, first failure, launches, and vector operations that wait.
 *
 * Everything is put on one stream, in the order of the calls. Updates of vectors are elementwise,
 * so a list of them can be carried out by one launch in which a thread takes the same elements of
 * every operation: they are queued until something else is launched or a scalar is asked for.
 * Scalars come through memory that the host sees: waiting for them is a loop on the host that
 * watches a number change, and the only synchronization there is. */
#pragma once

#include "bilevel/space.h"
extern "C" {
#include "space/later.h"
}

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <mutex>

namespace gpu {

extern cudaStream_t stream;
extern int processors;     /* multiprocessors */
extern size_t shared_most; /* bytes of shared memory that a block can have */
extern std::recursive_mutex lock; /* of the queue and of launches */

blv_error open(blv_message *why);

/* ---- Failures: the first one stays ---- */

bool check(cudaError_t error, const char *call); /* true: none */
#define GPU_CHECK(call) gpu::check((call), #call)
const char *failure(); /* NULL: there was none */
blv_error failure_kind();

/* ---- Memory ---- */

void *allocate(size_t bytes); /* zero; NULL when memory is short */
void release(void *memory);
void upload(void *to, const void *host, size_t bytes); /* the host may change its copy afterwards */
void download(void *host, const void *from, size_t bytes); /* waits */
template <class T> T *room(size_t count) {
    return static_cast<T *>(allocate(count * sizeof(T)));
}

/* Memory that grows as it is needed. */
class buffer {
    void *memory = nullptr;
    size_t size = 0;

  public:
    void *of(size_t bytes) {
        if (bytes > size) {
            release(memory);
            memory = allocate(bytes);
            size = memory ? bytes : 0;
        }
        return memory;
    }
    ~buffer() {
        if (memory)
            cudaFree(memory);
    }
};

/* ---- Scalars that kernels leave for the host ---- */

constexpr size_t SCALARS = 64;
struct answer {
    double value[SCALARS];
    unsigned long long number; /* of the question that is answered */
};
struct question {
    answer *to; /* as the GPU sees it */
    const volatile answer *here;
    unsigned long long number;
};
question ask();                 /* a place for the next answer */
bool wait(const question &asked); /* until it is answered; false: the GPU failed */

/* The kernel's last thread says that the values are there. */
__device__ inline void reply(answer *to, unsigned long long number) {
    __threadfence_system();
    *reinterpret_cast<volatile unsigned long long *>(&to->number) = number;
}

/* ---- Vector operations ---- */

/* EXP: c exp(a); PRODUCT: c times all terms; TASK: see vector_program.cuh, its number is `operation` */
enum vector_kind : uint8_t { LINCOMB, FILL, CLAMP, APPLY, EXP, PRODUCT, TASK };
struct vector_op {
    vector_kind kind;
    uint8_t single; /* float, else double */
    uint8_t count;  /* of the terms */
    uint8_t operation;
    bool starts_wave; /* it meets what one since the last such operation uses */
    uint8_t in_wave, teams_log2; /* where it does: operations of the wave, and who takes them */
    size_t n;
    void *out;
    const void *in[BLV_LINCOMB_MAX];
    double c[BLV_LINCOMB_MAX];
    const double *factor; /* of the second term; NULL: 1 */
};
struct vector_pair {
    const void *a, *b;
    size_t n;
    bool single;
};
void enqueue(const vector_op &op);
void flush();
/* a'b of all pairs; one wait. */
void reduce(size_t count, const vector_pair *pairs, double *result);

/* ---- Numbers that stay on the GPU; see space/later.h ---- */

struct late_numbers {
    double value[BLV_LATER_NUMBERS];
    unsigned not_finite; /* a pair was, since the host has looked */
};
/* A number by its place, or else (place < 0) by its value. */
struct late_operand {
    int place;
    double value;
};
struct late_op {
    int16_t rule, result;
    int wave; /* 0: before the sums of its launch are there; else after what it needs */
    double c;
    late_operand a, b;
};
/* What follows the queued operations: pairs are summed, then numbers are computed. A place < 0: only
 * whether the sum is finite counts. */
void reduce_late(late_numbers *numbers, size_t count, const vector_pair *pairs, const int *place,
                 const bool *is_norm);
void compute_late(late_numbers *numbers, const late_op &op);
double late_value_here(int rule, double c, double a, double b); /* by the host */
/* Waits for them; false: one was not finite, or the GPU has failed. */
bool read_late(late_numbers *numbers, double *value);

/* ---- Launches ---- */

/* Queued operations go first. */
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, A... arguments) {
    std::lock_guard<std::recursive_mutex> hold(lock);
    flush();
    if (grid.x == 0 || grid.y == 0)
        return;
    kernel<<<grid, block, shared, stream>>>(static_cast<P>(arguments)...);
    check(cudaGetLastError(), "a launch");
}

inline unsigned blocks_for(size_t n, unsigned block) {
    return static_cast<unsigned>((n + block - 1) / block);
}

} // namespace gpu
