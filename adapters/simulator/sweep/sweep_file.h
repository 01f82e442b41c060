/* sweep_file.h: the text file that describes a sweep, and the runs that it means.
 *
 * A line is `KEY = VALUE VALUE ...`; values are separated by blanks, a value with blanks stands in double quotes, and `#`
 * begins a comment. A key that is repeated gets further values. Keys are workload, trace, gpu, memory, oversub, policy, seed, and
 * every key of the policy string. Numbers and sizes have ranges: A..B, or A..B..STEP.
 *
 * The runs are all combinations, in the order of the file: the values of the last key change fastest. workload and trace
 * together are one key, and so are memory and oversub. */
#ifndef UVMSIM_SWEEP_FILE_H
#define UVMSIM_SWEEP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SWEEP_AXES_MAX	 40
#define SWEEP_VALUES_MAX 10000u
#define SWEEP_RUNS_MAX	 UINT64_C(10000000)
#define SWEEP_LINE_MAX	 65536u
#define SWEEP_ERROR_MAX	 512

enum sweep_kind { SWEEP_SOURCE = 0, SWEEP_GPU, SWEEP_MEMORY, SWEEP_POLICY, SWEEP_SEED, SWEEP_KEY };

struct sweep_value {
	char *text;
	bool is_other; /* SWEEP_SOURCE: a trace; SWEEP_MEMORY: a percentage */
	uint64_t line;
};

/* One key and its values. */
struct sweep_axis {
	enum sweep_kind kind;
	char *name; /* SWEEP_KEY: of the policy string */
	struct sweep_value *value;
	size_t values, room;
};

struct sweep {
	struct sweep_axis axis[SWEEP_AXES_MAX];
	size_t axes;
	uint64_t runs;
	uint64_t id; /* of keys and values in their order; blanks, comments and quotes do not matter */
};

/* Reads a file. has_plugins: other keys may be those of plugins. False with `error`, `NAME:LINE: cause`; close it all the
 * same. */
bool sweep_parse(struct sweep *sweep, FILE *in, const char *name, bool has_plugins,
		 char error[SWEEP_ERROR_MAX]);
void sweep_close(struct sweep *sweep);
/* The axis of a kind that occurs once at most; NULL: it does not occur. */
const struct sweep_axis *sweep_axis_of(const struct sweep *sweep, enum sweep_kind kind);
/* The value of the axis in a run, 0 <= run < sweep->runs. */
const struct sweep_value *sweep_value_of(const struct sweep *sweep, const struct sweep_axis *axis,
					 uint64_t run);

#endif
