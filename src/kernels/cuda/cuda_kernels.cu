/* The table of a GPU's memory: rows go there once, sweeps take the fastest pass that fits. */
#include "kernels/cuda/cuda_kernels.cuh"
#include "bilevel/problem.h"
#include "kernels/cuda/cuda_elements.cuh"
#include "kernels/cuda/cuda_split.cuh"

#include <cstdlib>
#include <cstring>
#include <vector>

/* ---- Memory ---- */

template <class real> static void write(size_t n, const double *host, void *to) {
    std::vector<real> narrow(host, host + n);
    gpu::upload(to, narrow.data(), n * sizeof(real));
}

template <class real> static void read(size_t n, const void *from, double *host) {
    std::vector<real> narrow(n);
    gpu::download(narrow.data(), from, n * sizeof(real));
    for (size_t i = 0; i < n; i++)
        host[i] = double(narrow[i]);
}

static void write_bytes(size_t bytes, const void *host, void *to) {
    gpu::upload(to, host, bytes);
}

/* Frees what a copy of rows has. */
static void rows_close(blv_rows *rows) {
    const void *all[] = {rows->dense,  rows->split, rows->row_start,    rows->column,
                         rows->value,  rows->column_start, rows->row,   rows->column_value,
                         rows->label,  rows->target};
    for (const void *memory : all)
        gpu::release(const_cast<void *>(memory));
    memset(rows, 0, sizeof *rows);
}

/* A copy of count elements there; NULL in, NULL out. */
template <class T> static bool copy_there(const T **there, size_t count) {
    const T *host = *there;
    *there = nullptr;
    if (!host)
        return true;
    T *memory = gpu::room<T>(count);
    *there = memory;
    if (memory)
        gpu::upload(memory, host, count * sizeof(T));
    return memory != nullptr;
}

/* Whether sweeps are for tensor cores: logistic ones of few columns are not. */
static bool suits_tensors(const blv_rows *host) {
    bool more = host->columns > 128;
    for (size_t i = 0; host->label && !more && i < host->rows; i++)
        more = host->label[i] > 1;
    return more;
}

/* Rows begin at multiples of 16 bytes. The host's may be in the GPU's memory already. */
template <class real> static bool copy_dense(const blv_rows *host, blv_rows *rows) {
    const size_t whole = 16 / sizeof(real);
    rows->stride = (host->columns + whole - 1) / whole * whole;
    real *there = gpu::room<real>(host->rows * rows->stride);
    rows->dense = there;
    if (!there)
        return false;
    gpu::flush();
    GPU_CHECK(cudaMemcpy2DAsync(there, rows->stride * sizeof(real), host->dense,
                                host->stride * sizeof(real), host->columns * sizeof(real),
                                host->rows, cudaMemcpyDefault, gpu::stream));
    GPU_CHECK(cudaStreamSynchronize(gpu::stream));
    if constexpr (sizeof(real) == sizeof(float))
        if (suits_tensors(host))
            rows->split = split_dense(there, rows->stride, rows->rows, rows->columns);
    return true;
}

/* The same entries by column, where the data set has no such copy. */
template <class real> struct columns_of {
    std::vector<size_t> start;
    std::vector<uint32_t> row;
    std::vector<real> value;

    explicit columns_of(const blv_rows *r)
        : start(r->columns + 1), row(r->row_start[r->rows]), value(r->row_start[r->rows]) {
        for (size_t e = 0; e < row.size(); e++)
            start[r->column[e] + 1]++;
        for (size_t j = 0; j < r->columns; j++)
            start[j + 1] += start[j];
        std::vector<size_t> next(start.begin(), start.end() - 1);
        for (size_t i = 0; i < r->rows; i++)
            for (size_t e = r->row_start[i]; e < r->row_start[i + 1]; e++) {
                const size_t at = next[r->column[e]]++;
                row[at] = uint32_t(i);
                value[at] = static_cast<const real *>(r->value)[e];
            }
    }
};

template <class real> static bool copy_sparse(const blv_rows *host, blv_rows *rows) {
    const size_t entries = host->row_start[host->rows];
    auto *value = static_cast<const real *>(host->value),
         *column_value = static_cast<const real *>(host->column_value);
    const columns_of<real> *made = host->column_start ? nullptr : new columns_of<real>(host);
    rows->column_start = made ? made->start.data() : host->column_start;
    rows->row = made ? made->row.data() : host->row;
    column_value = made ? made->value.data() : column_value;
    rows->row_start = host->row_start;
    rows->column = host->column;
    bool well = copy_there(&rows->row_start, host->rows + 1);
    well = copy_there(&rows->column, entries) && well;
    well = copy_there(&value, entries) && well;
    well = copy_there(&rows->column_start, host->columns + 1) && well;
    well = copy_there(&rows->row, entries) && well;
    well = copy_there(&column_value, entries) && well;
    rows->value = value;
    rows->column_value = column_value;
    delete made;
    return well;
}

template <class real> static bool rows_open(const blv_rows *host, blv_rows *rows) {
    memset(rows, 0, sizeof *rows);
    rows->rows = host->rows;
    rows->columns = host->columns;
    rows->first = host->first;
    rows->count = host->count;
    rows->label = host->label;
    rows->target = host->target;
    bool well = copy_there(&rows->label, host->rows);
    well = copy_there(&rows->target, host->rows) && well;
    well = (host->dense ? copy_dense<real>(host, rows) : copy_sparse<real>(host, rows)) && well;
    if (!well)
        rows_close(rows);
    return well && !gpu::failure();
}

/* Whole lists that this thread has copied, which batches after the first need not do. */
struct copied_list {
    uint64_t number, used;
    gpu::buffer there;
};

static const size_t *list_there(const blv_index_list &list, size_t at) {
    enum { LISTS = 8 };
    static thread_local copied_list lists[LISTS];
    static thread_local uint64_t uses;
    copied_list *place = lists;
    for (copied_list &one : lists) {
        if (one.number == list.number) {
            place = &one;
            break;
        }
        if (one.used < place->used)
            place = &one;
    }
    const size_t bytes = list.count * sizeof(size_t);
    auto *memory = static_cast<size_t *>(place->there.of(bytes));
    if (memory && place->number != list.number) {
        gpu::upload(memory, list.begin, bytes);
        place->number = list.number;
    }
    place->used = ++uses;
    return memory ? memory + at : nullptr;
}

/* Other lists of the host are copied when they are not the last one of this thread. */
const size_t *index_there(const blv_rows *rows) {
    static thread_local std::vector<size_t> last;
    static thread_local gpu::buffer there;
    if (!rows->index || rows->index_memory != BLV_MEMORY_HOST || rows->count == 0)
        return rows->index;
    const blv_index_list *list = rows->list;
    if (list && rows->index >= list->begin &&
        rows->index + rows->count <= list->begin + list->count)
        return list_there(*list, static_cast<size_t>(rows->index - list->begin));
    const size_t bytes = rows->count * sizeof(size_t);
    void *memory = there.of(bytes);
    if (memory &&
        (last.size() != rows->count || memcmp(last.data(), rows->index, bytes) != 0)) {
        gpu::flush();
        last.assign(rows->index, rows->index + rows->count);
        /* memory of the host that is not pinned: read before the call returns */
        GPU_CHECK(cudaMemcpyAsync(memory, last.data(), bytes, cudaMemcpyHostToDevice, gpu::stream));
    }
    return static_cast<const size_t *>(memory);
}

/* ---- Sweeps ---- */

template <class real>
static blv_sweep_work *sweep_open(size_t classes, size_t columns, bool sparse, size_t max_rows,
                                  int) {
    auto *work = static_cast<blv_sweep_work *>(calloc(1, sizeof(blv_sweep_work)));
    if (!work)
        return nullptr;
    work->classes = classes;
    work->columns = columns;
    work->sparse = sparse;
    work->max_rows = max_rows;
    work->real_size = sizeof(real);
    return work;
}

static void sweep_close(blv_sweep_work *work) {
    if (!work)
        return;
    gpu::release(work->scores);
    gpu::release(work->partial);
    gpu::release(work->losses);
    gpu::release(work->times);
    gpu::release(work->kept);
    free(work);
}

/* Of softmax sweeps in float, which is where it pays. */
static bool sweep_keep(blv_sweep_work *work, size_t rows) {
    if (work->sparse || work->real_size != sizeof(float))
        return false;
    work->kept = gpu::room<float>((rows + work->columns) * work->classes + 1);
    work->kept_rows = work->kept ? rows : 0;
    return work->kept != nullptr;
}

template <class real> static sweep_task<real> task_of(const blv_rows *rows, const blv_sweep *sweep) {
    sweep_task<real> a = {};
    a.columns = rows->columns;
    a.stride = rows->stride;
    a.x = static_cast<const real *>(rows->dense);
    a.split = rows->split;
    a.row_start = rows->row_start;
    a.column = rows->column;
    a.value = static_cast<const real *>(rows->value);
    a.label = rows->label;
    a.target = rows->target;
    a.weight = static_cast<const real *>(rows->weight);
    a.logit = static_cast<const real *>(rows->logit);
    a.first = rows->first;
    a.count = rows->count;
    a.rows = rows->rows;
    a.index = index_there(rows);
    a.classes = int(sweep->classes);
    a.w = static_cast<const real *>(sweep->w);
    a.hessian = sweep->v && sweep->hessian;
    a.v = a.hessian || (sweep->v && sweep->row_cross) ? static_cast<const real *>(sweep->v)
                                                      : nullptr;
    a.gradient = sweep->gradient != nullptr;
    a.losses = sweep->loss || sweep->row_loss || sweep->row_probability;
    a.row_slope = sweep->row_slope;
    a.row_loss = static_cast<real *>(sweep->row_loss);
    a.row_cross = a.v ? static_cast<real *>(sweep->row_cross) : nullptr;
    a.row_probability = static_cast<real *>(sweep->row_probability);
    a.row_class = sweep->row_class;
    return a;
}

static void run(const sweep_task<float> &a, const blv_sweep *sweep, blv_sweep_work *work) {
    if (!one_score_sweep(a, sweep, work) && !tensor_sweep(a, sweep, work))
        plain_sweep(a, sweep, work);
}

static void run(const sweep_task<double> &a, const blv_sweep *sweep, blv_sweep_work *work) {
    if (!one_score_sweep(a, sweep, work))
        plain_sweep(a, sweep, work);
}

template <class real>
static void sweep_rows(const blv_rows *rows, const blv_sweep *sweep, blv_sweep_work *work) {
    const sweep_task<real> a = task_of<real>(rows, sweep);
    if (rows->dense)
        run(a, sweep, work);
    else
        sparse_sweep(a, rows, sweep, work);
    if (sweep->loss && gpu::failure())
        *sweep->loss = double(NAN);
}

#define TABLE(real, precision_)                                                                    \
    {                                                                                              \
        .memory = BLV_MEMORY_CUDA, .precision = precision_, .real_size = sizeof(real),             \
        .logits = true, .failure = gpu::failure, .allocate = gpu::allocate,                        \
        .release = gpu::release, .write = write<real>, .read = read<real>,                         \
        .write_bytes = write_bytes, .rows_open = rows_open<real>, .rows_close = rows_close,        \
        .sweep_open = sweep_open<real>, .sweep_close = sweep_close, .sweep_keep = sweep_keep,      \
        .sweep = sweep_rows<real>, .row_sigmoid = elements::row_sigmoid<real>,                     \
        .row_sigmoid_slope = elements::row_sigmoid_slope<real>,                                    \
        .row_add = elements::row_add<real>, .count_right = elements::count_right,                  \
        .exp_scaled = elements::exp_scaled<real>,                                                  \
        .column_products = elements::column_products<real>, .sum = elements::sum<real>,            \
        .spread_groups = elements::spread_groups<real>, .sum_groups = elements::sum_groups<real>,  \
        .penalize = elements::penalize<real>,                                                      \
        .penalty_products = elements::penalty_products<real>, .dot = elements::dot<real>,          \
        .axpy = elements::axpy<real>, .combine = elements::combine<real>,                          \
        .gemv = elements::gemv<real>, .quadratic = elements::quadratic<real>                       \
    }

const blv_kernels blv_cuda_kernels_f64 = TABLE(double, BLV_F64);
const blv_kernels blv_cuda_kernels_f32 = TABLE(float, BLV_F32);
