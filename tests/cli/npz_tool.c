/* npz_tool list FILE              prints name and number of entries of each array
 * npz_tool print FILE NAME        prints the entries, one on a line
 * npz_tool write FILE NAME=A,B..  writes vectors */
#include "bilevel/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(const blv_message *why) {
    fprintf(stderr, "npz_tool: %s\n", why->text);
    return 1;
}

static int list(blv_npz *file) {
    const char *name;
    for (size_t i = 0; (name = blv_npz_name(file, i)); i++) {
        blv_array about;
        blv_message why = {""};
        if (blv_npz_info(file, name, &about, &why) != BLV_OK)
            return complain(&why);
        printf("%s %zu\n", name, about.count);
    }
    return 0;
}

static int print(blv_npz *file, const char *name) {
    double *data;
    blv_array about;
    blv_message why = {""};
    if (blv_npz_read_f64(file, name, &data, &about, &why) != BLV_OK)
        return complain(&why);
    for (size_t i = 0; i < about.count; i++)
        printf("%.17g\n", data[i]);
    free(data);
    return 0;
}

static blv_error add(blv_npz_writer *writer, char *assignment, blv_message *why) {
    static double values[4096];
    size_t count = 0;
    char *equals = strchr(assignment, '=');
    if (!equals)
        return BLV_E_ARGUMENT;
    *equals = '\0';
    for (char *word = strtok(equals + 1, ","); word && count < 4096; word = strtok(NULL, ","))
        values[count++] = strtod(word, NULL);
    return blv_npz_add_f64(writer, assignment, 1, &count, values, why);
}

static int write_vectors(const char *path, char **assignments) {
    blv_npz_writer *writer;
    blv_message why = {""};
    if (blv_npz_create(&writer, path, &why) != BLV_OK)
        return complain(&why);
    for (; *assignments; assignments++) {
        if (add(writer, *assignments, &why) != BLV_OK) {
            blv_npz_discard(writer);
            return complain(&why);
        }
    }
    return blv_npz_commit(writer, &why) == BLV_OK ? 0 : complain(&why);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: npz_tool list|print|write FILE [NAME...]\n");
        return 2;
    }
    if (strcmp(argv[1], "write") == 0)
        return write_vectors(argv[2], argv + 3);
    blv_npz *file;
    blv_message why = {""};
    if (blv_npz_open(&file, argv[2], &why) != BLV_OK)
        return complain(&why);
    int code = argc > 3 ? print(file, argv[3]) : list(file);
    blv_npz_close(file);
    return code;
}
