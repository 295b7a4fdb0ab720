/* ARFF files, zstd, and pipes: the same rows as from CSV and plain files. */
#include "reader_helpers.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sys/stat.h>
#include <zstd.h>

#define OPTIONS(...)                                                                               \
    &(const blv_read_options) {                                                                    \
        .size = sizeof(blv_read_options), __VA_ARGS__                                              \
    }

static void check_rejected(const char *path, const char *message) {
    blv_dataset *set = NULL;
    blv_message why = {""};
    assert_true(blv_dataset_read(&set, path, NULL, &why) != BLV_OK);
    if (!strstr(why.text, message))
        fail_msg("%s\nexpected: %s", why.text, message);
}

static void check_same(const char *arff, const char *csv, const blv_read_options *options) {
    blv_dataset *a = read_text(arff, options), *b = read_text(csv, options);
    const blv_dataset_view *v = blv_dataset_view_of(a);
    assert_string_equal(v->format, "arff");
    assert_true(blv_dataset_fingerprint(a) == blv_dataset_fingerprint(b));
    blv_dataset_release(a);
    blv_dataset_release(b);
}

/* ---- ARFF ---- */

static const char header[] = "% a comment\n\n@RELATION 'iris, and others'\r\n"
                             "@attribute 'petal length' NUMERIC\n"
                             "@attribute colour {red, 'light blue', \"it's\"}\n"
                             "@attribute note string\n"
                             "@attribute when date \"yyyy-MM-dd\"\n"
                             "@attribute class {b,a}\n@DATA\n";

static void test_arff(void **state) {
    (void)state;
    char text[1024];
    snprintf(text, sizeof text,
             "%s1.5, red, 'x, y', 2024-01-01, a\n  %% another\n"
             "?\t'light blue', ?, 2024-01-02, b\n"
             "2.5, 'it\\'s' , \"x, y\",\"2024-01-03\", b\r\n",
             header);
    static const char csv[] = "petal length,colour,note,when,class\n1.5,red,\"x, y\",2024-01-01,a\n"
                              ",light blue,,2024-01-02,b\n2.5,it's,\"x, y\",2024-01-03,b\n";
    check_same(text, csv, OPTIONS(.layout = BLV_LAYOUT_DENSE));
    check_same(text, csv, OPTIONS(.layout = BLV_LAYOUT_SPARSE, .missing = BLV_MISSING_DROP));
    check_same(text, csv, OPTIONS(.label = "colour", .kinds = "class:drop"));
    /* levels of numbers stay levels, and a column of numbers may be one by request */
    check_same("@relation r\n@attribute n {1,2}\n@attribute m real\n@attribute y {p,q}\n@data\n"
               "1,5,p\n2,6,q\n1,6,q\n",
               "n,m,y\n1,5,p\n2,6,q\n1,6,q\n", OPTIONS(.kinds = "n:category,m:category"));
}

static void test_sparse_arff(void **state) {
    (void)state;
    static const char numbers[] = "@relation s\n@attribute u numeric\n@attribute class {no,'y s'}\n"
                                  "@attribute v real\n@attribute w integer\n@data\n"
                                  "{0 1.5, 1 'y s'}\n{}\n{ 2 2 , 3 -1 }\n{1 \"y s\", 3 7}\n";
    static const char csv[] = "u,class,v,w\n1.5,y s,0,0\n0,no,0,0\n0,no,2,-1\n0,y s,0,7\n";
    check_same(numbers, csv, OPTIONS(.layout = BLV_LAYOUT_SPARSE));
    check_same(numbers, csv, OPTIONS(.layout = BLV_LAYOUT_DENSE));
    check_same(numbers, csv, OPTIONS(.label = "u", .kinds = "class:category"));
    check_same("@relation s\n@attribute u numeric\n@attribute k {x,y}\n@attribute c {p,q}\n@data\n"
               "{0 1, 1 y}\n{2 q}\n{0 ?}\n",
               "u,k,c\n1,y,p\n0,x,q\n,x,p\n", OPTIONS(.layout = BLV_LAYOUT_SPARSE));
    check_same("@relation s\n@attribute u numeric\n@attribute t real\n@data\n{0 1, 1 2.5}\n{0 3}\n",
               "u,t\n1,2.5\n3,0\n", OPTIONS(.targets = BLV_TARGETS_REAL));
}

static void test_damaged_arff(void **state) {
    (void)state;
    static const struct {
        const char *rows, *message;
    } cases[] = {
        {"1,green,x,2024-01-01,a\n", "line 10: expected a declared value of 'colour', found"},
        {"1,red,x,2024-01-01\n", "line 10: 4 fields; expected 5"},
        {"x,red,x,2024-01-01,a\n1,red,x,2024-01-01,a\n",
         "line 10, column 1 of 5 (petal length): expected a finite number, found 'x'"},
        {"1,red,'x,2024-01-01,a\n", "line 10: expected a closing quote"},
        {"1,'red'x,y,2024-01-01,a\n", "line 10: expected a comma after a closing quote"},
        {"1,red,x,May 5,a\n", "column 'when': expected a date in every row"},
        {"{0 1, 1 red}\n", "expected a value of every attribute that is a string or date"},
        {"{1 red, 0 1}\n", "line 10: expected the place of an attribute, ascending"},
        {"{9 red}\n", "line 10: expected the place of an attribute, ascending"},
        {"{0 1\n", "line 10: expected a comma or }"},
        {"{0 1} 5\n", "line 10: expected the line's end after }"},
        {"", "there is no row of data"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%s%s", header, cases[i].rows);
        check_rejected(put_text("bad.arff", text), cases[i].message);
    }
    static const char *const heads[][2] = {
        {"@relation r\n@attribute a\n@data\n1\n", "line 2: expected numeric, real"},
        {"@relation r\n@attribute a {x,\n@data\nx\n", "line 2: expected a value of the attribute"},
        {"@relation r\n@attribute a {x y\n@data\nx\n", "line 2: expected } after the values"},
        {"@relation r\n@atribute a real\n", "line 2: expected @relation, @attribute or @data"},
        {"@relation r\n@attribute a real\n", "expected @data, found the end of the file"},
        {"@relation r\n@data\n1\n", "line 2: expected @attribute before @data"},
        {"@relation r\n@attribute a numeric\n@data\n1\n", "one column"},
        {"@relation r\n@attribute a relational\n", "line 2: expected numeric"}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        check_rejected(put_text("bad.arff", heads[i][0]), heads[i][1]);
}

/* Few bytes that stand for many values: kept sparse where they can be, else rejected. */
static void test_wide_arff(void **state) {
    (void)state;
    enum { COLUMNS = 3000, ROWS = 20000 };
    for (int mixed = 0; mixed < 2; mixed++) {
        FILE *file = fopen(in_folder("wide.arff"), "w");
        fprintf(file, "@relation r\n@attribute class {no,yes}\n");
        for (size_t j = 0; j < COLUMNS; j++)
            fprintf(file, "@attribute a%zu numeric\n", j);
        fputs(mixed ? "@attribute k {x,y}\n@data\n" : "@data\n", file);
        for (size_t i = 0; i < ROWS; i++)
            fputs(i % 2 ? "{0 yes}\n" : "{7 1}\n", file);
        fclose(file);
        blv_dataset *d = mixed ? NULL : read_set(in_folder("wide.arff"), NULL);
        if (mixed)
            check_rejected(in_folder("wide.arff"), "more than 1000 times the file");
        else
            assert_int_equal(blv_dataset_view_of(d)->row_start[ROWS], ROWS / 2);
        blv_dataset_release(d);
    }
}

/* ---- zstd ---- */

static void test_zstd(void **state) {
    (void)state;
    enum { LINES = 200000 };
    char *text = malloc(LINES * 32);
    size_t n = 0;
    for (size_t i = 0; i < LINES; i++)
        n += (size_t)sprintf(text + n, "%zu.%zu,%zu,%s\n", i * 7919 % 1013, i % 10, i,
                             i % 2 ? "q" : "p");
    size_t room = 2 * ZSTD_compressBound(n);
    unsigned char *packed = malloc(room);
    size_t half = ZSTD_compress(packed, room, text, n / 2, 3); /* two frames */
    size_t size = half + ZSTD_compress(packed + half, room - half, text + n / 2, n - n / 2, 1);
    char plain[600];
    snprintf(plain, sizeof plain, "%s", put_file("plain.csv", text, n));
    blv_dataset *a = read_set(plain, NULL), *b = read_set(put_file("a.zst", packed, size), NULL);
    assert_int_equal(blv_dataset_view_of(a)->rows, LINES);
    assert_true(blv_dataset_fingerprint(a) == blv_dataset_fingerprint(b));
    blv_dataset_release(a);
    blv_dataset_release(b);
    check_rejected(put_file("cut.zst", packed, size - 5), "the zstd data is cut off");
    check_rejected(put_file("cut.zst", packed, 20), "byte 20: the zstd data is cut off");
    packed[half / 2] ^= 0x55;
    check_rejected(put_file("bad.zst", packed, size), "the zstd data is damaged");
    packed[half / 2] ^= 0x55;
    memcpy(packed + size, "more", 4);
    check_rejected(put_file("more.zst", packed, size + 4), "the zstd data is damaged");
    free(packed);
    free(text);
}

/* ---- Pipes ---- */

typedef struct feeding {
    const char *pipe;
    const void *bytes;
    size_t size;
} feeding;

static void *feed(void *of) {
    const feeding *f = of;
    int fd = open(f->pipe, O_WRONLY);
    for (size_t done = 0; done < f->size;) { /* in small pieces */
        ssize_t n =
            write(fd, (const char *)f->bytes + done, f->size - done < 1000 ? f->size - done : 1000);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    close(fd);
    return NULL;
}

static blv_dataset *read_pipe(const char *pipe, const void *content, size_t size) {
    pthread_t thread;
    feeding f = {pipe, content, size};
    assert_int_equal(pthread_create(&thread, NULL, feed, &f), 0);
    blv_dataset *d = read_set(pipe, NULL);
    pthread_join(thread, NULL);
    return d;
}

/* CSV that has to be read twice, gzip, and NPZ, whose end comes first. */
static void test_pipes(void **state) {
    (void)state;
    enum { ROWS = 500 };
    static char text[ROWS * 32];
    char pipe[600];
    size_t n = (size_t)sprintf(text, "a,city,label\n");
    for (size_t i = 0; i < ROWS; i++)
        n += (size_t)sprintf(text + n, "%zu,%s,%zu\n", i, i % 3 ? "Rome" : "Bern", i % 2);
    snprintf(pipe, sizeof pipe, "%s", in_folder("pipe"));
    assert_int_equal(mkfifo(pipe, 0600), 0);
    blv_dataset *plain = read_set(put_file("plain.csv", text, n), NULL);
    const uint64_t wanted = blv_dataset_fingerprint(plain);
    blv_dataset *d = read_pipe(pipe, text, n);
    assert_true(blv_dataset_fingerprint(d) == wanted);
    assert_int_equal(blv_dataset_write(d, in_folder("copy.csv"), "source", NULL), BLV_OK);
    blv_dataset *copy = read_set(in_folder("copy.csv"), NULL); /* of what was kept */
    assert_true(blv_dataset_fingerprint(copy) == wanted);
    blv_dataset_release(copy);
    blv_dataset_release(d);
    static unsigned char packed[sizeof text + 1024];
    d = read_pipe(pipe, packed, gzip_bytes(text, n, packed, sizeof packed));
    assert_true(blv_dataset_fingerprint(d) == wanted);
    blv_dataset_release(d);

    static unsigned char archive[1 << 16];
    blv_message why;
    assert_int_equal(blv_dataset_write(plain, in_folder("a.npz"), "npz", &why), BLV_OK);
    blv_dataset *from_file = read_set(in_folder("a.npz"), NULL);
    FILE *file = fopen(in_folder("a.npz"), "rb");
    size_t size = fread(archive, 1, sizeof archive, file);
    fclose(file);
    d = read_pipe(pipe, archive, size);
    assert_true(blv_dataset_fingerprint(d) == blv_dataset_fingerprint(from_file));
    blv_dataset_release(d);
    blv_dataset_release(from_file);

    blv_dataset_release(plain);
    check_rejected("/dev/zero", "not a regular file");
}

/* ---- Rows as they are in their file ---- */

static char *written(const blv_dataset *d, const char *name) {
    static char text[4096];
    blv_message why = {""};
    if (blv_dataset_write(d, in_folder(name), "source", &why) != BLV_OK)
        fail_msg("%s", why.text);
    FILE *file = fopen(in_folder(name), "rb");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static const struct {
    const char *text, *label;
    const char *turned, *few; /* with both labels exchanged; rows 2 and 0 */
} layouts[] = {
    {"\xef\xbb\xbfid;label;x\r\nk1; yes;1,5\r\n\r\nk2;\"no\";2\r\nk3;yes;\"3\"", NULL,
     "\xef\xbb\xbfid;label;x\r\nk1; no;1,5\r\nk2;yes;2\r\nk3;no;\"3\"\n",
     "\xef\xbb\xbfid;label;x\r\nk3;yes;\"3\"\nk1; yes;1,5\r\n"},
    {"a,\"long, text\",k\n5,\"two\nlines, \"\"q\"\"\",p\n6,5\" disk,\"q,r\"\n7,z,p\n", NULL,
     "a,\"long, text\",k\n5,\"two\nlines, \"\"q\"\"\",\"q,r\"\n6,5\" disk,p\n7,z,\"q,r\"\n",
     "a,\"long, text\",k\n7,z,p\n5,\"two\nlines, \"\"q\"\"\",p\n"},
    {"A11  6 1\nA12 48   2\n  A11 7 1 \n", "0", "A12  6 1\nA11 48   2\n  A12 7 1 \n",
     "  A11 7 1 \nA11  6 1\n"},
    {"# head\n+1 1:2 3:4 # one\n-1 2:5\n1.0 qid:1 1:1\n", NULL,
     "# head\n-1 1:2 3:4 # one\n+1 2:5\n-1 qid:1 1:1\n",
     "# head\n1.0 qid:1 1:1\n+1 1:2 3:4 # one\n"},
    {"@relation r\n@attribute u real\n@attribute c {p,'q r'}\n@data\n1, p\n2,\t'q r' \n3,p\n", "c",
     "@relation r\n@attribute u real\n@attribute c {p,'q r'}\n@data\n1, 'q r'\n2,\tp \n3,'q r'\n",
     "@relation r\n@attribute u real\n@attribute c {p,'q r'}\n@data\n3,p\n1, p\n"},
    {"@relation r\n@attribute u real\n@attribute c {p,q}\n@attribute v real\n@data\n"
     "{0 1, 2 5}\n{1 q}\n{2 6}\n",
     "c",
     "@relation r\n@attribute u real\n@attribute c {p,q}\n@attribute v real\n@data\n"
     "{0 1, 1 q, 2 5}\n{1 p}\n{1 q, 2 6}\n",
     "@relation r\n@attribute u real\n@attribute c {p,q}\n@attribute v real\n@data\n"
     "{2 6}\n{0 1, 2 5}\n"},
};

static void test_row_texts(void **state) {
    (void)state;
    static unsigned char packed[4096];
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        for (int gzip = 0; gzip < 2; gzip++) {
            const char *text = layouts[i].text;
            blv_dataset *d, *turned, *few;
            const char *path = gzip
                                   ? put_file("rows", packed,
                                              gzip_bytes(text, strlen(text), packed, sizeof packed))
                                   : put_text("rows", text);
            d = read_set(path, OPTIONS(.label = layouts[i].label));
            const blv_dataset_view *v = blv_dataset_view_of(d);
            assert_true(v->has_texts && v->rows == 3 && v->classes == 2);
            int32_t labels[3];
            for (size_t r = 0; r < 3; r++)
                labels[r] = 1 - v->label[r];
            assert_int_equal(blv_dataset_relabel(d, labels, &turned, NULL), BLV_OK);
            assert_string_equal(written(turned, "turned"), layouts[i].turned);
            const size_t rows[] = {2, 0};
            assert_int_equal(blv_dataset_select(d, rows, 2, &few, NULL), BLV_OK);
            assert_string_equal(written(few, "few"), layouts[i].few);
            blv_dataset_release(turned);
            blv_dataset_release(few);
            blv_dataset_release(d);
        }
}

static void test_row_texts_of_changed_files(void **state) {
    (void)state;
    blv_message why = {""};
    blv_row_texts *texts;
    size_t length;
    blv_dataset *d = read_set(put_text("rows.csv", "a,b,k\n1,,p\n2,x,q\r\n3,y,p"),
                              OPTIONS(.missing = BLV_MISSING_DROP));
    assert_int_equal(blv_row_texts_open(&texts, d, &why), BLV_OK);
    assert_memory_equal(blv_row_texts_at(texts, 0, &length), "2,x,q", 5);
    assert_int_equal(length, 5);
    assert_memory_equal(blv_row_texts_at(texts, 1, &length), "3,y,p", 5);
    assert_int_equal(length, 5);
    blv_row_texts_close(texts);
    put_text("rows.csv", "a,b,k\n1,,p\n2,x,q\r\n3,y,p\n");
    assert_int_equal(blv_row_texts_open(&texts, d, &why), BLV_E_FILE);
    assert_non_null(strstr(why.text, "rows.csv: was changed since it was read"));
    assert_null(texts);
    assert_true(unlink(in_folder("rows.csv")) == 0);
    assert_int_equal(blv_dataset_write(d, in_folder("o"), "source", &why), BLV_E_FILE);
    blv_dataset_release(d);
    const double x[] = {1, 2};
    const blv_dataset_view view = {
        .size = sizeof view, .rows = 2, .columns = 1, .stride = 1, .dense = x};
    assert_int_equal(blv_dataset_create(&d, &view, NULL, &why), BLV_OK);
    assert_int_equal(blv_row_texts_open(&texts, d, &why), BLV_OK);
    assert_null(texts);
    assert_int_equal(blv_dataset_write(d, in_folder("o"), "source", &why), BLV_E_VALUE);
    blv_dataset_release(d);
    blv_row_texts_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arff),         cmocka_unit_test(test_sparse_arff),
        cmocka_unit_test(test_damaged_arff), cmocka_unit_test(test_wide_arff),
        cmocka_unit_test(test_zstd),         cmocka_unit_test(test_pipes),
        cmocka_unit_test(test_row_texts),    cmocka_unit_test(test_row_texts_of_changed_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
