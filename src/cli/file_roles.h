/* Which files the command reads and which it writes. Two names of one file (links, hard links,
 * ./a and a) are told by device and inode. An output that is an input, the run store or another
 * output ends the command before anything is lost.
 *
 * Entries of argument tables of the kinds READS and WRITES are noted when the command line is read;
 * the functions below are for names that are made otherwise. */
#pragma once

#include "bilevel/status.h"

#include <stdbool.h>

/* All paths are copied; NULL: none. */

/* A file that is read; nothing happens where there is none of that name. */
void cli_file_reads(const char *path);
/* The run store, with the files that SQLite keeps beside it. */
void cli_file_store(const char *path);
/* A file that will be written; the command ends where it must not be. */
void cli_file_writes(const char *path);
/* Whether a file is, or would be, in the current folder or below, where links lead. */
bool cli_file_is_below(const char *path);
/* As cli_file_writes, as an error: a file that was noted as output before may be noted again. */
blv_error cli_file_expect_output(const char *path, blv_message *why);
