/* Tests of the rows of traces against printf. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "trace_row.h"

static char row[TRACE_ROW_MOST + 64u];

__attribute__((format(printf, 2, 3))) static void expect(char *end, const char *format, ...)
{
	char want[256];
	va_list list;

	*end = '\0';
	va_start(list, format);
	vsnprintf(want, sizeof(want), format, list);
	va_end(list);
	assert_string_equal(row, want);
	assert_true(strlen(row) <= TRACE_ROW_MOST);
}

static void accesses(void **state)
{
	const uint64_t addresses[] = {0, 0xf, 0x10, 0xabcdef0123, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		struct trace_access access = {.time_ns = UINT64_MAX,
					      .address = addresses[i],
					      .agent = UINT32_MAX,
					      .has_time = true,
					      .access = UVMP_ACCESS_WRITE};

		expect(trace_row_access(row, &access), "%" PRIu64 ",%" PRIu32 ",w,0x%" PRIx64 "\n",
		       UINT64_MAX, UINT32_MAX, addresses[i]);
		access.time_ns = 0;
		access.is_cpu = true;
		access.access = UVMP_ACCESS_ATOMIC_STRONG;
		expect(trace_row_access(row, &access), "0,cpu,a,0x%" PRIx64 "\n", addresses[i]);
		access.has_time = false;
		access.access = UVMP_ACCESS_READ;
		expect(trace_row_access(row, &access), ",cpu,r,0x%" PRIx64 "\n", addresses[i]);
		access.bytes = TRACE_ROW_BYTES_MOST;
		expect(trace_row_access(row, &access), ",cpu,r,0x%" PRIx64 ",4096\n", addresses[i]);
		access.bytes = 1;
		expect(trace_row_access(row, &access), ",cpu,r,0x%" PRIx64 ",1\n", addresses[i]);
	}
	assert_int_equal(trace_row_letter(UVMP_ACCESS_PREFETCH), 'p');
	assert_int_equal(trace_row_letter(UVMP_ACCESS_NONE), '\0');
}

static void ranges(void **state)
{
	(void)state;
	expect(trace_row_range(row, 0x1000, 4096, "", false), "range,0x1000,4096\n");
	expect(trace_row_range(row, 0x1000, 4096, "name", false), "range,0x1000,4096,name\n");
	expect(trace_row_range(row, 0x1000, 4096, "", true), "range,0x1000,4096,,fresh\n");
	expect(trace_row_range(row, UINT64_MAX, UINT64_MAX, "name", true),
	       "range,0x%" PRIx64 ",%" PRIu64 ",name,fresh\n", UINT64_MAX, UINT64_MAX);
	expect(trace_row_free(row, 0x2000), "free,0x2000\n");
	expect(trace_row_free_part(row, 0x2000, 8192), "free,0x2000,8192\n");
}

static void requests(void **state)
{
	(void)state;
	expect(trace_row_kernel(row, "sgemm"), "kernel,sgemm\n");
	expect(trace_row_prefetch(row, "gpu", 0x3000, 10), "prefetch,gpu,0x3000,10\n");
	expect(trace_row_advise(row, UVMP_ADVISE_PREFERRED, "none", 0x3000, 10),
	       "advise,preferred,none,0x3000,10\n");
	expect(trace_row_advise(row, UVMP_ADVISE_NOT_ACCESSED_BY, "cpu", UINT64_MAX, UINT64_MAX),
	       "advise,not-accessed-by,cpu,0x%" PRIx64 ",%" PRIu64 "\n", UINT64_MAX, UINT64_MAX);
	expect(trace_row_advise(row, UVMP_ADVISE_DISCARD, "gpu", 0x3000, 10), "advise,discard,,0x3000,10\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accesses),
		cmocka_unit_test(ranges),
		cmocka_unit_test(requests),
	};

	return cmocka_run_group_tests_name("trace_row", tests, NULL, NULL);
}
