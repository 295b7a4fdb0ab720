/* Pictures in a page: the PNG files are taken out of it again and decoded, and their pixels are
 * compared with the values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { WIDTH = 5, HEIGHT = 3, PIXELS = WIDTH * HEIGHT };

static unsigned long number_at(const unsigned char *at) {
    return (unsigned long)at[0] << 24 | (unsigned long)at[1] << 16 | (unsigned long)at[2] << 8 |
           at[3];
}

/* Decodes the digits up to a quote; returns the number of bytes. */
static size_t decode_base64(const char *text, unsigned char *bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t count = 0, length = strcspn(text, "\"");
    assert_int_equal(length % 4, 0);
    unsigned long word = 0;
    for (size_t i = 0; i < length; i++) {
        const char *digit = text[i] == '=' ? digits : strchr(digits, text[i]);
        assert_non_null(digit);
        word = word << 6 | (unsigned long)(digit - digits);
        if (i % 4 == 3)
            for (int k = 16; k >= 0; k -= 8)
                bytes[count++] = (unsigned char)(word >> k & 255);
    }
    return count - (length > 0 && text[length - 1] == '=') -
           (length > 1 && text[length - 2] == '=');
}

/* Checks signature, chunks and checksums; fills in the pixels, line by line. */
static void decode_png(const unsigned char *png, size_t size, size_t channels,
                       unsigned char *pixels) {
    static const char *const names[] = {"IHDR", "IDAT", "IEND"};
    unsigned char lines[HEIGHT * (1 + 3 * WIDTH)];
    uLongf unpacked = sizeof lines;
    assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
    size_t at = 8;
    for (int chunk = 0; chunk < 3; chunk++) {
        size_t length = number_at(png + at);
        assert_true(at + 12 + length <= size);
        assert_memory_equal(png + at + 4, names[chunk], 4);
        assert_int_equal(number_at(png + at + 8 + length),
                         crc32(0, png + at + 4, (uInt)(length + 4)));
        if (chunk == 0) {
            const unsigned char rest[] = {8, channels == 3 ? 2 : 0, 0, 0, 0};
            assert_int_equal(length, 13);
            assert_int_equal(number_at(png + at + 8), WIDTH);
            assert_int_equal(number_at(png + at + 12), HEIGHT);
            assert_memory_equal(png + at + 16, rest, sizeof rest);
        } else if (chunk == 1) {
            assert_int_equal(uncompress(lines, &unpacked, png + at + 8, length), Z_OK);
        }
        at += 12 + length;
    }
    assert_int_equal(at, size);
    assert_int_equal(unpacked, HEIGHT * (1 + channels * WIDTH));
    for (size_t y = 0; y < HEIGHT; y++) {
        const unsigned char *line = lines + y * (1 + channels * WIDTH);
        assert_int_equal(line[0], 0);
        memcpy(pixels + y * channels * WIDTH, line + 1, channels * WIDTH);
    }
}

static void gray_values_are_scaled_and_cut_off(void **state) {
    (void)state;
    double values[PIXELS];
    for (int i = 0; i < PIXELS; i++)
        values[i] = -1.0 + 0.25 * i; /* from -1 to 2.5, between 0 and 2: shades */
    values[7] = NAN;
    const report_picture picture = {
        .width = WIDTH, .height = HEIGHT, .channels = 1, .values = values, .low = 0.0, .high = 2.0};
    report_bytes png;
    assert_int_equal(report_picture_png(&picture, &png), BLV_OK);
    unsigned char pixels[PIXELS];
    decode_png((const unsigned char *)png.data, png.size, 1, pixels);
    for (int i = 0; i < PIXELS; i++) {
        double wanted = values[i] <= 0.0 ? 0.0 : values[i] >= 2.0 ? 255.0 : 127.5 * values[i];
        assert_true(fabs(pixels[i] - (i == 7 ? 0.0 : wanted)) <= 0.5);
    }
    free(png.data);
}

static void planes_and_pixels_give_the_same_picture(void **state) {
    (void)state;
    double planar[3 * PIXELS], mixed[3 * PIXELS];
    for (int i = 0; i < PIXELS; i++)
        for (int c = 0; c < 3; c++)
            planar[c * PIXELS + i] = mixed[3 * i + c] = (double)(c * 80 + i);
    report_picture picture = {.width = WIDTH, .height = HEIGHT, .channels = 3, .high = 255.0};
    unsigned char pixels[3 * PIXELS];
    for (int round = 0; round < 2; round++) {
        picture.planar = round == 0;
        picture.values = round == 0 ? planar : mixed;
        report_bytes png;
        assert_int_equal(report_picture_png(&picture, &png), BLV_OK);
        decode_png((const unsigned char *)png.data, png.size, 3, pixels);
        for (int i = 0; i < 3 * PIXELS; i++)
            assert_int_equal(pixels[i], (int)mixed[i]);
        free(png.data);
    }
}

static void values_that_are_all_alike_are_black(void **state) {
    (void)state;
    double values[PIXELS];
    for (int i = 0; i < PIXELS; i++)
        values[i] = 3.0;
    const report_picture picture = {
        .width = WIDTH, .height = HEIGHT, .channels = 1, .values = values, .low = 3.0, .high = 3.0};
    report_bytes png;
    assert_int_equal(report_picture_png(&picture, &png), BLV_OK);
    unsigned char pixels[PIXELS];
    decode_png((const unsigned char *)png.data, png.size, 1, pixels);
    for (int i = 0; i < PIXELS; i++)
        assert_int_equal(pixels[i], 0);
    free(png.data);
}

static void a_sheet_has_every_picture_with_its_caption(void **state) {
    (void)state;
    enum { COUNT = 4 };
    double values[COUNT][PIXELS];
    report_picture pictures[COUNT];
    static const char *const captions[COUNT] = {"row 1", "<b>&\"'", "7 \xe2\x86\x92 9", NULL};
    for (int k = 0; k < COUNT; k++) {
        for (int i = 0; i < PIXELS; i++)
            values[k][i] = (double)(17 * i + 40 * k) / 2.0;
        pictures[k] = (report_picture){.width = WIDTH,
                                       .height = HEIGHT,
                                       .channels = 1,
                                       .values = values[k],
                                       .high = 255.0,
                                       .caption = captions[k]};
    }
    char *page = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&page, &size);
    assert_int_equal(report_contact_sheet(out, pictures, COUNT), BLV_OK);
    fclose(out);
    const char *at = page;
    for (int k = 0; k < COUNT; k++) {
        static const char mark[] = "src=\"data:image/png;base64,";
        unsigned char png[4096], pixels[PIXELS];
        at = strstr(at, mark);
        assert_non_null(at);
        at += strlen(mark);
        decode_png(png, decode_base64(at, png), 1, pixels);
        for (int i = 0; i < PIXELS; i++)
            assert_true(fabs(pixels[i] - values[k][i]) <= 0.5);
    }
    assert_null(strstr(at, "data:"));
    assert_non_null(strstr(page, "<figcaption>row 1</figcaption>"));
    assert_non_null(strstr(page, "<figcaption>&lt;b&gt;&amp;&quot;&#39;</figcaption>"));
    assert_non_null(strstr(page, "<figcaption>7 \xe2\x86\x92 9</figcaption>"));
    assert_null(strstr(page, "<b>"));
    free(page);
}

static void bytes_of_every_length_survive_base64(void **state) {
    (void)state;
    unsigned char bytes[300], back[400];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 167 + 13);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        report_html_base64(out, bytes, size);
        fclose(out);
        assert_int_equal(decode_base64(text, back), size);
        assert_memory_equal(back, bytes, size);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gray_values_are_scaled_and_cut_off),
        cmocka_unit_test(planes_and_pixels_give_the_same_picture),
        cmocka_unit_test(values_that_are_all_alike_are_black),
        cmocka_unit_test(a_sheet_has_every_picture_with_its_caption),
        cmocka_unit_test(bytes_of_every_length_survive_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
