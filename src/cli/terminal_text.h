/* Standard output and standard error. Whatever is printed there passes through one function, which
 * shows control characters other than newlines and tabs, and marks of writing direction, in place
 * of passing them on to a terminal: text from files, stores and suites cannot steer it. The escapes
 * are those of JSON, so that JSON stays what it is. */
#pragma once

/* To be called once, before anything is printed. The command ends where memory is short. */
void cli_terminal_begin(void);

/* Text from elsewhere within a line: the same with newlines and tabs. Lives until the program
 * ends; "" for NULL. */
const char *cli_shown(const char *text);
