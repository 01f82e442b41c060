/* Numbers as people read them. Integers only: the same run prints the same bytes everywhere. */
#include "report_internal.h"

#define MIB 1048576u

void report_print_mib(char text[32], uint64_t bytes)
{
	uint64_t tenths = bytes / MIB * 10u + (bytes % MIB * 10u + MIB / 2u) / MIB;

	snprintf(text, 32, "%llu.%llu", (unsigned long long)(tenths / 10u),
		 (unsigned long long)(tenths % 10u));
}

void report_print_kib(char text[32], uint64_t bytes)
{
	snprintf(text, 32, "%llu.%llu", (unsigned long long)(bytes / 1024u),
		 (unsigned long long)(bytes % 1024u * 10u / 1024u));
}

void report_print_thousandths(char text[32], uint64_t value, int digits)
{
	unsigned long long whole = value / 1000u, rest = value % 1000u;

	if (digits == 1)
		snprintf(text, 32, "%llu.%llu", whole, rest / 100u);
	else
		snprintf(text, 32, "%llu.%03llu", whole, rest);
}
