/* Files, words and stores, as the fault driver looks at them. What fails here ends it. */
#ifndef FAULT_FILES_H
#define FAULT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { PATH_ROOM = 4096, WORDS = 32 };

typedef void entry_fn(const char *folder, const char *name);

void die(const char *what);
void join(char path[PATH_ROOM], const char *folder, const char *within, const char *name);
void copy_file(const char *from, const char *to);
size_t read_file(const char *path, char *bytes, size_t room);
void for_each_entry(const char *folder, entry_fn *visit);
void remove_entry(const char *folder, const char *name);
FILE *open_for_writing(const char *base, const char *folder, const char *name);
void put_text(const char *base, const char *folder, const char *name, const char *text);
int split(const char *text, char *buffer, size_t size, char **words);
bool is_word_of(const char *word, const char *list);
/* The integrity of a store, and a digest of the runs that the preparations made. */
void read_digest(const char *path, char *integrity, char *runs, size_t size);

#endif
