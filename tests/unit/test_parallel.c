/* Tests of tasks in processes: every answer arrives once, whether the other tasks succeed or not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "interrupt.h"
#include "parallel.h"

enum { TASKS = 40, NEVER = 1000 };

struct answer {
	size_t index;
	char text[5000]; /* larger than a page */
};

struct context {
	size_t bad;  /* the task that crashes, is slow, or is not wanted */
	size_t slow; /* this task and those behind it wait to be killed; 0: none */
	unsigned taken[TASKS], crashed[TASKS];
	char crash[128];
};

static void run(void *context, size_t index, void *to)
{
	struct answer *answer = to;
	struct context *c = context;

	if (answer->index != 0 || answer->text[4999] != '\0')
		_exit(9); /* did not start as zeros */
	if (index == c->bad)
		kill(getpid(), SIGKILL);
	while (c->slow != 0 && index >= c->slow)
		pause();
	answer->index = index;
	memset(answer->text, 'a' + (int)(index % 26), sizeof(answer->text));
}

static bool take(void *context, size_t index, const void *from, const char *crash)
{
	const struct answer *answer = from;
	struct context *c = context;

	c->taken[index]++;
	if (crash) {
		c->crashed[index]++;
		snprintf(c->crash, sizeof(c->crash), "%s", crash);
		return false;
	}
	assert_int_equal(answer->index, index);
	assert_int_equal(answer->text[4999], 'a' + (int)(index % 26));
	return true;
}

static struct parallel work_of(struct context *context, unsigned jobs)
{
	return (struct parallel){.count = TASKS,
	                         .jobs = jobs,
	                         .answer_bytes = sizeof(struct answer),
	                         .context = context,
	                         .run = run,
	                         .take = take};
}

static void every_answer_once(void **state)
{
	(void)state;
	for (unsigned jobs = 1; jobs <= 50; jobs += 7) {
		struct context context = {.bad = NEVER};
		struct parallel work = work_of(&context, jobs);

		assert_true(parallel_run(&work));
		for (size_t i = 0; i < TASKS; i++) {
			assert_int_equal(context.taken[i], 1);
			assert_int_equal(context.crashed[i], 0);
		}
	}
}

/* Those before it are taken all the same. While its end is not known, others may start behind it: here those
 * that could not run beside it wait, and must be killed. */
static void a_crash_takes_no_other_with_it(void **state)
{
	(void)state;
	for (unsigned jobs = 1; jobs <= 9; jobs += 4) {
		struct context context = {.bad = 10, .slow = 10 + jobs};
		struct parallel work = work_of(&context, jobs);

		assert_true(parallel_run(&work));
		for (size_t i = 0; i <= 10; i++)
			assert_int_equal(context.taken[i], 1);
		assert_int_equal(context.crashed[10], 1);
		assert_non_null(strstr(context.crash, "signal 9"));
		for (size_t i = 11; i < TASKS; i++)
			assert_in_range(context.taken[i], 0, i < context.slow);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left behind */
}

/* A failure ends the slow ones behind it. */
static void run_slow(void *context, size_t index, void *to)
{
	(void)context;
	(void)to;
	if (index > 0)
		pause();
}

static bool take_none(void *context, size_t index, const void *from, const char *crash)
{
	(void)from;
	((struct context *)context)->taken[index]++;
	return crash != NULL;
}

static void those_behind_a_failure_are_ended(void **state)
{
	struct context context = {.bad = NEVER};
	struct parallel work = work_of(&context, 4);

	(void)state;
	work.run = run_slow;
	work.take = take_none;
	assert_true(parallel_run(&work));
	assert_int_equal(context.taken[0], 1);
	for (size_t i = 1; i < TASKS; i++)
		assert_int_equal(context.taken[i], 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* A signal reaches every task that runs; no other is started. */
static void run_until_interrupted(void *context, size_t index, void *to)
{
	(void)context;
	if (index == 2)
		kill(getppid(), SIGTERM);
	while (interrupt_caught == 0)
		usleep(1000);
	((struct answer *)to)->index = (size_t)interrupt_caught;
}

static bool take_signal(void *context, size_t index, const void *from, const char *crash)
{
	assert_null(crash);
	assert_int_equal(((const struct answer *)from)->index, SIGTERM);
	((struct context *)context)->taken[index]++;
	return true;
}

static void signals_are_passed_on(void **state)
{
	struct context context = {.bad = NEVER};
	struct parallel work = work_of(&context, 3);

	(void)state;
	work.run = run_until_interrupted;
	work.take = take_signal;
	interrupt_catch();
	assert_true(parallel_run(&work));
	interrupt_done();
	assert_int_equal(interrupt_caught, SIGTERM);
	assert_int_equal(interrupt_status(), 143);
	for (size_t i = 0; i < TASKS; i++)
		assert_int_equal(context.taken[i], i < 3);
	interrupt_caught = 0;
}

/* -- signals that are ignored; interrupt.c by itself: test_interrupt.c -- */

static void an_ignored_signal_stays_ignored(void **state)
{
	(void)state;
	signal(SIGINT, SIG_IGN);
	interrupt_catch();
	raise(SIGINT);
	assert_int_equal(interrupt_caught, 0);
	interrupt_done();
	raise(SIGINT);
	signal(SIGINT, SIG_DFL);
}

static void processors(void **state)
{
	(void)state;
	assert_true(parallel_processors() >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_answer_once),
	        cmocka_unit_test(a_crash_takes_no_other_with_it),
	        cmocka_unit_test(those_behind_a_failure_are_ended),
	        cmocka_unit_test(signals_are_passed_on),
	        cmocka_unit_test(an_ignored_signal_stays_ignored),
	        cmocka_unit_test(processors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
