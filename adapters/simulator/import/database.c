/* A database of a profiler is a foreign file: it is opened as immutable, so that SQLite writes nothing and looks for no other
 * file, only tables are read, never views, and every value is checked for its type. */
#include "import/database.h"

#include <string.h>

#ifdef HAVE_SQLITE

#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

struct database {
	struct import *import;
	sqlite3 *handle;
	sqlite3_stmt *rows, *string; /* string: NULL if there is no table StringIds */
	const char *table;
	uint64_t row;
	const struct database_column *column;
	bool has[DATABASE_COLUMNS_MAX];
};

/* -- the database -- */

/* Text of a foreign file as printable ASCII. */
static void print_plain(char *to, size_t room, const char *text)
{
	size_t length = 0;

	for (; text && text[length] != '\0' && length < room - 1u; length++)
		to[length] = text[length] >= ' ' && text[length] <= '~' ? text[length] : '?';
	to[length] = '\0';
}

/* Messages of SQLite quote names of the database. */
static bool fail(struct database *database)
{
	char text[160];

	print_plain(text, sizeof(text), sqlite3_errmsg(database->handle));
	return import_bad(database->import, "%s", text);
}

static bool open_path(struct database *database, const char *path)
{
	char uri[3 * DATABASE_PATH_MAX + 64], *at = uri + sprintf(uri, "file:");

	for (const char *from = path; *from != '\0'; from++) {
		bool is_plain = strchr("?#%", *from) == NULL && *from > ' ' && *from <= '~';

		at += is_plain ? (*at = *from, 1) : sprintf(at, "%%%02X", (unsigned char)*from);
	}
	strcpy(at, "?immutable=1");
	if (sqlite3_open_v2(uri, &database->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) !=
	    SQLITE_OK)
		return database->handle ? fail(database) : import_no_memory(database->import);
	sqlite3_db_config(database->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
	sqlite3_db_config(database->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
	sqlite3_limit(database->handle, SQLITE_LIMIT_LENGTH, 16 << 20);
	return sqlite3_exec(database->handle, "PRAGMA cell_size_check=1", NULL, NULL, NULL) == SQLITE_OK ||
	       fail(database);
}

static bool open_input(struct database *database)
{
	char path[DATABASE_PATH_MAX];
	bool is_temporary, is_good;

	if (!database_file(database->import, path, &is_temporary))
		return false;
	is_good = open_path(database, path);
	/* SQLite opens the file when it is first read. */
	is_good = is_good && (sqlite3_exec(database->handle, "SELECT 1 FROM sqlite_master", NULL, NULL,
					   NULL) == SQLITE_OK ||
			      fail(database));
	if (is_temporary)
		unlink(path);
	return is_good;
}

/* *has_table: it is there, as a table. */
static bool find_table(struct database *database, const char *table, bool *has_table)
{
	sqlite3_stmt *query = NULL;
	int status = sqlite3_prepare_v2(database->handle,
					"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1", -1,
					&query, NULL);

	if (status == SQLITE_OK)
		status = sqlite3_bind_text(query, 1, table, -1, SQLITE_STATIC);
	if (status == SQLITE_OK)
		status = sqlite3_step(query);
	*has_table = status == SQLITE_ROW;
	sqlite3_finalize(query);
	return status == SQLITE_ROW || status == SQLITE_DONE || fail(database);
}

struct database *database_open(struct import *import)
{
	struct database *database = calloc(1, sizeof(*database));
	bool has_strings = false;

	if (!database) {
		import_no_memory(import);
		return NULL;
	}
	database->import = import;
	snprintf(import->place, sizeof(import->place), "database");
	if (open_input(database) && find_table(database, "StringIds", &has_strings) &&
	    (!has_strings ||
	     sqlite3_prepare_v2(database->handle, "SELECT value FROM StringIds WHERE id = ?1", -1,
				&database->string, NULL) == SQLITE_OK ||
	     fail(database)))
		return database;
	database_close(database);
	return NULL;
}

void database_close(struct database *database)
{
	if (!database)
		return;
	sqlite3_finalize(database->rows);
	sqlite3_finalize(database->string);
	sqlite3_close(database->handle);
	database->import->place[0] = '\0';
	free(database);
}

/* -- rows -- */

/* Which of the columns the table has. */
static bool find_columns(struct database *database, size_t columns)
{
	sqlite3_stmt *all = NULL;
	char query[128];

	snprintf(query, sizeof(query), "SELECT * FROM \"%.80s\" LIMIT 0", database->table);
	if (sqlite3_prepare_v2(database->handle, query, -1, &all, NULL) != SQLITE_OK)
		return fail(database);
	for (size_t i = 0; i < columns; i++) {
		database->has[i] = false;
		for (int at = 0; at < sqlite3_column_count(all); at++) {
			const char *name = sqlite3_column_name(all, at);

			database->has[i] =
				database->has[i] || (name && strcasecmp(name, database->column[i].name) == 0);
		}
	}
	sqlite3_finalize(all);
	for (size_t i = 0; i < columns; i++)
		if (!database->has[i] && database->column[i].is_needed)
			return import_bad(database->import, "has no column %s", database->column[i].name);
	return true;
}

bool database_rows(struct database *database, const char *table, const struct database_column *column,
		   size_t columns, bool *has_table)
{
	char query[1024];
	int at = 0;

	sqlite3_finalize(database->rows);
	database->rows = NULL;
	database->table = table;
	database->column = column;
	database->row = 0;
	snprintf(database->import->place, sizeof(database->import->place), "table %.60s", table);
	if (!find_table(database, table, has_table))
		return false;
	if (!*has_table)
		return true;
	if (!find_columns(database, columns))
		return false;
	for (size_t i = 0; i < columns; i++)
		at += snprintf(query + at, sizeof(query) - (size_t)at,
			       database->has[i] ? "%s \"%.40s\"" : "%s NULL", i == 0 ? "SELECT" : ",",
			       column[i].name);
	snprintf(query + at, sizeof(query) - (size_t)at, " FROM \"%.80s\"", table);
	return sqlite3_prepare_v2(database->handle, query, -1, &database->rows, NULL) == SQLITE_OK ||
	       fail(database);
}

enum line_status database_next(struct database *database)
{
	int status;

	if (!database->rows)
		return LINE_END;
	status = sqlite3_step(database->rows);
	database->row++;
	snprintf(database->import->place, sizeof(database->import->place), "table %.60s, row %llu",
		 database->table, (unsigned long long)database->row);
	if (status == SQLITE_ROW)
		return LINE_OK;
	if (status == SQLITE_DONE)
		return LINE_END;
	fail(database);
	return LINE_BAD;
}

/* Of a value that is no whole number. */
static bool fail_type(struct database *database, size_t column)
{
	char shown[41];

	print_plain(shown, sizeof(shown), (const char *)sqlite3_column_text(database->rows, (int)column));
	return import_bad(database->import, "%s is \"%s\", not a whole number", database->column[column].name,
			  shown);
}

bool database_number(struct database *database, size_t column, uint64_t *number, bool *is_null)
{
	const char *name = database->column[column].name;
	sqlite3_int64 value;

	*number = 0;
	*is_null = sqlite3_column_type(database->rows, (int)column) == SQLITE_NULL;
	if (*is_null)
		return !database->column[column].is_needed ||
		       import_bad(database->import, "%s has no value", name);
	if (sqlite3_column_type(database->rows, (int)column) != SQLITE_INTEGER)
		return fail_type(database, column);
	value = sqlite3_column_int64(database->rows, (int)column);
	if (value < 0)
		return import_bad(database->import, "%s is negative: %lld", name, (long long)value);
	*number = (uint64_t)value;
	return true;
}

const char *database_text(struct database *database, size_t column)
{
	const unsigned char *text = NULL;
	int type = sqlite3_column_type(database->rows, (int)column);

	if (type == SQLITE_TEXT)
		text = sqlite3_column_text(database->rows, (int)column);
	if (type == SQLITE_INTEGER && database->string) {
		sqlite3_reset(database->string);
		sqlite3_bind_int64(database->string, 1, sqlite3_column_int64(database->rows, (int)column));
		if (sqlite3_step(database->string) == SQLITE_ROW)
			text = sqlite3_column_text(database->string, 0);
	}
	return text ? (const char *)text : "";
}

#else

struct database *database_open(struct import *import)
{
	snprintf(import->place, sizeof(import->place), "database");
	import_bad(import,
		   "cannot be read: this program was built without SQLite (Debian's package libsqlite3-dev)");
	return NULL;
}

void database_close(struct database *database)
{
	(void)database;
}

bool database_rows(struct database *database, const char *table, const struct database_column *column,
		   size_t columns, bool *has_table)
{
	(void)database, (void)table, (void)column, (void)columns;
	return *has_table = false;
}

enum line_status database_next(struct database *database)
{
	(void)database;
	return LINE_BAD;
}

bool database_number(struct database *database, size_t column, uint64_t *number, bool *is_null)
{
	(void)database, (void)column;
	*number = 0;
	*is_null = true;
	return false;
}

const char *database_text(struct database *database, size_t column)
{
	(void)database, (void)column;
	return "";
}

#endif
