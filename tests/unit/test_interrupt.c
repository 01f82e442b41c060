/* interrupt.c: the first signal is noted, one that repeats it is ignored, another one kills. timeout(1)
 * signals a process and then its group; on a busy machine the second signal comes late. Each case is a child
 * of its own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"

#define NOTED 42 /* exit status of a child that has noted SIGINT and lives */

static void wait_ms(long ms)
{
	struct timespec rest = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&rest, &rest) != 0)
		;
}

static int status_of(void (*run)(void))
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		signal(SIGINT, SIG_DFL); /* a shell has its background jobs ignore it */
		run();
		_exit(interrupt_caught == SIGINT ? NOTED : 1);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void assert_lives(int status)
{
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), NOTED);
}

static void assert_dies(int status)
{
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGINT);
}

static void one(void)
{
	interrupt_catch();
	kill(getpid(), SIGINT);
}

static void two_at_once(void)
{
	one();
	kill(getpid(), SIGINT);
}

static void second_is_late(void)
{
	one();
	wait_ms(600);
	kill(getpid(), SIGINT);
}

static void second_is_another(void)
{
	one();
	wait_ms(2200);
	kill(getpid(), SIGINT);
}

static void after_the_end(void)
{
	interrupt_catch();
	interrupt_done();
	kill(getpid(), SIGINT);
}

static void the_first_is_noted(void **state)
{
	(void)state;
	assert_lives(status_of(one));
}

static void a_repetition_is_ignored(void **state)
{
	(void)state;
	assert_lives(status_of(two_at_once));
	assert_lives(status_of(second_is_late));
}

static void another_one_kills(void **state)
{
	(void)state;
	assert_dies(status_of(second_is_another));
}

static void signals_are_as_before_at_the_end(void **state)
{
	(void)state;
	assert_dies(status_of(after_the_end));
}

/* A terminal sends one signal a key press: the second press is another wish, however soon it is. */
static void press_twice(void)
{
	int keys = posix_openpt(O_RDWR | O_NOCTTY), line;

	if (keys < 0 || grantpt(keys) != 0 || unlockpt(keys) != 0 || setsid() < 0)
		_exit(2);
	line = open(ptsname(keys), O_RDWR);
	if (line < 0 || (ioctl(line, TIOCSCTTY, 0) != 0 && tcgetpgrp(line) != getpgrp()))
		_exit(2);
	interrupt_catch();
	for (int press = 0; press < 2; press++) {
		if (write(keys, "\003", 1) != 1)
			_exit(2);
		wait_ms(400);
	}
}

static void a_second_key_press_kills(void **state)
{
	int status = status_of(press_twice);

	(void)state;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
		print_message("skipped: no terminals here\n");
		skip();
	}
	assert_dies(status);
}

static void ignored(void)
{
	signal(SIGINT, SIG_IGN);
	interrupt_catch();
	kill(getpid(), SIGINT);
	_exit(interrupt_caught == 0 ? NOTED : 1);
}

static void an_ignored_signal_stays_ignored(void **state)
{
	(void)state;
	assert_lives(status_of(ignored));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_first_is_noted),
	        cmocka_unit_test(a_repetition_is_ignored),
	        cmocka_unit_test(another_one_kills),
	        cmocka_unit_test(signals_are_as_before_at_the_end),
	        cmocka_unit_test(a_second_key_press_kills),
	        cmocka_unit_test(an_ignored_signal_stays_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
