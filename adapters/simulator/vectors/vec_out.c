/* The output of a kind: a growing string, sets, lists and processors. */
#include "vec_kind.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "uvmpolicy/processor.h"

static void *checked(void *memory)
{
	if (memory == NULL) {
		fputs("uvmsim: out of memory\n", stderr);
		exit(2);
	}
	return memory;
}

void *vec_grow(void *old, uint64_t count, size_t each)
{
	return checked(array_again(old, count, each));
}

void *vec_zeros(uint64_t count, size_t each)
{
	return checked(array_zeros(count, each));
}

void vec_printf(struct vec_out *out, const char *format, ...)
{
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(NULL, 0, format, list);
	va_end(list);
	if (length < 0)
		return;
	if (out->length + (size_t)length + 1 > out->capacity) {
		out->capacity = 2 * (out->length + (size_t)length + 1);
		out->text = vec_grow(out->text, out->capacity, 1);
	}
	va_start(list, format);
	vsnprintf(out->text + out->length, (size_t)length + 1, format, list);
	va_end(list);
	out->length += (size_t)length;
}

void vec_out_clear(struct vec_out *out)
{
	out->length = 0;
	if (out->text != NULL)
		out->text[0] = '\0';
}

void vec_out_free(struct vec_out *out)
{
	free(out->text);
	memset(out, 0, sizeof(*out));
}

void vec_set_begin(struct vec_set_printer *printer, struct vec_out *out)
{
	*printer = (struct vec_set_printer){.out = out, .is_empty = true};
}

static void print_run(struct vec_set_printer *printer)
{
	const char *comma = printer->is_empty ? "" : ",";

	if (printer->first == printer->last)
		vec_printf(printer->out, "%s%llu", comma, (unsigned long long)printer->first);
	else
		vec_printf(printer->out, "%s%llu-%llu", comma, (unsigned long long)printer->first,
		           (unsigned long long)printer->last);
	printer->is_empty = false;
}

void vec_set_add(struct vec_set_printer *printer, uint64_t number)
{
	if (printer->is_open && number == printer->last + 1) {
		printer->last = number;
		return;
	}
	if (printer->is_open)
		print_run(printer);
	printer->first = printer->last = number;
	printer->is_open = true;
}

void vec_set_end(struct vec_set_printer *printer)
{
	if (printer->is_open)
		print_run(printer);
	else
		vec_printf(printer->out, "-");
	printer->is_open = false;
}

void vec_print_mask(struct vec_out *out, const uvmp_mask *mask)
{
	struct vec_set_printer printer;

	vec_set_begin(&printer, out);
	for (uint32_t page = 0; page < UVMP_MASK_BITS; page++)
		if (uvmp_mask_test(mask, page))
			vec_set_add(&printer, page);
	vec_set_end(&printer);
}

void vec_print_bits(struct vec_out *out, uint64_t bits)
{
	struct vec_set_printer printer;

	vec_set_begin(&printer, out);
	for (uint32_t bit = 0; bit < 64; bit++)
		if ((bits >> bit & 1u) != 0)
			vec_set_add(&printer, bit);
	vec_set_end(&printer);
}

void vec_print_list(struct vec_out *out, const uint32_t *number, size_t count)
{
	if (count == 0)
		vec_printf(out, "-");
	for (size_t i = 0; i < count; i++)
		vec_printf(out, "%s%lu", i == 0 ? "" : ",", (unsigned long)number[i]);
}

void vec_print_proc(struct vec_out *out, uint32_t proc)
{
	if (proc >= UVMP_PROC_NONE)
		vec_printf(out, "none");
	else
		vec_printf(out, "%lu", (unsigned long)proc);
}
