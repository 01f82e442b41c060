/* The HTML file: head, command, charts, tables, data, scripts. */
#include "html_internal.h"

#include <stdlib.h>

static void write_head(const struct html_page *page, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>uvmsim ",
	      out);
	html_text(page->command.argv[0], out);
	fputs("</title>\n<style>\n", out);
	fwrite(html_style.bytes, 1, html_style.size, out);
	fputs("</style>\n</head>\n<body>\n", out);
}

/* Each workload and each policy once, as the runs name them. */
static bool is_new(const struct html_page *page, size_t index, bool is_policy)
{
	for (size_t i = 0; i < index; i++) {
		const struct report *a = &page->report[i], *b = &page->report[index];

		if (strcmp(is_policy ? a->policy : a->workload, is_policy ? b->policy : b->workload) == 0)
			return false;
	}
	return true;
}

static void write_policies(const struct html_page *page, FILE *out)
{
	if (page->reports == 0)
		return;
	fputs("<details><summary>Policies in full</summary><dl>\n", out);
	for (size_t i = 0; i < page->reports; i++) {
		if (!is_new(page, i, true))
			continue;
		fputs("<dt>", out);
		html_text(page->report[i].policy_given, out);
		fputs("</dt><dd><code>", out);
		html_text(page->report[i].policy, out);
		fputs("</code></dd>\n", out);
	}
	fputs("</dl></details>\n", out);
}

static void write_about(const struct html_page *page, const char *command, FILE *out)
{
	fputs("<header><h1>uvmsim ", out);
	html_text(page->command.argv[0], out);
	fputs("</h1>\n<p class=\"names\">", out);
	for (size_t i = 0; i < page->reports; i++) {
		if (!is_new(page, i, false))
			continue;
		fputs(i == 0 ? "" : "; ", out);
		html_text(page->report[i].workload, out);
	}
	if (page->bounds != 0)
		html_text(page->bound[0].workload, out);
	if (page->log)
		html_text(page->log, out);
	if (page->reports != 0 && page->report[0].gpu) {
		fputs(" on ", out);
		html_text(page->report[0].gpu, out);
	}
	fputs("</p>\n<p>To repeat this (libuvmpolicy " UVMSIM_VERSION "):</p><pre class=\"command\">", out);
	html_text(command, out);
	fputs("</pre>\n", out);
	write_policies(page, out);
	fputs("<noscript><p>The charts need JavaScript. The tables below have the same numbers.</p></noscript>\n"
	      "</header>\n<main id=\"charts\"></main>\n",
	      out);
}

bool html_write(const struct html_page *page, FILE *out)
{
	char *command = html_command_line(&page->command);
	bool is_good;

	if (!command)
		return false;
	write_head(page, out);
	write_about(page, command, out);
	html_tables(page, out);
	fputs("<footer><p>Charts: Chart.js, &copy; Chart.js Contributors, MIT License. The data of this file are JSON in the "
	      "element with id <code>data</code>.</p></footer>\n<script type=\"application/json\" id=\"data\">\n",
	      out);
	is_good = html_data(page, command, out);
	fputs("</script>\n<script>\n", out);
	fwrite(html_library.bytes, 1, html_library.size, out);
	fputs("\n</script>\n<script>\n", out);
	fwrite(html_script.bytes, 1, html_script.size, out);
	fputs("</script>\n</body>\n</html>\n", out);
	free(command);
	return is_good;
}
