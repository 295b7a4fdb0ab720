/* Speed of the readers of data sets.
 *
 *     bench_readers [libsvm-file]
 *
 * MNIST (from BILEVEL_DATA): time against plain zlib, which only inflates the same bytes.
 * libsvm: a file of about 100 MB made on the spot, or the one given; where python3 with
 * scikit-learn is present, time against its reader (bench/peers/read_libsvm.py). */
#include "bilevel/dataset.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { REPEATS = 5 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double median(double *times, size_t count) {
    qsort(times, count, sizeof *times, by_size);
    return times[count / 2];
}

static double file_bytes(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 ? (double)status.st_size : 0.0;
}

/* Median seconds of reading the file; below 0 when it cannot be read. */
static double time_reading(const char *path, blv_precision precision, blv_layout layout) {
    double times[REPEATS];
    for (size_t i = 0; i < REPEATS; i++) {
        blv_read_options options = {
            .size = sizeof(blv_read_options), .precision = precision, .layout = layout};
        blv_dataset *dataset;
        blv_message why;
        double start = now();
        if (blv_dataset_read(&dataset, path, &options, &why) != BLV_OK) {
            printf("%s\n", why.text);
            return -1.0;
        }
        times[i] = now() - start;
        if (i == 0)
            printf("%s\n", blv_dataset_history(dataset, 0));
        blv_dataset_release(dataset);
    }
    return median(times, REPEATS);
}

/* ---- MNIST ---- */

static size_t inflate_file(const char *path, unsigned char *piece, size_t size) {
    size_t total = 0;
    gzFile file = gzopen(path, "rb");
    if (!file)
        return 0;
    gzbuffer(file, 1 << 18);
    for (int n; (n = gzread(file, piece, (unsigned)size)) > 0;)
        total += (size_t)n;
    gzclose(file);
    return total;
}

static void bench_mnist(const char *folder) {
    static unsigned char piece[1 << 18];
    char path[4096];
    snprintf(path, sizeof path, "%s/mnist/train-images-idx3-ubyte.gz", folder ? folder : "");
    if (!folder || access(path, R_OK) != 0) {
        printf("MNIST: left out, BILEVEL_DATA does not lead to it\n");
        return;
    }
    double times[REPEATS];
    size_t bytes = 0;
    for (size_t i = 0; i < REPEATS; i++) {
        double start = now();
        bytes = inflate_file(path, piece, sizeof piece);
        times[i] = now() - start;
    }
    double plain = median(times, REPEATS);
    for (int f32 = 1; f32 >= 0; f32--) {
        double seconds = time_reading(path, f32 ? BLV_F32 : BLV_F64, BLV_LAYOUT_AUTO);
        if (seconds > 0.0)
            printf("    %s  %6.3f s  %6.0f MB/s of pixels  %.2f of the speed of inflating alone\n",
                   f32 ? "f32" : "f64", seconds, (double)bytes / seconds / 1e6, plain / seconds);
    }
}

/* ---- libsvm ---- */

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Rows of 60 features, half of them there, six decimals, as scaled data sets have. */
static int make_libsvm(const char *path) {
    FILE *file = fopen(path, "w");
    if (!file)
        return -1;
    uint64_t state = 1;
    for (long written = 0; written < 100000000;) {
        written += fprintf(file, "%s", next_random(&state) % 2 ? "+1" : "-1");
        for (int j = 1; j <= 60; j++)
            if (next_random(&state) % 2)
                written +=
                    fprintf(file, " %d:%.6g", j, (double)next_random(&state) / 1073741824.0 - 1.0);
        written += fprintf(file, "\n");
    }
    return fclose(file);
}

/* Seconds that scikit-learn takes, or below 0. */
static double time_sklearn(const char *path) {
    char command[4096], line[64] = "";
    snprintf(command, sizeof command, "python3 '%s/peers/read_libsvm.py' '%s' 2>/dev/null",
             BENCH_FOLDER, path);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        return -1.0;
    char *got = fgets(line, sizeof line, pipe);
    return pclose(pipe) == 0 && got ? strtod(line, NULL) : -1.0;
}

static void bench_libsvm(const char *given) {
    char made[] = "/tmp/bench-readers-XXXXXX";
    const char *path = given;
    if (!given) {
        int fd = mkstemp(made);
        if (fd < 0)
            return;
        close(fd);
        path = made;
        if (make_libsvm(made) != 0)
            printf("libsvm: cannot write %s\n", made);
    }
    double seconds = time_reading(path, BLV_F64, BLV_LAYOUT_SPARSE);
    if (seconds > 0.0)
        printf("    f64  %6.3f s  %6.0f MB/s\n", seconds, file_bytes(path) / seconds / 1e6);
    double peer = seconds > 0.0 ? time_sklearn(path) : -1.0;
    if (peer > 0.0)
        printf("    scikit-learn  %6.3f s  %6.0f MB/s: %.1f times slower\n", peer,
               file_bytes(path) / peer / 1e6, peer / seconds);
    else
        printf("    scikit-learn: left out, python3 does not have it\n");
    if (!given)
        unlink(made);
}

int main(int count, char **arguments) {
    bench_mnist(getenv("BILEVEL_DATA"));
    bench_libsvm(count > 1 ? arguments[1] : NULL);
    return 0;
}
