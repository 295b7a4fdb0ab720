/* Several files that appear together or not at all. Temporary files are removed however the command
 * ends. One such set at a time.
 *
 *     cli_outputs outputs = {0};
 *     cli_outputs_print(&outputs, "a.csv", print_rows, rows);
 *     cli_outputs_bytes(&outputs, "a.npz", bytes, size);
 *     return cli_outputs_finish(&outputs); */
#pragma once

#include "base/atomic_file.h"
#include "bilevel/dataset.h"
#include "cli/common.h"

#include <stdio.h>

typedef struct cli_outputs {
    size_t count;
    blv_atomic_file **files;
    int code; /* CLI_DONE until something has failed, after a complaint */
} cli_outputs;

/* These write a file; path NULL: none. Once something has failed they do nothing. From the first
 * one on outputs must stay where it is. */
void cli_outputs_write(cli_outputs *outputs, const char *path, const blv_dataset *dataset,
                       const char *format);
typedef void (*cli_print_fn)(FILE *file, const void *context);
void cli_outputs_print(cli_outputs *outputs, const char *path, cli_print_fn print,
                       const void *context);
void cli_outputs_bytes(cli_outputs *outputs, const char *path, const void *first, size_t size);
/* A place for the caller to write to, NULL after a complaint. */
const char *cli_outputs_add(cli_outputs *outputs, const char *path);
/* Moves all files to their places unless something has failed, removes what was not moved, frees
 * and returns the exit code. */
int cli_outputs_finish(cli_outputs *outputs);
/* The same; ends the command where something has failed. */
void cli_outputs_commit(cli_outputs *outputs);
/* One whole file; the command ends where it cannot be written. */
void cli_output_whole(const char *path, const void *bytes, size_t size);
/* Ends the command where files could not be written to these paths, before hours are spent; NULL:
 * no file. */
void cli_outputs_try(const char *first, const char *second);
/* A folder for outputs; the command ends where that fails. Returns false where it was there. */
bool cli_make_folder(const char *path);

/* ---- Which files the command reads and which it writes ---- */

/* Two names of one file (links, hard links, ./a and a) are told by device and inode. An output that
 * is an input, the run store or another output ends the command before anything is lost.
 *
 * Entries of argument tables of the kinds READS and WRITES are noted when the command line is read;
 * these are for names that are made otherwise. All paths are copied; NULL: none. */

/* A file that is read, and that of its labels; nothing happens where there is none of that name. */
void cli_file_reads(const char *path);
/* The run store, with the files that SQLite keeps beside it. */
void cli_file_store(const char *path);
/* A file that will be written; the command ends where it must not be. */
void cli_file_writes(const char *path);
/* Whether a file is, or would be, in the current folder or below, where links lead. */
bool cli_file_is_below(const char *path);
/* As cli_file_writes, as an error: a file that was noted as output before may be noted again. */
blv_error cli_file_expect_output(const char *path, blv_message *why);
