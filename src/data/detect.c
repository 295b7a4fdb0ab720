/* Detects the format of a file from its first bytes.
 *
 * NPY and NPZ have a magic number, IDX nearly so: two zero bytes, a type, a number of dimensions.
 * CIFAR has none: a record is a label or two and 3072 bytes, so a file is taken for one when all
 * labels that can be seen are in range, the size fits, and it is not text. The rest is text. */
#include "base/number_text.h"
#include "data/reading.h"

#include <string.h>
#include <strings.h>

enum { PIXELS = 3072, MOSTLY = 64 };

/* Whether no byte is zero and at most one of so many is another that texts do not have. */
static bool is_text(const unsigned char *bytes, size_t count, size_t one_of) {
    size_t others = 0;
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == 0)
            return false;
        others += bytes[i] < 0x20 && !(bytes[i] >= '\t' && bytes[i] <= '\r');
    }
    return others <= count / one_of;
}

/* ---- Binary formats ---- */

static bool fits_cifar(blv_input *input, const unsigned char *bytes, size_t count, bool hundred) {
    size_t record = PIXELS + (hundred ? 2 : 1);
    if (count < record)
        return false;
    bool whole_file = count < BLV_INPUT_PEEK;
    uint64_t size = whole_file ? count : blv_input_most(input);
    if ((whole_file || !blv_input_is_packed(input)) && size % record != 0)
        return false;
    for (size_t i = 0; i + 1 < count; i += record)
        if (hundred ? bytes[i] >= 20 || bytes[i + 1] >= 100 : bytes[i] >= 10)
            return false;
    return true;
}

static blv_format detect_cifar(blv_input *input, const unsigned char *bytes, size_t count) {
    if (fits_cifar(input, bytes, count, false))
        return BLV_FORMAT_CIFAR10;
    return fits_cifar(input, bytes, count, true) ? BLV_FORMAT_CIFAR100 : BLV_FORMAT_NONE;
}

/* ---- Text ---- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* index:value, whatever the value is, or qid:number; no separators of CSV in it. */
static bool is_pair(const char *word, size_t length) {
    size_t i = 0;
    while (i < length && word[i] >= '0' && word[i] <= '9')
        i++;
    if (length > 4 && memcmp(word, "qid:", 4) == 0)
        i = 3;
    if (i == 0 || i == length || word[i] != ':')
        return false;
    for (i++; i < length; i++)
        if (strchr(",;:\"", word[i]))
            return false;
    return true;
}

static bool is_number(const char *word, size_t length) {
    char copy[64];
    double value;
    if (length >= sizeof copy)
        return false;
    memcpy(copy, word, length);
    copy[length] = '\0';
    const char *end = blv_decimal(copy, &value);
    return end && *end == '\0';
}

/* The line has a pair, or is a number alone, and no word ends in a separator of CSV. *empty: the
 * line has nothing but a comment. */
static bool is_libsvm_line(const char *p, const char *end, bool *empty) {
    size_t words = 0;
    bool number = false;
    while (p < end && *p != '#') {
        const char *word = p;
        while (p < end && !is_blank(*p) && *p != '#')
            p++;
        size_t length = (size_t)(p - word);
        if (length > 0) {
            if (is_pair(word, length))
                return true;
            if (strchr(",;", word[length - 1]))
                return false;
            number = words == 0 && is_number(word, length);
            words++;
        } else {
            p++;
        }
    }
    *empty = words == 0;
    return words == 1 && number;
}

/* The first line that is neither empty nor a comment begins with @relation or @attribute. */
static bool is_arff(const char *text, const char *end) {
    static const char *const words[] = {"@relation", "@attribute"};
    while (text < end && (is_blank(*text) || *text == '\n' || *text == '%')) {
        const char *newline = *text == '%' ? memchr(text, '\n', (size_t)(end - text)) : text;
        text = newline ? newline + 1 : end;
    }
    for (size_t w = 0; w < 2; w++)
        if ((size_t)(end - text) > strlen(words[w]) &&
            strncasecmp(text, words[w], strlen(words[w])) == 0)
            return true;
    return false;
}

static blv_format detect_text(const char *text, size_t count) {
    const char *end = text + count;
    if (count >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    if (is_arff(text, end))
        return BLV_FORMAT_ARFF;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        bool empty = false;
        if (is_libsvm_line(text, newline ? newline : end, &empty))
            return BLV_FORMAT_LIBSVM;
        if (!empty)
            return BLV_FORMAT_CSV;
        text = newline ? newline + 1 : end;
    }
    return BLV_FORMAT_NONE;
}

/* ---- Both ---- */

static blv_format detect(blv_input *input, const unsigned char *bytes, size_t count) {
    if (count >= NPY_MAGIC_SIZE && memcmp(bytes, blv_npy_magic, NPY_MAGIC_SIZE) == 0)
        return BLV_FORMAT_NPY;
    if (count >= 4 && (zip_get32(bytes) == ZIP_LOCAL || zip_get32(bytes) == ZIP_END))
        return BLV_FORMAT_NPZ;
    if (is_text(bytes, count, SIZE_MAX))
        return detect_text((const char *)bytes, count);
    blv_format cifar = detect_cifar(input, bytes, count);
    blv_idx idx;
    bool is_idx = blv_is_idx(bytes, count) &&
                  (!cifar || blv_idx_parse(&idx, input, bytes, count, NULL) == BLV_OK);
    if (!is_idx && !cifar && is_text(bytes, count, MOSTLY))
        return detect_text((const char *)bytes, count);
    return is_idx ? BLV_FORMAT_IDX : cifar;
}

blv_error blv_detect_format(blv_input *input, blv_format *format, blv_message *why) {
    const unsigned char *bytes = NULL;
    size_t count = 0;
    *format = BLV_FORMAT_NONE;
    BLV_CHECK(blv_input_peek(input, &bytes, &count, why));
    const char *shown = blv_shown_path(blv_input_path(input));
    if (count == 0)
        return blv_explain(why, BLV_E_FORMAT, "%s: the file is empty", shown);
    *format = detect(input, bytes, count);
    if (*format)
        return BLV_OK;
    if (is_text(bytes, count, MOSTLY))
        return blv_explain(why, BLV_E_FORMAT, "%s: there is no row of data", shown);
    if (count > 2 && (bytes[0] ^ bytes[1]) == 0x01 && bytes[0] >= 0xfe)
        return blv_explain(why, BLV_E_FORMAT, "%s: text in UTF-16; expected UTF-8", shown);
    return blv_explain(
        why, BLV_E_FORMAT,
        "%s: format unknown: expected text (libsvm, CSV, TSV, ARFF), NPY, NPZ, IDX or "
        "whole CIFAR records (3073 or 3074 bytes)",
        shown);
}
