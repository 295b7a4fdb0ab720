/* Rows as their file has them. A set that was read from text knows its file and where each row is
 * in it, one number a row: 40 bits for the first byte, 24 for how many there are. The text itself
 * is read again when it is asked for; that of a stream is kept. */
#include "data/arff.h"

#include "io/text_out.h"
#include "io/unpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LENGTH_BITS = 24 };
static const uint64_t longest = ((uint64_t)1 << LENGTH_BITS) - 1, farthest = (uint64_t)1 << 40;

/* The part BLV_PART_SOURCE. */
typedef struct row_source {
    blv_format format;
    char delimiter;    /* of CSV */
    int64_t label;     /* its column, or BLV_NO_COLUMN */
    uint64_t header;   /* bytes before the first row */
    uint64_t stamp;    /* of the file */
    size_t zero_label; /* where the label is, among the texts, that a sparse row may leave out */
    char texts[];      /* the path, and that label */
} row_source;

/* ---- While a file is read ---- */

blv_error blv_add_place(blv_reading *r, uint64_t offset, size_t length) {
    uint64_t *place = r->no_places ? NULL : blv_list_room(&r->place, 1, sizeof *place);
    if (r->no_places)
        return BLV_OK;
    BLV_CHECK(blv_need_memory(place, r->why));
    r->no_places = offset >= farthest || length > longest;
    if (r->place.count == 0)
        r->header_bytes = offset;
    *place = offset << LENGTH_BITS | (length & longest);
    r->place.count++;
    return BLV_OK;
}

blv_error blv_put_places(blv_reading *r) {
    blv_dataset *d = r->dataset;
    if (r->no_places || r->place.count == 0 || r->place.count != d->view.rows)
        return BLV_OK;
    if (r->share) /* the first row may be another rank's */
        r->header_bytes = *(const uint64_t *)r->place.items >> LENGTH_BITS;
    const char *zero = r->zero_label ? r->zero_label : "";
    const size_t length = strlen(r->path) + 1;
    row_source *source = blv_data_alloc(sizeof *source + length + strlen(zero) + 1, 1);
    BLV_CHECK(blv_need_memory(source, r->why));
    *source = (row_source){.format = r->format,
                           .delimiter = r->delimiter,
                           .label = r->label_column,
                           .header = r->header_bytes,
                           .stamp = blv_input_stamp(r->input),
                           .zero_label = length};
    strcpy(stpcpy(source->texts, r->path) + 1, zero);
    d->view.separator = r->delimiter;
    void *map = NULL;
    size_t bytes = 0;
    bool ok = blv_input_map_stream(r->input, &map, &bytes);
    ok = blv_dataset_put(d, BLV_PART_SOURCE, source) && ok;
    ok = blv_dataset_put(d, BLV_PART_PLACE, blv_list_take(&r->place, sizeof(uint64_t))) && ok;
    ok = (!map || blv_dataset_put_map(d, BLV_PART_CONTENT, map, bytes, 0)) && ok;
    return blv_need_memory(ok, r->why);
}

/* ---- The text again ---- */

struct blv_row_texts {
    const blv_dataset *dataset;
    const row_source *source;
    const uint64_t *place;
    const unsigned char *content;
    size_t size;
    void *mapped; /* of mapped_bytes, to be given back; NULL: the set's own */
    size_t mapped_bytes;
    unsigned char *unpacked;
};

static blv_error map_file(blv_row_texts *t, blv_message *why) {
    const char *path = t->source->texts;
    int fd;
    bool copied;
    uint64_t size = 0;
    blv_error error = blv_open_input(path, &fd, &size, &copied, why);
    if (!error && (copied || blv_file_stamp(fd) != t->source->stamp))
        error =
            blv_explain(why, BLV_E_FILE, "%s: was changed since it was read", blv_shown_path(path));
    if (!error && size > 0) {
        t->mapped = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
        t->mapped = t->mapped == MAP_FAILED ? NULL : t->mapped;
        t->content = t->mapped;
        t->size = t->mapped_bytes = (size_t)size;
        error = t->mapped ? BLV_OK : blv_explain_errno(why, path, "map");
    }
    if (fd >= 0)
        close(fd);
    return error;
}

static blv_error open_content(blv_row_texts *t, blv_message *why) {
    const blv_part *kept = t->dataset->part[BLV_PART_CONTENT];
    if (kept) {
        t->content = kept->data;
        t->size = kept->mapped_bytes;
    } else {
        BLV_CHECK(map_file(t, why));
    }
    if (!blv_packing_of(t->content, t->size))
        return BLV_OK;
    BLV_CHECK(blv_unpack_all(t->content, t->size, t->source->texts, &t->unpacked, &t->size, why));
    t->content = t->unpacked;
    return BLV_OK;
}

blv_error blv_row_texts_open(blv_row_texts **texts, const blv_dataset *dataset, blv_message *why) {
    BLV_CHECK(blv_need_arguments(texts && dataset, __func__, why));
    *texts = NULL;
    if (!dataset->part[BLV_PART_PLACE])
        return BLV_OK;
    blv_row_texts *t = calloc(1, sizeof *t);
    BLV_CHECK(blv_need_memory(t, why));
    t->dataset = dataset;
    t->source = dataset->part[BLV_PART_SOURCE]->data;
    t->place = dataset->part[BLV_PART_PLACE]->data;
    blv_error error = open_content(t, why);
    if (error)
        blv_row_texts_close(t);
    else
        *texts = t;
    return error;
}

void blv_row_texts_close(blv_row_texts *texts) {
    if (!texts)
        return;
    if (texts->mapped)
        munmap(texts->mapped, texts->mapped_bytes);
    free(texts->unpacked);
    free(texts);
}

/* With its line end, if it has one. */
static const char *whole_row(const blv_row_texts *t, size_t row, size_t *length) {
    uint64_t offset = t->place[row] >> LENGTH_BITS;
    *length = (size_t)(t->place[row] & longest);
    offset = offset < t->size ? offset : t->size;
    *length = *length < t->size - offset ? *length : (size_t)(t->size - offset);
    return (const char *)t->content + offset;
}

const char *blv_row_texts_at(const blv_row_texts *texts, size_t row, size_t *length) {
    if (!texts || !length || row >= texts->dataset->view.rows)
        return NULL;
    const char *text = whole_row(texts, row, length);
    while (*length > 0 && (text[*length - 1] == '\n' || text[*length - 1] == '\r'))
        --*length;
    return text;
}

/* ---- Labels in the text ---- */

/* The label in a row: characters begin .. end-1. A sparse row may leave it out: then it has to be
 * set off by commas, with its place, where begin is. */
typedef struct label_piece {
    const char *begin, *end;
    bool left_out, comma_before, comma_behind;
} label_piece;

static const char *skip(const char *p, const char *these) {
    return p + strspn(p, these);
}

/* The value of ARFF at p, in quotes or not. Texts end in a newline and a zero byte. */
static label_piece arff_value(const char *p, const char *ends) {
    label_piece value = {.begin = p, .end = p + strcspn(p, ends)};
    if (*p == '\'' || *p == '"') {
        const char quote = *p;
        for (p++; *p != quote && *p != '\n'; p++)
            p += *p == '\\' && p[1] != '\n';
        value.end = p + (*p == quote);
        return value;
    }
    while (value.end > p && strchr(" \t\r", value.end[-1]))
        value.end--;
    return value;
}

static label_piece sparse_label(const char *p, size_t wanted) {
    const char *after = NULL;
    for (p = skip(p + 1, " \t"); *p >= '0' && *p <= '9'; p = skip(after, " \t,")) {
        const size_t j = strtoul(p, NULL, 10);
        if (j > wanted)
            return (label_piece){p, p, .left_out = true, .comma_behind = true};
        label_piece value = arff_value(skip(skip(p, "0123456789"), " \t"), ",}\n");
        if (j == wanted)
            return value;
        after = value.end;
    }
    p = after ? after : p;
    return (label_piece){p, p, .left_out = true, .comma_before = after != NULL};
}

static label_piece arff_label(const char *text, size_t wanted) {
    const char *p = skip(text, " \t");
    if (*p == '{')
        return sparse_label(p, wanted);
    label_piece value = arff_value(p, ",\t\n");
    for (size_t j = 0; j < wanted && (p = blv_arff_next_value(value.end)); j++)
        value = arff_value(p, ",\t\n");
    return value;
}

/* The field of a CSV record, with its quotes. */
static blv_error csv_label(const row_source *s, char *text, size_t length, label_piece *label,
                           blv_message *why) {
    blv_csv csv = {.why = why, .delimiter = s->delimiter};
    blv_error error = blv_csv_split(&csv, text, length);
    if (!error && (size_t)s->label < csv.count) {
        const blv_csv_field *field = &csv.fields[s->label];
        label->begin = field->text - field->quoted;
        label->end = field->text + field->length + field->quoted;
    }
    blv_csv_close(&csv);
    return error;
}

/* text: a row with a newline and a zero byte at its end, `length` without the latter. */
static blv_error find_label(const row_source *s, char *text, size_t length, label_piece *label,
                            blv_message *why) {
    *label = (label_piece){.begin = text, .end = text};
    if (s->format == BLV_FORMAT_CSV)
        return csv_label(s, text, length, label, why);
    if (s->format == BLV_FORMAT_ARFF) {
        *label = arff_label(text, (size_t)s->label);
        return BLV_OK;
    }
    label->begin = skip(text, " \t\f\v");
    label->end = label->begin + strcspn(label->begin, " \t\r\f\v\n#");
    return BLV_OK;
}

/* ---- Writing ---- */

/* Whether the label in the row is that class, in its spelling or another. */
static bool is_class(const row_source *s, label_piece label, const char *name) {
    char text[64];
    if (label.left_out)
        return strcmp(s->texts + s->zero_label, name) == 0;
    if (label.end - label.begin > 1 && strchr("'\"", *label.begin)) {
        label.begin++;
        label.end--;
    }
    const size_t n = (size_t)(label.end - label.begin);
    if (n == strlen(name) && memcmp(label.begin, name, n) == 0)
        return true;
    if (n >= sizeof text)
        return false;
    memcpy(text, label.begin, n);
    text[n] = '\0';
    return blv_same_class(text, name);
}

static void put_arff(blv_text_out *out, const char *name) {
    const bool plain = *name && !strpbrk(name, " ,\t'\"%{}\\");
    blv_text_out_string(out, plain ? "" : "'");
    for (; *name; name++) {
        if (strchr("'\\", *name))
            blv_text_out_put(out, "\\", 1);
        blv_text_out_put(out, name, 1);
    }
    blv_text_out_string(out, plain ? "" : "'");
}

static void put_label(blv_text_out *out, const row_source *s, const char *name, label_piece label) {
    char place[32];
    snprintf(place, sizeof place, "%s%lld ", label.comma_before ? ", " : "", (long long)s->label);
    blv_text_out_string(out, label.left_out ? place : "");
    if (s->format == BLV_FORMAT_ARFF)
        put_arff(out, name);
    else if (s->format == BLV_FORMAT_CSV)
        blv_text_out_field(out, name, s->delimiter);
    else
        blv_text_out_string(out, name);
    blv_text_out_string(out, label.comma_behind ? ", " : "");
}

static blv_error put_row(blv_text_out *out, const blv_row_texts *t, size_t row, blv_list *room,
                         blv_message *why) {
    const blv_dataset_view *v = &t->dataset->view;
    size_t length;
    const char *from = whole_row(t, row, &length);
    const char *line_end = length > 1 && from[length - 2] == '\r' ? "\r\n" : "\n";
    from = blv_row_texts_at(t, row, &length);
    room->count = 0;
    char *text = blv_list_room(room, length + 2, 1);
    BLV_CHECK(blv_need_memory(text, why));
    memcpy(text, from, length);
    memcpy(text + length, "\n", 2);
    label_piece label = {.begin = text, .end = text};
    const char *name = v->label ? v->class_names[v->label[row]] : NULL, *rest = text;
    if (name)
        BLV_CHECK(find_label(t->source, text, length + 1, &label, why));
    if (name && !is_class(t->source, label, name)) {
        blv_text_out_put(out, text, (size_t)(label.begin - text));
        put_label(out, t->source, name, label);
        rest = label.end;
    }
    blv_text_out_put(out, rest, (size_t)(text + length - rest));
    blv_text_out_string(out, line_end);
    return BLV_OK;
}

blv_error blv_dataset_write_source(const blv_dataset *dataset, const char *name, blv_write_fn write,
                                   void *context, blv_message *why) {
    blv_row_texts *t = NULL;
    blv_list room = {0};
    BLV_CHECK(blv_row_texts_open(&t, dataset, why));
    if (!t)
        return blv_explain(why, BLV_E_VALUE, "%s: the rows are not from a text file",
                           blv_shown_path(name));
    blv_text_out *out = blv_text_out_open(name, write, context, why);
    blv_error error = out ? BLV_OK : blv_explain_memory(why);
    if (out)
        blv_text_out_put(out, (const char *)t->content,
                         t->source->header < t->size ? (size_t)t->source->header : t->size);
    for (size_t i = 0; !error && i < dataset->view.rows; i++)
        error = put_row(out, t, i, &room, why);
    blv_error closed = out ? blv_text_out_close(out) : BLV_OK;
    free(room.items);
    blv_row_texts_close(t);
    return error ? error : closed;
}
