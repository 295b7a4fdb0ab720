/* Finds wrong labels: clean_labels ROWS.csv [CHECKED.csv]
 *
 * ROWS.csv: rows to look at, the label in the last column. CHECKED.csv: rows whose labels are
 * right; with them more is found. Prints the rows that are suspect. found->order has them by
 * suspicion. */
#include <bilevel/bilevel.h>
#include <stdio.h>

static void print_suspects(const blv_clean_result *found, const blv_dataset *rows) {
    const blv_dataset_view *view = blv_dataset_view_of(rows);
    printf("%zu of %zu labels are suspect\n", found->suspects, found->rows);
    for (size_t row = 0; row < found->rows; row++)
        if (found->suspect[row])
            printf("row %zu: labelled %s, probably %s\n", row, view->class_names[view->label[row]],
                   view->class_names[found->believed[row]]);
}

int main(int argc, char **argv) {
    blv_task_files files = {.size = sizeof files,
                            .train = argc > 1 ? argv[1] : "rows.csv",
                            .val = argc > 2 ? argv[2] : NULL};
    blv_clean_options options = {.size = sizeof options, .seed = 1};
    blv_task_sets *sets = NULL;
    blv_clean_result *found = NULL;
    blv_message why;
    if (blv_task_sets_read(&sets, &files, &why) || blv_clean(sets, &options, &found, NULL, &why)) {
        fprintf(stderr, "%s\n", why.text);
        blv_task_sets_destroy(sets);
        return 1;
    }
    print_suspects(found, sets->train);
    blv_clean_result_destroy(found);
    blv_task_sets_destroy(sets);
    return 0;
}
