/* What every subcommand needs: exit codes, messages, memory, text, KEY=VALUE settings, numbers. */
#pragma once

#include "base/message.h"
#include "base/text_stream.h"
#include "bilevel/param.h"
#include "bilevel/space.h"
#include "bilevel/status.h"
#include "bilevel/task.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>

enum {
    CLI_DONE = 0,    /* solved, or stopped at a limit as asked */
    CLI_FAILED = 1,  /* diverged, an oracle failed, memory is short, a derivative is wrong */
    CLI_REJECTED = 2 /* bad usage or input, or output that cannot be written */
};

/* ---- Standard output and standard error ----
 *
 * Whatever is printed there passes through one function, which shows control characters other than
 * newlines and tabs, and marks of writing direction, in place of passing them on to a terminal:
 * text from files, stores and suites cannot steer it. The escapes are those of JSON, so that JSON
 * stays what it is. */

/* To be called once, before anything is printed. The command ends where memory is short. */
void cli_terminal_begin(void);
/* Text from elsewhere within a line: the same with newlines and tabs. Lives until the program
 * ends; "" for NULL. */
const char *cli_shown(const char *text);
/* A line on standard error. context is not used. */
void cli_say(void *context, const char *line);

/* ---- Messages on stderr, "bilevel solve: ..." ---- */

void cli_complain(const char *format, ...) BLV_PRINTF(1, 2);
/* The last one, empty where there was none. */
const char *cli_last_complaint(void);
/* From here on every complaint is about this: "bilevel solve: soba: ..."; NULL: about nothing in
 * particular. Borrowed. */
void cli_complain_about(const char *topic);
/* Complains and returns the exit code that the error asks for. Without a text (NULL or empty) the
 * message is the error's own. */
int cli_reject(blv_error error, const char *text);
/* Gets the message of a call whose result goes to one of the following. */
extern blv_message cli_why;
/* The same for the result of a call: CLI_DONE, and no message, with BLV_OK. */
int cli_exit_code(blv_error error);

/* ---- The end: stores are closed and unfinished files removed however a command ends ---- */

/* Ends the command where a call has failed. */
void cli_expect(blv_error error);
/* Complains about bad input and ends the command. */
noreturn void cli_die(const char *format, ...) BLV_PRINTF(1, 2);

/* ---- Memory: zero-filled, never NULL; the command ends where memory is short ---- */

void *cli_alloc(size_t count, size_t size);
void *cli_grow(void *block, size_t count, size_t size);

/* ---- Text in memory, as base/text_stream.h has it; the command ends where memory is short ---- */

typedef blv_text_stream cli_text;

FILE *cli_text_begin(cli_text *text);
/* Closes the stream. Never NULL, to be freed. */
char *cli_text_end(cli_text *text);
/* As printf does; never NULL, lives until the program ends. */
char *cli_print(const char *format, ...) BLV_PRINTF(1, 2);

/* The words between the commas, followed by NULL; likewise. */
const char **cli_split(const char *list);

/* ---- The command line ---- */

typedef struct cli_texts {
    size_t count;
    const char **items;
} cli_texts;
/* Its words, in the order in which they were typed. */
typedef struct cli_words {
    size_t count;
    char **items;
} cli_words;
extern cli_words cli_typed;

/* KEY=VALUE settings. */
typedef struct cli_settings {
    size_t count;
    blv_setting *items;
} cli_settings;

/* key and value are borrowed. */
void cli_settings_add(cli_settings *settings, const char *key, const char *value);
bool cli_settings_has(const cli_settings *settings, const char *key);
/* {"key", "value", ..., NULL}, as blv_solve_options has them; lives as long as the settings do. */
const char *const *cli_settings_list(cli_settings *settings);

/* The whole text must be a decimal number from 0 to most. */
bool cli_parse_whole(const char *text, uint64_t most, uint64_t *value);
