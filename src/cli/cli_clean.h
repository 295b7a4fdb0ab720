/* What `bilevel clean` is asked, and what it finds. */
#ifndef CLI_CLEAN_H
#define CLI_CLEAN_H

#include "bilevel/certificate.h"
#include "cli_cleaning.h"
#include "cli_json.h"
#include "cli_verdict.h"
#include "cli_work.h"

/* What a row is a picture of. */
typedef struct cli_image {
    bool is_given;        /* else it is told from the data */
    size_t width, height; /* 0: rows are no pictures */
    size_t channels;      /* 1 or 3 */
    bool planar;          /* all red values first, then green, then blue */
} cli_image;

typedef struct cli_clean_request {
    cli_learning learning;
    const char *out, *clean, *truth;
    bool relabel;
    double threshold, flag_share, false_alarms; /* NaN: not given */
    double ridge;                               /* likewise */
    uint64_t folds;
    cli_image image;
} cli_clean_request;

/* A model that is compared with the others: what it was trained on, and how good it is. */
typedef struct cli_clean_model {
    const char *name, *key; /* for the text and for the JSON object */
    cli_quality val, test;
} cli_clean_model;

enum { CLI_CLEAN_MODELS = 5 };

typedef struct cli_clean_result {
    const cli_clean_request *request;
    const cli_cleaning *cleaning;
    cli_verdict verdict;
    double *stated;    /* probability of each row's label */
    int32_t *believed; /* label of each row */
    bool *suspect;
    size_t suspects;
    size_t *order; /* rows, the most suspicious first */

    bool truth_known;
    size_t wrong, found; /* wrong labels, and those of them that are suspect */
    double auroc_probability, auroc_weight;

    size_t model_count;
    cli_clean_model model[CLI_CLEAN_MODELS];
} cli_clean_result;

/* Those that return a number return an exit code, after a message. */

/* Where the true labels are: in a file of their own, or in a column of TRAIN. */
bool cli_clean_truth_is_file(const cli_clean_request *request);
/* wrong[i]: whether the label of row i is, where the true labels are known. */
int cli_clean_find_truth(const cli_clean_request *request, const cli_sets *sets, bool *wrong);

/* Decides which rows are suspect. wrong: NULL when it is not known. To be freed. */
cli_clean_result cli_clean_judge(const cli_clean_request *request, const cli_cleaning *cleaning,
                                 const bool *wrong);
void cli_clean_result_free(cli_clean_result *result);
/* Trains on the rows as given, on those kept, and so on, as far as there are rows to test on. */
int cli_clean_compare(cli_clean_result *result);

/* Whether the files could be written, before the work; and writing them. */
int cli_clean_expect_writable(const cli_clean_request *request, const cli_sets *sets);
/* The rows of a set that are kept, or all of them with the labels that are believed. */
int cli_cleaned_rows(const cli_clean_result *result, const blv_dataset *set, blv_dataset **cleaned);
int cli_clean_write(const cli_clean_result *result);

/* The most suspicious rows as pictures, a part of a page; NULL where rows are no pictures. To be
 * freed. */
char *cli_clean_sheet(const cli_clean_result *result);
/* Of all folds: the mean of Phi, the largest of the others. */
blv_certificate cli_clean_certificate(const cli_clean_result *result);
/* What came out, in a line. To be freed. */
char *cli_clean_message(const cli_clean_result *result);

void cli_clean_text(const cli_clean_result *result);
json_t *cli_clean_object(const cli_clean_result *result);

#endif
