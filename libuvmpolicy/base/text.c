/* Numbers as text: text_internal.h. */
#include "text_internal.h"

void uvmpi_text_number(struct text *text, uint64_t number, uint32_t base)
{
	static const char digit[] = "0123456789abcdef";
	char digits[20]; /* last digit first */
	uint32_t length = 0;

	do {
		digits[length++] = digit[number % base];
		number /= base;
	} while (number != 0);
	while (length > 0)
		put_char(text, digits[--length]);
}
