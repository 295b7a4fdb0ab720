/* Which run store a command uses, as entries of its argument table. */
#ifndef CLI_STORE_OPTIONS_H
#define CLI_STORE_OPTIONS_H

#include "cli/arguments.h"
#include "cli_store.h"

/* --store and --no-store of a cli_store_choice, for a command that records its run. */
extern const cli_argument cli_store_table[];
/* --store of a cli_store_choice, for a command that looks at runs. */
extern const cli_argument cli_store_file_table[];

#endif
