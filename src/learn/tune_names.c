/* What each penalty is of, and groups of features from a file. */
#include "learn/tune_work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Groups from a file ---- */

typedef struct owned_groups {
    blv_feature_groups groups;
    blv_arena arena;
    const char **names;
    uint32_t *group;
} owned_groups;

/* The names with a copy of one more; NULL where memory is short. */
static const char **append_name(blv_arena *arena, const char **names, size_t count,
                                const char *name) {
    names = blv_arena_grow(arena, names, count, sizeof *names);
    const char *copy = blv_arena_copy(arena, name);
    if (!names || !copy)
        return NULL;
    names[count] = copy;
    return names;
}

/* The number of a group by name; one more where it is new. */
static blv_error find_group(owned_groups *o, const char *name, uint32_t *number, blv_message *why) {
    size_t count = o->groups.count;
    for (size_t k = 0; k < count; k++)
        if (strcmp(o->names[k], name) == 0) {
            *number = (uint32_t)k;
            return BLV_OK;
        }
    const char **names = append_name(&o->arena, o->names, count, name);
    if (!names)
        return blv_explain_memory(why);
    o->groups.names = o->names = names;
    o->groups.count++;
    *number = (uint32_t)count;
    return BLV_OK;
}

static blv_error reject_line(const char *path, size_t line, const char *text, blv_message *why) {
    return blv_explain(why, BLV_E_FORMAT, "%s, line %zu: %s", blv_shown_path(path), line, text);
}

static blv_error read_lines(owned_groups *o, const char *path, FILE *file, blv_message *why) {
    char *line = NULL;
    size_t size = 0, count = 0, features = o->groups.features;
    blv_error error = BLV_OK;
    while (error == BLV_OK && getline(&line, &size, file) >= 0) {
        line[strcspn(line, "\r\n")] = '\0';
        if (!*line)
            error =
                reject_line(path, count + 1, "expected the name of a group, found nothing", why);
        else if (count == features)
            error = reject_line(path, count + 1, "more lines than features", why);
        else
            error = find_group(o, line, &o->group[count++], why);
    }
    free(line);
    if (error == BLV_OK && !feof(file))
        error = reject_line(path, count + 1, strerror(errno), why);
    if (error == BLV_OK && count < features)
        error = reject_line(path, count + 1, "fewer lines than features", why);
    return error;
}

blv_error blv_feature_groups_read(blv_feature_groups **groups, const char *path, size_t features,
                                  blv_message *why) {
    if (!groups || !path)
        return blv_explain(why, BLV_E_ARGUMENT, "groups: a NULL argument");
    *groups = NULL;
    FILE *file = fopen(path, "r");
    if (!file)
        return blv_explain_errno(why, path, "open");
    owned_groups *o = calloc(1, sizeof *o);
    if (o) {
        o->groups.features = features;
        o->groups.group = o->group = blv_arena_alloc(&o->arena, features, sizeof *o->group);
    }
    blv_error error = o && o->group ? read_lines(o, path, file, why) : blv_explain_memory(why);
    fclose(file);
    if (error == BLV_OK)
        *groups = &o->groups;
    else
        blv_feature_groups_destroy(o ? &o->groups : NULL);
    return error;
}

void blv_feature_groups_destroy(blv_feature_groups *groups) {
    if (!groups)
        return;
    owned_groups *o = (owned_groups *)(void *)groups; /* its first member */
    blv_arena_free(&o->arena);
    free(o);
}

/* ---- Names ---- */

static blv_error add_name(blv_tuning *t, const char *text) {
    const char **names = append_name(&t->arena, t->penalty_names, t->penalty_count, text);
    if (!names)
        return blv_explain_memory(t->why);
    t->penalty_names = names;
    t->penalty_count++;
    return BLV_OK;
}

static blv_error name_features(blv_tuning *t) {
    const blv_dataset_view *train = blv_dataset_view_of(t->train);
    for (size_t j = 0; j < t->sets->features; j++) {
        char number[32];
        snprintf(number, sizeof number, "%zu", j);
        BLV_CHECK(add_name(t, train->feature_names ? train->feature_names[j] : number));
    }
    return BLV_OK;
}

/* Two classes, and real targets, have one row of weights, and one penalty. */
static blv_error name_classes(blv_tuning *t) {
    const blv_dataset_view *train = blv_dataset_view_of(t->train);
    if (train->classes <= 2)
        return add_name(t, "all");
    for (size_t k = 0; k < train->classes; k++)
        BLV_CHECK(add_name(t, train->class_names[k]));
    return BLV_OK;
}

static blv_error name_groups(blv_tuning *t) {
    const blv_feature_groups *g = t->options.groups;
    const size_t features = t->sets->features;
    if (!g || g->features != features || !g->group || !g->names)
        return blv_explain(t->why, BLV_E_VALUE, "tune: expected a group for each of %zu features",
                           features);
    for (size_t j = 0; j < features; j++)
        if (g->group[j] >= g->count || !g->names[g->group[j]])
            return blv_explain(t->why, BLV_E_VALUE,
                               "tune: the group of feature %zu is %u; expected one of %zu with a "
                               "name",
                               j, (unsigned)g->group[j], g->count);
    t->group = blv_arena_alloc(&t->arena, features + 1, sizeof *t->group);
    if (!t->group)
        return blv_explain_memory(t->why);
    for (size_t j = 0; j < features; j++)
        t->group[j] = g->group[j];
    for (size_t k = 0; k < g->count; k++)
        BLV_CHECK(add_name(t, g->names[k] ? g->names[k] : ""));
    return BLV_OK;
}

blv_error blv_tune_name_penalties(blv_tuning *t) {
    switch (t->options.penalty) {
    case BLV_PENALTY_PER_FEATURE:
        return name_features(t);
    case BLV_PENALTY_PER_CLASS:
        return name_classes(t);
    case BLV_PENALTY_GROUPS:
        return name_groups(t);
    case BLV_PENALTY_ONE:
        break;
    }
    return add_name(t, "all");
}
