/* Recipes: what a table has learned, as text with a line for each column of the file,
 *
 *     kind TAB name TAB fill TAB marks TAB level TAB level ...
 *
 * where a label has a line with its kind and name alone, and fill is a number, for a category that
 * of a level; - where none was learned, as no value was missing (blv_dataset_learn_fills). marks: 1
 * where missing values are marked, and 2 more where levels that are new are. Tabs, newlines and
 * backslashes in texts are written as \t, \n and \\. */
#include "base/number_text.h"
#include "base/text_stream.h"
#include "data/data_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Writing ---- */

void blv_fill_format(double fill, char text[40]) {
    if (isnan(fill))
        strcpy(text, "-");
    else
        blv_number_format(fill, text, 40);
}

/* NaN for "-"; false: it is no fill. */
static bool parse_fill(const char *text, double *fill) {
    *fill = (double)NAN;
    if (text[0] == '-' && strchr("\t\n", text[1]))
        return true;
    const char *end = blv_decimal(text, fill);
    return end && strchr("\t\n", *end) && isfinite(*fill);
}

static void put_text(FILE *out, const char *text) {
    for (; *text; text++) {
        const char *at = strchr("\t\n\\", *text);
        if (at)
            fputc('\\', out);
        fputc(at ? "tn\\"[at - "\t\n\\"] : *text, out);
    }
}

static void put_levels(FILE *out, const blv_column *c, const char **level) {
    for (size_t n = 0; n < c->levels.items.count; n++)
        if (c->rank[n] >= 0)
            level[c->rank[n]] = blv_texts_at(&c->levels, n);
    for (size_t k = 0; k < c->level_count; k++) {
        fputc('\t', out);
        put_text(out, level[k]);
    }
}

char *blv_table_write_recipe(const blv_table *table) {
    blv_text_stream text;
    blv_arena arena = {0};
    FILE *out = blv_text_open(&text);
    for (size_t j = 0; out && j < table->count; j++) {
        const blv_column *c = &table->column[j];
        char fill[40];
        blv_fill_format(c->fill, fill);
        fprintf(out, "%s\t", blv_kind_words[c->kind]);
        put_text(out, c->name);
        if (c->kind != BLV_KIND_LABEL && c->kind != BLV_KIND_DROP)
            fprintf(out, "\t%s\t%d", fill, c->indicator + 2 * c->never_seen);
        const char **level = blv_arena_alloc(&arena, c->level_count + 1, sizeof *level);
        if (level && c->kind == BLV_KIND_CATEGORY)
            put_levels(out, c, level);
        fputc('\n', out);
    }
    char *bytes = blv_text_close(&text);
    bool failed = arena.failed;
    blv_arena_free(&arena);
    if (!failed)
        return bytes;
    free(bytes);
    return NULL;
}

/* ---- Reading ---- */

/* Takes the text up to the next tab or newline, which is left out, from *rest. */
static char *take_text(char **rest) {
    char *text = *rest, *to = text, *p = text;
    for (; *p && *p != '\t' && *p != '\n'; p++) {
        if (*p == '\\' && p[1])
            *to++ = *++p == 't' ? '\t' : *p == 'n' ? '\n' : *p;
        else
            *to++ = *p;
    }
    *rest = *p == '\t' ? p + 1 : p;
    *to = '\0';
    return text;
}

static blv_kind find_kind(const char *word) {
    size_t kind = BLV_KIND_NUMBER;
    while (kind <= BLV_KIND_LABEL && strcmp(blv_kind_words[kind], word) != 0)
        kind++;
    return kind <= BLV_KIND_LABEL ? (blv_kind)kind : BLV_KIND_AUTO;
}

/* Behind the next tab of the line, or NULL. */
static const char *next_field(const char *p) {
    p += strcspn(p, "\t\n");
    return *p == '\t' ? p + 1 : NULL;
}

static bool parse_line(blv_arena *arena, const char *line, blv_recipe_column *c, size_t *feature) {
    const char *name = next_field(line), *fill = name ? next_field(name) : NULL;
    const char *marks = fill ? next_field(fill) : NULL;
    char word[16] = "";
    if (!name || (size_t)(name - line) > sizeof word)
        return false;
    memcpy(word, line, (size_t)(name - 1 - line));
    *c = (blv_recipe_column){.line = line, .kind = find_kind(word), .feature = *feature};
    char *text = blv_arena_print(arena, "%.*s", (int)strcspn(name, "\t\n"), name);
    c->name = text ? take_text(&text) : NULL;
    if (c->kind == BLV_KIND_LABEL || c->kind == BLV_KIND_DROP)
        return c->name;
    if (c->kind == BLV_KIND_AUTO || !c->name || !marks || !parse_fill(fill, &c->fill) ||
        *marks < '0' || *marks > '3' || !strchr("\t\n", marks[1]))
        return false;
    c->fill_text = fill;
    c->after_fill = marks - 1;
    c->indicator = (*marks - '0') % 2 == 1;
    c->never_seen = *marks >= '2';
    c->level_text = next_field(marks);
    for (const char *p = c->level_text; p; p = next_field(p))
        c->levels++;
    if (c->kind == BLV_KIND_CATEGORY && !(c->fill >= 0.0 && c->fill <= (double)c->levels))
        return false;
    c->span = (c->kind == BLV_KIND_CATEGORY ? c->levels + c->never_seen : 1) + c->indicator;
    c->rows = blv_arena_alloc(arena, c->levels + 1, sizeof *c->rows);
    *feature += c->span;
    return c->rows != NULL;
}

bool blv_recipe_parse(blv_arena *arena, const char *recipe, blv_recipe_column **columns,
                      size_t *count, size_t *features) {
    size_t lines = 0;
    *count = *features = 0;
    for (const char *p = recipe; (p = strchr(p, '\n')); p++)
        lines++;
    *columns = blv_arena_alloc(arena, lines + 1, sizeof **columns);
    for (const char *p = recipe; *columns && *p; p = strchr(p, '\n') + 1)
        if (!strchr(p, '\n') || !parse_line(arena, p, &(*columns)[(*count)++], features))
            return false;
    return *columns;
}

blv_error blv_recipe_columns(blv_arena *arena, const blv_dataset *dataset,
                             blv_recipe_column **columns, size_t *count, blv_message *why) {
    const char *recipe = blv_dataset_recipe(dataset);
    size_t features;
    if (!recipe || !blv_recipe_parse(arena, recipe, columns, count, &features) ||
        features != dataset->view.columns)
        *count = 0;
    return blv_need_memory(!arena->failed, why);
}

/* ---- The columns of a table ---- */

static blv_error reject(const blv_table *t) {
    return blv_explain(t->r->why, BLV_E_FORMAT, "the recipe of the columns is damaged");
}

blv_error blv_table_take_recipe(blv_table *table) {
    const char *recipe = table->r->options.recipe;
    size_t features;
    if (!recipe ||
        blv_recipe_parse(&table->arena, recipe, &table->recipe, &table->recipe_count, &features))
        return BLV_OK;
    return table->arena.failed ? blv_explain_memory(table->r->why) : reject(table);
}

bool blv_recipe_named(const blv_table *table) {
    size_t j = 0;
    while (j < table->recipe_count && !*table->recipe[j].name)
        j++;
    return j < table->recipe_count;
}

bool blv_recipe_has(const blv_table *table, const char *name) {
    size_t j = 0;
    while (j < table->recipe_count && strcmp(table->recipe[j].name, name) != 0)
        j++;
    return j < table->recipe_count;
}

static blv_error fill_column(blv_table *t, blv_column *c, const blv_recipe_column *from) {
    c->kind = from->kind;
    c->given = c->learned = true;
    c->texts =
        c->kind == BLV_KIND_CATEGORY || c->kind == BLV_KIND_BOOLEAN || c->kind == BLV_KIND_DATE;
    c->fill = from->fill;
    c->indicator = from->indicator;
    if (c->kind != BLV_KIND_CATEGORY)
        return BLV_OK;
    c->never_seen = from->never_seen;
    c->level_count = from->levels;
    const char *levels = from->level_text ? from->level_text : "";
    char *rest = blv_arena_print(&t->arena, "%.*s", (int)strcspn(levels, "\n"), levels);
    for (size_t k = 0; rest && k < from->levels; k++) {
        const char *level = take_text(&rest);
        if (blv_texts_number(&c->levels, level, strlen(level)) < 0)
            return blv_explain_memory(t->r->why);
    }
    BLV_CHECK(blv_need_memory(rest, t->r->why));
    return c->levels.items.count == from->levels ? BLV_OK : reject(t);
}

/* The column of that name, which may be "" (an index), or the next one from *place on; NULL: none.
 */
static blv_column *find_column(const blv_table *t, const char *name, bool by_name, size_t *place) {
    for (size_t j = 0; by_name && j < t->count; j++)
        if (t->column[j].kind == BLV_KIND_AUTO && strcmp(t->column[j].name, name) == 0)
            return &t->column[j];
    while (!by_name && *place < t->count) {
        blv_column *c = &t->column[(*place)++];
        if (c->kind == BLV_KIND_AUTO)
            return c;
    }
    return NULL;
}

static blv_error apply_column(blv_table *t, const blv_recipe_column *from, bool by_name,
                              size_t *place) {
    if (from->kind == BLV_KIND_LABEL)
        return BLV_OK;
    blv_column *c = find_column(t, from->name, by_name, place);
    if (!c && from->kind == BLV_KIND_DROP)
        return BLV_OK;
    if (!c && by_name)
        return blv_explain(t->r->why, BLV_E_VALUE,
                           "%s: there is no column '%.100s', which the rows of the training have",
                           t->r->shown, from->name);
    if (!c)
        return blv_explain(t->r->why, BLV_E_VALUE,
                           "%s: %zu columns are fewer than the rows of the training have",
                           t->r->shown, t->count);
    if (from->kind != BLV_KIND_DROP)
        t->used[t->used_count++] = c;
    if (!t->named)
        c->name = from->name;
    return fill_column(t, c, from);
}

blv_error blv_table_apply_recipe(blv_table *t) {
    t->used = blv_arena_alloc(&t->arena, t->count, sizeof(blv_column *));
    BLV_CHECK(blv_need_memory(t->used, t->r->why));
    size_t place = 0;
    const bool by_name = t->named && blv_recipe_named(t);
    for (size_t j = 0; j < t->recipe_count; j++)
        BLV_CHECK(apply_column(t, &t->recipe[j], by_name, &place));
    for (size_t j = 0; j < t->count; j++) {
        blv_column *c = &t->column[j];
        if (c->kind != BLV_KIND_AUTO)
            continue;
        if (!t->named)
            return blv_explain(t->r->why, BLV_E_VALUE,
                               "%s: %zu columns are more than the rows of the training have",
                               t->r->shown, t->count);
        c->kind = BLV_KIND_DROP;
        if (!blv_dataset_note(t->r->dataset,
                              "column '%s' left out: the rows of the training do not have it",
                              c->name))
            return blv_explain_memory(t->r->why);
    }
    return BLV_OK;
}
