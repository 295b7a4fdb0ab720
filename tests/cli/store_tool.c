/* store_tool FILE SQL...: runs the statements on a SQLite file and prints what they return, a row
 * on a line with '|' between its fields. Exit code 1 when one fails. */
#include <sqlite3.h>
#include <stdio.h>

static int print_row(void *context, int count, char **values, char **names) {
    (void)context;
    (void)names;
    for (int i = 0; i < count; i++)
        printf("%s%s", i ? "|" : "", values[i] ? values[i] : "");
    putchar('\n');
    return 0;
}

int main(int argc, char **argv) {
    sqlite3 *file = NULL;
    if (argc < 3) {
        fprintf(stderr, "usage: store_tool FILE SQL...\n");
        return 2;
    }
    int failed = sqlite3_open(argv[1], &file) != SQLITE_OK;
    sqlite3_busy_timeout(file, 10000);
    for (int i = 2; i < argc && !failed; i++) {
        char *why = NULL;
        failed = sqlite3_exec(file, argv[i], print_row, NULL, &why) != SQLITE_OK;
        if (failed)
            fprintf(stderr, "%s: %s\n", argv[1], why ? why : sqlite3_errmsg(file));
        sqlite3_free(why);
    }
    sqlite3_close(file);
    return failed;
}
