/* What the columns of a table hold: kinds that were asked for, and kinds found from all rows. */
#include "base/number_text.h"
#include "data/data_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* More different texts than this, and than half of the rows, identify rows rather than group them.
 */
enum { FEW_LEVELS = 20, ENOUGH_ROWS = 10, LONGEST_LIST = 1 << 20 };

const char *const blv_kind_words[] = {
    [BLV_KIND_AUTO] = "auto",       [BLV_KIND_NUMBER] = "number", [BLV_KIND_CATEGORY] = "category",
    [BLV_KIND_BOOLEAN] = "boolean", [BLV_KIND_DATE] = "date",     [BLV_KIND_DROP] = "drop",
    [BLV_KIND_LABEL] = "label"};

/* ---- Fields ---- */

bool blv_is_missing(const char *text, size_t length) {
    static const char *const words[] = {"?",      "NA",       "N/A",     "n/a",     "NaN",
                                        "nan",    "null",     "NULL",    "None",    "<NA>",
                                        "#N/A",   "#N/A N/A", "#NA",     "-nan",    "-NaN",
                                        "1.#IND", "-1.#IND",  "1.#QNAN", "-1.#QNAN"};
    for (size_t i = 0; length > 0 && i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0)
            return true;
    return length == 0;
}

bool blv_boolean_value(const char *text, double *value) {
    static const char *const words[] = {"false", "true", "no", "yes", "0", "1", "0.0", "1.0"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(words[i], text) == 0) {
            *value = (double)(i % 2);
            return true;
        }
    return false;
}

/* Days since 1970-01-01 in the Gregorian calendar (H. Hinnant, "chrono-compatible low-level date
 * algorithms"): years begin in March, so that leap days are at their end. */
static int days_since_1970(int year, int month, int day) {
    int y = month <= 2 ? year - 1 : year, era = y / 400, of_era = y - 400 * era;
    int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return 146097 * era + 365 * of_era + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int days_in_month(int year, int month) {
    return days_since_1970(year + month / 12, month % 12 + 1, 1) - days_since_1970(year, month, 1);
}

/* Z, +01:00 or -0530 behind a time, in seconds. */
static const char *take_zone(const char *text, double *zone) {
    int hours, minutes, used = 0;
    if (*text == 'Z')
        return text + 1;
    if ((*text != '+' && *text != '-') || strspn(text + 1, "0123456789") < 2 ||
        (sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 &&
         sscanf(text + 1, "%2d%2d%n", &hours, &minutes, &used) != 2) ||
        hours > 15 || minutes < 0 || minutes > 59)
        return text;
    *zone = (*text == '-' ? -60.0 : 60.0) * (60.0 * hours + minutes);
    return text + 1 + used;
}

/* 2024-02-29, 2024/02/29, with or without a time: 2024-02-29T12:30:00.5Z, 2024-02-29 12:30+01:00.
 */
bool blv_date_value(const char *text, double *value) {
    int year, month, day, hour = 0, minute = 0, used = 0;
    char first, second;
    double seconds = 0.0, zone = 0.0;
    if (sscanf(text, "%4d%c%2d%c%2d%n", &year, &first, &month, &second, &day, &used) != 5 ||
        strspn(text, "0123456789-/") < (size_t)used || (first != '-' && first != '/') ||
        second != first || year < 1000 || month < 1 || month > 12 || day < 1 ||
        day > days_in_month(year, month))
        return false;
    text += used;
    if (*text == 'T' || *text == ' ') {
        if (sscanf(++text, "%2d:%2d%n", &hour, &minute, &used) != 2 || hour < 0 || hour > 24 ||
            minute < 0 || minute > 59)
            return false;
        text += used;
        const char *end = *text == ':' ? blv_decimal(text + 1, &seconds) : text;
        if (!end)
            return false;
        text = take_zone(end, &zone);
    }
    *value = days_since_1970(year, month, day) +
             ((double)hour * 3600.0 + (double)minute * 60.0 + seconds - zone) / 86400.0;
    return *text == '\0' && seconds >= 0.0 && seconds < 61.0;
}

/* ---- Kinds that are asked for ---- */

static blv_error set_kind(blv_table *t, char *pair) {
    blv_message *why = t->r->why;
    char *colon = strrchr(pair, ':');
    if (!colon)
        return blv_explain(why, BLV_E_VALUE, "columns: '%.60s'; expected NAME:KIND", pair);
    *colon = '\0';
    size_t j = 0, kind = BLV_KIND_NUMBER, digits = strspn(pair, "0123456789"), same = 0;
    blv_nearest nearest = {.name = pair};
    while (j < t->count && strcmp(t->column[j].name, pair) != 0)
        blv_nearest_try(&nearest, t->column[j++].name);
    if (j == t->count && digits > 0 && digits < 10 && !pair[digits])
        j = strtoul(pair, NULL, 10);
    if (j >= t->count)
        return blv_explain_name(why, "columns: there is no column", &nearest);
    while (kind <= BLV_KIND_DROP && strcmp(blv_kind_words[kind], colon + 1) != 0)
        kind++;
    if (kind > BLV_KIND_DROP)
        return blv_explain(why, BLV_E_VALUE,
                           "columns: '%.60s' is '%.60s'; expected number, category, boolean, date "
                           "or drop",
                           pair, colon + 1);
    if (t->column[j].kind == BLV_KIND_LABEL)
        return blv_explain(why, BLV_E_VALUE, "columns: '%.60s' is the label", pair);
    for (size_t i = 0; i < t->count; i++)
        same += strcmp(t->column[i].name, pair) == 0;
    if (same > 1)
        return blv_explain(why, BLV_E_NAME,
                           "columns: %zu have the name '%.60s'; expected a number from 0 to %zu",
                           same, pair, t->count - 1);
    if (t->column[j].given)
        return blv_explain(why, BLV_E_VALUE, "columns: '%.60s' is given a kind twice", pair);
    t->column[j].kind = (blv_kind)kind;
    t->column[j].given = true;
    t->column[j].texts =
        kind == BLV_KIND_CATEGORY || kind == BLV_KIND_BOOLEAN || kind == BLV_KIND_DATE;
    return BLV_OK;
}

/* A list, or the path of a file that has a pair on each line. */
static blv_error copy_pairs(blv_table *t, const char *kinds, char **pairs) {
    blv_message *why = t->r->why;
    *pairs = NULL;
    if (strchr(kinds, ':')) {
        *pairs = blv_arena_copy(&t->arena, kinds);
        return blv_need_memory(*pairs, why);
    }
    blv_input *input;
    unsigned char *bytes = NULL;
    size_t count = 0;
    BLV_CHECK(blv_input_open(&input, kinds, why));
    blv_error error = blv_input_read_all(input, &bytes, &count, why);
    blv_input_close(input);
    if (!error && (count > LONGEST_LIST || memchr(bytes, 0, count)))
        error = blv_explain(why, BLV_E_FORMAT,
                            "%s: expected a text of at most 1 MiB with the kinds of columns",
                            blv_shown_path(kinds));
    if (!error) {
        *pairs = blv_arena_print(&t->arena, "%.*s", (int)count, (const char *)bytes);
        error = blv_need_memory(*pairs, why);
    }
    free(bytes);
    return error;
}

blv_error blv_table_set_kinds(blv_table *table, const char *kinds) {
    char *pairs, *rest = NULL;
    BLV_CHECK(copy_pairs(table, kinds, &pairs));
    const char *between = strchr(kinds, ':') ? "," : "\r\n";
    for (char *p = strtok_r(pairs, between, &rest); p; p = strtok_r(NULL, between, &rest))
        BLV_CHECK(set_kind(table, p));
    return BLV_OK;
}

/* ---- Kinds that are found ---- */

static blv_error reject_word(const blv_table *t, size_t j) {
    const blv_column *c = &t->column[j];
    char name[64] = "", hint[200] = "";
    if (*c->name)
        snprintf(name, sizeof name, " (%.50s)", c->name);
    if (!c->given)
        snprintf(hint, sizeof hint,
                 "; %zu fields of the column are numbers, %zu %s not: the kind category takes all "
                 "of them for texts",
                 c->numbers, c->words, c->words == 1 ? "is" : "are");
    return blv_explain(t->r->why, BLV_E_FORMAT,
                       "%s: line %zu, column %zu of %zu%s: expected a finite number, found %s%s",
                       t->r->shown, c->word_line, j + 1, t->count, name, c->word.text, hint);
}

static bool ends_in_id(const char *name) {
    size_t n = strlen(name);
    return strcasecmp(name, "id") == 0 ||
           (n > 2 && (strcasecmp(name + n - 3, "_id") == 0 || strcmp(name + n - 2, "Id") == 0));
}

static int by_size(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

void blv_sort_numbers(double *numbers, size_t count) {
    qsort(numbers, count, sizeof *numbers, by_size);
}

static bool counts_rows(const blv_table *t, const blv_column *c) {
    const double *numbers = t->numbers.items;
    size_t i = 0;
    while (i < t->rows && numbers[i * t->number_columns + c->place] == (double)i)
        i++;
    return i == t->rows;
}

/* Whether the numbers of the column are whole and all different, or too large to be told apart. */
static blv_error find_identifier(const blv_table *t, const blv_column *c, bool *found) {
    const double *numbers = t->numbers.items;
    double *value = blv_data_alloc(t->rows, sizeof *value);
    *found = c->missing == 0 && t->rows > 1;
    BLV_CHECK(blv_need_memory(value, t->r->why));
    for (size_t i = 0; *found && i < t->rows; i++) {
        value[i] = numbers[i * t->number_columns + c->place];
        *found = value[i] == floor(value[i]);
    }
    if (*found)
        blv_sort_numbers(value, t->rows);
    for (size_t i = 1; *found && i < t->rows; i++)
        *found = value[i] != value[i - 1] || fabs(value[i]) >= 0x1p53;
    free(value);
    return BLV_OK;
}

static blv_error drop(blv_table *t, blv_column *c, const char *reason) {
    c->kind = BLV_KIND_DROP;
    const char *name = blv_column_name(t, c);
    return blv_need_memory(
        name && blv_dataset_note(t->r->dataset, "column '%s' left out: %s", name, reason),
        t->r->why);
}

/* A first column without a name is an index, where its values are like one. */
static bool is_unnamed(const blv_table *t, const blv_column *c) {
    return c == t->column && (!*c->name || strcmp(c->name, "Unnamed: 0") == 0);
}

static blv_error find_number_kind(blv_table *t, size_t j) {
    blv_column *c = &t->column[j];
    const bool unnamed = is_unnamed(t, c);
    const bool enough = t->rows >= ENOUGH_ROWS;
    bool found = unnamed && t->rows > 1 && (t->named || enough) && counts_rows(t, c);
    if (c->given)
        return BLV_OK;
    c->kind = BLV_KIND_NUMBER;
    if (c->numbers == 0)
        return drop(t, c, "it has no values");
    if (found)
        return drop(t, c, "it counts the rows");
    if (t->named && ((unnamed && enough) || ends_in_id(c->name)))
        BLV_CHECK(find_identifier(t, c, &found));
    return found ? drop(t, c, "it identifies the rows") : BLV_OK;
}

/* Gives value[n] to each text n; false where one of them is not of that sort. */
static bool find_values(blv_column *c, bool (*value_of)(const char *, double *)) {
    for (size_t n = 0; n < c->levels.items.count; n++)
        if (!value_of(blv_texts_at(&c->levels, n), &c->value[n]))
            return false;
    return true;
}

static blv_error find_text_kind(blv_table *t, blv_column *c) {
    const size_t levels = c->levels.items.count;
    const bool any = !c->given;
    c->value = blv_arena_alloc(&t->arena, levels + 1, sizeof *c->value);
    BLV_CHECK(blv_need_memory(c->value, t->r->why));
    if ((any || c->kind == BLV_KIND_BOOLEAN) && find_values(c, blv_boolean_value))
        c->kind = BLV_KIND_BOOLEAN;
    else if ((any || c->kind == BLV_KIND_DATE) && find_values(c, blv_date_value))
        c->kind = BLV_KIND_DATE;
    else if (any && levels > FEW_LEVELS && 2 * levels > t->rows)
        return drop(t, c, "nearly every row has another text");
    else if (any && t->named && is_unnamed(t, c) && levels == t->rows && levels >= ENOUGH_ROWS)
        return drop(t, c, "it identifies the rows");
    else if (any)
        c->kind = BLV_KIND_CATEGORY;
    else if (c->kind != BLV_KIND_CATEGORY)
        return blv_explain(t->r->why, BLV_E_FORMAT,
                           "%s: column '%.60s': expected a %s in every row", t->r->shown, c->name,
                           blv_kind_words[c->kind]);
    return BLV_OK;
}

blv_error blv_table_find_kinds(blv_table *t, bool *again) {
    *again = false;
    for (size_t j = 0; j < t->count; j++) {
        blv_column *c = &t->column[j];
        if (c->kind == BLV_KIND_LABEL || c->kind == BLV_KIND_DROP || c->texts || c->words == 0)
            continue;
        if (c->given || c->kind == BLV_KIND_NUMBER || c->numbers >= c->words)
            return reject_word(t, j);
        c->texts = *again = true;
    }
    for (size_t j = 0; !*again && j < t->count; j++) {
        blv_column *c = &t->column[j];
        if (c->kind == BLV_KIND_LABEL || c->kind == BLV_KIND_DROP)
            continue;
        BLV_CHECK(c->texts ? find_text_kind(t, c) : find_number_kind(t, j));
    }
    return BLV_OK;
}
