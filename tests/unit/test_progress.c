/* Tests of the progress line: its text, and that it stands on terminals only. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <cmocka.h>

#include "progress.h"

#define SECOND UINT64_C(1000000000)

static void assert_text(struct progress_at at, uint64_t elapsed_ns, const char *want)
{
	char text[PROGRESS_TEXT_MAX];

	progress_print(text, &at, 1, &(struct progress_past){.runs = 1, .elapsed_ns = elapsed_ns});
	assert_string_equal(text, want);
}

/* A kernel that runs for so long; the run itself for ten seconds more. */
static void assert_kernel_text(struct progress_at at, uint64_t kernel_ns, const char *want)
{
	struct progress_past past = {
	        .runs = 1, .elapsed_ns = kernel_ns + 10 * SECOND, .kernel_ns = kernel_ns};
	char text[PROGRESS_TEXT_MAX];

	progress_print(text, &at, 1, &past);
	assert_string_equal(text, want);
}

static void one_run(void **state)
{
	(void)state;
	assert_text((struct progress_at){.accesses = 0}, 0, "0 accesses, 0/s");
	assert_text((struct progress_at){.accesses = 999999}, 2 * SECOND, "999999 accesses, 499999/s");
	assert_text((struct progress_at){.accesses = 123456789}, 10 * SECOND,
	            "123.4 million accesses, 12.3 million/s");
}

static void the_rest_where_the_total_is_known(void **state)
{
	(void)state;
	/* 30 of 100 in 30 s */
	assert_text((struct progress_at){.accesses = 3000, .done = 30, .total = 100}, 30 * SECOND,
	            "3000 accesses, 100/s, 30 %, 1:10 left");
	assert_text((struct progress_at){.accesses = 3000, .done = 1, .total = 100}, 100 * SECOND,
	            "3000 accesses, 30/s, 1 %, 2:45:00 left");
	/* too early, too little */
	assert_text((struct progress_at){.accesses = 3000, .done = 30, .total = 100}, 2 * SECOND,
	            "3000 accesses, 1500/s, 30 %");
	assert_text((struct progress_at){.accesses = 3000, .done = 9, .total = 1000}, 30 * SECOND,
	            "3000 accesses, 100/s, 0 %");
	/* a file that grows while it is read; one as large as there can be */
	assert_text((struct progress_at){.accesses = 3000, .done = 101, .total = 100}, 30 * SECOND,
	            "3000 accesses, 100/s, 100 %, 0:00 left");
	assert_text((struct progress_at){.accesses = 3000, .done = UINT64_MAX / 2, .total = UINT64_MAX},
	            30 * SECOND, "3000 accesses, 100/s, 50 %, 0:30 left");
}

static void kernels_where_it_is_not(void **state)
{
	(void)state;
	assert_text((struct progress_at){.accesses = 3000, .kernels = 3, .kernel_done = 1, .kernel_total = 4},
	            30 * SECOND, "3000 accesses, 100/s, 25 % of kernel 3");
	assert_kernel_text(
	        (struct progress_at){.accesses = 4000, .kernels = 3, .kernel_done = 1, .kernel_total = 4},
	        30 * SECOND, "4000 accesses, 100/s, 25 % of kernel 3, 1:30 left of it");
	/* too early, too little; the end of the kernel */
	assert_kernel_text(
	        (struct progress_at){.accesses = 1200, .kernels = 3, .kernel_done = 1, .kernel_total = 4},
	        2 * SECOND, "1200 accesses, 100/s, 25 % of kernel 3");
	assert_kernel_text(
	        (struct progress_at){.accesses = 4000, .kernels = 3, .kernel_done = 1, .kernel_total = 101},
	        30 * SECOND, "4000 accesses, 100/s, 0 % of kernel 3");
	assert_kernel_text(
	        (struct progress_at){.accesses = 4000, .kernels = 1, .kernel_done = 7, .kernel_total = 7},
	        30 * SECOND, "4000 accesses, 100/s, 100 % of kernel 1, 0:00 left of it");
	/* before the first kernel */
	assert_kernel_text((struct progress_at){.kernel_done = 1, .kernel_total = 4}, 30 * SECOND,
	                   "0 accesses, 0/s, 25 % of its data, 1:30 left of it");
	/* a run that knows its total says nothing of kernels */
	assert_kernel_text((struct progress_at){4000, 1, 2, 3, 1, 4}, 30 * SECOND,
	                   "4000 accesses, 100/s, 50 %, 0:40 left");
}

static void several_runs(void **state)
{
	struct progress_at running[2] = {{.accesses = 1000, .done = 1, .total = 2}, {.accesses = 2000}};
	struct progress_past past = {.runs = 5,
	                             .ended = 1,
	                             .ended_accesses = 3000,
	                             .elapsed_ns = 30 * SECOND,
	                             .kernel_ns = 30 * SECOND};
	char text[PROGRESS_TEXT_MAX];

	(void)state;
	progress_print(text, running, 2, &past);
	assert_string_equal(text, "1 of 5 runs done, 6000 accesses, 200/s, 30 %, 1:10 left");
	past.ended = 0;
	past.ended_accesses = 0;
	progress_print(text, running, 0, &past);
	assert_string_equal(text, "0 of 5 runs done, 0 accesses, 0/s");
	running[1].kernel_done = 1;
	running[1].kernel_total = 5;
	progress_print(text, running + 1, 1, &past);
	assert_string_equal(text, "0 of 5 runs done, 2000 accesses, 66/s");
}

/* -- where it is shown -- */

static int behind; /* what stderr was */

static void redirect(int fd)
{
	behind = dup(STDERR_FILENO);
	assert_true(behind >= 0 && dup2(fd, STDERR_FILENO) >= 0);
}

static void restore(void)
{
	dup2(behind, STDERR_FILENO);
	close(behind);
}

static void quiet_in_a_pipe(void **state)
{
	struct progress_at at = {.accesses = 1};
	int ends[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	redirect(ends[1]);
	progress_show(&at, 1); /* not even started */
	progress_start(1);
	assert_false(progress_is_on());
	progress_show(&at, 1);
	progress_end();
	restore();
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
}

static void on_a_terminal(void **state)
{
	struct progress_at at = {.accesses = 123456}, slot = {0};
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave = -1;
	char text[512];
	ssize_t length = 0;

	(void)state;
	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 ||
	    (slave = open(ptsname(master), O_RDWR | O_NOCTTY)) < 0)
		skip();
	redirect(slave);
	progress_start(1);
	assert_true(progress_is_on());
	progress_show(&at, 1); /* too early */
	usleep(1050000);
	progress_redirect(&slot);
	progress_show(&at, 1); /* a child's */
	progress_redirect(NULL);
	progress_show(&at, 1);
	progress_show(&at, 1); /* too early again */
	progress_end();
	progress_end(); /* nothing left to take away */
	restore();
	assert_int_equal(write(slave, "!", 1), 1); /* a read may bring any part of what was written */
	do {
		ssize_t part = read(master, text + length, sizeof(text) - 1 - (size_t)length);

		assert_true(part > 0);
		length += part;
	} while (text[length - 1] != '!');
	text[--length] = '\0';
	assert_int_equal(slot.accesses, 123456);
	assert_memory_equal(text, "\r123456 accesses, ", 18);
	assert_int_equal(text[length - 1], '\r');
	assert_null(strstr(strstr(text, "accesses") + 1, "accesses")); /* once */
	close(slave);
	close(master);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(one_run),
	        cmocka_unit_test(the_rest_where_the_total_is_known),
	        cmocka_unit_test(kernels_where_it_is_not),
	        cmocka_unit_test(several_runs),
	        cmocka_unit_test(quiet_in_a_pipe),
	        cmocka_unit_test(on_a_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
