/* The name that "cli/data_files.h" had; for the commands whose own argp parser reads data. */
#ifndef CLI_DATASET_H
#define CLI_DATASET_H

#include "cli/data_files.h"

extern const struct argp cli_reading_argp;

#endif
