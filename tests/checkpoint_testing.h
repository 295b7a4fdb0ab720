/* Checkpoints in memory, and their comparison to the bit. Include after run_testing.h. */
#ifndef CHECKPOINT_TESTING_H
#define CHECKPOINT_TESTING_H

#include "bilevel/checkpoint.h"
#include "run_testing.h"

typedef struct image {
    unsigned char *bytes;
    size_t size;
} image;

static inline int take_bytes(void *context, const void *bytes, size_t count) {
    image *i = context;
    i->bytes = realloc(i->bytes, i->size + count);
    assert_non_null(i->bytes);
    memcpy(i->bytes + i->size, bytes, count);
    i->size += count;
    return 0;
}

static inline image image_of(blv_run *run) {
    image i = {NULL, 0};
    if (blv_run_save_to(run, take_bytes, &i) != BLV_OK)
        fail_msg("%s", blv_run_message(run));
    return i;
}

static inline void free_image(image *i) {
    free(i->bytes);
    *i = (image){NULL, 0};
}

static inline void load_image(blv_run *run, const image *i) {
    if (blv_run_load_from(run, i->bytes, i->size) != BLV_OK)
        fail_msg("%s", blv_run_message(run));
}

static inline blv_npz *open_image(const image *i) {
    blv_message why = {""};
    blv_npz *file = NULL;
    if (blv_npz_open_memory(&file, i->bytes, i->size, "image", &why) != BLV_OK)
        fail_msg("%s", why.text);
    return file;
}

static inline char *lines_of(blv_npz *file) {
    blv_message why = {""};
    char *text = NULL;
    if (blv_npz_read_text(file, "checkpoint", &text, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return text;
}

static inline void expect_same_arrays(blv_npz *a, blv_npz *b, const char *what) {
    assert_int_equal(blv_npz_count(a), blv_npz_count(b));
    for (size_t i = 0; i < blv_npz_count(a); i++) {
        const char *name = blv_npz_name(a, i);
        if (strcmp(name, "checkpoint") == 0)
            continue;
        double *u = NULL, *v = NULL;
        blv_array about_u, about_v;
        assert_int_equal(blv_npz_read_f64(a, name, &u, &about_u, NULL), BLV_OK);
        assert_int_equal(blv_npz_read_f64(b, name, &v, &about_v, NULL), BLV_OK);
        assert_int_equal(about_u.count, about_v.count);
        if (strcmp(name, "run/clock and metrics") == 0)
            u[0] = v[0]; /* the time */
        for (size_t k = 0; k < about_u.count; k++)
            if (memcmp(&u[k], &v[k], sizeof *u) != 0)
                fail_msg("%s: %s[%zu] is %.17g and %.17g", what, name, k, u[k], v[k]);
        free(u);
        free(v);
    }
}

/* All that is saved of two runs is the same, but for the time on the clock. */
static inline void expect_same_state(blv_run *a, blv_run *b, const char *what) {
    image u = image_of(a), v = image_of(b);
    blv_npz *of_a = open_image(&u), *of_b = open_image(&v);
    char *lines_a = lines_of(of_a), *lines_b = lines_of(of_b);
    if (strcmp(lines_a, lines_b) != 0)
        fail_msg("%s: the lines differ:\n%s\n%s", what, lines_a, lines_b);
    expect_same_arrays(of_a, of_b, what);
    free(lines_a);
    free(lines_b);
    blv_npz_close(of_a);
    blv_npz_close(of_b);
    free_image(&u);
    free_image(&v);
}

static inline void steps(blv_run *run, int count) {
    for (int i = 0; i < count; i++)
        if (blv_run_step(run) != BLV_OK)
            fail_msg("%s", blv_run_message(run));
}

static inline void solve_to_end(blv_run *run) {
    if (blv_run_solve(run) != BLV_OK)
        fail_msg("%s", blv_run_message(run));
}

#endif
