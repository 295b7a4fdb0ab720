/* Writes the files that the fuzz targets start from, one folder for each target. Texts are taken
 * from the current folder (tests/data), binary files are made here.
 *
 *     make_seeds FOLDER */
#include "bilevel/checkpoint.h"
#include "bilevel/model.h"
#include "bilevel/npz.h"
#include "bilevel/registry.h"
#include "bilevel/run.h"
#include "bilevel/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

static const char *folder;

/* The file for a target, with a last byte that chooses its options; and zipped for fuzz_gz. */
static void put(const char *target, const char *name, const void *bytes, size_t n,
                unsigned char choice) {
    char path[4096];
    snprintf(path, sizeof path, "%s/fuzz_%s", folder, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/fuzz_%s/%s", folder, target, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, n, file) != n || fputc(choice, file) == EOF ||
        fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

static void put_with_gzip(const char *target, const char *name, const void *bytes, size_t n,
                          unsigned char choice) {
    static unsigned char packed[1 << 16];
    z_stream z = {0};
    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        exit(1);
    z.next_in = (unsigned char *)bytes;
    z.avail_in = (uInt)n;
    z.next_out = packed;
    z.avail_out = sizeof packed;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        exit(1);
    put(target, name, bytes, n, choice);
    put("gz", name, packed, z.total_out, choice);
    deflateEnd(&z);
    char zstd[256];
    snprintf(zstd, sizeof zstd, "%s.zst", name);
    put("gz", zstd, packed, ZSTD_compress(packed, sizeof packed, bytes, n, 1), choice);
}

static size_t get(const char *name, unsigned char *bytes, size_t room) {
    FILE *file = fopen(name, "rb");
    if (!file) {
        perror(name);
        exit(1);
    }
    size_t n = fread(bytes, 1, room, file);
    fclose(file);
    return n;
}

static void put_texts(void) {
    static const struct {
        const char *target, *name;
        unsigned char choice;
    } texts[] = {{"libsvm", "small.svm", 0}, {"libsvm", "zero_based.svm", 2},
                 {"csv", "small.csv", 0},    {"csv", "small.tsv", 129},
                 {"arff", "small.arff", 0},  {"arff", "sparse.arff", 2},
                 {"labels", "labels.txt", 0}};
    unsigned char bytes[4096];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t n = get(texts[i].name, bytes, sizeof bytes);
        put_with_gzip(texts[i].target, texts[i].name, bytes, n, texts[i].choice);
    }
}

static void put_suites(void) {
    static const char *const suites[] = {"quadratic", "sensitivity", "continual-digits"};
    static unsigned char bytes[1 << 14];
    for (unsigned char i = 0; i < sizeof suites / sizeof suites[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "../../bench/suites/%s.json", suites[i]);
        put("suite", suites[i], bytes, get(path, bytes, sizeof bytes), i);
    }
}

static void put_pictures(void) {
    static const unsigned char idx[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 9, 8, 7, 6};
    static const unsigned char real[] = {0, 0, 13, 2, 0, 0, 0, 1, 0, 0, 0, 1, 64, 64, 0, 0};
    static const unsigned char labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 7, 3, 7};
    static unsigned char cifar[2 * 3074];
    put_with_gzip("idx", "bytes.idx", idx, sizeof idx, 0);
    put_with_gzip("idx", "real.idx", real, sizeof real, 1);
    put_with_gzip("labels", "labels.idx", labels, sizeof labels, 0);
    for (size_t i = 0; i < sizeof cifar; i++)
        cifar[i] = (unsigned char)(i % 10);
    put_with_gzip("cifar", "ten", cifar, 2 * 3073, 16);
    put_with_gzip("cifar", "hundred", cifar, 2 * 3074, 0);
}

static void check(blv_error error) {
    if (error) {
        fprintf(stderr, "%s\n", blv_error_text(error));
        exit(1);
    }
}

static void put_arrays(void) {
    static const double x[] = {1, 0, 2.5, -1};
    static const int64_t y[] = {1, 0}, indices[] = {0, 2}, indptr[] = {0, 1, 2}, shape[] = {2, 3};
    char path[4096];
    unsigned char bytes[8192];
    blv_npz_writer *w;
    snprintf(path, sizeof path, "%s/made.npz", folder);
    check(blv_npz_create(&w, path, NULL));
    check(blv_npz_add_f64(w, "X", 2, (size_t[]){2, 2}, x, NULL));
    check(blv_npz_add_i64(w, "y", 1, (size_t[]){2}, y, NULL));
    check(blv_npz_commit(w, NULL));
    size_t n = get(path, bytes, sizeof bytes);
    put_with_gzip("npz", "dense.npz", bytes, n, 0);
    put_with_gzip("labels", "labels.npz", bytes, n, 0);

    check(blv_npz_create(&w, path, NULL));
    check(blv_npz_add_f64(w, "data", 1, (size_t[]){2}, x + 2, NULL));
    check(blv_npz_add_i64(w, "indices", 1, (size_t[]){2}, indices, NULL));
    check(blv_npz_add_i64(w, "indptr", 1, (size_t[]){3}, indptr, NULL));
    check(blv_npz_add_i64(w, "shape", 1, (size_t[]){2}, shape, NULL));
    check(blv_npz_commit(w, NULL));
    n = get(path, bytes, sizeof bytes);
    put_with_gzip("npz", "sparse.npz", bytes, n, 1);
    remove(path);

    static const char header[] = "\x93NUMPY\1\0v\0{'descr': '<f4', 'fortran_order': False, "
                                 "'shape': (1, 2), }";
    memset(bytes, ' ', 128);
    memcpy(bytes, header, sizeof header - 1);
    bytes[127] = '\n';
    memset(bytes + 128, 0, 8);
    put_with_gzip("npz", "array.npy", bytes, 136, 0);
    put_with_gzip("npz", "mapped.npy", bytes, 136, 1);
}

static void put_settings(void) {
    static const struct {
        const char *name, *lines;
        unsigned char solver; /* the first byte of the input */
    } settings[] = {{"s-tfbo", "iters=10\nscale=auto\n", 0},
                    {"inner", "inner=fixed\nn_y=2\nT=50\nn_v=1e3\n", 1},
                    {"steps", "step_x=0.1\nstep_y=1e-3\nLg=-1\ndecay=0.5\n", 5},
                    {"quadratic", "dx=3\ndy=2\nterms=5\nkappa=1e4\n", 22},
                    {"l2reg", "train=a.csv\npenalty=groups\nscale=per-entry\nlo=none\n", 29}};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        char text[256];
        text[0] = (char)settings[i].solver;
        int n = snprintf(text + 1, sizeof text - 1, "%s", settings[i].lines);
        put("params", settings[i].name, text, (size_t)n + 1, '\n');
    }
}

static void put_architectures(void) {
    static const struct {
        const char *name, *text;
        unsigned char inputs;
    } networks[] = {{"mlp", "mlp:784-128-10,act=softplus,dropout=0.2", 0},
                    {"named", "mlp:in-8-out", 3},
                    {"resnet", "resnet18:16,act=gelu,image=3x32x32", 1},
                    {"small", "resnet18:2,image=3x4x4", 2}};
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++)
        put("network", networks[i].name, networks[i].text, strlen(networks[i].text),
            networks[i].inputs);
    put("groups", "two", "0\n1", 3, '\n');
    put("groups", "one", "0\r\n0\r", 5, '\n');
}

static void put_checkpoints(void) {
    static const char *const solvers[] = {"s-tfbo", "soba"};
    static const char *const settings[] = {"dx", "3", "dy", "2", NULL};
    static unsigned char bytes[1 << 16];
    blv_problem *problem = NULL;
    char path[4096];
    check(blv_problem_from_family(
        blv_family_find(NULL, "quadratic", NULL), settings,
        &(blv_problem_options){.size = sizeof(blv_problem_options), .threads = 1}, &problem, NULL));
    snprintf(path, sizeof path, "%s/made.npz", folder);
    for (unsigned char i = 0; i < 2; i++) {
        blv_run *run = NULL;
        check(blv_run_create(&run, problem, blv_solver_find(NULL, solvers[i], NULL), NULL));
        check(blv_run_step(run));
        check(blv_run_save(run, path));
        put("checkpoint", solvers[i], bytes, get(path, bytes, sizeof bytes),
            (unsigned char)(i | 2));
        blv_run_destroy(run);
    }
    remove(path);
    blv_problem_destroy(problem);
}

static void put_model(void) {
    const char *classes[] = {"a", "b"}, *features[] = {"u", "v"}, *penalties[] = {"u", "v"};
    double weights[] = {1, -2}, intercept[] = {0.5}, shift[] = {0, 1}, divisor[] = {1, 2};
    blv_model model = {.scores = 1,
                       .features = 2,
                       .classes = 2,
                       .weights = weights,
                       .intercept = intercept,
                       .shift = shift,
                       .divisor = divisor,
                       .penalties = 2,
                       .penalty = divisor,
                       .class_names = classes,
                       .feature_names = features,
                       .penalty_names = penalties};
    static unsigned char bytes[1 << 16];
    char path[4096];
    snprintf(path, sizeof path, "%s/made.npz", folder);
    if (blv_model_write(&model, path, NULL) != BLV_OK)
        exit(1);
    put("model", "linear", bytes, get(path, bytes, sizeof bytes), 1);
    remove(path);
}

static void put_store(void) {
    static unsigned char bytes[1 << 18];
    char path[4096];
    snprintf(path, sizeof path, "%s/made.db", folder);
    remove(path);
    blv_store *store = NULL;
    if (blv_store_open(&store, path, BLV_STORE_CREATE, NULL) != BLV_OK)
        exit(1);
    for (int i = 0; i < 2; i++) {
        int64_t id = 0;
        const blv_run_info begin = {
            .size = sizeof begin, .kind = "solve", .problem = "parabola", .solver = "s-tfbo"};
        const blv_run_info end = {
            .size = sizeof end, .status = BLV_STATUS_FINISHED, .outcome = "converged", .phi = 0.5};
        if (blv_store_begin(store, &begin, &id) != BLV_OK ||
            blv_store_row(store, id, 1, 0.5, "{\"iteration\": 1}") != BLV_OK ||
            blv_store_flush(store) != BLV_OK ||
            blv_store_attach(store, id, "checkpoint", "bytes", 5) != BLV_OK ||
            blv_store_finish(store, id, &end) != BLV_OK)
            exit(1);
    }
    blv_store_close(store);
    size_t n = get(path, bytes, sizeof bytes);
    put("store", "read.db", bytes, n, 0);
    put("store", "written.db", bytes, n, 1);
    remove(path);
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: make_seeds FOLDER\n");
        return 2;
    }
    folder = arguments[1];
    mkdir(folder, 0777);
    put_texts();
    put_suites();
    put_pictures();
    put_arrays();
    put_settings();
    put_architectures();
    put_checkpoints();
    put_model();
    put_store();
    return 0;
}
