/* What may come next on a command line, and the command line as a page of the manual; both from the
 * argument tables. */
#ifndef CLI_COMPLETION_WORDS_H
#define CLI_COMPLETION_WORDS_H

#include "cli/describe.h"

/* What the last of the words may become: a line for each, with a tab and an explanation behind the
 * word where there is one; "/files" for the names of files. The shell leaves out what does not
 * begin as the last word does. */
void cli_completion_put(FILE *out, const cli_descriptions *all, const cli_texts *words);
/* A page for man(1). */
void cli_manual_put(FILE *out, const cli_descriptions *all);

#endif
