/* Decimal numbers in text. */
#ifndef BLV_BASE_DECIMAL_H
#define BLV_BASE_DECIMAL_H

/* Reads the number at p: a sign, digits with or without a point, an exponent; not "nan" or "inf".
 * The result is correctly rounded and does not depend on the locale; too large a number gives an
 * infinity. Returns where the number ends, or NULL when there is none. The text must end with a
 * byte that cannot belong to a number, such as a newline. */
const char *blv_decimal(const char *p, double *value);

#endif
