/* columns.h: text in columns whose first line names them, and lines of KEY=VALUE pairs. */
#ifndef UVMSIM_IMPORT_COLUMNS_H
#define UVMSIM_IMPORT_COLUMNS_H

#include "import/importer.h"

#define COLUMNS_FIELDS_MAX 64u
#define COLUMNS_MAX	   12u
#define PAIRS_MAX	   32u

struct columns {
	size_t at[COLUMNS_MAX]; /* where each of the wanted columns stands; IMPORT_NONE: nowhere */
	size_t fields;		/* of each line */
	char *field[COLUMNS_FIELDS_MAX];
};

/* The line in hand names the columns. Finds the wanted ones; the first `needed` of them must be there. */
bool columns_head(struct import *import, struct columns *columns, const char *const *wanted, size_t count,
		  size_t needed);
/* Cuts a line below the head. */
bool columns_row(struct import *import, struct columns *columns);
/* The field of a wanted column; "" if there is no such column. */
const char *columns_text(const struct columns *columns, size_t column);
/* The number in a field: decimal, or hexadecimal with 0x. *is_empty: the field is empty. False: the error names `name`. */
bool columns_number(struct import *import, const struct columns *columns, size_t column, const char *name,
		    uint64_t *number, bool *is_empty);

/* Begins the first line that is neither empty nor a comment with this word? */
bool pairs_show(const char *head, size_t length, const char *word);

/* A line `WORD KEY=VALUE KEY=VALUE ...`, separated by blanks or commas. */
struct pairs {
	const char *word;
	size_t count;
	char *key[PAIRS_MAX], *value[PAIRS_MAX];
};

bool pairs_cut(struct import *import, struct pairs *pairs);
/* NULL: the line does not have the key. */
const char *pairs_text(const struct pairs *pairs, const char *key);
/* The number of a key: decimal, or hexadecimal with 0x. A key that is missing is an error, unless is_missing is given. */
bool pairs_number(struct import *import, const struct pairs *pairs, const char *key, uint64_t *number,
		  bool *is_missing);
/* A name from a list, without regard to what stands before it, or its number. *value is what the list gives it. */
struct pairs_name {
	const char *name;
	uint64_t number;
	uint8_t value;
};
bool pairs_name(struct import *import, const struct pairs *pairs, const char *key,
		const struct pairs_name *list, size_t count, uint8_t *value);

#endif
