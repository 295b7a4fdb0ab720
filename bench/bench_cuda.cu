/* Speed of the passes over data on a GPU, and of whole steps of solvers, against what the GPU can do.
 *
 *     bench_cuda [word [script]]      only the parts whose name has this word in it: sweeps, steps,
 *                                     clean, peers; the script that times the other tools
 *
 * Limits are measured first: a copy on the device, counting bytes read and written, and multiply-adds
 * without loads. Times are medians of calls between two events. The ratios to JAX and PyTorch come
 * from bench/peers/gpu.py, on the same GPU in the same call. */
#include "bench_cuda.cuh"

#include <map>

extern "C" const blv_device_tables *blv_cuda_tables(void);

cudaStream_t stream;
const blv_device_tables *tables;

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

double peer_seconds(const std::string &name) {
    const auto found = peers.find(name);
    return found != peers.end() ? found->second : double(NAN);
}

void print_ratios(const char *name, size_t n, double ours) {
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
