/* Records a run in a store, and lists what is there. */
#include <bilevel/solve.h>
#include <bilevel/store.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void expect(blv_error error, const char *why) {
    if (error == BLV_OK)
        return;
    fprintf(stderr, "%s\n", why);
    exit(1);
}

/* One run, from its start to its end. */
static void record(blv_store *store, const blv_problem *problem) {
    blv_message why;
    int64_t id;
    const blv_run_info begin = {
        .size = sizeof begin, .kind = "example", .problem = "parabola", .solver = "exact"};
    expect(blv_store_begin(store, &begin, &id), blv_store_message(store));
    blv_solution *s;
    const blv_solve_options options = {.size = sizeof options, .solver = "exact"};
    expect(blv_solve(&s, problem, &options, &why), why.text);
    const blv_run_info end = {.size = sizeof end,
                              .status = BLV_STATUS_FINISHED,
                              .outcome = blv_outcome_word(s->outcome),
                              .message = s->message.text,
                              .iterations = s->iterations,
                              .seconds = s->seconds,
                              .phi = s->phi,
                              .grad_norm = s->grad_norm};
    expect(blv_store_finish(store, id, &end), blv_store_message(store));
    blv_solution_destroy(s);
}

int main(void) {
    const char *path = "list_runs.db";
    blv_message why;
    blv_problem *problem;
    blv_store *store;
    blv_run_info **runs;
    size_t count;
    const blv_problem_family *family = blv_family_find(NULL, "parabola", &why);
    expect(family ? BLV_OK : BLV_E_NAME, why.text);
    expect(blv_problem_from_family(family, NULL, NULL, &problem, &why), why.text);
    unlink(path);
    expect(blv_store_open(&store, path, BLV_STORE_CREATE, &why), why.text);
    record(store, problem);
    record(store, problem);
    expect(blv_store_list(store, NULL, &runs, &count), blv_store_message(store));
    for (size_t i = 0; i < count; i++)
        printf("run %lld: %s on %s, %s, Phi = %.6f\n", (long long)runs[i]->id, runs[i]->solver,
               runs[i]->problem, blv_run_status_word(runs[i]->status), runs[i]->phi);
    blv_run_list_free(runs, count);
    blv_store_close(store);
    blv_problem_destroy(problem);
    unlink(path);
    return 0;
}
