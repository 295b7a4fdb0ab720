/* Speed of the passes over data on a GPU, and of whole steps of solvers, against what the GPU can do.
 *
 *     bench_cuda [word [script]]      only the parts whose name has this word in it: sweeps, steps,
 *                                     clean, peers; the script that times the other tools
 *
 * Limits are measured first: a copy on the device, counting bytes read and written, and multiply-adds
 * without loads. Times are medians of calls between two events. The ratios to JAX and PyTorch come
 * from bench/peers/gpu.py, on the same GPU in the same call. */
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
#include <map>
#include <string>
#include <vector>

extern "C" const blv_device_tables *blv_cuda_tables(void);

static cudaStream_t stream;
static const blv_device_tables *tables;

static void expect(bool well, const char *text) {
    if (well)
        return;
    fprintf(stderr, "bench_cuda: %s\n", text);
    exit(1);
}

static void check(cudaError_t error) {
    expect(error == cudaSuccess, cudaGetErrorString(error));
}

/* Median seconds of a call. */
template <class F> static double seconds_of(F call, int samples = 15, int calls = 1) {
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

/* ---- What the GPU can do ---- */

static __global__ void multiply_add(float *out, int rounds) {
    float a[16], b = 1.0001f + float(threadIdx.x) * 1e-9f;
#pragma unroll
    for (int i = 0; i < 16; i++)
        a[i] = float(i + int(threadIdx.x));
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < 16; i++)
            a[i] = a[i] * b + 0.5f;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 16; i++)
        sum += a[i];
    if (sum == 12.345f)
        *out = sum;
}

static double bandwidth, peak; /* bytes and operations a second */

static void measure_limits() {
    const size_t bytes = size_t(4) << 30;
    char *from, *to;
    cudaDeviceProp device;
    check(cudaGetDeviceProperties(&device, 0));
    check(cudaMalloc(&from, bytes));
    check(cudaMalloc(&to, bytes));
    check(cudaMemset(from, 1, bytes));
    bandwidth = 2.0 * double(bytes) / seconds_of([&] {
                    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
                });
    const int rounds = 4096, blocks = 8 * device.multiProcessorCount;
    peak = 2.0 * 16.0 * rounds * 256.0 * blocks / seconds_of([&] {
               multiply_add<<<blocks, 256, 0, stream>>>(reinterpret_cast<float *>(to), rounds);
           });
    check(cudaFree(from));
    check(cudaFree(to));
    printf("%s: copy %.2f TB/s, multiply-adds %.1f TFLOP/s in f32\n", device.name,
           1e-12 * bandwidth, 1e-12 * peak);
}

/* ---- Sweeps ---- */

template <class real> __global__ void fill_random(size_t n, real *out, float size, uint64_t seed) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
         i += size_t(gridDim.x) * blockDim.x) {
        uint64_t z = i * 0x9e3779b97f4a7c15u + seed * 0xd1b54a32d192ed03u;
        z = (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u;
        z ^= z >> 32;
        out[i] = real(size * (float(z >> 40) * 0x1p-24f - 0.5f));
    }
}

template <class real> static real *randoms(size_t n, float size, uint64_t seed) {
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

static double apart(const std::vector<double> &a, const std::vector<double> &b) {
    double differ = 0.0, size = 0.0;
    for (size_t i = 0; i < a.size(); i++) {
        differ += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(differ / size);
}

static void measure_accuracy(size_t n, size_t d, size_t c) {
    instance<float> narrow(n, d, c);
    instance<double> wide(n, d, c);
    narrow.run(ALL);
    wide.run(ALL);
    printf("  %8zu x %zu x %zu f32 against f64: gradient %.1e, Hv %.1e, Jv %.1e\n", n, d, c,
           apart(narrow.got(narrow.gradient, c * d), wide.got(wide.gradient, c * d)),
           apart(narrow.got(narrow.hessian, c * d), wide.got(wide.hessian, c * d)),
           apart(narrow.got(narrow.cross, n), wide.got(wide.cross, n)));
}

static std::map<std::string, double> peers; /* seconds, by "tool case rows" */

static void print_ratios(const char *name, size_t n, double ours) {
    for (const char *tool : {"jax", "torch"}) {
        const auto found = peers.find(std::string(tool) + " " + name + " " + std::to_string(n));
        if (found != peers.end())
            printf("  %s %.1f us, x %.2f", tool, 1e6 * found->second, found->second / ours);
    }
    printf("\n");
}

template <class real> static void time_sweeps(size_t n, size_t d, size_t c) {
    static const struct {
        const char *name;
        int outputs;
        double products; /* with all classes */
    } passes[] = {{"gradient", GRADIENT, 2}, {"Hv", HESSIAN, 3}, {"Hv-again", HESSIAN | AGAIN, 2}, {"all", ALL, 4}};
    instance<real> one(n, d, c);
    for (const auto &p : passes) {
        const double seconds = seconds_of([&] { one.run(p.outputs); }, 15, n > 100000 ? 2 : 10);
        const double bytes = double(n) * double(d) * sizeof(real);
        const double work = p.products * 2.0 * double(n) * double(d) * double(c);
        printf("  %-9s %8zu x %zu x %zu %s %9.1f us  %3.0f%% of bandwidth", p.name, n, d, c,
               sizeof(real) == 4 ? "f32" : "f64", 1e6 * seconds, 100.0 * bytes / seconds / bandwidth);
        if (sizeof(real) == 4)
            printf(" %3.0f%% of FMA peak", 100.0 * work / seconds / peak);
        if (sizeof(real) == 4 && c == 10)
            print_ratios(p.name, n, seconds);
        else
            printf("\n");
        fflush(stdout);
    }
}

static void measure_sweeps() {
    printf("accuracy\n");
    measure_accuracy(20000, 784, 10);
    measure_accuracy(1000000, 784, 10);
    measure_accuracy(371847, 54, 1);
    printf("sweeps\n");
    time_sweeps<float>(1000000, 784, 10);
    time_sweeps<float>(20000, 784, 10);
    time_sweeps<float>(1000, 784, 10);
    time_sweeps<float>(64, 784, 10);
    time_sweeps<float>(371847, 54, 1);
    time_sweeps<double>(100000, 784, 10);
    time_sweeps<double>(371847, 54, 1);
}

/* ---- Steps of solvers ---- */

static void time_steps(const char *family, const char *const *settings, const char *text,
                       blv_precision precision, blv_memory_kind memory,
                       const char *sampler = "block") {
    blv_problem_options options = {};
    options.size = sizeof options;
    options.precision = precision;
    options.memory = memory;
    blv_problem *problem;
    blv_message why = {""};
    expect(blv_problem_from_family(blv_family_find(nullptr, family, nullptr), settings, &options,
                                   &problem, &why) == BLV_OK,
           why.text);
    for (const char *solver : {"soba", "s-tfbo"})
        for (const char *batch : {"64", "1000"}) {
            std::vector<double> times;
            for (int i = 0; i < 3; i++) {
                blv_run *run;
                expect(blv_run_create(&run, problem, blv_solver_find(nullptr, solver, nullptr),
                                      &why) == BLV_OK,
                       why.text);
                blv_run_set(run, "batch", batch);
                blv_run_set(run, "sampler", sampler);
                blv_run_set(run, "iters", "2000");
                if (strcmp(solver, "soba") == 0)
                    for (const char *key : {"step_x", "step_y", "step_v"})
                        blv_run_set(run, key, "0.01");
                expect(blv_run_open(run) == BLV_OK, blv_run_message(run));
                const auto begin = std::chrono::steady_clock::now();
                expect(blv_run_solve(run) == BLV_OK, blv_run_message(run));
                const std::chrono::duration<double> passed =
                    std::chrono::steady_clock::now() - begin;
                times.push_back(passed.count() / double(blv_run_result(run)->iterations));
                blv_run_destroy(run);
            }
            std::sort(times.begin(), times.end());
            printf("  %-7s batch %4s %-13s %-7s %s %s %7.2f us a step", solver, batch, text, sampler,
                   precision == BLV_F32 ? "f32" : "f64", memory == BLV_MEMORY_CUDA ? "gpu" : "cpu",
                   1e6 * times[1]);
            const auto jax = peers.find(std::string("jax step ") + solver);
            if (jax != peers.end() && memory == BLV_MEMORY_CUDA && strcmp(batch, "64") == 0)
                printf("  jax %.2f", 1e6 * jax->second);
            printf("\n");
            fflush(stdout);
        }
    blv_problem_destroy(problem);
}

/* What the parts of a step cost: a launch that answers, without a pass over a batch, with one and
 * with two. */
static void measure_launches() {
    instance<float> one(64, 54, 1);
    double times[3];
    for (int passes = 0; passes < 3; passes++)
        times[passes] = seconds_of(
            [&] {
                for (int p = 0; p < passes; p++)
                    one.run(GRADIENT | HESSIAN);
                one.k->dot(54, one.sweep.w, one.sweep.v);
            },
            15, 200);
    printf("  a launch and its answer %.2f us, with a pass over 64 x 54 %.2f us, with two %.2f us\n",
           1e6 * times[0], 1e6 * times[1], 1e6 * times[2]);
}

/* What a step's work comes to, two passes over 64 x 54 and four updates, that nobody waits for: a
 * launch for each step, several steps in a launch, and a CUDA graph of launches. */
struct step_work {
    instance<float> lower{64, 54, 1}, upper{64, 54, 1};
    static constexpr int STEPS = 64;

    void take(bool launch) {
        const blv_kernels *k = lower.k;
        lower.run(GRADIENT | HESSIAN);
        upper.run(GRADIENT);
        k->combine(54, 1.0, lower.hessian, -1.0, upper.gradient, lower.cross);
        for (const void *p : {lower.sweep.w, lower.sweep.v, upper.sweep.w})
            k->axpy(54, -1e-3, lower.gradient, const_cast<void *>(p));
        if (launch)
            flush();
    }
    void flush() { /* a launch of no rows */
        blv_rows none = lower.data;
        none.count = 0;
        lower.k->row_sigmoid(&none, none.logit, lower.cross);
    }
    void take_all(bool launch) {
        for (int s = 0; s < STEPS; s++)
            take(launch);
        flush();
    }
    double of_step(bool launch) {
        return seconds_of([&] { take_all(launch); }) / STEPS;
    }
    double of_graph() {
        cudaGraph_t graph;
        cudaGraphExec_t ready;
        check(cudaStreamSynchronize(stream));
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        take_all(true);
        check(cudaStreamEndCapture(stream, &graph));
        check(cudaGraphInstantiate(&ready, graph, 0));
        const double seconds = seconds_of([&] { check(cudaGraphLaunch(ready, stream)); });
        check(cudaGraphExecDestroy(ready));
        check(cudaGraphDestroy(graph));
        return seconds / STEPS;
    }
    double of_host() { /* until all is launched */
        double best = 1.0;
        for (int i = 0; i < 20; i++) {
            check(cudaStreamSynchronize(stream));
            const auto begin = std::chrono::steady_clock::now();
            take_all(false);
            const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
            best = std::min(best, passed.count());
        }
        return best / STEPS;
    }
};

static void measure_graph() {
    step_work work;
    const double alone = work.of_step(true), several = work.of_step(false), host = work.of_host();
    printf("  a step's work, unanswered: a launch each %.2f us, several steps in a launch %.2f us "
           "(%.2f of it on the host)",
           1e6 * alone, 1e6 * several, 1e6 * host);
    fflush(stdout);
    printf(", a graph of %d launches %.2f us\n", step_work::STEPS, 1e6 * work.of_graph());
    fflush(stdout);
}

static void measure_steps() {
    static const char *const few[] = {"rows", "99980", "columns", "22", nullptr};
    static const char *const more[] = {"rows", "200000", "columns", "54", nullptr};
    printf("steps\n");
    measure_launches();
    measure_graph();
    for (blv_precision precision : {BLV_F32, BLV_F64}) {
        time_steps("synthetic-logistic", few, "49,990 x 22", precision, BLV_MEMORY_CUDA);
        time_steps("synthetic-logistic", more, "100,000 x 54", precision, BLV_MEMORY_CUDA);
    }
    for (const char *sampler : {"iid", "shuffle"})
        time_steps("synthetic-logistic", more, "100,000 x 54", BLV_F32, BLV_MEMORY_CUDA, sampler);
    time_steps("synthetic-logistic", more, "100,000 x 54", BLV_F32, BLV_MEMORY_HOST);
}

/* ---- Hyper-cleaning of many rows ---- */

/* Rows around ten centres; three labels in ten are wrong. */
static blv_dataset *make_rows(size_t n, double wrong, uint64_t seed) {
    enum { D = 784, K = 10 };
    static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
    std::vector<float> x(n * D), centre(K * D);
    std::vector<int32_t> label(n);
    uint64_t state = 7;
    const auto next = [&state] {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return float(state >> 40) * 0x1p-24f - 0.5f;
    };
    for (float &c : centre)
        c = 0.1f * next();
    state = seed;
    for (size_t i = 0; i < n; i++) {
        const size_t k = i % K;
        for (size_t j = 0; j < D; j++)
            x[i * D + j] = centre[k * D + j] + next();
        label[i] = double(next()) + 0.5 < wrong ? int32_t((k + 1 + i % 9) % K) : int32_t(k);
    }
    blv_dataset_view view = {};
    view.size = sizeof view;
    view.rows = n;
    view.columns = view.stride = D;
    view.precision = BLV_F32;
    view.dense = x.data();
    view.classes = K;
    view.label = label.data();
    view.class_names = names;
    view.format = "generated";
    blv_dataset *set;
    blv_message why = {""};
    expect(blv_dataset_create(&set, &view, "generated", &why) == BLV_OK, why.text);
    return set;
}

struct descent {
    std::vector<double> f, seconds;
    std::vector<uint64_t> at;
};

static int note(void *context, const blv_progress *p) {
    descent *d = static_cast<descent *>(context);
    d->f.push_back(p->f);
    d->seconds.push_back(p->seconds);
    d->at.push_back(p->iteration);
    return 0;
}

static blv_problem *clean_problem(const blv_sets *sets, blv_memory_kind memory) {
    blv_problem_options options = {};
    options.size = sizeof options;
    options.precision = BLV_F32;
    options.memory = memory;
    options.threads = memory == BLV_MEMORY_HOST ? 2 : 0;
    blv_problem *problem;
    blv_message why = {""};
    expect(blv_hyperclean_create(sets, 1e-3, &options, &problem, &why) == BLV_OK, why.text);
    return problem;
}

static blv_run *start(const blv_problem *problem, const char *solver,
                      std::initializer_list<std::pair<const char *, const char *>> settings) {
    blv_run *run;
    blv_message why = {""};
    expect(blv_run_create(&run, problem, blv_solver_find(nullptr, solver, nullptr), &why) == BLV_OK,
           why.text);
    for (const auto &s : settings)
        expect(blv_run_set(run, s.first, s.second) == BLV_OK, blv_run_message(run));
    expect(blv_run_open(run) == BLV_OK, blv_run_message(run));
    return run;
}

static double phi_of(blv_run *run) {
    blv_certificate certificate;
    expect(blv_run_certify(run, &certificate) == BLV_OK, blv_run_message(run));
    return certificate.phi;
}

/* SOBA on whole sums, with the same steps everywhere. */
static blv_run *clean_start(const blv_problem *problem, const char *steps) {
    return start(problem, "soba",
                 {{"batch", "full"},
                  {"decay", "0"},
                  {"iters", steps},
                  {"step_y", "4"},
                  {"step_v", "4"},
                  {"step_x", "300000"}});
}

/* Seconds of a step. */
static double clean_rows(const blv_problem *problem, const char *steps) {
    blv_run *run = clean_start(problem, steps);
    const auto begin = std::chrono::steady_clock::now();
    expect(blv_run_solve(run) == BLV_OK, blv_run_message(run));
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    const double each = passed.count() / double(blv_run_result(run)->iterations);
    blv_run_destroy(run);
    return each;
}

/* Phi*, or the least that is known of it: `exact` goes on for some time where the steps have ended. */
static double least_phi(const blv_problem *problem, blv_run *from, const char *seconds) {
    blv_run *run = start(problem, "exact", {{"seconds", seconds}});
    for (const char *name : {"x", "y"}) {
        std::vector<double> host(blv_run_dim(from, name));
        expect(blv_run_read(from, name, host.data()) == BLV_OK, "x and y");
        expect(blv_run_write(run, name, host.data()) == BLV_OK, blv_run_message(run));
    }
    expect(blv_run_solve(run) == BLV_OK, blv_run_message(run));
    const double before = phi_of(from), phi = std::min(phi_of(run), before);
    printf("  certified Phi: %.5f after 2000 steps, %.5f after %llu more of exact, |grad Phi| from "
           "there %.1e\n",
           before, phi, (unsigned long long)blv_run_result(run)->iterations,
           blv_run_result(run)->metrics.d_norm);
    blv_run_destroy(run);
    return phi;
}

static void measure_clean() {
    const size_t rows = 1000000;
    blv_sets sets = {};
    sets.size = sizeof sets;
    sets.train = make_rows(rows, 0.3, 1);
    sets.val = make_rows(10000, 0.0, 2);
    printf("hyper-cleaning, %zu x 784 x 10 f32, SOBA on whole sums\n", rows);
    fflush(stdout);
    blv_problem *problem = clean_problem(&sets, BLV_MEMORY_CUDA);
    descent way;
    blv_run *run = clean_start(problem, "2000");
    blv_run_monitor(run, note, &way, 25, 0.0);
    expect(blv_run_solve(run) == BLV_OK, blv_run_message(run));
    const double least = least_phi(problem, run, "15");
    blv_run_destroy(run);
    size_t reached = 0; /* where f, which is close to Phi, says so; Phi is certified there */
    double phi = INFINITY;
    while (reached + 1 < way.f.size() && way.f[reached] > 1.01 * least)
        reached++;
    for (;; reached++) {
        expect(reached < way.f.size(), "2000 steps do not come to 1% of Phi*");
        run = clean_start(problem, std::to_string(way.at[reached]).c_str());
        expect(blv_run_solve(run) == BLV_OK, blv_run_message(run));
        phi = phi_of(run);
        blv_run_destroy(run);
        if (phi <= 1.01 * least)
            break;
    }
    const double ours = clean_rows(problem, "500");
    blv_problem_destroy(problem);
    printf("  certified Phi %.5f, within 1%% of the least, after %llu steps, %.3f s; %.1f us a step\n",
           phi, (unsigned long long)way.at[reached], way.seconds[reached], 1e6 * ours);
    fflush(stdout);
    problem = clean_problem(&sets, BLV_MEMORY_HOST);
    const double cpu = clean_rows(problem, "6");
    blv_problem_destroy(problem);
    printf("  CPU, 2 threads: %.1f ms a step, x %.0f", 1e3 * cpu, cpu / ours);
    print_ratios("clean", rows, ours);
    blv_dataset_release(sets.train);
    blv_dataset_release(sets.val);
}

/* ---- Other tools ---- */

/* Lines "tool case rows seconds" of the script. */
static void ask_peers(const char *script) {
    FILE *lines = popen((std::string("python3 ") + script).c_str(), "r");
    char tool[32], name[32], rows[32];
    double seconds;
    while (lines && fscanf(lines, "%31s %31s %31s %lf", tool, name, rows, &seconds) == 4) {
        peers[std::string(tool) + " " + name + " " + rows] = seconds;
        printf("  %s %s %s: %.1f us\n", tool, name, rows, 1e6 * seconds);
    }
    if (lines)
        pclose(lines);
}

int main(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : "";
    blv_message why = {""};
    expect(blv_cuda_find(&why) == BLV_OK, why.text);
    tables = blv_cuda_tables();
    stream = static_cast<cudaStream_t>(blv_cuda_stream());
    measure_limits();
    if (strstr("peers", word)) {
        printf("JAX and PyTorch\n");
        ask_peers(argc > 2 ? argv[2] : BENCH_PEERS "/gpu.py");
    }
    if (strstr("sweeps", word))
        measure_sweeps();
    if (strstr("steps", word))
        measure_steps();
    if (strstr("clean", word))
        measure_clean();
    return 0;
}
