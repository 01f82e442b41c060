/* nearest.h: the valid word that is most like a mistyped one, for error messages; and what a wrong policy
 * string gets to read. Shared by uvmsim and uvmp-run. */
#ifndef UVMP_HOST_NEAREST_H
#define UVMP_HOST_NEAREST_H

#include <stddef.h>

#include "uvmpolicy/plugin.h"

/* Room for every text below. */
#define NEAREST_TEXT_MAX 64

/* One search. nearest_start, then nearest_try with each valid word, then nearest_word or nearest_hint. */
struct nearest {
	const char *word; /* the mistyped one, `length` bytes; need not end with NUL */
	size_t length;
	const char *best; /* NULL: none so far */
	unsigned distance;
};

void nearest_start(struct nearest *nearest, const char *word, size_t length);
/* Remembers `candidate` if no earlier one was as near. Cost: O(length of the word * length of the candidate).
 */
void nearest_try(struct nearest *nearest, const char *candidate);
/* The nearest candidate. NULL if no candidate is near: more than a third of the letters differ (always one
 * may). */
const char *nearest_word(const struct nearest *nearest);
/* `; did you mean WORD?`, or nothing. Returns `text`. */
const char *nearest_hint(const struct nearest *nearest, char text[NEAREST_TEXT_MAX]);

/* The hint for the word of a policy string that uvmp_policy_parse_plugins has refused with `error`: nearest
 * key, value or preset. `plugins` may be NULL. Returns `text`. */
const char *nearest_policy(const char *policy, const struct uvmp_plugins *plugins,
			   const struct uvmp_policy_error *error, char text[NEAREST_TEXT_MAX]);
/* The list in which to look up what is accepted at the refused word: `presets` or `policies`. */
const char *nearest_policy_list(const char *policy, const struct uvmp_plugins *plugins,
				const struct uvmp_policy_error *error);

#endif
