#include "cli/problem_choice.h"

#include "bilevel/cuda.h"
#include "bilevel/registry.h"
#include "cli/outputs.h"
#include "cli/rank_start.h"
#include "store/run_info.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_THREADS = 4096 };

const cli_argument cli_problem_table[] = {
    CLI_HEADING(PROBLEM),
    CLI_OPTION("problem-set", SETTING, cli_instance, settings, "KEY=VALUE",
               "set a parameter of the problem ('bilevel problems PROBLEM' lists them)"),
    CLI_OPTION("precision", PRECISION, cli_instance, options.precision, "f32|f64",
               "precision of vectors (default f64)"),
    CLI_OPTION("threads", WHOLE, cli_instance, options.threads, "N",
               "threads to use (default 0: all processors)", .to = MOST_THREADS),
    CLI_OPTION("device", CHOICE, cli_instance, device, CLI_DEVICE_WORDS, CLI_DEVICE_HELP),
    CLI_OPTION("gradients-only", FLAG, cli_instance, gradients_only, NULL,
               "leave out the problem's Hv and Jv, as if it had gradients only"),
    CLI_END};

const char *const cli_device_words[] = {"cpu", "cuda", "auto", NULL};

blv_memory_kind cli_device_memory(cli_device device) {
    if (device == CLI_DEVICE_CPU)
        return BLV_MEMORY_HOST;
    if (device == CLI_DEVICE_AUTO)
        return blv_cuda_find(NULL) == BLV_OK ? BLV_MEMORY_CUDA : BLV_MEMORY_HOST;
    cli_expect(blv_cuda_find(&cli_why));
    return BLV_MEMORY_CUDA;
}

void cli_instance_find(cli_instance *instance) {
    const blv_problem_family *family = blv_family_find(NULL, instance->name, &cli_why);
    cli_expect(family ? BLV_OK : BLV_E_NAME);
    instance->family = family;
    instance->params = cli_alloc(1, family->params_size);
    cli_expect(blv_params_default(family->params, instance->params, &cli_why));
    const char *owner = cli_print("problem %s", family->name);
    for (size_t i = 0; i < instance->settings.count; i++)
        cli_expect(blv_params_set(family->params, instance->params, owner,
                                  instance->settings.items[i].key,
                                  instance->settings.items[i].value, &cli_why));
}

/* The same problem as if it had been written without products. */
static void leave_out_products(cli_instance *instance) {
    blv_problem_def def = *blv_problem_definition(instance->problem);
    def.lower_hvp = NULL;
    def.lower_cross = NULL;
    def.lower_all = NULL;
    def.lower_hessian_matrix = NULL;
    def.lower_cross_matrix = NULL;
    def.free_user = NULL; /* user belongs to the problem that was there first */
    instance->with_products = instance->problem;
    cli_expect(blv_problem_create(&instance->problem, &def, &cli_why));
}

/* Values that name files: as they are, or in the folder of the data. */
static void note_files(const cli_instance *instance) {
    const char *folder = instance->options.data_folder;
    for (size_t i = 0; i < instance->settings.count; i++) {
        const char *value = instance->settings.items[i].value;
        cli_file_reads(value);
        cli_file_reads(folder ? cli_print("%s/%s", folder, value) : NULL);
    }
}

void cli_instance_create(cli_instance *instance) {
    cli_instance_find(instance);
    instance->options.data_folder = getenv("BILEVEL_DATA");
    instance->options.ranks = cli_ranks();
    if (instance->options.threads == 0)
        instance->options.threads = cli_rank_threads();
    note_files(instance);
    instance->options.memory = cli_device_memory(instance->device);
    blv_error error = instance->family->create(instance->params, &instance->options,
                                               &instance->problem, &cli_why);
    if (error == BLV_E_UNSUPPORTED && instance->device == CLI_DEVICE_AUTO) {
        instance->options.memory = BLV_MEMORY_HOST;
        error = instance->family->create(instance->params, &instance->options, &instance->problem,
                                         &cli_why);
    }
    cli_expect(error);
    if (instance->gradients_only)
        leave_out_products(instance);
}

const char *cli_instance_describe(const cli_instance *instance) {
    const blv_problem_def *def = blv_problem_definition(instance->problem);
    return cli_print("%s, dimension %zu in x and %zu in y, %s%s%s", instance->family->name,
                     def->dim_x, def->dim_y, blv_precision_words[instance->options.precision],
                     instance->options.memory == BLV_MEMORY_CUDA ? " on a GPU" : "",
                     instance->gradients_only ? ", gradients only" : "");
}
