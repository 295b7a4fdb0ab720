/* Labels as texts become classes. Distinct texts are kept once, in a hash table with open
 * addresses; each row keeps the number of its text. */
#include "base/hash.h"
#include "base/number_text.h"
#include "data/dataset_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64, FIRST_ROWS = 1024, EMPTY = -1 };

typedef struct distinct_text {
    char *text;
    size_t length;
    uint64_t hash;
    int32_t first; /* its place among the distinct texts, in order of appearance */
    double number;
} distinct_text;

struct blv_label_texts {
    size_t max_classes;
    int32_t *row_text; /* for each row the number of its text */
    size_t rows, row_capacity;
    distinct_text *texts;
    size_t count, capacity;
    int32_t *slots; /* EMPTY or the number of a text */
    size_t slot_count;
};

blv_label_texts *blv_label_texts_new(size_t max_classes) {
    blv_label_texts *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->max_classes = max_classes < INT32_MAX ? max_classes : INT32_MAX;
    t->slots = malloc(FIRST_SLOTS * sizeof *t->slots);
    if (!t->slots) {
        free(t);
        return NULL;
    }
    t->slot_count = FIRST_SLOTS;
    for (size_t i = 0; i < t->slot_count; i++)
        t->slots[i] = EMPTY;
    return t;
}

void blv_label_texts_free(blv_label_texts *texts) {
    if (!texts)
        return;
    for (size_t i = 0; i < texts->count; i++)
        free(texts->texts[i].text);
    free(texts->texts);
    free(texts->row_text);
    free(texts->slots);
    free(texts);
}

/* ---- The table ---- */

/* The slot of the text, or the empty one where it belongs. */
static size_t slot_of(const blv_label_texts *t, const char *text, size_t length, uint64_t hash) {
    size_t slot = (size_t)hash & (t->slot_count - 1);
    for (; t->slots[slot] != EMPTY; slot = (slot + 1) & (t->slot_count - 1)) {
        const distinct_text *known = &t->texts[t->slots[slot]];
        if (known->hash == hash && known->length == length &&
            memcmp(known->text, text, length) == 0)
            break;
    }
    return slot;
}

static bool grow_slots(blv_label_texts *t) {
    size_t count = 2 * t->slot_count;
    int32_t *slots = blv_data_alloc(count, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < count; i++)
        slots[i] = EMPTY;
    for (size_t i = 0; i < t->count; i++) {
        size_t slot = (size_t)t->texts[i].hash & (count - 1);
        while (slots[slot] != EMPTY)
            slot = (slot + 1) & (count - 1);
        slots[slot] = (int32_t)i;
    }
    free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    return true;
}

static bool add_distinct(blv_label_texts *t, const char *text, size_t length, uint64_t hash) {
    if (t->count == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 16;
        distinct_text *larger = realloc(t->texts, capacity * sizeof *larger);
        if (!larger)
            return false;
        t->texts = larger;
        t->capacity = capacity;
    }
    if (2 * (t->count + 1) > t->slot_count && !grow_slots(t))
        return false;
    char *copy = malloc(length + 1);
    if (!copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    t->slots[slot_of(t, text, length, hash)] = (int32_t)t->count;
    t->texts[t->count] =
        (distinct_text){.text = copy, .length = length, .hash = hash, .first = (int32_t)t->count};
    t->count++;
    return true;
}

blv_error blv_label_texts_add(blv_label_texts *texts, const char *text, size_t length) {
    blv_label_texts *t = texts;
    if (t->rows == t->row_capacity) {
        size_t capacity = t->row_capacity ? 2 * t->row_capacity : FIRST_ROWS;
        int32_t *larger = realloc(t->row_text, capacity * sizeof *larger);
        if (!larger)
            return BLV_E_MEMORY;
        t->row_text = larger;
        t->row_capacity = capacity;
    }
    uint64_t hash = blv_hash_bytes(BLV_HASH_EMPTY, text, length);
    hash ^= hash >> 32;
    size_t slot = slot_of(t, text, length, hash);
    int32_t number = t->slots[slot];
    if (number == EMPTY) {
        if (t->count == t->max_classes)
            return BLV_E_FORMAT;
        if (!add_distinct(t, text, length, hash))
            return BLV_E_MEMORY;
        number = (int32_t)(t->count - 1);
    }
    t->row_text[t->rows++] = number;
    return BLV_OK;
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

static bool all_numbers(blv_label_texts *t) {
    for (size_t i = 0; i < t->count; i++) {
        distinct_text *d = &t->texts[i];
        if (strlen(d->text) != d->length || blv_number_parse(d->text, &d->number) != 0)
            return false;
    }
    return true;
}

/* Puts the first labels, and true labels where there are twice as many as rows. */
static bool put_row_labels(const blv_label_texts *t, const int32_t *class_of, blv_dataset *d) {
    static const blv_part_name parts[] = {BLV_PART_LABEL, BLV_PART_TRUE_LABEL};
    size_t rows = d->view.rows, lists = rows > 0 ? t->rows / rows : 0;
    bool put = true;
    for (size_t p = 0; put && p < lists; p++) {
        int32_t *label = blv_data_alloc(rows, sizeof *label);
        for (size_t i = 0; label && i < rows; i++)
            label[i] = class_of[t->row_text[p * rows + i]];
        put = blv_dataset_put(d, parts[p], label);
    }
    return put;
}

bool blv_label_texts_finish(blv_label_texts *texts, blv_dataset *dataset) {
    blv_label_texts *t = texts;
    bool numbers = all_numbers(t);
    if (t->count > 1)
        qsort(t->texts, t->count, sizeof *t->texts, numbers ? by_number : by_bytes);
    int32_t *class_of = blv_data_alloc(t->count, sizeof *class_of);
    const char **names = blv_data_alloc(t->count, sizeof *names);
    size_t classes = 0;
    for (size_t i = 0; class_of && names && i < t->count; i++) {
        const distinct_text *d = &t->texts[i];
        if (!numbers || i == 0 || d->number != t->texts[i - 1].number)
            names[classes++] = d->text;
        class_of[d->first] = (int32_t)classes - 1;
    }
    bool ok = class_of && names && put_row_labels(t, class_of, dataset) &&
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
