/* Labels: texts as classes, and changes of them.
 *
 * Distinct texts are kept once, in a hash table with open addresses; each row keeps the number of
 * its text. */
#include "base/hash.h"
#include "base/number_text.h"
#include "base/random.h"
#include "data/dataset_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64, EMPTY = -1 };

typedef struct distinct_text {
    char *text;
    size_t length;
    uint64_t hash;
    int32_t first; /* its place among the distinct texts, in order of appearance */
    double number;
} distinct_text;

void blv_texts_free(blv_texts *texts) {
    distinct_text *items = texts->items.items;
    for (size_t i = 0; i < texts->items.count; i++)
        free(items[i].text);
    free(items);
    free(texts->slots);
    *texts = (blv_texts){0};
}

/* ---- The table ---- */

/* The slot of the text, or the empty one where it belongs. */
static size_t slot_of(const blv_texts *t, const char *text, size_t length, uint64_t hash) {
    const distinct_text *items = t->items.items;
    size_t slot = (size_t)hash & (t->slot_count - 1);
    for (; t->slots[slot] != EMPTY; slot = (slot + 1) & (t->slot_count - 1)) {
        const distinct_text *known = &items[t->slots[slot]];
        if (known->hash == hash && known->length == length &&
            memcmp(known->text, text, length) == 0)
            break;
    }
    return slot;
}

static bool grow_slots(blv_texts *t) {
    const distinct_text *items = t->items.items;
    size_t count = t->slot_count ? 2 * t->slot_count : FIRST_SLOTS;
    int32_t *slots = blv_data_alloc(count, sizeof *slots);
    if (!slots)
        return false;
    memset(slots, 0xff, count * sizeof *slots); /* EMPTY */
    free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    for (size_t i = 0; i < t->items.count; i++)
        slots[slot_of(t, items[i].text, items[i].length, items[i].hash)] = (int32_t)i;
    return true;
}

int32_t blv_texts_number(blv_texts *texts, const char *text, size_t length) {
    blv_texts *t = texts;
    if (2 * (t->items.count + 1) > t->slot_count && !grow_slots(t))
        return -1;
    uint64_t hash = blv_hash_bytes(BLV_HASH_EMPTY, text, length);
    hash ^= hash >> 32;
    int32_t *number = &t->slots[slot_of(t, text, length, hash)];
    if (*number != EMPTY)
        return *number;
    distinct_text *item = blv_list_room(&t->items, 1, sizeof *item);
    char *copy = item && t->items.count < INT32_MAX ? malloc(length + 1) : NULL;
    if (!copy)
        return -1;
    memcpy(copy, text, length);
    copy[length] = '\0';
    *number = (int32_t)t->items.count++;
    *item = (distinct_text){.text = copy, .length = length, .hash = hash, .first = *number};
    return *number;
}

char *blv_texts_at(const blv_texts *texts, size_t number) {
    return ((const distinct_text *)texts->items.items)[number].text;
}

/* ---- From texts to classes ---- */

static int by_number(const void *left, const void *right) {
    const distinct_text *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static int by_bytes(const void *left, const void *right) {
    const distinct_text *a = left, *b = right;
    int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
    return order != 0 ? order : a->length < b->length ? -1 : a->length > b->length;
}

/* Doubles do not tell larger ones apart, which are named by their texts alone. */
static bool is_same_number(double a, double b) {
    return a == b && fabs(a) < 0x1p53;
}

bool blv_same_class(const char *a, const char *b) {
    double x, y;
    return strcmp(a, b) == 0 ||
           (blv_number_parse(a, &x) == 0 && blv_number_parse(b, &y) == 0 && is_same_number(x, y));
}

static bool all_numbers(distinct_text *items, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strlen(items[i].text) != items[i].length ||
            blv_number_parse(items[i].text, &items[i].number) != 0)
            return false;
    return true;
}

/* In place: they are not held twice. */
static bool put_labels(blv_dataset *d, blv_part_name part, blv_list *numbers,
                       const int32_t *class_of) {
    int32_t *label = blv_list_take(numbers, sizeof *label);
    for (size_t i = 0; i < d->view.rows; i++)
        label[i] = class_of[label[i]];
    return blv_dataset_put(d, part, label);
}

bool blv_dataset_put_classes(blv_dataset *dataset, blv_texts *texts, blv_list *label,
                             blv_list *truth) {
    distinct_text *items = texts->items.items;
    size_t count = texts->items.count, classes = 0;
    bool numbers = all_numbers(items, count);
    if (count > 1)
        qsort(items, count, sizeof *items, numbers ? by_number : by_bytes);
    int32_t *class_of = blv_data_alloc(count, sizeof *class_of);
    const char **names = blv_data_alloc(count, sizeof *names);
    for (size_t i = 0; class_of && names && i < count; i++) {
        if (!numbers || i == 0 || !is_same_number(items[i].number, items[i - 1].number))
            names[classes++] = items[i].text;
        class_of[items[i].first] = (int32_t)classes - 1;
    }
    bool ok = class_of && names && put_labels(dataset, BLV_PART_LABEL, label, class_of) &&
              (!truth->items || put_labels(dataset, BLV_PART_TRUE_LABEL, truth, class_of)) &&
              blv_dataset_put(dataset, BLV_PART_CLASS_NAMES, blv_strings_copy(names, classes));
    dataset->view.classes = ok ? classes : 0;
    free(class_of);
    free(names);
    return ok;
}

bool blv_dataset_number_classes(blv_dataset *dataset, size_t classes) {
    char(*text)[24] = blv_data_alloc(classes, sizeof *text);
    const char **names = blv_data_alloc(classes, sizeof *names);
    for (size_t i = 0; text && names && i < classes; i++) {
        snprintf(text[i], sizeof text[i], "%zu", i);
        names[i] = text[i];
    }
    bool ok = text && names &&
              blv_dataset_put(dataset, BLV_PART_CLASS_NAMES, blv_strings_copy(names, classes));
    dataset->view.classes = ok ? classes : 0;
    free(text);
    free(names);
    return ok;
}

/* ---- Corruption ---- */

static const char *const kind_word[] = {[BLV_CORRUPT_UNIFORM] = "uniform",
                                        [BLV_CORRUPT_PAIRWISE] = "pairwise",
                                        [BLV_CORRUPT_REDRAW] = "redraw"};

static blv_error check_corruption(const blv_dataset *dataset, blv_corruption kind, double share,
                                  blv_message *why) {
    if (!dataset)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_corrupt: dataset is NULL");
    if ((unsigned)kind >= sizeof kind_word / sizeof kind_word[0])
        return blv_explain(why, BLV_E_ARGUMENT, "blv_dataset_corrupt: unknown kind");
    if (!(share >= 0.0 && share <= 1.0))
        return blv_explain(why, BLV_E_VALUE, "corrupt: share %g; expected 0 to 1", share);
    if (!dataset->view.label)
        return blv_explain(why, BLV_E_VALUE, "corrupt: the set has no classes");
    if (dataset->view.classes < 2 && kind != BLV_CORRUPT_REDRAW)
        return blv_explain(why, BLV_E_VALUE,
                           "corrupt: the set has one class only, and no label can change");
    return BLV_OK;
}

/* The label that takes the place of an old one. Draws are numbered by row. */
static int32_t new_label(blv_corruption kind, int32_t old, size_t classes, const blv_stream *draws,
                         size_t row) {
    if (kind == BLV_CORRUPT_PAIRWISE)
        return (int32_t)(((size_t)old + 1) % classes);
    if (kind == BLV_CORRUPT_REDRAW)
        return (int32_t)blv_random_below(draws, row, classes);
    int32_t other = (int32_t)blv_random_below(draws, row, classes - 1);
    return other < old ? other : other + 1;
}

blv_error blv_dataset_corrupt(blv_dataset *dataset, blv_corruption kind, double share,
                              uint64_t seed, blv_message *why) {
    BLV_CHECK(check_corruption(dataset, kind, share, why));
    const blv_dataset_view *v = &dataset->view;
    size_t count = (size_t)round(share * (double)v->rows), changes = 0;
    blv_dataset *changed = blv_dataset_share(dataset);
    size_t *order = blv_data_alloc(v->rows, sizeof *order);
    if (changed && !v->true_label)
        blv_dataset_put_shared(changed, BLV_PART_TRUE_LABEL, dataset->part[BLV_PART_LABEL]);
    int32_t *label =
        changed ? blv_dataset_own(changed, BLV_PART_LABEL, v->rows * sizeof *label) : NULL;
    bool ok = label && order;
    blv_stream choice = blv_stream_make(seed, "corrupt rows");
    blv_stream draws = blv_stream_make(seed, "corrupt labels");
    if (ok)
        blv_random_permutation(&choice, 0, v->rows, order);
    for (size_t i = 0; ok && i < count; i++) {
        size_t row = order[i];
        label[row] = new_label(kind, v->label[row], v->classes, &draws, row);
        changes += label[row] != v->label[row];
    }
    free(order);
    ok = ok &&
         blv_dataset_record(changed, "corrupt %s %g, seed %llu: %zu of %zu labels changed",
                            kind_word[kind], share, (unsigned long long)seed, changes, v->rows);
    return blv_dataset_commit(dataset, changed, ok, why);
}

/* ---- Two classes from many ---- */

bool blv_dataset_put_mapped(blv_dataset *dataset, const int32_t *to_class, const char *const *names,
                            size_t classes) {
    static const blv_part_name parts[] = {BLV_PART_LABEL, BLV_PART_TRUE_LABEL};
    const size_t rows = dataset->view.rows;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        if (!dataset->part[parts[p]])
            continue;
        int32_t *label = blv_dataset_own(dataset, parts[p], rows * sizeof *label);
        if (!label)
            return false;
        for (size_t i = 0; i < rows; i++)
            label[i] = to_class[label[i]];
    }
    dataset->view.classes = classes;
    return blv_dataset_put(dataset, BLV_PART_CLASS_NAMES, blv_strings_copy(names, classes));
}

blv_error blv_dataset_one_against_rest(blv_dataset *dataset, const char *name, blv_message *why) {
    if (!dataset || !name)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "blv_dataset_one_against_rest: dataset or name is NULL");
    const blv_dataset_view *v = &dataset->view;
    if (!v->label)
        return blv_explain(why, BLV_E_VALUE, "one against rest: the set has no classes");
    size_t one = 0;
    while (one < v->classes && strcmp(v->class_names[one], name) != 0)
        one++;
    if (one == v->classes)
        return blv_explain(why, BLV_E_NAME, "one against rest: there is no class '%.100s'", name);
    const char *words[2] = {"rest", name};
    int32_t *to_class = calloc(v->classes, sizeof *to_class);
    blv_dataset *changed = to_class ? blv_dataset_share(dataset) : NULL;
    if (to_class)
        to_class[one] = 1;
    bool ok =
        changed && blv_dataset_put_mapped(changed, to_class, words, 2) &&
        blv_dataset_record(changed, "class %s against the rest of %zu classes", name, v->classes);
    free(to_class);
    return blv_dataset_commit(dataset, changed, ok, why);
}

/* ---- Other labels ---- */

blv_error blv_dataset_relabel(const blv_dataset *dataset, const int32_t *label,
                              blv_dataset **relabelled, blv_message *why) {
    BLV_CHECK(blv_need_arguments(dataset && label && relabelled, __func__, why));
    *relabelled = NULL;
    const blv_dataset_view *v = &dataset->view;
    size_t changes = 0;
    if (!v->label)
        return blv_explain(why, BLV_E_VALUE, "relabel: the set has no classes");
    for (size_t i = 0; i < v->rows; i++) {
        if (label[i] < 0 || (size_t)label[i] >= v->classes)
            return blv_explain(why, BLV_E_VALUE, "relabel: row %zu: class %ld of %zu", i,
                               (long)label[i], v->classes);
        changes += label[i] != v->label[i];
    }
    blv_dataset *d = blv_dataset_share(dataset);
    bool ok = d &&
              blv_dataset_put(d, BLV_PART_LABEL, blv_data_copy(label, v->rows, sizeof *label)) &&
              blv_dataset_record(d, "relabel: %zu of %zu labels changed", changes, v->rows);
    return blv_dataset_deliver(relabelled, d, ok, why);
}
