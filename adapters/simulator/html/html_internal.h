/* html_internal.h: the interface between the parts of the HTML file. From the lowest to the highest:
 *
 *   files.c    style sheet, script and library, as the Makefile has turned them into arrays
 *   escape.c   text and JSON within HTML
 *   data.c     the data as JSON
 *   tables.c   the tables
 *   page.c     the file */
#ifndef UVMSIM_HTML_INTERNAL_H
#define UVMSIM_HTML_INTERNAL_H

#include "html.h"
#include "report/report_internal.h"

/* The pictures of which runs a table shows in columns. */
enum { HTML_COLUMNS_MOST = 12 };

struct html_file {
	const unsigned char *bytes;
	size_t size; /* 0: not built in */
};

extern const struct html_file html_style, html_script, html_library;

/* -- escape.c -- */

/* Text outside of tags, or in a quoted attribute. */
void html_text(const char *text, FILE *out);
/* JSON within <script>: `<` only stands in strings, and is written as an escape there. */
void html_json(const char *json, size_t bytes, FILE *out);
/* The command line as a shell reads it, into a buffer that the caller frees; NULL: out of memory. */
char *html_command_line(const struct html_command *command);

/* -- data.c -- */

/* False: out of memory. */
bool html_data(const struct html_page *page, const char *command, FILE *out);

/* -- tables.c -- */

void html_tables(const struct html_page *page, FILE *out);

#endif
