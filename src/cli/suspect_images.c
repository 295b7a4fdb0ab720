/* Rows as they were before scaling, drawn as pictures.
 *
 * Without --image rows are taken for pictures when they are of CIFAR's format (3 x 32 x 32, color
 * after color), or when the number of features is a square from 8x8 on, no value is negative, and
 * the features have no names other than numbered ones (x0, x1, ... or pixel1, pixel2, ...). */
#include "cli/suspect_images.h"
#include "base/rank_exchange.h"
#include "cli/data_files.h"
#include "report/html.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN = 60,
    SMALLEST_SIDE = 8,
    LARGEST_SIDE = 512,
    CIFAR_SIDE = 32,
    CAPTION = 160,
    MOST_PIXELS = 4096
};

/* ---- What is asked ---- */

const blv_field cli_image_fields[] = {BLV_FIELD(cli_image, is_given, BOOL),
                                      BLV_FIELD(cli_image, width, SIZE),
                                      BLV_FIELD(cli_image, height, SIZE),
                                      BLV_FIELD(cli_image, channels, SIZE),
                                      {0}};

/* Pixel by pixel, line after line. */
blv_error cli_image_parse(void *field, const char *text, blv_message *why) {
    cli_image *image = field;
    int end = 0;
    *image = (cli_image){.is_given = strcmp(text, "auto") != 0, .channels = 1};
    if (!image->is_given || strcmp(text, "none") == 0)
        return BLV_OK;
    bool well = sscanf(text, "%4zux%4zu%n", &image->width, &image->height, &end) == 2 &&
                image->width - 1 < MOST_PIXELS && image->height - 1 < MOST_PIXELS;
    image->channels = well && strcmp(text + end, "x3") == 0 ? 3 : 1;
    if (well && (image->channels == 3 || !text[end]))
        return BLV_OK;
    return blv_explain(why, BLV_E_VALUE, "expected auto, none, or a size such as 28x28 or 32x32x3");
}

void cli_image_check(const cli_image *image, const blv_task_sets *sets) {
    size_t values = image->width * image->height * image->channels;
    if (values > 0 && values != sets->features)
        cli_die("%s: rows of %zu features are no images of %zux%zu; expected %zu", sets->train_name,
                sets->features, image->width, image->height, values);
}

/* ---- Are they pictures? ---- */

static size_t start_of_number(const char *name) {
    size_t start = strlen(name);
    while (start > 0 && isdigit((unsigned char)name[start - 1]))
        start--;
    return start;
}

/* "x4" after "x3" */
static bool follows(const char *name, const char *before) {
    size_t start = start_of_number(name), start_before = start_of_number(before);
    return start == start_before && strncmp(name, before, start) == 0 && name[start] &&
           before[start] &&
           strtoull(name + start, NULL, 10) == strtoull(before + start, NULL, 10) + 1;
}

static bool names_are_numbered(const blv_dataset_view *v, size_t features) {
    for (size_t j = 1; v->feature_names && j < features; j++)
        if (!follows(v->feature_names[j], v->feature_names[j - 1]))
            return false;
    return true;
}

/* One row without the intercept, as it was before scaling, but for its length. at: where its
 * features are. */
static void read_row_at(const blv_task_sets *sets, size_t at, double *values) {
    const blv_dataset_view *v = blv_dataset_view_of(sets->train);
    size_t start, count = cli_row_values(v, at, &start);
    memset(values, 0, sets->features * sizeof *values);
    for (size_t k = 0; k < count; k++) {
        size_t column = v->dense ? k : v->column[start + k];
        if (column < sets->features)
            values[column] = cli_dataset_value(v, start + k);
    }
    for (size_t j = 0; j < sets->features; j++)
        values[j] = values[j] * sets->divisor[j] + sets->shift[j];
}

/* Of several ranks the one that has the row tells the others. */
static void read_row(const blv_task_sets *sets, size_t row, double *values) {
    const blv_dataset_view *v = blv_dataset_view_of(sets->train);
    size_t at = v->ranks ? 0 : row;
    while (v->ranks && at < v->held && v->held_row[at] != row)
        at++;
    memset(values, 0, sets->features * sizeof *values);
    if (!v->ranks || at < v->held)
        read_row_at(sets, at, values);
    if (v->ranks && !v->ranks->sum(v->ranks->context, sets->features, values))
        cli_die(BLV_NO_EXCHANGE);
}

static bool has_negative(const blv_task_sets *sets) {
    static const double rounding = -1e-5;
    const blv_dataset_view *v = blv_dataset_view_of(sets->train);
    const size_t rows = v->ranks ? v->held : v->rows;
    double *values = cli_alloc(sets->features, sizeof *values), least = 0.0, most = 0.0;
    for (size_t i = 0; i < rows; i++) {
        read_row_at(sets, i, values);
        for (size_t j = 0; j < sets->features; j++) {
            least = fmin(least, values[j]);
            most = fmax(most, values[j]);
        }
    }
    free(values);
    double negative = least < rounding * most;
    if (v->ranks && !v->ranks->sum(v->ranks->context, 1, &negative))
        cli_die(BLV_NO_EXCHANGE);
    return negative > 0.0;
}

static cli_image find_image(const blv_task_sets *sets) {
    const blv_dataset_view *v = blv_dataset_view_of(sets->train);
    if (strncmp(v->format, "cifar", 5) == 0)
        return (cli_image){
            .width = CIFAR_SIDE, .height = CIFAR_SIDE, .channels = 3, .planar = true};
    size_t side = (size_t)lround(sqrt((double)sets->features));
    bool square = side * side == sets->features && side >= SMALLEST_SIDE && side <= LARGEST_SIDE;
    if (!square || !names_are_numbered(v, sets->features) || has_negative(sets))
        return (cli_image){0};
    return (cli_image){.width = side, .height = side, .channels = 1};
}

static cli_image image_of(const cli_image *given, const blv_task_sets *sets) {
    return given->is_given ? *given : find_image(sets);
}

bool cli_rows_are_images(const cli_image *given, const blv_task_sets *sets) {
    return image_of(given, sets).width > 0;
}

/* ---- The pictures ---- */

static const char *caption_of(const blv_dataset_view *v, const blv_clean_result *r, size_t row) {
    const char *label = v->class_names[v->label[row]];
    return r->believed[row] == v->label[row] ? cli_print("row %zu: %.40s?", row, label)
                                             : cli_print("row %zu: %.40s, not %.40s", row,
                                                         v->class_names[r->believed[row]], label);
}

static void put_pictures(FILE *out, const cli_image *image, const blv_task_sets *sets,
                         const blv_clean_result *r, size_t count) {
    report_picture *pictures = cli_alloc(count, sizeof *pictures);
    double *values = cli_alloc(count * sets->features, sizeof *values);
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < count; i++)
        read_row(sets, r->order[i], values + i * sets->features);
    for (size_t i = 0; i < count * sets->features; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    for (size_t i = 0; i < count; i++)
        pictures[i] = (report_picture){
            .width = image->width,
            .height = image->height,
            .channels = image->channels,
            .planar = image->planar,
            .values = values + i * sets->features,
            .low = low,
            .high = high,
            .caption = caption_of(blv_dataset_view_of(sets->train), r, r->order[i])};
    cli_expect(report_contact_sheet(out, pictures, count));
    free(pictures);
    free(values);
}

/* ---- Other rows ---- */

/* The first CAPTION - 1 bytes of it. */
static const char *speaks_against(const blv_task_sets *sets, const blv_clean_result *r,
                                  size_t row) {
    const blv_dataset_view *v = blv_dataset_view_of(sets->train);
    double *values = cli_alloc(sets->features, sizeof *values);
    const char *text = "";
    read_row(sets, row, values);
    for (size_t a = 0; a < BLV_CLEAN_AGAINST; a++) {
        const uint32_t j = r->against[row * BLV_CLEAN_AGAINST + a];
        if (j != BLV_CLEAN_NO_FEATURE)
            text = cli_print("%s%s%.40s %.4g", text, *text ? ", " : "",
                             v->feature_names ? v->feature_names[j]
                                              : cli_print("feature %u:", (unsigned)j),
                             values[j]);
    }
    free(values);
    return cli_print("%.*s", CAPTION - 1, text);
}

void cli_suspect_rows(report_table *table, const blv_task_sets *sets, const blv_clean_result *r,
                      size_t count) {
    const blv_dataset_view *v = blv_dataset_view_of(sets->train);
    for (size_t i = 0; i < count; i++) {
        const size_t row = r->order[i];
        const char *cells[] = {
            report_number(&table->arena, "%.0f", (double)row), v->class_names[v->label[row]],
            report_number(&table->arena, "%.2g%%", 100.0 * r->label_probability[row]),
            v->class_names[r->believed[row]], speaks_against(sets, r, row)};
        report_table_row(table, cells);
    }
}

static void put_rows(FILE *out, const blv_task_sets *sets, const blv_clean_result *r,
                     size_t count) {
    report_table table = {.align = r->model_text ? "rlrll" : "rlrl"}; /* no model, none to ask */
    report_table_row(
        &table, (const char *const[]){"Row", "Label", "Right", "Believed", "Speaks against it"});
    cli_suspect_rows(&table, sets, r, count);
    cli_expect(report_table_print(&table, REPORT_AS_HTML, 0, out));
}

char *cli_suspect_sheet(const cli_image *given, const blv_task_sets *sets,
                        const blv_clean_result *r) {
    const cli_image image = image_of(given, sets);
    size_t count = r->suspects < SHOWN ? r->suspects : SHOWN;
    if (count == 0)
        return NULL;
    cli_text text;
    FILE *out = cli_text_begin(&text);
    report_html_print(out, "h3", "The %zu most suspicious of %zu suspect rows", count, r->suspects);
    if (image.width > 0)
        put_pictures(out, &image, sets, r, count);
    else
        put_rows(out, sets, r, count);
    return cli_text_end(&text);
}
