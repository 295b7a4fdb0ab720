/* What the automatic constants cost: oracle calls and seconds before the first step, for every
 * solver that suits the problem, beside the seconds of one gradient of the lower level.
 *
 *     bench_setup PROBLEM [precision=f32] [threads=N] [solver=NAME] [KEY=VALUE]...
 *
 * KEYs are the parameters of the problem. Calls are counted in whole sums. Seconds are those of the
 * run's clock; "processor" is the time of all processors, which a busy machine does not change
 * much, and "gradients" is how many gradients that is.
 */
#include "bilevel/bilevel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SETTINGS_MAX = 64, GRADIENTS = 5 };

static void give_up(const char *text) {
    fprintf(stderr, "bench_setup: %s\n", text);
    exit(1);
}

typedef struct request {
    const char *family, *solver; /* NULL: all */
    const char *settings[2 * SETTINGS_MAX + 1];
    size_t count;
    blv_problem_options options;
} request;

static void take(request *asked, char *word) {
    char *value = strchr(word, '=');
    if (!value || asked->count == SETTINGS_MAX)
        give_up("expected KEY=VALUE, at most 64 of them");
    *value++ = '\0';
    if (strcmp(word, "precision") == 0) {
        asked->options.precision = strcmp(value, "f32") == 0 ? BLV_F32 : BLV_F64;
    } else if (strcmp(word, "threads") == 0) {
        asked->options.threads = (int)strtol(value, NULL, 10);
    } else if (strcmp(word, "solver") == 0) {
        asked->solver = value;
    } else {
        asked->settings[2 * asked->count] = word;
        asked->settings[2 * asked->count + 1] = value;
        asked->count++;
    }
}

/* Processor time of the fastest of a few, at zero. */
static double gradient_seconds(const blv_problem *problem) {
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_vec *x = NULL, *y = NULL, *gy = NULL;
    if (blv_vec_create(&x, def->space_x) != BLV_OK || blv_vec_create(&y, def->space_y) != BLV_OK ||
        blv_vec_create(&gy, def->space_y) != BLV_OK)
        give_up("out of memory");
    double best = 1e300;
    for (int i = 0; i < GRADIENTS; i++) {
        const clock_t start = clock();
        if (def->lower(def->user, NULL, x, y, NULL, NULL, gy) != 0)
            give_up("the lower level failed");
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        best = seconds < best ? seconds : best;
    }
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    blv_vec_destroy(gy);
    return best;
}

static double sums(uint64_t calls, size_t samples) {
    return (double)calls / (double)(samples > 0 ? samples : 1);
}

/* The remark that names the constants, from its first colon on. */
static const char *constants_of(const blv_run *run) {
    static const char word[] = "estimated";
    for (size_t i = 0; blv_run_notes(run, i); i++) {
        const char *note = blv_run_notes(run, i), *colon = strchr(note, ':');
        if (strncmp(note, word, sizeof word - 1) == 0 && colon)
            return colon + 1;
    }
    return "";
}

static void show(const blv_problem *problem, const blv_solver *solver, double gradient) {
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_message why;
    blv_run *run = NULL;
    if (blv_run_create(&run, problem, solver, &why) != BLV_OK)
        give_up(why.text);
    blv_run_set(run, "iters", "0");
    if (blv_run_open(run) != BLV_OK) {
        printf("%-12s %s\n", solver->name, blv_run_message(run));
        blv_run_destroy(run);
        return;
    }
    const clock_t before = clock();
    if (blv_run_solve(run) != BLV_OK) {
        printf("%-12s %s\n", solver->name, blv_run_message(run));
    } else {
        const blv_result *r = blv_run_result(run);
        const blv_counts *c = &r->setup_counts;
        const double processor = (double)(clock() - before) / CLOCKS_PER_SEC;
        printf("%-12s %8.1f %8.1f %8.1f %8.1f %9.3f %9.3f %8.0f %s\n", solver->name,
               sums(c->f_grad, def->upper_samples), sums(c->g_grad, def->lower_samples),
               sums(c->hvp, def->lower_samples), sums(c->cross, def->lower_samples), r->seconds,
               processor, processor / gradient, constants_of(run));
    }
    fflush(stdout);
    blv_run_destroy(run);
}

int main(int argc, char **argv) {
    request asked = {
        .options = {.size = sizeof(blv_problem_options), .data_folder = getenv("BILEVEL_DATA")}};
    if (argc < 2)
        give_up("expected the name of a problem");
    asked.family = argv[1];
    for (int i = 2; i < argc; i++)
        take(&asked, argv[i]);
    blv_message why;
    const blv_problem_family *family = blv_family_find(NULL, asked.family, &why);
    blv_problem *problem = NULL;
    if (!family || blv_problem_from_family(family, asked.settings, &asked.options, &problem, &why))
        give_up(why.text);
    double gradient = gradient_seconds(problem);
    printf("one gradient of g in y: %.4f s of all processors\n", gradient);
    printf("%-12s %8s %8s %8s %8s %9s %9s %8s  %s\n", "solver", "f", "g", "Hv", "Jv", "seconds",
           "processor", "gradients", "constants");
    for (size_t i = 0;; i++) {
        const blv_solver *solver = blv_solver_at(NULL, i);
        if (!solver)
            break;
        bool wanted = asked.solver ? strcmp(asked.solver, solver->name) == 0
                                   : blv_solver_fit(solver, problem, NULL) != BLV_FIT_REJECTED;
        if (wanted)
            show(problem, solver, gradient);
    }
    blv_problem_destroy(problem);
    return 0;
}
