/* Compares what two builds of the command made of the same solves.
 *
 *     compare_results BOUND a.npz b.npz a.json b.json
 *
 * x and y of the .npz files, and Phi of the certificates, may differ by BOUND (1 + |value|) in each
 * number. Prints the largest such difference; exit code 1 when it is above the bound. */
#include "bilevel/npz.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double difference(double a, double b) {
    return fabs(a - b) / (1.0 + fabs(b));
}

static double *numbers(const char *path, const char *name, size_t *count) {
    blv_message why;
    blv_npz *file;
    blv_array about;
    double *data;
    if (blv_npz_open(&file, path, &why) != BLV_OK ||
        blv_npz_read_f64(file, name, &data, &about, &why) != BLV_OK) {
        fprintf(stderr, "%s\n", why.text);
        exit(2);
    }
    blv_npz_close(file);
    *count = about.count;
    return data;
}

static double difference_of_arrays(const char *a, const char *b, const char *name) {
    size_t count, other;
    double *u = numbers(a, name, &count), *v = numbers(b, name, &other);
    double worst = count == other ? 0.0 : (double)INFINITY;
    for (size_t i = 0; i < count && count == other; i++)
        if (!(difference(u[i], v[i]) <= worst)) /* NaN counts */
            worst = difference(u[i], v[i]);
    free(u);
    free(v);
    return worst;
}

static double phi_of(const char *path) {
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    const json_t *phi = json_object_get(json_object_get(root, "certificate"), "phi");
    if (!json_is_number(phi)) {
        fprintf(stderr, "%s: no number certificate.phi\n", path);
        exit(2);
    }
    double value = json_number_value(phi);
    json_decref(root);
    return value;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: compare_results BOUND a.npz b.npz a.json b.json\n");
        return 2;
    }
    double bound = strtod(argv[1], NULL);
    double worst = fmax(difference_of_arrays(argv[2], argv[3], "x"),
                        difference_of_arrays(argv[2], argv[3], "y"));
    double phi = difference(phi_of(argv[4]), phi_of(argv[5]));
    printf("x and y differ by %.3g, Phi by %.3g\n", worst, phi);
    return worst <= bound && phi <= bound ? 0 : 1;
}
