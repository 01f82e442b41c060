/* The tables of the HTML file, for browsers without JavaScript, printers and people who want the numbers. */
#include "html_internal.h"

#include <stdlib.h>

/* What uvmsim prints for the same runs. */
static void write_printed(const struct html_page *page, FILE *out)
{
	if (page->reports != 0 && strcmp(page->command.argv[0], "compare") == 0)
		report_compare(page->report, page->reports, REPORT_TABLE, out);
	else if (page->reports != 0)
		report_run_draws(page->report, page->reports, REPORT_TABLE, out);
	for (size_t i = 0; i < page->bounds; i++) {
		if (i != 0)
			fputc('\n', out);
		report_bound(&page->bound[i], REPORT_TABLE, out);
	}
	if (page->summary)
		fputs(page->summary, out);
}

static void write_text_table(const struct html_page *page, FILE *out)
{
	char *text = NULL;
	size_t bytes;
	FILE *printed = open_memstream(&text, &bytes);

	if (!printed)
		return;
	write_printed(page, printed);
	fclose(printed);
	fputs("<section><h2>Results</h2>\n<pre tabindex=\"0\">", out);
	if (text)
		html_text(text, out);
	fputs("</pre></section>\n", out);
	free(text);
}

static void write_name(const struct html_page *page, size_t index, FILE *out)
{
	char oversub[32] = "";

	if (!page->report) {
		html_text(page->log, out);
		return;
	}
	html_text(page->report[index].workload, out);
	fputs(", ", out);
	html_text(page->report[index].policy_given, out);
	if (page->report[index].memory.oversub_percent != 0)
		snprintf(oversub, sizeof(oversub), ", %u %%", page->report[index].memory.oversub_percent);
	fputs(oversub, out);
}

static void write_cells(const char *what, const char *detail, uint64_t value, FILE *out)
{
	fprintf(out, "<tr><td>%s</td><td>%s</td><td>%llu</td></tr>\n", what, detail, (unsigned long long)value);
}

static void write_causes(const struct collector *c, FILE *out)
{
	static const char *const where[COLLECTOR_DIRECTIONS] = {"bytes to the CPU", "bytes to the GPU"};

	for (int direction = 0; direction < COLLECTOR_DIRECTIONS; direction++) {
		for (uint32_t cause = 0; cause < UVMP_CAUSE_COUNT; cause++)
			if (c->cause_bytes[direction][cause] != 0)
				write_cells(where[direction], uvmp_cause_name((enum uvmp_cause)cause),
					    c->cause_bytes[direction][cause], out);
		if (c->program_bytes[direction] != 0)
			write_cells(where[direction], "the program's own copies", c->program_bytes[direction], out);
	}
	if (c->zero_bytes != 0)
		write_cells("bytes of zeros", "made on the GPU", c->zero_bytes, out);
}

static void write_histogram(const char *what, const struct histogram *h, FILE *out)
{
	char from[48];

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (h->count[i] == 0)
			continue;
		snprintf(from, sizeof(from), i < 2 ? "%llu" : "%llu or more, below twice that",
			 (unsigned long long)histogram_least(i));
		write_cells(what, from, h->count[i], out);
	}
}

static void write_pictures(const struct html_page *page, size_t index, const struct collector *c, bool is_timed,
			   FILE *out)
{
	fputs("<details><summary>Numbers of the pictures: ", out);
	write_name(page, index, out);
	fputs("</summary><table><thead><tr><th>what</th><th>of which</th><th>value</th></tr></thead><tbody>\n", out);
	write_cells("pages", "faulted", grid_sum(&c->grid, GRID_FAULTED), out);
	write_cells("pages", "prefetched or requested", grid_sum(&c->grid, GRID_PREFETCHED), out);
	write_cells("pages", "evicted", grid_sum(&c->grid, GRID_EVICTED), out);
	write_causes(c, out);
	write_histogram("batches with so many faults", &c->batch_faults, out);
	if (is_timed)
		write_histogram("batches so many ns after the one before", &c->batch_interval, out);
	write_histogram("returns after so many other pages", &c->returns.distance, out);
	fputs("</tbody></table></details>\n", out);
}

void html_tables(const struct html_page *page, FILE *out)
{
	write_text_table(page, out);
	for (size_t i = 0; i < page->reports; i++)
		if (page->report[i].collector)
			write_pictures(page, i, page->report[i].collector, page->report[i].gpu != NULL, out);
	if (page->log_pictures)
		write_pictures(page, 0, page->log_pictures, true, out);
}
