/* number.h: how whole numbers and sizes are spelled, in options and in the parameters of workloads. */
#ifndef UVMSIM_NUMBER_H
#define UVMSIM_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For messages about sizes, behind the numbers that are accepted. */
#define NUMBER_SIZE_HINT "bytes, as 4096, 64K, 64MB or 1GiB"

#define NUMBER_TEXT_MAX 24

/* All of text[0..length - 1] is decimal digits, and the number fits 64 bits; else false. */
bool number_parse(const char *text, size_t length, uint64_t *number);
/* The same; K, M, G or T, small or capital, may follow, and `B` or `iB` behind that: powers of 1024, always. `B` alone
 * may follow the number. */
bool number_parse_size(const char *text, size_t length, uint64_t *bytes);
/* The shortest spelling of a size: `64M`, `1T`, `1000`. */
void number_print_size(char text[NUMBER_TEXT_MAX], uint64_t bytes);

#endif
