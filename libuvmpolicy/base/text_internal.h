/* Text output into the caller's buffer, for everything in the library that writes text. */
#ifndef UVMPOLICY_TEXT_INTERNAL_H
#define UVMPOLICY_TEXT_INTERNAL_H

#include "uvmpolicy/base.h"

/* Counts every byte, keeps those that fit, and ends them with a NUL. With capacity 0 it only counts. */
struct text {
	char *at; /* [capacity]; may be NULL with capacity 0 */
	size_t capacity, length;
};

static inline void put_char(struct text *text, char c)
{
	if (text->length + 1u < text->capacity) {
		text->at[text->length] = c;
		text->at[text->length + 1u] = '\0';
	}
	text->length++;
}

static inline void put_text(struct text *text, const char *string)
{
	while (*string != '\0')
		put_char(text, *string++);
}

/* In base 10 or 16. */
void uvmpi_text_number(struct text *text, uint64_t number, uint32_t base);

static inline void put_number(struct text *text, uint64_t number)
{
	uvmpi_text_number(text, number, 10);
}

#endif
