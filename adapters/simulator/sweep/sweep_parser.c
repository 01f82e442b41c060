/* The error of a sweep file: sweep_parser.h. */
#include "sweep_parser.h"

#include <stdarg.h>
#include <stdio.h>

bool sweep_parser_fail(struct sweep_parser *p, const char *format, ...)
{
	int used = snprintf(p->error, SWEEP_ERROR_MAX, "%.200s:%llu: ", p->name, (unsigned long long)p->line);
	va_list list;

	va_start(list, format);
	vsnprintf(p->error + used, SWEEP_ERROR_MAX - (size_t)used, format, list);
	va_end(list);
	return false;
}
