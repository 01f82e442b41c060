/* sweep_parser.h: what the parts of the parser of sweep files share. */
#ifndef UVMSIM_SWEEP_PARSER_H
#define UVMSIM_SWEEP_PARSER_H

#include "sweep_file.h"

struct sweep_key {
	const char *name;
	enum sweep_kind kind;
	bool is_other;
	bool is_number, is_size; /* have ranges */
};

struct sweep_parser {
	struct sweep *sweep;
	const char *name;
	uint64_t line;
	bool has_plugins;
	char *error;
};

/* Fills the error: the place, and the text. Always false. */
__attribute__((format(printf, 2, 3))) bool sweep_parser_fail(struct sweep_parser *p, const char *format, ...);
/* Fills *key. A name that no key has is an error with the nearest one. */
bool sweep_parser_find_key(struct sweep_parser *p, const char *name, struct sweep_key *key);
/* Adds the value, or the values of a range. */
bool sweep_parser_add_word(struct sweep_parser *p, struct sweep_axis *axis, const struct sweep_key *key,
			   const char *word, bool is_quoted);

#endif
