/* Whole steps of solvers on a GPU, at batches where a launch is what a step takes. */
#include "bench_cuda.cuh"

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
            const double jax = peer_seconds(std::string("jax step ") + solver);
            if (!std::isnan(jax) && memory == BLV_MEMORY_CUDA && strcmp(batch, "64") == 0)
                printf("  jax %.2f", 1e6 * jax);
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

void measure_steps() {
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
