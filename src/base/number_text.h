/* Numbers as text, with a point whatever the locale. */
#ifndef BLV_BASE_NUMBER_TEXT_H
#define BLV_BASE_NUMBER_TEXT_H

#include <stddef.h>

/* 0 on success. */
int blv_number_parse(const char *text, double *value);
/* The shortest form that reads back as the same number, at most 25 characters; "nan" and "inf" for
 * what is not finite. */
void blv_number_format(double value, char *text, size_t size);
/* The same in single precision: 0.1f is "0.1". */
void blv_number_format_f32(float value, char *text, size_t size);

#endif
