#include "cli/store_options.h"
#include "base/message.h"

static blv_error take_store(void *field, const char *text, blv_message *why) {
    cli_store_choice *choice = field;
    if (text)
        choice->path = text;
    else
        choice->off = true;
    return choice->path && choice->off
               ? blv_explain(why, BLV_E_ARGUMENT, "--store or --no-store, one of the two")
               : BLV_OK;
}

const cli_argument cli_store_table[] = {
    {.name = "store",
     .kind = CLI_ARG_CUSTOM,
     .value = "FILE",
     .help = "run store to use (default: what BILEVEL_STORE names, or runs.db in the user's state "
             "folder)",
     .take = take_store},
    {.name = "no-store",
     .kind = CLI_ARG_CUSTOM,
     .help = "keep nothing in the run store",
     .take = take_store},
    CLI_END};

const cli_argument cli_store_file_table[] = {
    CLI_OPTION("store", TEXT, cli_store_choice, path, "FILE",
               "run store to look at (default: what BILEVEL_STORE names, or runs.db in the user's "
               "state folder)"),
    CLI_END};
