/* Figures of a run in the lower part of the terminal.
 *
 * The program shares the terminal, so the panel does not take it all: a scrolling region (DECSTBM) leaves the upper rows to
 * the program, whose output stays after the end. Every change is one write, between a save and a restore of the cursor.
 * A program that itself draws on the whole screen does not go with a panel. */
#include "run_panel.h"

#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_figures.h"
#include "run_live.h"

#define ROWS_MOST    15 /* of the panel */
#define ROWS_LEFT    6	/* at least, for the program */
#define ROWS_LEAST   6	/* of the panel */
#define WIDTH_LEAST  40
#define WIDTH_MOST   200
#define FIGURE_WIDTH 39 /* columns before a history */
#define BAR_WIDTH    30
#define TEXT_BYTES   16384

/* One frame. */
struct frame {
	char text[TEXT_BYTES];
	size_t used;
	int row; /* the next, of the terminal; from 1 */
};

static void put(struct frame *frame, const char *format, ...)
{
	size_t room = sizeof(frame->text) - frame->used;
	va_list arguments;
	int bytes;

	va_start(arguments, format);
	bytes = vsnprintf(frame->text + frame->used, room, format, arguments);
	va_end(arguments);
	if (bytes > 0)
		frame->used += (size_t)bytes < room ? (size_t)bytes : room - 1u;
}

static void send_frame(const struct frame *frame)
{
	const char *at = frame->text;
	size_t left = frame->used;

	while (left != 0) {
		ssize_t bytes = write(STDERR_FILENO, at, left);

		if (bytes <= 0)
			return;
		at += bytes;
		left -= (size_t)bytes;
	}
}

void run_panel_init(struct run_panel *panel)
{
	const char *none = getenv("NO_COLOR");

	setlocale(LC_CTYPE, "");
	panel->is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	panel->is_coloured = !none || !*none;
}

/* -- rows -- */

/* Begins a row. False: the panel has no more. */
static bool next_row(const struct run_panel *panel, struct frame *frame)
{
	if (frame->row > panel->rows)
		return false;
	put(frame, "\033[%d;1H\033[K", frame->row++);
	return true;
}

/* The program, without its folder if that leaves no room for the figures. */
static void put_title(const struct run_panel *panel, struct frame *frame, const struct run_rates *rates)
{
	char figures[WIDTH_MOST], text[WIDTH_MOST + 64];
	const char *program = panel->program, *slash = strrchr(program, '/');
	int room;

	if (!next_row(panel, frame))
		return;
	snprintf(figures, sizeof(figures), "%.1f s  budget %s  %" PRIu32 " process%s",
		 (double)rates->now_ns / 1e9, run_size(panel->budget_bytes).text, rates->used,
		 rates->used == 1 ? "" : "es");
	room = panel->width - (int)strlen(" uvmp-run    ") - (int)strlen(figures);
	if (slash && room < (int)strlen(program))
		program = slash + 1;
	snprintf(text, sizeof(text), " uvmp-run  %.*s  %s", room < 0 ? 0 : room, program, figures);
	put(frame, "%s%-*.*s\033[m", panel->is_coloured ? "\033[7m" : "", panel->width, panel->width, text);
}

/* The last intervals as columns of the height of their share of the greatest. */
static void put_history(const struct run_panel *panel, struct frame *frame, const struct run_rates *rates,
			uint64_t (*value)(const struct run_interval *), uint64_t most)
{
	static const char *const utf8[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[] = {" ", ".", ".", ":", "-", "=", "+", "*", "#"};
	int columns = panel->width - FIGURE_WIDTH - 1;

	for (int i = 0; i < columns && i < (int)RUN_HISTORY; i++) {
		const struct run_interval one = run_rates_interval(rates, (uint64_t)i);

		most = value(&one) > most ? value(&one) : most;
	}
	for (int i = columns - 1; i >= 0; i--) {
		const struct run_interval one = run_rates_interval(rates, (uint64_t)i);
		uint64_t step = most == 0 ? 0 : (uint64_t)((double)value(&one) * 8.0 / (double)most + 0.5);

		if (step == 0 && value(&one) != 0)
			step = 1;
		put(frame, "%s", (panel->is_utf8 ? utf8 : ascii)[step]);
	}
}

static uint64_t faults_of(const struct run_interval *one)
{
	return one->faults;
}

static uint64_t in_of(const struct run_interval *one)
{
	return one->bytes_in;
}

static uint64_t out_of(const struct run_interval *one)
{
	return one->bytes_out;
}

static uint64_t stalled_of(const struct run_interval *one)
{
	return one->stalled;
}

static void put_flow(const struct run_panel *panel, struct frame *frame, const struct run_rates *rates,
		     const char *name, const char *total, const char *rate,
		     uint64_t (*value)(const struct run_interval *), uint64_t most)
{
	if (!next_row(panel, frame))
		return;
	put(frame, " %-9s %11s %13s", name, total, rate);
	put(frame, "%*s", FIGURE_WIDTH - 35, "");
	put_history(panel, frame, rates, value, most);
}

static void put_flows(const struct run_panel *panel, struct frame *frame, const struct run_rates *rates)
{
	const struct run_interval now = run_rates_interval(rates, 0);
	const struct uvmp_pager_stats *sum = &rates->sum;
	char total[32], rate[64];

	snprintf(rate, sizeof(rate), "%s/s", run_count(now.faults).text);
	put_flow(panel, frame, rates, "faults", run_count(sum->faults).text, rate, faults_of, 0);
	snprintf(rate, sizeof(rate), "%s/s", run_size(now.bytes_in).text);
	put_flow(panel, frame, rates, "in", run_size(sum->bytes_in).text, rate, in_of, 0);
	snprintf(rate, sizeof(rate), "%s/s", run_size(now.bytes_out).text);
	put_flow(panel, frame, rates, "out", run_size(sum->bytes_out).text, rate, out_of, 0);
	snprintf(total, sizeof(total), "%.1f s", (double)sum->waited_ns / 1e9);
	snprintf(rate, sizeof(rate), "%" PRIu32 " %%", now.stalled);
	put_flow(panel, frame, rates, "stalled", total, rate, stalled_of, 100);
}

static void put_resident(const struct run_panel *panel, struct frame *frame, const struct run_rates *rates)
{
	const struct uvmp_pager_stats *sum = &rates->sum;
	int full = sum->managed_bytes == 0
			   ? 0
			   : (int)((double)sum->resident_bytes * BAR_WIDTH / (double)sum->managed_bytes);

	if (!next_row(panel, frame))
		return;
	put(frame, " %-9s %11s of %-11s", "resident", run_size(sum->resident_bytes).text,
	    run_size(sum->managed_bytes).text);
	if (panel->width < FIGURE_WIDTH + BAR_WIDTH + 2)
		return;
	put(frame, "%*s[", FIGURE_WIDTH - 36, "");
	for (int i = 0; i < BAR_WIDTH; i++)
		put(frame, "%s", i < full ? "#" : "-");
	put(frame, "]");
}

static void put_store(const struct run_panel *panel, struct frame *frame, const struct run_rates *rates)
{
	char text[WIDTH_MOST + 256];

	if (!next_row(panel, frame))
		return;
	snprintf(text, sizeof(text), " %-9s %11s (%.40s), %s evictions; a fault brings %s", "store",
		 run_size(rates->sum.store_bytes).text, panel->store, run_count(rates->sum.evictions).text,
		 run_size(rates->fault_bytes).text);
	put(frame, "%.*s", panel->width, text);
}

static void put_thrashing(const struct run_panel *panel, struct frame *frame, const struct run_rates *rates)
{
	char text[WIDTH_MOST + 256];
	bool is_now = run_rates_thrash(rates);

	if (!next_row(panel, frame))
		return;
	if (rates->sum.thrash_ns == 0)
		snprintf(text, sizeof(text), " %-9s %11s", "thrashing", "none");
	else
		snprintf(text, sizeof(text), " %-9s %9.1f s%s, %s came again; managed: %s at most",
			 "thrashing", (double)rates->sum.thrash_ns / 1e9, is_now ? ", NOW" : "",
			 run_size(rates->sum.thrash_bytes).text,
			 run_size(rates->sum.peak_managed_bytes).text);
	put(frame, "%s%.*s\033[m", is_now && panel->is_coloured ? "\033[1;31m" : "", panel->width, text);
}

/* As given; then in canonical form, in two rows if need be, broken at a blank. */
static void put_policy(const struct run_panel *panel, struct frame *frame)
{
	const char *at = panel->policy, *head = "";
	int room = panel->width - 11;

	if (strcmp(panel->asked, panel->policy) != 0 && next_row(panel, frame))
		put(frame, " %-9s %.*s", "policy", room, panel->asked);
	else
		head = "policy";

	for (int i = 0; i < 2 && *at && next_row(panel, frame); i++, head = "") {
		int length = (int)strlen(at);

		if (length > room)
			for (length = room; i == 0 && length > 1 && at[length] != ' ';)
				length--;
		put(frame, " %-9s %.*s", head, length, at);
		at += length;
		at += strspn(at, " ");
	}
}

/* The process with most faults that is not yet in the list; RUN_PROCESSES: none. */
static uint32_t next_process(const struct run_rates *rates, uint64_t below, uint32_t after)
{
	uint32_t best = RUN_PROCESSES;

	for (uint32_t i = 0; i < rates->slots; i++) {
		uint64_t faults = rates->stats[i].faults;
		bool is_listed = faults > below || (faults == below && i <= after);

		if (faults != 0 && !is_listed &&
		    (best == RUN_PROCESSES || faults > rates->stats[best].faults))
			best = i;
	}
	return best;
}

static void put_processes(const struct run_panel *panel, struct frame *frame, const struct run_rates *rates,
			  const struct run_shared *shared)
{
	uint64_t below = UINT64_MAX;
	uint32_t after = 0;

	while (rates->used > 1 && frame->row <= panel->rows) {
		uint32_t i = next_process(rates, below, after);
		char text[WIDTH_MOST];

		if (i == RUN_PROCESSES || !next_row(panel, frame))
			return;
		below = rates->stats[i].faults;
		after = i;
		snprintf(text, sizeof(text), " %-9" PRId32 " %-15.15s %s faults, in %s, resident %s",
			 shared->slot[i].pid, shared->slot[i].name, run_count(below).text,
			 run_size(rates->stats[i].bytes_in).text,
			 run_size(rates->stats[i].resident_bytes).text);
		put(frame, "%.*s", panel->width, text);
	}
}

/* -- the terminal -- */

static int height_in(int rows, const struct run_rates *rates)
{
	int wanted = ROWS_MOST - (rates->used > 1 ? 0 : 4);

	return rows - ROWS_LEFT < wanted ? rows - ROWS_LEFT : wanted;
}

/* Scrolls the program's output up, out of the panel, and keeps it there. */
static void take_rows(struct run_panel *panel, struct frame *frame)
{
	for (int i = 0; i < panel->height; i++)
		put(frame, "\n");
	put(frame, "\033[%dA\0337\033[1;%dr\0338", panel->height, panel->rows - panel->height);
}

static void give_rows(const struct run_panel *panel, struct frame *frame)
{
	put(frame, "\0337\033[r\033[%d;1H\033[J\0338", panel->rows - panel->height + 1);
}

bool run_panel_draw(struct run_panel *panel, const struct run_rates *rates, const struct run_shared *shared)
{
	struct frame frame = {.used = 0};
	const char *terminal = getenv("TERM");
	int rows, width = run_live_width(&rows), height = height_in(rows, rates);

	if (width > WIDTH_MOST)
		width = WIDTH_MOST;
	if (height < ROWS_LEAST || width < WIDTH_LEAST || !terminal || strcmp(terminal, "dumb") == 0) {
		run_panel_hide(panel);
		return false;
	}
	if (panel->height != 0 && (rows != panel->rows || height != panel->height)) {
		give_rows(panel, &frame);
		panel->height = 0;
	}
	panel->width = width;
	panel->rows = rows;
	if (panel->height == 0) {
		panel->height = height;
		take_rows(panel, &frame);
	}
	put(&frame, "\0337");
	frame.row = panel->rows - panel->height + 1;
	put_title(panel, &frame, rates);
	put_flows(panel, &frame, rates);
	put_resident(panel, &frame, rates);
	put_store(panel, &frame, rates);
	put_thrashing(panel, &frame, rates);
	put_policy(panel, &frame);
	put_processes(panel, &frame, rates, shared);
	while (next_row(panel, &frame))
		;
	put(&frame, "\0338");
	send_frame(&frame);
	return true;
}

void run_panel_hide(struct run_panel *panel)
{
	struct frame frame = {.used = 0};

	if (panel->height == 0)
		return;
	give_rows(panel, &frame);
	panel->height = 0;
	send_frame(&frame);
}
