/* database.h: tables of an SQLite database, read with care: by the names of their columns, each value checked. */
#ifndef UVMSIM_IMPORT_DATABASE_H
#define UVMSIM_IMPORT_DATABASE_H

#include "import/importer.h"

#define DATABASE_COLUMNS_MAX 10u

#define DATABASE_PATH_MAX 4096u

struct database;

/* database_file.c: the path of the input of `import`, or of a temporary copy of it, which the caller removes. False with the
 * error filled: no whole database. */
bool database_file(struct import *import, char path[DATABASE_PATH_MAX], bool *is_temporary);

/* Opens the input of `import` for reading only; what is not a plain file is copied to a temporary one. NULL with the error
 * filled: no database, cut off, or a program that was built without SQLite. */
struct database *database_open(struct import *import);
void database_close(struct database *database); /* NULL: nothing */

struct database_column {
	const char *name;
	bool is_needed; /* else its values are NULL where the table does not have it */
};

/* Begins to read the rows of a table. *has_table false: the database has no such table. False: the error is filled. */
bool database_rows(struct database *database, const char *table, const struct database_column *column,
		   size_t columns, bool *has_table);
/* LINE_END, LINE_OK, or LINE_BAD with the error filled. */
enum line_status database_next(struct database *database);
/* A whole number that is not negative. *is_null: there is no value, which is an error for needed columns. False: the error is
 * filled. */
bool database_number(struct database *database, size_t column, uint64_t *number, bool *is_null);
/* The text of the column, or the text that StringIds has for its number; "" for a null. Valid until the next row. */
const char *database_text(struct database *database, size_t column);

#endif
