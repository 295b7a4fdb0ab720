#include "store/run_groups.h"

#include "base/arena.h"
#include "base/message.h"
#include "base/text_stream.h"
#include "store/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Groups ---- */

/* Of the request. */
static const blv_field start_fields[] = {BLV_FIELD(blv_stored_run, start, TEXT), {0}};

static const blv_values *value_set(const blv_run_info *info, size_t set) {
    return set == 0 ? &info->problem_parameters : set == 1 ? &info->parameters : &info->options;
}
enum { VALUE_SETS = 3 };

static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_problem(const blv_run_info *a, const blv_run_info *b) {
    return same_text(a->problem, b->problem) && a->fingerprint == b->fingerprint &&
           blv_values_equal(&a->problem_parameters, &b->problem_parameters);
}

static bool same_but_seed(const blv_values *a, const blv_values *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = strcmp(a->items[i].name, "seed") == 0 ||
               blv_value_equal(&a->items[i], blv_values_find(b, a->items[i].name));
    return same;
}

static bool same_group(const blv_stored_run *p, const blv_stored_run *q) {
    const blv_run_info *a = p->info, *b = q->info;
    return same_problem(a, b) && same_text(a->kind, b->kind) &&
           same_text(a->precision, b->precision) && same_text(a->solver, b->solver) &&
           same_text(p->start, q->start) && blv_values_equal(&a->parameters, &b->parameters) &&
           same_but_seed(&a->options, &b->options);
}

static blv_error assign_group(blv_run_groups *all, size_t number) {
    blv_stored_run *run = &all->runs[number];
    run->problem = all->problems;
    for (size_t g = 0; g < all->groups; g++) {
        const blv_stored_run *first = &all->runs[all->group[g].first];
        if (same_problem(run->info, first->info))
            run->problem = all->group[g].problem;
        if (same_group(run, first)) {
            run->group = g;
            return BLV_OK;
        }
    }
    run->group = all->groups;
    blv_run_group *group = blv_array_add(&all->group, &all->groups, sizeof *group);
    if (!group)
        return BLV_E_MEMORY;
    *group = (blv_run_group){.first = number, .problem = run->problem};
    all->problems += run->problem == all->problems;
    return BLV_OK;
}

/* ---- Labels ---- */

static const blv_run_info *info_of(const blv_run_groups *all, size_t g) {
    return all->runs[all->group[g].first].info;
}

static const char *solver_of(const blv_run_info *info) {
    return info->solver ? info->solver : info->kind ? info->kind : "?";
}

static bool differs(const blv_run_groups *all, size_t g, size_t set, const blv_value *value) {
    const blv_run_info *mine = info_of(all, g);
    for (size_t h = 0; h < all->groups; h++) {
        const blv_run_info *other = info_of(all, h);
        if (strcmp(solver_of(mine), solver_of(other)) == 0 &&
            same_text(mine->problem, other->problem) &&
            !blv_value_equal(value, blv_values_find(value_set(other, set), value->name)))
            return true;
    }
    return false;
}

static void put_differences(FILE *out, const blv_run_groups *all, size_t g) {
    for (size_t set = 0; set < VALUE_SETS; set++) {
        const blv_values *values = value_set(info_of(all, g), set);
        for (size_t i = 0; i < values->count; i++) {
            const blv_value *value = &values->items[i];
            char text[BLV_SHOWN_SIZE];
            blv_value_show(value, text);
            if (strcmp(value->name, "seed") != 0 && differs(all, g, set, value))
                fprintf(out, ", %s = %s", value->name, text);
        }
    }
}

static bool several_problem_names(const blv_run_groups *all) {
    for (size_t g = 1; g < all->groups; g++)
        if (!same_text(info_of(all, 0)->problem, info_of(all, g)->problem))
            return true;
    return false;
}

/* Two groups may still look alike, such as runs from different starts: then the runs are named. */
static void put_runs(FILE *out, const blv_run_groups *all, size_t g) {
    const char *joint = " (run ";
    for (size_t i = 0; i < all->count; i++) {
        if (all->runs[i].group != g)
            continue;
        fprintf(out, "%s%" PRId64, joint, all->runs[i].info->id);
        joint = ", ";
    }
    fputc(')', out);
}

static blv_error set_label(blv_run_groups *all, size_t g, bool name_runs) {
    const blv_run_info *info = info_of(all, g);
    blv_text_stream text;
    FILE *out = blv_text_open(&text);
    if (!out)
        return BLV_E_MEMORY;
    fputs(solver_of(info), out);
    if (several_problem_names(all))
        fprintf(out, ", %s", info->problem ? info->problem : "-");
    put_differences(out, all, g);
    if (name_runs)
        put_runs(out, all, g);
    free(all->group[g].label);
    all->group[g].label = blv_text_close(&text);
    return all->group[g].label ? BLV_OK : BLV_E_MEMORY;
}

static bool is_ambiguous(const blv_run_groups *all, size_t g) {
    for (size_t h = 0; h < all->groups; h++)
        if (h != g && strcmp(all->group[g].label, all->group[h].label) == 0)
            return true;
    return false;
}

static blv_error label_groups(blv_run_groups *all) {
    for (size_t g = 0; g < all->groups; g++)
        BLV_CHECK(set_label(all, g, false));
    for (size_t g = 0; g < all->groups; g++)
        all->group[g].is_alike = is_ambiguous(all, g);
    for (size_t g = 0; g < all->groups; g++)
        if (all->group[g].is_alike)
            BLV_CHECK(set_label(all, g, true));
    return BLV_OK;
}

/* ---- The best Phi ---- */

/* The least of what the store has and of certified rows. */
static double best_of(const blv_stored_run *run) {
    double best = run->best;
    size_t column = blv_trace_find(&run->trace, "phi");
    for (size_t i = 0; column != SIZE_MAX && i < run->trace.rows; i++)
        best = fmin(best, run->trace.values[i * run->trace.columns + column]);
    return best;
}

static void share_best(blv_run_groups *all) {
    for (size_t i = 0; i < all->count; i++)
        all->runs[i].best = best_of(&all->runs[i]);
    for (size_t i = 0; i < all->count; i++)
        for (size_t k = 0; k < all->count; k++)
            if (all->runs[i].problem == all->runs[k].problem)
                all->runs[i].best = fmin(all->runs[i].best, all->runs[k].best);
}

/* ---- Loading ---- */

static bool is_loaded(const blv_run_groups *all, int64_t id) {
    for (size_t i = 0; i < all->count; i++)
        if (all->runs[i].info->id == id)
            return true;
    return false;
}

static blv_error load_one(blv_run_groups *all, blv_store *store, int64_t id) {
    blv_run_info *info = NULL;
    BLV_CHECK(blv_store_find(store, id, &info));
    blv_stored_run *run = blv_array_add(&all->runs, &all->count, sizeof *run);
    if (!run) {
        blv_run_info_free(info);
        return BLV_E_MEMORY;
    }
    *run = (blv_stored_run){.info = info, .best = NAN};
    BLV_CHECK(blv_store_trace(store, id, &run->trace));
    BLV_CHECK(blv_store_best(store, id, &run->best));
    if (info->request && blv_record_parse(start_fields, run, info->request, NULL) == BLV_E_MEMORY)
        return BLV_E_MEMORY;
    return assign_group(all, all->count - 1);
}

blv_error blv_run_groups_load(blv_run_groups *groups, blv_store *store, const int64_t *ids,
                              size_t count, blv_message *why) {
    blv_error error = BLV_OK;
    *groups = (blv_run_groups){0};
    for (size_t i = 0; i < count && error == BLV_OK; i++)
        if (!is_loaded(groups, ids[i]))
            error = load_one(groups, store, ids[i]);
    if (error == BLV_OK) {
        share_best(groups);
        error = label_groups(groups);
    }
    if (error == BLV_OK)
        return BLV_OK;
    blv_run_groups_free(groups);
    return blv_explain(why, error, "%s",
                       error == BLV_E_MEMORY ? blv_error_text(error) : blv_store_message(store));
}

void blv_run_groups_free(blv_run_groups *groups) {
    for (size_t i = 0; i < groups->count; i++) {
        blv_run_info_free(groups->runs[i].info);
        blv_trace_free(&groups->runs[i].trace);
        free(groups->runs[i].start);
    }
    for (size_t g = 0; g < groups->groups; g++)
        free(groups->group[g].label);
    free(groups->runs);
    free(groups->group);
    *groups = (blv_run_groups){0};
}
