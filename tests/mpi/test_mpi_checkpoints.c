/* Checkpoints of several ranks: one file and a part from each rank. The same number of ranks
 * resumes to the same bits, another to rounding; whatever happens while one is written, the one
 * before is whole; parts that are missing, damaged or of another checkpoint are rejected on all
 * ranks; a run store that fails on rank 0 fails on all. Groups of fewer ranks are those of a
 * communicator that is split. */
#include "bilevel/bilevel.h"
#include "bilevel/mpi.h"
#include "bilevel/store.h"

#include <dirent.h>
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static blv_ranks *all;
static char folder[60], path[100];

static void meet(void) {
    double here = 1.0;
    assert_true(all->sum(all->context, 1, &here));
}

/* The first `count` ranks; NULL on the others. To be closed. */
static blv_ranks *group(int count) {
    MPI_Comm some;
    blv_ranks *ranks = NULL;
    const bool in = all->rank < count;
    assert_int_equal(MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, all->rank, &some),
                     MPI_SUCCESS);
    if (in) {
        assert_int_equal(blv_mpi_open(&ranks, some, NULL), BLV_OK);
        MPI_Comm_free(&some);
    }
    return ranks;
}

/* ---- Problems ---- */

typedef blv_problem *(*make_fn)(const blv_ranks *ranks, blv_precision precision);

static blv_problem *small(const blv_ranks *ranks, blv_precision precision) {
    static const char *const settings[] = {"train", TEST_SPARSE,  "layout", "sparse", "order",
                                           "file",  "train_size", "40",     NULL};
    const blv_problem_options options = {
        .size = sizeof options, .precision = precision, .threads = 1, .ranks = ranks};
    blv_problem *problem;
    blv_message why;
    if (blv_problem_from_family(blv_family_find(NULL, "hyperclean", &why), settings, &options,
                                &problem, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return problem;
}

/* f = |y - 1|^2/2, g = |y - x|^2/2 with both levels spread, in many pieces; one element in three is
 * on rank 0 and the rest on the last rank. */
enum { MANY = 140001, FEW = 40 };

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                 double *value, blv_vec *fx, blv_vec *fy) {
    (void)user;
    (void)batch;
    (void)x;
    (void)value;
    if (fx)
        blv_vec_fill(fx, 0.0);
    if (fy) {
        blv_vec_fill(fy, -1.0);
        blv_vec_axpy(fy, 1.0, y);
    }
    if (value)
        *value = 0.5 * blv_vec_dot(y, y); /* up to what does not matter here */
    return 0;
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                 double *value, blv_vec *gx, blv_vec *gy) {
    (void)user;
    (void)batch;
    if (gx)
        blv_vec_combine(gx, 1.0, x, -1.0, y);
    if (gy)
        blv_vec_combine(gy, 1.0, y, -1.0, x);
    if (value)
        *value = 0.0;
    return 0;
}

static int times(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                 const blv_vec *v, blv_vec *out) {
    (void)batch;
    (void)x;
    (void)y;
    blv_vec_copy(out, v);
    blv_vec_scale(out, user ? -1.0 : 1.0);
    return 0;
}

static int hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
               const blv_vec *v, blv_vec *out) {
    (void)user;
    return times(NULL, batch, x, y, v, out);
}

static int cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                 const blv_vec *v, blv_vec *out) {
    (void)user;
    return times(&all, batch, x, y, v, out);
}

static blv_space *uneven;

static blv_problem *large(const blv_ranks *ranks, blv_precision precision) {
    size_t *index = malloc(MANY * sizeof *index), local = 0;
    blv_problem *problem;
    blv_message why;
    assert_non_null(index);
    for (size_t i = 0; i < MANY; i++)
        if ((i % 3 == 0 ? 0 : ranks->count - 1) == ranks->rank)
            index[local++] = i;
    assert_int_equal(blv_space_create_spread(&uneven, ranks, MANY, index, local, precision, 1),
                     BLV_OK);
    free(index);
    const blv_problem_def def = {BLV_SIZED(blv_problem_def),
                                 .name = "large",
                                 .precision = precision,
                                 .upper = upper,
                                 .lower = lower,
                                 .lower_hvp = hvp,
                                 .lower_cross = cross,
                                 .space_x = uneven,
                                 .space_y = uneven};
    if (blv_problem_create(&problem, &def, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return problem;
}

static void destroy(blv_problem *problem) {
    blv_problem_destroy(problem);
    blv_space_destroy(uneven);
    uneven = NULL;
}

/* ---- Runs ---- */

static blv_run *start(const blv_problem *problem, const char *solver, int64_t iters) {
    static const char *const keys[] = {"step_x", "step_y", "step_v", "eta"};
    blv_run *run;
    blv_message why;
    if (blv_run_create(&run, problem, blv_solver_find(NULL, solver, &why), &why) != BLV_OK)
        fail_msg("%s", why.text);
    assert_int_equal(blv_run_set_int(run, "iters", iters), BLV_OK);
    (void)blv_run_set(run, "batch", blv_problem_definition(problem)->lower_samples ? "9" : "0");
    for (size_t i = 0; i < 4; i++)
        (void)blv_run_set(run, keys[i], "0.05"); /* of those that have it */
    return run;
}

/* x at the end, to be freed. */
static double *finish(blv_run *run) {
    double *x = malloc(MANY * sizeof *x);
    assert_non_null(x);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_int_equal(blv_run_read(run, "x", x), BLV_OK);
    blv_run_destroy(run);
    return x;
}

static double *run_whole(make_fn make, blv_precision precision, const char *solver,
                         const blv_ranks *ranks) {
    blv_problem *problem = make(ranks, precision);
    double *x = finish(start(problem, solver, 20));
    destroy(problem);
    return x;
}

static void save_half(make_fn make, blv_precision precision, const char *solver,
                      const blv_ranks *ranks) {
    blv_problem *problem = make(ranks, precision);
    blv_run *run = start(problem, solver, 10);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    if (blv_run_save(run, path) != BLV_OK)
        fail_msg("%s", blv_run_message(run));
    blv_run_destroy(run);
    destroy(problem);
}

static double *run_rest(make_fn make, blv_precision precision, const char *solver,
                        const blv_ranks *ranks) {
    blv_problem *problem = make(ranks, precision);
    blv_run *run = start(problem, solver, 20);
    if (blv_run_load(run, path) != BLV_OK)
        fail_msg("%s", blv_run_message(run));
    double *x = finish(run);
    destroy(problem);
    return x;
}

static size_t count_files(const char *text) {
    DIR *opened = opendir(folder);
    size_t count = 0;
    const struct dirent *entry;
    assert_non_null(opened);
    while ((entry = readdir(opened)))
        count += strstr(entry->d_name, text) != NULL;
    closedir(opened);
    return count;
}

/* ---- Other numbers of ranks ---- */

static void compare(const double *a, const double *b, size_t count, double allowed) {
    double largest = 0.0, off = 0.0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(a[i]));
        off = fmax(off, fabs(a[i] - b[i]));
    }
    if (!(off <= allowed * largest))
        fail_msg("off by %g", off / largest);
}

static void go_on(make_fn make, blv_precision precision, const char *solver, int from, int to,
                  size_t dim) {
    blv_ranks *saving = group(from), *loading = group(to);
    double *whole = saving ? run_whole(make, precision, solver, saving) : NULL, *rest = NULL;
    if (saving)
        save_half(make, precision, solver, saving);
    meet();
    assert_int_equal(count_files(".part"), from);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    if (dim == MANY) /* what is spread is not in it */
        assert_true(about.st_size < 65536);
    if (loading)
        rest = run_rest(make, precision, solver, loading);
    if (whole && rest)
        compare(whole, rest, dim, from == to ? 0.0 : precision == BLV_F32 ? 1e-4 : 1e-11);
    meet();
    free(whole);
    free(rest);
    blv_mpi_close(saving);
    blv_mpi_close(loading);
}

static void test_numbers(void **state) {
    static const char *const solvers[] = {"soba", "saba", "mrbo"};
    (void)state;
    for (int from = 1; from <= all->count; from++)
        for (int to = 1; to <= all->count; to++) {
            for (size_t s = 0; s < 3; s++)
                go_on(small, BLV_F64, solvers[s], from, to, FEW);
            go_on(small, BLV_F32, "saba", from, to, FEW);
        }
}

static void test_large(void **state) {
    (void)state;
    for (int from = 1; from <= all->count; from++)
        for (int to = 1; to <= all->count; to++)
            go_on(large, from % 2 ? BLV_F64 : BLV_F32, "soba", from, to, MANY);
}

static int write_nowhere(void *context, const void *bytes, size_t count) {
    (void)context;
    (void)bytes;
    (void)count;
    return 0;
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* kB of memory at most since it was last asked for; 0: not known. */
static long peak(void) {
    FILE *status = fopen("/proc/self/status", "r"), *reset = fopen("/proc/self/clear_refs", "w");
    char line[200];
    long kilobytes = 0;
    while (status && fgets(line, sizeof line, status))
        (void)sscanf(line, "VmHWM: %ld", &kilobytes);
    const bool well = status && reset && fputs("5", reset) >= 0;
    if (status)
        fclose(status);
    return reset && fclose(reset) == 0 && well ? kilobytes : 0;
}

/* A rank without elements takes no memory for those of others, as it does where all are gathered.
 */
static void test_share_of_memory(void **state) {
    (void)state;
    const bool has_none = all->rank > 0 && all->rank < all->count - 1 && peak() > 0;
    mallopt(M_MMAP_THRESHOLD,
            1 << 17); /* from there on blocks are given back when they are freed */
    blv_problem *problem = large(all, BLV_F64);
    blv_run *run = start(problem, "soba", 10), *rest = start(problem, "soba", 20);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_int_equal(blv_run_open(rest), BLV_OK);
    meet();
    malloc_trim(0); /* what other tests have freed */
    (void)peak();
    const long before = peak();
    assert_int_equal(blv_run_save(run, path), BLV_OK);
    assert_int_equal(blv_run_load(rest, path), BLV_OK);
    const long parts = peak() - before;
    assert_int_equal(blv_run_save_to(run, write_nowhere, NULL), BLV_OK);
    const long gathered = peak() - before;
    if (has_none && (gathered < 2000 || parts > gathered / 2))
        fail_msg("%ld kB more for parts, %ld where all is gathered", parts, gathered);
    blv_run_destroy(run);
    blv_run_destroy(rest);
    destroy(problem);
    meet();
}
#endif

/* ---- While one is written ---- */

static int fail_to_write(void *context, const void *bytes, size_t count) {
    (void)context;
    (void)bytes;
    (void)count;
    return -1;
}

static uint64_t loaded_at(const blv_problem *problem) {
    blv_run *run = start(problem, "soba", 20);
    if (blv_run_load(run, path) != BLV_OK)
        fail_msg("%s", blv_run_message(run));
    const uint64_t iterations = blv_run_result(run)->iterations;
    blv_run_destroy(run);
    return iterations;
}

static void test_interrupted(void **state) {
    (void)state;
    blv_problem *problem = small(all, BLV_F64);
    const size_t ranks = (size_t)all->count;
    save_half(small, BLV_F64, "soba", all);
    blv_run *run = start(problem, "soba", 15);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    /* the file cannot be written: the new parts are gone */
    assert_int_equal(blv_run_save_parts(run, path, fail_to_write, NULL), BLV_E_FILE);
    meet();
    assert_int_equal(count_files(".part"), ranks);
    assert_int_equal(loaded_at(problem), 10);
    /* all parts are written, and the file does not come: as if killed in between */
    assert_int_equal(blv_run_save_parts(run, path, write_nowhere, NULL), BLV_OK);
    meet();
    assert_int_equal(count_files(".part"), 2 * ranks);
    assert_int_equal(loaded_at(problem), 10);
    /* what was left is removed with the next one that is whole */
    meet();
    assert_int_equal(blv_run_save(run, path), BLV_OK);
    meet();
    assert_int_equal(count_files(".part"), ranks);
    assert_int_equal(loaded_at(problem), 15);
    /* a rank that cannot write its part: none is saved */
    meet();
    assert_int_equal(blv_run_save(run, "/no/such/folder/file.npz"), BLV_E_FILE);
    assert_non_null(strstr(blv_run_message(run), "/no/such/folder"));
    blv_run_destroy(run);
    destroy(problem);
}

/* ---- The run store ---- */

static blv_store *open_store(const char *file, blv_store_mode mode) {
    blv_store *store;
    blv_message why;
    if (blv_store_open(&store, file, mode, &why) != BLV_OK)
        fail_msg("%s", why.text);
    return store;
}

static void damage(const char *file) {
    sqlite3 *base;
    assert_int_equal(sqlite3_open(file, &base), SQLITE_OK);
    assert_int_equal(sqlite3_exec(base, "DROP TABLE attachment", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(base);
}

/* The store of rank 0 fails before anything is exchanged: the others do not wait for its part, and
 * all have the same error and message. */
static void test_store_fails(void **state) {
    char file[120], part[140];
    int64_t id = 1;
    (void)state;
    snprintf(file, sizeof file, "%s/runs.db", folder);
    blv_store *store = all->rank == 0 ? open_store(file, BLV_STORE_CREATE) : NULL;
    const blv_run_info info = {
        .size = sizeof info, .kind = "solve", .problem = "small", .solver = "soba"};
    if (store)
        assert_int_equal(blv_store_begin(store, &info, &id), BLV_OK);
    meet();
    store = store ? store : open_store(file, BLV_STORE_COPY);
    blv_problem *problem = small(all, BLV_F64);
    blv_run *run = start(problem, "soba", 10);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_int_equal(blv_store_checkpoint(store, id, run, NULL, 0), BLV_OK);
    meet();
    const size_t parts = count_files("runs.db.run");
    assert_int_equal(parts, all->count);
    meet();
    if (all->rank == 0)
        damage(file);
    const blv_error error = blv_store_checkpoint(store, id, run, NULL, 0);
    meet();
    assert_int_not_equal(error, BLV_OK);
    if (!strstr(blv_store_message(store), "attachment"))
        fail_msg("rank %d: %s", all->rank, blv_store_message(store));
    assert_int_equal(count_files("runs.db.run"), parts); /* no new ones, and the old ones */
    meet();
    blv_store_close(store);
    blv_run_destroy(run);
    destroy(problem);
    if (all->rank == 0) {
        snprintf(part, sizeof part, "%s.run1", file);
        (void)blv_run_drop_parts(part, NULL);
        unlink(file);
    }
    meet();
}

/* ---- Parts that are not right ---- */

/* The path of the last part. */
static void find_part(char part[400]) {
    DIR *opened = opendir(folder);
    const struct dirent *entry;
    char end[20];
    snprintf(end, sizeof end, ".part%d", all->count - 1);
    assert_non_null(opened);
    *part = '\0';
    while ((entry = readdir(opened)))
        if (strstr(entry->d_name, end))
            snprintf(part, 400, "%s/%s", folder, entry->d_name);
    assert_true(*part);
    closedir(opened);
}

static void assert_refused(const blv_problem *problem, blv_error expected, const char *text) {
    blv_run *run = start(problem, "soba", 20);
    meet();
    assert_int_equal(blv_run_load(run, path), expected);
    if (!strstr(blv_run_message(run), text) || !strstr(blv_run_message(run), ".part"))
        fail_msg("'%s' is not in: %s", text, blv_run_message(run));
    blv_run_destroy(run);
    meet();
}

static void test_damaged(void **state) {
    char part[400], aside[410];
    (void)state;
    blv_problem *problem = small(all, BLV_F64);
    save_half(small, BLV_F64, "soba", all);
    meet();
    find_part(part);
    snprintf(aside, sizeof aside, "%s/aside", folder);
    meet();
    if (all->rank == 0)
        assert_int_equal(rename(part, aside), 0);
    assert_refused(problem, BLV_E_FILE, "No such file");
    for (int cut = 0; cut < 2; cut++) { /* a byte less, another byte */
        if (all->rank == 0) {
            char bytes[40000];
            FILE *from = fopen(aside, "rb"), *to = fopen(part, "wb");
            assert_true(from && to);
            const size_t size = fread(bytes, 1, sizeof bytes, from);
            assert_true(size < sizeof bytes);
            bytes[size / 2] ^= cut ? 0 : 4;
            fwrite(bytes, 1, size - (size_t)cut, to);
            fclose(from);
            fclose(to);
        }
        assert_refused(problem, BLV_E_FORMAT, "damaged");
    }
    meet();
    save_half(small, BLV_F64, "soba", all); /* the same state, with parts of its own */
    meet();
    find_part(part);
    if (all->rank == 0)
        assert_int_equal(rename(aside, part), 0);
    assert_refused(problem, BLV_E_FORMAT, "another checkpoint");
    /* without its parts: from memory */
    blv_run *run = start(problem, "soba", 20);
    assert_int_equal(blv_run_load(run, "no-such-file.npz"), BLV_E_FILE);
    blv_run_destroy(run);
    destroy(problem);
}

/* Where all is in one file, as a function gets it. */
typedef struct bytes {
    char *at;
    size_t size;
} bytes;

static int append(void *context, const void *from, size_t count) {
    bytes *b = context;
    b->at = realloc(b->at, b->size + count);
    memcpy(b->at + b->size, from, count);
    b->size += count;
    return 0;
}

static void test_memory(void **state) {
    static const char *const solvers[] = {"soba", "saba"};
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        bytes b = {0};
        blv_problem *problem = small(all, BLV_F64);
        blv_run *run = start(problem, solvers[s], 10), *rest = start(problem, solvers[s], 20);
        assert_int_equal(blv_run_solve(run), BLV_OK);
        assert_int_equal(blv_run_save_to(run, append, &b), BLV_OK);
        assert_true(all->broadcast(all->context, 0, &b.size, sizeof b.size));
        if (all->rank > 0)
            b.at = malloc(b.size);
        assert_true(all->broadcast(all->context, 0, b.at, b.size));
        if (blv_run_load_from(rest, b.at, b.size) != BLV_OK)
            fail_msg("%s", blv_run_message(rest));
        blv_run_destroy(run);
        double *x = finish(rest), *whole = run_whole(small, BLV_F64, solvers[s], all);
        compare(whole, x, FEW, 0.0);
        free(x);
        free(whole);
        free(b.at);
        destroy(problem);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_store_fails),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_memory),
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(test_share_of_memory),
#endif

    };
    blv_message why;
    if (blv_mpi_start(&all, &why) != BLV_OK)
        return 1;
    snprintf(folder, sizeof folder, "mpi-checkpoints-%d", all->count);
    snprintf(path, sizeof path, "%s/run.npz", folder);
    if (all->rank == 0)
        mkdir(folder, 0777);
    meet();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    meet();
    if (all->rank == 0) {
        (void)blv_run_drop_parts(path, NULL);
        unlink(path);
        rmdir(folder);
    }
    blv_mpi_leave(all, failed, NULL);
    return failed;
}
