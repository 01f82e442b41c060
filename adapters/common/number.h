/* number.h: how whole numbers and sizes are spelled in options, parameters, traces and other text. */
#ifndef UVMP_HOST_NUMBER_H
#define UVMP_HOST_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For messages about sizes, after the accepted numbers. */
#define NUMBER_SIZE_HINT "bytes; K, M, G or T may follow, as in 64K, 64MB or 1GiB"

#define NUMBER_TEXT_MAX 24

/* NUMBER_BAD: there is no digit, or something else than digits. NUMBER_TOO_LARGE: the number does not fit 64
 * bits. */
enum number_status { NUMBER_OK = 0, NUMBER_BAD, NUMBER_TOO_LARGE };

/* Reads the digits of `base` (10 or 16, letters small or capital) at *text, up to `end`, and moves *text
 * behind them. Of NUMBER_TOO_LARGE, *number is the largest number; of NUMBER_BAD, nothing changes. */
enum number_status number_read(const char **text, const char *end, unsigned base, uint64_t *number);
/* All of text[0..length) is one decimal, or one hexadecimal number with or without `0x`. */
enum number_status number_decimal(const char *text, size_t length, uint64_t *number);
enum number_status number_hex(const char *text, size_t length, uint64_t *number);

/* All of text[0..length) is decimal digits, and the number fits 64 bits. False: *number is unchanged. */
bool number_parse(const char *text, size_t length, uint64_t *number);
/* The same; K, M, G or T, small or capital, may follow, and then `B` or `iB`: powers of 1024, always.
 * `B` alone may follow the number. */
bool number_parse_size(const char *text, size_t length, uint64_t *bytes);
/* The shortest spelling of a size: `64M`, `1T`, `1000`. */
void number_print_size(char text[NUMBER_TEXT_MAX], uint64_t bytes);

#endif
