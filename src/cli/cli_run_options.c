#include "cli_run_options.h"
#include "cli_text.h"

#include "bilevel/run.h"

#include <stdio.h>
#include <string.h>

enum { STOP, SAMPLES, OUTPUT };

static const struct {
    const char *key, *value_name;
    int group;
} run_options[CLI_RUN_OPTIONS] = {
    {"iters", "N", STOP},    {"seconds", "S", STOP},       {"budget", "N", STOP},
    {"tol", "E", STOP},      {"target", "V", STOP},        {"seed", "N", SAMPLES},
    {"batch", "N", SAMPLES}, {"sampler", "NAME", SAMPLES}, {"every", "N", OUTPUT},
};

void cli_run_options_fill(struct argp_option *options, cli_run_groups groups) {
    const int group[] = {
        [STOP] = groups.stop, [SAMPLES] = groups.samples, [OUTPUT] = groups.output};
    for (int i = 0; i < CLI_RUN_OPTIONS; i++) {
        const blv_param *param = blv_params_find(blv_run_options(), run_options[i].key);
        options[i] = (struct argp_option){.name = run_options[i].key,
                                          .key = CLI_KEY_RUN_OPTION + i,
                                          .arg = run_options[i].value_name,
                                          .doc = param ? param->help : NULL,
                                          .group = group[run_options[i].group]};
    }
}

const char *cli_run_option_name(int key) {
    bool ours = key >= CLI_KEY_RUN_OPTION && key < CLI_KEY_RUN_OPTION + CLI_RUN_OPTIONS;
    return ours ? run_options[key - CLI_KEY_RUN_OPTION].key : NULL;
}

static bool has_own_name(const char *key) {
    for (size_t i = 0; i < CLI_RUN_OPTIONS; i++)
        if (strcmp(run_options[i].key, key) == 0)
            return true;
    return false;
}

static char *help_with_default(const char *key, const char *text) {
    const blv_param *param = blv_params_find(blv_run_options(), key);
    return param ? cli_print("%s (default %s)", text, param->value) : NULL;
}

static char *list_others(void) {
    cli_text list;
    FILE *out = cli_text_begin(&list);
    const char *title = "Options of the run that are set with --set KEY=VALUE:\n";
    for (const blv_param *p = blv_run_options(); p && p->key; p++) {
        if (has_own_name(p->key))
            continue;
        char range[256] = "";
        blv_params_range(p, range, sizeof range);
        fprintf(out, "%s  %s: %s; %s (default %s)\n", title, p->key, p->help, range, p->value);
        title = "";
    }
    return cli_text_end(&list);
}

char *cli_run_options_help(int key, const char *text, void *input) {
    (void)input;
    if (key == ARGP_KEY_HELP_EXTRA)
        return list_others();
    const char *name = cli_run_option_name(key);
    if (name && text)
        return help_with_default(name, text);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): handed back as it came, in the type argp wants
    return (char *)(uintptr_t)text;
}
