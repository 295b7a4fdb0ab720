/* Linear classifiers on sets in memory: the problems are those of the families that read files, the
 * lower level is solved, answers are softmax of plain sums; and what models in files need: names in
 * NPZ files, the numbers of a scaling, true labels in a CSV file. */
#include "dataset_helpers.h"
#include "reader_helpers.h"

#include "bilevel/bilevel.h"

enum { ROWS = 60, COLUMNS = 7, CLASSES = 3 };

static blv_message why;

static blv_dataset *sample_set(size_t rows, size_t classes, bool sparse, blv_precision precision) {
    sample s = {.rows = rows,
                .columns = COLUMNS,
                .classes = classes,
                .sparse = sparse,
                .precision = precision};
    return make_sample(&s);
}

static blv_dataset *rows_from(const blv_dataset *set, size_t first, size_t count) {
    size_t index[ROWS];
    blv_dataset *part = NULL;
    for (size_t i = 0; i < count; i++)
        index[i] = first + i;
    assert_int_equal(blv_dataset_select(set, index, count, &part, &why), BLV_OK);
    return part;
}

/* The first 40 rows for training, the others for validation. */
static blv_sets split_sets(size_t classes, bool sparse, blv_precision precision) {
    blv_dataset *all = sample_set(ROWS, classes, sparse, precision);
    blv_sets sets = {sizeof sets, rows_from(all, 0, 40), rows_from(all, 40, ROWS - 40), NULL};
    blv_dataset_release(all);
    return sets;
}

static double pseudo(size_t i) {
    return sin(12.9898 * (double)(i + 1)) * 0.7;
}

static blv_vec *filled(const blv_space *space) {
    blv_vec *v = NULL;
    size_t dim = blv_space_dim(space);
    double *host = malloc(dim * sizeof *host);
    for (size_t i = 0; i < dim; i++)
        host[i] = pseudo(i);
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    blv_vec_write(v, host);
    free(host);
    return v;
}

/* ---- The problems ---- */

/* The mean softmax loss of the rows, each with its weight, straight from the sums. */
static double plain_loss(const blv_dataset *set, const double *y, const double *weight) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    double total = 0.0;
    for (size_t i = 0; i < v->rows; i++) {
        double score[CLASSES] = {0}, sum = 0.0;
        for (size_t k = 0; k < v->classes; k++) {
            for (size_t j = 0; j < v->columns; j++)
                score[k] += at(set, i, j) * y[v->dense ? k * v->columns + j : j * v->classes + k];
            sum += exp(score[k]);
        }
        total += (weight ? weight[i] : 1.0) * (log(sum) - score[v->label[i]]);
    }
    return total / (double)v->rows;
}

static void expect_values(const blv_problem *problem, double expected_f, double expected_g) {
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_vec *x = filled(def->space_x), *y = filled(def->space_y);
    double f, g;
    assert_int_equal(def->upper(def->user, NULL, x, y, &f, NULL, NULL), 0);
    assert_int_equal(def->lower(def->user, NULL, x, y, &g, NULL, NULL), 0);
    assert_true(fabs(f - expected_f) <= 1e-12 * fabs(expected_f));
    assert_true(fabs(g - expected_g) <= 1e-12 * fabs(expected_g));
    blv_vec_destroy(x);
    blv_vec_destroy(y);
}

static void release(const blv_sets *sets) {
    blv_dataset_release(sets->train);
    blv_dataset_release(sets->val);
}

static void test_hyperclean_on_sets(void **state) {
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        blv_sets sets = split_sets(CLASSES, sparse, BLV_F64);
        double y[CLASSES * COLUMNS], weight[40], norm = 0.0, C = 0.01;
        for (size_t i = 0; i < CLASSES * COLUMNS; i++) {
            y[i] = pseudo(i);
            norm += y[i] * y[i];
        }
        for (size_t i = 0; i < 40; i++)
            weight[i] = 1.0 / (1.0 + exp(-pseudo(i)));
        blv_problem *problem = NULL;
        assert_int_equal(blv_hyperclean_create(&sets, C, NULL, &problem, &why), BLV_OK);
        assert_int_equal(blv_problem_definition(problem)->dim_x, 40);
        expect_values(problem, plain_loss(sets.val, y, NULL),
                      plain_loss(sets.train, y, weight) + C * norm);
        blv_problem_destroy(problem);
        release(&sets);
    }
}

static void test_l2reg_with_groups(void **state) {
    (void)state;
    const uint32_t group[COLUMNS] = {0, 2, 2, 1, 0, 1, 2};
    for (int sparse = 0; sparse < 2; sparse++) {
        blv_sets sets = split_sets(CLASSES, sparse, BLV_F64);
        blv_l2reg_setting setting = {.size = sizeof setting,
                                     .penalty = BLV_PENALTY_GROUPS,
                                     .group = group,
                                     .scale = 0.3,
                                     .lo = -2,
                                     .hi = 2};
        double y[CLASSES * COLUMNS], penalty = 0.0;
        for (size_t i = 0; i < CLASSES * COLUMNS; i++) {
            size_t column = sparse ? i / CLASSES : i % COLUMNS;
            y[i] = pseudo(i);
            penalty += 0.15 * exp(pseudo(group[column])) * y[i] * y[i];
        }
        blv_problem *problem = NULL;
        assert_int_equal(blv_l2reg_create(&sets, &setting, NULL, &problem, &why), BLV_OK);
        assert_int_equal(blv_problem_definition(problem)->dim_x, 3);
        expect_values(problem, plain_loss(sets.val, y, NULL),
                      plain_loss(sets.train, y, NULL) + penalty);
        blv_check_report report;
        assert_int_equal(blv_problem_check(problem, 1, 0.5, &report, &why), BLV_OK);
        assert_true(report.ok);
        blv_problem_destroy(problem);
        release(&sets);
    }
}

/* The set with weights for its rows, of mean 1 in `scaled`. */
static void weigh(blv_dataset **set, double *scaled) {
    blv_dataset_view view = *blv_dataset_view_of(*set);
    double weight[ROWS], sum = 0.0;
    for (size_t i = 0; i < view.rows; i++)
        sum += weight[i] = (double)(i * 7 % 5); /* some of them 0 */
    for (size_t i = 0; i < view.rows; i++)
        scaled[i] = weight[i] * (double)view.rows / sum;
    view.weight = weight;
    blv_dataset *weighted = NULL;
    assert_int_equal(blv_dataset_create(&weighted, &view, NULL, &why), BLV_OK);
    blv_dataset_release(*set);
    *set = weighted;
}

static void test_l2reg_with_weights(void **state) {
    (void)state;
    for (int sparse = 0; sparse < 2; sparse++) {
        blv_sets sets = split_sets(CLASSES, sparse, BLV_F64);
        double train[ROWS], val[ROWS], y[CLASSES * COLUMNS], norm = 0.0;
        weigh(&sets.train, train);
        weigh(&sets.val, val);
        for (size_t i = 0; i < CLASSES * COLUMNS; i++) {
            y[i] = pseudo(i);
            norm += y[i] * y[i];
        }
        blv_l2reg_setting one = {
            .size = sizeof one, .penalty = BLV_PENALTY_ONE, .scale = 0.3, .lo = -2, .hi = 2};
        blv_problem *problem = NULL;
        blv_check_report report;
        assert_int_equal(blv_l2reg_create(&sets, &one, NULL, &problem, &why), BLV_OK);
        expect_values(problem, plain_loss(sets.val, y, val),
                      plain_loss(sets.train, y, train) + 0.15 * exp(pseudo(0)) * norm);
        assert_int_equal(blv_problem_check(problem, 1, 0.5, &report, &why), BLV_OK);
        assert_true(report.ok);
        blv_problem_destroy(problem);
        assert_int_equal(blv_hyperclean_create(&sets, 0.1, NULL, &problem, &why), BLV_E_VALUE);
        assert_non_null(strstr(why.text, "weights of rows have no meaning here"));
        release(&sets);
    }
}

static void refused(blv_sets *sets, const blv_l2reg_setting *setting, double C,
                    const blv_problem_options *options, const char *words) {
    blv_problem *problem = NULL;
    why.text[0] = '\0';
    blv_error error = setting ? blv_l2reg_create(sets, setting, options, &problem, &why)
                              : blv_hyperclean_create(sets, C, options, &problem, &why);
    assert_int_not_equal(error, BLV_OK);
    assert_non_null(strstr(why.text, words));
    release(sets);
}

/* Sets that are retained and not released would show under the sanitizer. */
static void test_sets_that_do_not_fit(void **state) {
    (void)state;
    const blv_problem_options single = {
        .size = sizeof(blv_problem_options), .precision = BLV_F32, .threads = 1};
    blv_l2reg_setting one = {
        .size = sizeof one, .penalty = BLV_PENALTY_ONE, .scale = 1.0, .lo = -1, .hi = 1};
    blv_sets sets = split_sets(CLASSES, false, BLV_F64);
    refused(&sets, NULL, 0.1, &single, "another precision");
    sets = split_sets(CLASSES, false, BLV_F64);
    refused(&sets, NULL, 0.0, NULL, "C must be above 0");
    sets = split_sets(CLASSES, false, BLV_F64);
    blv_dataset_release(sets.val);
    sets.val = sample_set(10, 2, false, BLV_F64);
    refused(&sets, &one, 0.0, NULL, "not the same columns, classes and layout");
    sets = split_sets(CLASSES, false, BLV_F64);
    blv_dataset_release(sets.val);
    sets.val = sample_set(10, CLASSES, true, BLV_F64);
    refused(&sets, &one, 0.0, NULL, "not the same columns, classes and layout");
    sets = split_sets(CLASSES, false, BLV_F64);
    one.scale = 0.0;
    refused(&sets, &one, 0.0, NULL, "scale must be above 0");
    sets = split_sets(CLASSES, false, BLV_F64);
    one = (blv_l2reg_setting){.size = sizeof one, .penalty = BLV_PENALTY_GROUPS, .scale = 1.0};
    refused(&sets, &one, 0.0, NULL, "groups");
    sets = split_sets(CLASSES, false, BLV_F64);
    const uint32_t far[COLUMNS] = {0, COLUMNS};
    one.group = far;
    refused(&sets, &one, 0.0, NULL, "group number");
    sets = (blv_sets){sizeof sets, NULL, NULL, NULL};
    refused(&sets, NULL, 0.1, NULL, "are needed");
}

/* ---- The lower level alone ---- */

static int count_down(void *context) {
    int *left = context;
    return (*left)-- <= 0;
}

static void test_lower_level(void **state) {
    (void)state;
    blv_sets sets = split_sets(CLASSES, false, BLV_F64);
    blv_problem *problem = NULL;
    assert_int_equal(blv_hyperclean_create(&sets, 0.01, NULL, &problem, &why), BLV_OK);
    release(&sets);
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_vec *x = filled(def->space_x), *y = filled(def->space_y), *gy = filled(def->space_y);
    double reached = -1.0;
    int calls = 3;
    assert_int_equal(blv_solve_lower(problem, x, y, 1e-10, count_down, &calls, &reached, &why),
                     BLV_OK);
    assert_true(isnan(reached)); /* stopped on the way */
    assert_int_equal(blv_solve_lower(problem, x, y, 1e-10, NULL, NULL, &reached, &why), BLV_OK);
    assert_int_equal(def->lower(def->user, NULL, x, y, NULL, NULL, gy), 0);
    assert_true(blv_vec_norm(gy) <= 1e-10);
    assert_true(fabs(blv_vec_norm(gy) - reached) <= 1e-16);
    assert_int_equal(blv_solve_lower(problem, x, y, NAN, NULL, NULL, &reached, &why),
                     BLV_E_ARGUMENT);
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    blv_vec_destroy(gy);
    blv_problem_destroy(problem);
}

/* ---- Answers ---- */

static void test_answers(void **state) {
    (void)state;
    double weights[CLASSES * COLUMNS], intercept[CLASSES], p[ROWS * CLASSES];
    for (size_t i = 0; i < CLASSES * COLUMNS; i++)
        weights[i] = pseudo(i);
    for (size_t k = 0; k < CLASSES; k++)
        intercept[k] = pseudo(100 + k);
    for (int form = 0; form < 4; form++) {
        blv_precision precision = form & 1 ? BLV_F32 : BLV_F64;
        blv_dataset *set = sample_set(ROWS, CLASSES, form & 2, precision);
        for (size_t scores = 1; scores <= CLASSES; scores++) {
            size_t classes = scores == 1 ? 2 : scores;
            blv_linear_model m = {
                sizeof m, scores, COLUMNS, weights, scores == 2 ? NULL : intercept, false};
            assert_int_equal(blv_linear_answer(&m, set, p, &why), BLV_OK);
            for (size_t i = 0; i < ROWS; i++) {
                double score[CLASSES] = {0}, sum = 0.0;
                for (size_t k = 0; k < scores; k++) {
                    size_t to = classes - scores + k;
                    score[to] = scores == 2 ? 0.0 : intercept[k];
                    for (size_t j = 0; j < COLUMNS; j++)
                        score[to] += weights[k * COLUMNS + j] * at(set, i, j);
                }
                for (size_t k = 0; k < classes; k++)
                    sum += exp(score[k]);
                for (size_t k = 0; k < classes; k++)
                    assert_true(fabs(p[i * classes + k] - exp(score[k]) / sum) <= 1e-13);
            }
        }
        blv_dataset_release(set);
    }
    blv_dataset *set = sample_set(ROWS, CLASSES, false, BLV_F64);
    blv_linear_model narrow = {sizeof narrow, 1, COLUMNS - 1, weights, NULL, false};
    assert_int_equal(blv_linear_answer(&narrow, set, p, &why), BLV_E_VALUE);
    for (size_t i = 0; i < CLASSES * COLUMNS; i++)
        weights[i] = 1e6 * pseudo(i); /* scores that overflow exp */
    blv_linear_model steep = {sizeof steep, CLASSES, COLUMNS, weights, NULL, false};
    assert_int_equal(blv_linear_answer(&steep, set, p, &why), BLV_OK);
    for (size_t i = 0; i < ROWS * CLASSES; i++)
        assert_true(p[i] >= 0.0 && p[i] <= 1.0);
    blv_dataset_release(set);
}

static void test_auroc(void **state) {
    (void)state;
    const double score[] = {0.1, 0.4, 0.35, 0.8, 0.4};
    const bool positive[] = {false, false, true, true, true};
    double area, pairs = 0.0;
    for (size_t a = 0; a < 5; a++)
        for (size_t b = 0; b < 5; b++)
            if (positive[a] && !positive[b])
                pairs += score[a] > score[b] ? 1.0 : score[a] == score[b] ? 0.5 : 0.0;
    assert_int_equal(blv_auroc(5, score, positive, &area), BLV_OK);
    assert_true(fabs(area - pairs / 6.0) <= 1e-15);
    assert_int_equal(blv_auroc(2, score, positive, &area), BLV_OK);
    assert_true(isnan(area));
}

/* ---- What models in files need ---- */

static void test_scale_numbers(void **state) {
    (void)state;
    for (int form = 0; form < 4; form++) {
        blv_scaling scaling = form & 1 ? BLV_SCALE_UNIT : BLV_SCALE_STANDARD;
        blv_dataset *set = sample_set(ROWS, CLASSES, form & 2, BLV_F64);
        blv_dataset *scaled = sample_set(ROWS, CLASSES, form & 2, BLV_F64);
        double shift[COLUMNS], divisor[COLUMNS];
        assert_int_equal(blv_dataset_scale_numbers(set, scaling, shift, divisor, &why), BLV_OK);
        assert_int_equal(blv_dataset_scale(&scaled, 1, scaling, &why), BLV_OK);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < COLUMNS; j++)
                assert_true(fabs((at(set, i, j) - shift[j]) / divisor[j] - at(scaled, i, j)) <=
                            1e-15);
        assert_int_equal(blv_dataset_scale_numbers(set, scaling, NULL, divisor, &why),
                         BLV_E_ARGUMENT);
        blv_dataset_release(set);
        blv_dataset_release(scaled);
    }
}

static void test_names(void **state) {
    (void)state;
    const char *const written[] = {"a", "", "a longer name, with \"quotes\"", "caf\xc3\xa9"};
    const char *path = in_folder("names.npz");
    const double number = 3.0;
    blv_npz_writer *writer = NULL;
    blv_npz *file = NULL;
    char **names = NULL;
    size_t count = 0;
    assert_int_equal(blv_npz_create(&writer, path, &why), BLV_OK);
    assert_int_equal(blv_npz_add_names(writer, "some", written, 4, &why), BLV_OK);
    assert_int_equal(blv_npz_add_names(writer, "none", written, 0, &why), BLV_OK);
    assert_int_equal(blv_npz_add_f64(writer, "number", 0, NULL, &number, &why), BLV_OK);
    assert_int_equal(blv_npz_commit(writer, &why), BLV_OK);
    assert_int_equal(blv_npz_open(&file, in_folder("names.npz"), &why), BLV_OK);
    assert_int_equal(blv_npz_read_names(file, "some", &names, &count, &why), BLV_OK);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(names[i], written[i]);
    free(names);
    assert_int_equal(blv_npz_read_names(file, "none", &names, &count, &why), BLV_OK);
    assert_int_equal(count, 0);
    free(names);
    assert_int_equal(blv_npz_read_names(file, "number", &names, &count, &why), BLV_E_FORMAT);
    assert_non_null(strstr(why.text, "expected names as bytes"));
    assert_int_equal(blv_npz_read_names(file, "other", &names, &count, &why), BLV_E_NAME);
    blv_npz_close(file);
}

static void test_true_labels_in_csv(void **state) {
    (void)state;
    const char *text = "row,given,true,size\n0,cat,cat,1.5\n1,dog,cat,2\n2,cow,owl,3\n";
    blv_dataset *set = read_text(
        text,
        &(blv_read_options){.size = sizeof(blv_read_options), .label = "given", .truth = "true"});
    const blv_dataset_view *v = blv_dataset_view_of(set);
    const char *const given[] = {"cat", "dog", "cow"}, *const truth[] = {"cat", "cat", "owl"};
    assert_int_equal(v->columns, 2);
    assert_int_equal(v->classes, 4);
    assert_string_equal(v->feature_names[0], "row");
    assert_string_equal(v->feature_names[1], "size");
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(v->class_names[v->label[i]], given[i]);
        assert_string_equal(v->class_names[v->true_label[i]], truth[i]);
        assert_true(at(set, i, 0) == (double)i);
    }
    assert_true(at(set, 0, 1) == 1.5);
    blv_dataset_release(set);
    /* by number, without a header, the label being the last of the others */
    set = read_text("7,x,y\n8,y,y\n",
                    &(blv_read_options){.size = sizeof(blv_read_options), .truth = "2"});
    v = blv_dataset_view_of(set);
    assert_int_equal(v->columns, 1);
    assert_string_equal(v->class_names[v->label[0]], "x");
    assert_string_equal(v->class_names[v->true_label[0]], "y");
    blv_dataset_release(set);
}

static void refused_truth(const char *text, blv_read_options options, const char *words) {
    blv_dataset *set = NULL;
    assert_int_not_equal(blv_dataset_read(&set, put_text("text", text), &options, &why), BLV_OK);
    assert_null(set);
    assert_non_null(strstr(why.text, words));
}

static void test_true_labels_refused(void **state) {
    (void)state;
    const char *text = "a,b,c\n1,x,y\n2,y,y\n";
    refused_truth(text, (blv_read_options){.size = sizeof(blv_read_options), .truth = "d"},
                  "no truth column 'd'; the header has");
    refused_truth(text,
                  (blv_read_options){.size = sizeof(blv_read_options), .truth = "c", .label = "c"},
                  "another column");
    refused_truth(
        text, (blv_read_options){.size = sizeof(blv_read_options), .truth = "c", .label = "none"},
        "another column");
    refused_truth("a,b,c\n1,x,y\n2,y,\n",
                  (blv_read_options){.size = sizeof(blv_read_options), .truth = "c"},
                  "line 3, column 3 of 3: expected a label");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hyperclean_on_sets),
                                       cmocka_unit_test(test_l2reg_with_groups),
                                       cmocka_unit_test(test_l2reg_with_weights),
                                       cmocka_unit_test(test_sets_that_do_not_fit),
                                       cmocka_unit_test(test_lower_level),
                                       cmocka_unit_test(test_answers),
                                       cmocka_unit_test(test_auroc),
                                       cmocka_unit_test(test_scale_numbers),
                                       cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_true_labels_in_csv),
                                       cmocka_unit_test(test_true_labels_refused)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
