/* Unfinished outputs, as a handler of a crash removes them. tests/cli/outputs.sh tests outputs from outside. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output.h"

#define FILES 3u

static const char *const paths[FILES] = {"first", "second", "third"};
static struct output *outputs[FILES];

static void open_all(void)
{
	for (size_t i = 0; i < FILES; i++) {
		FILE *stream;

		outputs[i] = output_open("--output", paths[i], &stream);
		assert_non_null(outputs[i]);
		fputs("new\n", stream);
	}
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Closed outputs are finished: one that is replaced, one that is dropped. The third is removed. */
static void test_only_unfinished_files_are_removed(void **unused)
{
	(void)unused;
	open_all();
	assert_true(output_close(outputs[1], OUTPUT_COMPLETE));
	assert_true(is_there("second"));
	assert_true(is_there(output_place(outputs[0])));
	assert_true(is_there(output_place(outputs[2])));
	output_remove_unfinished();
	assert_false(is_there(output_place(outputs[0])));
	assert_false(is_there(output_place(outputs[2])));
	assert_true(is_there("second"));
	assert_true(output_close(outputs[0], OUTPUT_DISCARD));
	assert_true(output_close(outputs[2], OUTPUT_DISCARD));
	assert_false(is_there("first"));
	assert_int_equal(unlink("second"), 0);
}

/* A child that was forked has the list of its parent, whose files it leaves. */
static void test_a_child_leaves_the_files_of_its_parent(void **unused)
{
	pid_t child;
	int status;

	(void)unused;
	open_all();
	child = fork();
	if (child == 0) {
		output_remove_unfinished();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (size_t i = 0; i < FILES; i++) {
		assert_true(output_close(outputs[i], OUTPUT_COMPLETE));
		assert_int_equal(unlink(paths[i]), 0);
	}
}

static int enter_folder(void **state)
{
	static char folder[] = "/tmp/test_output_XXXXXX";

	*state = folder;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	return chdir("/") == 0 && rmdir(*state) == 0 ? 0 : -1; /* fails if a file is left */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_unfinished_files_are_removed),
		cmocka_unit_test(test_a_child_leaves_the_files_of_its_parent),
	};

	return cmocka_run_group_tests(tests, enter_folder, remove_folder);
}
