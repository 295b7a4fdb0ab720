/* A problem as named on the command line: PROBLEM and its options, its parameters, the instance. It
 * lives until the program ends. */
#pragma once

#include "bilevel/problem.h"
#include "cli/arguments.h"

/* --device: where data and vectors are kept. auto: on a GPU where there is one and the problem can
 * be there. */
typedef enum cli_device { CLI_DEVICE_CPU, CLI_DEVICE_CUDA, CLI_DEVICE_AUTO } cli_device;
#define CLI_DEVICE_WORDS "cpu|cuda|auto"
#define CLI_DEVICE_HELP                                                                            \
    "where data and vectors are kept: in memory, on a GPU, or there if it can be (default cpu)"
extern const char *const cli_device_words[];
blv_memory_kind cli_device_memory(cli_device device); /* ends the command without a GPU */

typedef struct cli_instance {
    const char *name; /* NULL: none was given */
    cli_settings settings;
    blv_problem_options options;
    cli_device device;
    bool gradients_only;

    const blv_problem_family *family;
    void *params; /* the struct that family->params describes */
    blv_problem *problem;
    blv_problem *with_products; /* with gradients_only: what problem was made from */
} cli_instance;

/* --problem-set, --precision, --threads, --device and --gradients-only of a cli_instance. */
extern const cli_argument cli_problem_table[];

/* Finds the family and sets its parameters; the command ends where that fails. */
void cli_instance_find(cli_instance *instance);
/* Finds it and creates the problem. */
void cli_instance_create(cli_instance *instance);
/* "quadratic, dimension 50 in x and 50 in y, f64", once it is created */
const char *cli_instance_describe(const cli_instance *instance);
