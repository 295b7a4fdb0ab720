/* Files of groups, for two features. */
#include "fuzz_reader.h"

#include "bilevel/registry.h"
#include "bilevel/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char rows[] = "1,2,a\n3,5,b\n2,1,a\n4,4,b\n7,1,a\n8,3,b\n";
    static memory_file train, groups;
    put_memory_file(&train, (const uint8_t *)rows, sizeof rows - 1);
    put_memory_file(&groups, data, size);
    const char *settings[] = {"train",  train.path, "val",       train.path, "penalty",
                              "groups", "groups",   groups.path, NULL};
    blv_problem *problem = NULL;
    blv_message why = {""};
    blv_error error = blv_problem_from_family(
        blv_family_find(NULL, "l2reg", NULL), settings,
        &(blv_problem_options){.size = sizeof(blv_problem_options), .threads = 1}, &problem, &why);
    if ((error == BLV_OK) != (problem != NULL) || (error != BLV_OK) != (why.text[0] != '\0'))
        abort();
    blv_problem_destroy(problem);
    return 0;
}
