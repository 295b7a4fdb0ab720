/* json_get [--lines] FILE [KEY...]: checks that FILE is one JSON value, or one on each line, and
 * prints what is found under the keys. A key of digits is a position, "*" means every entry, and a
 * last key "#" the number of entries. Exit 1 when the JSON is not valid or a key is missing. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_at(json_t *value, char **keys);

static int print_each(json_t *value, char **keys) {
    int missing = !json_is_array(value) && !json_is_object(value);
    size_t i;
    json_t *entry;
    json_array_foreach(value, i, entry) {
        missing |= print_at(entry, keys);
    }
    const char *key;
    json_object_foreach(value, key, entry) {
        missing |= print_at(entry, keys);
    }
    return missing;
}

static int print_at(json_t *value, char **keys) {
    if (!value) {
        fprintf(stderr, "json_get: a key is missing\n");
        return 1;
    }
    if (!*keys) {
        if (json_is_string(value))
            puts(json_string_value(value));
        else {
            json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
            putchar('\n');
        }
        return 0;
    }
    if (strcmp(*keys, "*") == 0)
        return print_each(value, keys + 1);
    if (strcmp(*keys, "#") == 0) {
        printf("%zu\n", json_is_object(value) ? json_object_size(value) : json_array_size(value));
        return 0;
    }
    if (json_is_array(value))
        return print_at(json_array_get(value, strtoul(*keys, NULL, 10)), keys + 1);
    return print_at(json_object_get(value, *keys), keys + 1);
}

static int complain(const char *file, const json_error_t *error) {
    fprintf(stderr, "json_get: %s: %s at byte %d\n", file, error->text, error->position);
    return 1;
}

static int get_from_file(const char *path, char **keys) {
    json_error_t error;
    json_t *value = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!value)
        return complain(path, &error);
    int missing = print_at(value, keys);
    json_decref(value);
    return missing;
}

static int get_from_lines(const char *path, char **keys) {
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return 1;
    }
    char *line = NULL;
    size_t size = 0;
    int failed = 0;
    while (!failed && getline(&line, &size, file) > 0) {
        json_error_t error;
        json_t *value = json_loads(line, JSON_REJECT_DUPLICATES, &error);
        failed = value ? print_at(value, keys) : complain(path, &error);
        json_decref(value);
    }
    free(line);
    fclose(file);
    return failed;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "--lines") == 0)
        return get_from_lines(argv[2], argv + 3);
    if (argc > 1)
        return get_from_file(argv[1], argv + 2);
    fprintf(stderr, "usage: json_get [--lines] FILE [KEY...]\n");
    return 2;
}
