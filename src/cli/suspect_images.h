/* The most suspicious rows of `bilevel clean` as pictures, or with what speaks against them. */
#pragma once

#include "bilevel/clean.h"
#include "report/table.h"
#include "store/record.h"

/* What picture a row is. */
typedef struct cli_image {
    bool is_given;        /* else it is detected from the data */
    size_t width, height; /* 0: rows are no pictures */
    size_t channels;      /* 1 or 3 */
    bool planar;          /* all red values first, then green, then blue */
} cli_image;

extern const blv_field cli_image_fields[];
/* Parses auto, none, WIDTHxHEIGHT or WIDTHxHEIGHTx3 into a cli_image: a cli_take_fn. */
blv_error cli_image_parse(void *image, const char *text, blv_message *why);
/* Ends the command where the rows do not have as many features. */
void cli_image_check(const cli_image *image, const blv_task_sets *sets);
/* A part of a page, to be freed; NULL where none is suspect. */
char *cli_suspect_sheet(const cli_image *image, const blv_task_sets *sets,
                        const blv_clean_result *result);
bool cli_rows_are_images(const cli_image *image, const blv_task_sets *sets);
/* Adds the most suspicious rows to a table: row, label, probability that it is right, believed
 * label and, where the table has a column for them, the features that speak against the label:
 * "petal_width 2.5, petal_length 6". */
void cli_suspect_rows(report_table *table, const blv_task_sets *sets,
                      const blv_clean_result *result, size_t count);
