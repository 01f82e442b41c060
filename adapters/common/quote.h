/* quote.h: texts in JSON and CSV. */
#ifndef UVMP_HOST_QUOTE_H
#define UVMP_HOST_QUOTE_H

#include <stdio.h>

/* With the quotation marks; bytes that are not UTF-8 become U+FFFD. */
void quote_json(const char *text, FILE *out);
void quote_csv(const char *text, FILE *out);

#endif
