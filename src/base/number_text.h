/* Numbers as text, with a point whatever the locale. */
#pragma once

#include <stddef.h>

/* Reads the number at p: a sign, digits with or without a point, an exponent; not "nan" or "inf".
 * The result is correctly rounded; too large a number gives an infinity. Returns where the number
 * ends, or NULL when there is none. The text must end with a byte that cannot belong to a number,
 * such as a newline or zero. */
const char *blv_decimal(const char *p, double *value);
/* The whole text as a finite number, as blv_decimal reads it. 0 on success. */
int blv_number_parse(const char *text, double *value);

/* The shortest form that reads back as the same number, at most 25 characters; "nan" and "inf" for
 * what is not finite. Returns its length. */
size_t blv_number_format(double value, char *text, size_t size);
/* The same in single precision: 0.1f is "0.1". */
size_t blv_number_format_f32(float value, char *text, size_t size);
