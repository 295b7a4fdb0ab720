#include "fault_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void die(const char *what) {
    perror(what);
    exit(3);
}

void join(char path[PATH_ROOM], const char *folder, const char *within, const char *name) {
    int n = snprintf(path, PATH_ROOM, "%s/%s%s%s", folder, within, within[0] ? "/" : "", name);
    if (n < 0 || n >= PATH_ROOM)
        die(name);
}

void copy_file(const char *from, const char *to) {
    static char bytes[1 << 16];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (in < 0 || out < 0)
        die(from);
    for (ssize_t n; (n = read(in, bytes, sizeof bytes)) > 0;)
        if (write(out, bytes, (size_t)n) != n)
            die(to);
    close(in);
    close(out);
}

size_t read_file(const char *path, char *bytes, size_t room) {
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(bytes, 1, room, file) : 0;
    if (file)
        fclose(file);
    return n;
}

void for_each_entry(const char *folder, entry_fn *visit) {
    DIR *dir = opendir(folder);
    if (!dir)
        die(folder);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            visit(folder, e->d_name);
    closedir(dir);
}

void remove_entry(const char *folder, const char *name) {
    char path[PATH_ROOM];
    join(path, folder, "", name);
    struct stat about;
    if (lstat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        for_each_entry(path, remove_entry);
        rmdir(path);
    } else {
        unlink(path);
    }
}

FILE *open_for_writing(const char *base, const char *folder, const char *name) {
    char path[PATH_ROOM];
    join(path, base, folder, name);
    FILE *file = fopen(path, "w");
    if (!file)
        die(path);
    return file;
}

void put_text(const char *base, const char *folder, const char *name, const char *text) {
    FILE *file = open_for_writing(base, folder, name);
    fputs(text, file);
    fchmod(fileno(file), 0777);
    fclose(file);
}

int split(const char *text, char *buffer, size_t size, char **words) {
    int n = 0;
    snprintf(buffer, size, "%s", text);
    for (char *word = strtok(buffer, " "); word && n < WORDS - 1; word = strtok(NULL, " "))
        words[n++] = word;
    words[n] = NULL;
    return n;
}

bool is_word_of(const char *word, const char *list) {
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

static int64_t ask(sqlite3 *store, const char *sql, char *text, size_t size) {
    sqlite3_stmt *statement = NULL;
    int64_t number = -1;
    text[0] = '\0';
    if (sqlite3_prepare_v2(store, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        number = sqlite3_column_int64(statement, 0);
        const unsigned char *found = sqlite3_column_text(statement, 0);
        snprintf(text, size, "%s", found ? (const char *)found : "");
    }
    sqlite3_finalize(statement);
    return number;
}

/* Of the runs that the preparations made. */
static const char *const digest =
    "select group_concat(id || kind || status || problem || started || ended || seconds || message)"
    " || (select sum(length(row)) from trace where run <= 3)"
    " from (select * from run where id <= 3 order by id)";

void read_digest(const char *path, char *integrity, char *runs, size_t size) {
    sqlite3 *store = NULL;
    runs[0] = integrity[0] = '\0';
    if (sqlite3_open_v2(path, &store, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        ask(store, "pragma integrity_check", integrity, 100);
        ask(store, digest, runs, size);
    }
    sqlite3_close(store);
}
