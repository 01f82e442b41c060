/* The status line of a run, and its lines about thrashing. */
#include "run_live.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "run_figures.h"

#define LINE_MOST    512
#define POLICY_LEAST 24 /* columns; in fewer a policy tells nothing */

/* Only what has come since the last line, if that is as long as all before: a process that thrashes on gets ever fewer lines. */
static void say_thrash(const struct run_slot *slot, const struct uvmp_pager_stats *s, struct run_thrash *said,
		       bool is_line)
{
	uint64_t ns = s->thrash_ns - said->ns;

	if (ns == 0 || ns < said->ns)
		return;
	fprintf(stderr,
		"%suvmp-run: %s (process %" PRId32
		") thrashes: in %.1f s, threads waited for pages in %" PRIu64
		" %% of the time, and %s came again after eviction; --budget %" PRIu64
		"M would hold all that is managed\n",
		is_line ? "\r\033[K" : "", slot->name, slot->pid, (double)ns / 1e9,
		(s->thrash_waited_ns - said->waited_ns) * 100u / ns,
		run_size(s->thrash_bytes - said->bytes).text, s->managed_bytes >> 20);
	*said = (struct run_thrash){s->thrash_ns, s->thrash_waited_ns, s->thrash_bytes};
}

void run_live_thrash(struct run_rates *rates, const struct run_shared *shared, bool is_line)
{
	for (uint32_t i = 0; i < rates->slots; i++)
		say_thrash(&shared->slot[i], &rates->stats[i], &rates->said[i], is_line);
}

struct run_count_text run_count(uint64_t count)
{
	static const char unit[] = " kMGT";
	struct run_count_text to;
	double value = (double)count;
	size_t i = 0;

	for (; value >= 999.5 && i + 2 < sizeof(unit); i++)
		value /= 1000.0;
	if (count < 10000)
		snprintf(to.text, sizeof(to.text), "%" PRIu64, count);
	else
		snprintf(to.text, sizeof(to.text), "%.*f%c", value < 99.95 ? 1 : 0, value, unit[i]);
	return to;
}

int run_live_width(int *rows)
{
	struct winsize size = {0};

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0)
		size.ws_col = size.ws_row = 0;
	if (rows)
		*rows = size.ws_row;
	return size.ws_col == 0 ? 0 : size.ws_col - 1;
}

/* Adds a figure if it fits. */
static void add(char line[LINE_MOST], int width, const char *text)
{
	if (strlen(line) + strlen(text) <= (size_t)width)
		strcat(line, text); /* NOLINT: width is below LINE_MOST */
}

static void add_figures(char line[LINE_MOST], const struct run_rates *rates, int width)
{
	const struct uvmp_pager_stats *sum = &rates->sum;
	const struct run_interval now = run_rates_interval(rates, 0);
	char text[LINE_MOST];

	snprintf(text, sizeof(text), "  %s faults %s/s", run_count(sum->faults).text,
		 run_count(now.faults).text);
	add(line, width, text);
	snprintf(text, sizeof(text), "  in %s", run_size(sum->bytes_in).text);
	add(line, width, text);
	snprintf(text, sizeof(text), "  out %s", run_size(sum->bytes_out).text);
	add(line, width, text);
	snprintf(text, sizeof(text), "  stall %" PRIu32 "%%", now.stalled);
	add(line, width, text);
	snprintf(text, sizeof(text), "  res %s", run_size(sum->resident_bytes).text);
	add(line, width, text);
	snprintf(text, sizeof(text), "  of %s", run_size(sum->managed_bytes).text);
	add(line, width, text);
}

void run_live_line(const struct run_rates *rates, const char *policy, int width, bool is_terminal)
{
	char line[LINE_MOST], text[LINE_MOST];
	int room;

	if (width <= 0 || width >= LINE_MOST)
		width = LINE_MOST - 1;
	snprintf(line, sizeof(line), "%6.1f s", (double)rates->now_ns / 1e9);
	if (run_rates_thrash(rates))
		add(line, width, "  THRASHES");
	add_figures(line, rates, width);
	room = width - (int)strlen(line) - 2;
	if (room >= POLICY_LEAST) {
		snprintf(text, sizeof(text), "  %.*s", room, policy);
		add(line, width, text);
	}
	fprintf(stderr, is_terminal ? "\r%s\033[K" : "uvmp-run: %s\n",
		is_terminal ? line : line + strspn(line, " "));
}
