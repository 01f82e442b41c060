/* A process has one terminal, so the line is kept here and callers need not pass it on. */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS      UINT64_C(1000000000)
#define SHOW_EVERY_NS  (SECOND_NS / 4)
#define FORECAST_NS    (3 * SECOND_NS) /* before that, and below one percent, a forecast is a guess */
#define PARTS	       UINT64_C(10000) /* fractions are counted in these */
#define FORECAST_PARTS (PARTS / 100)

static struct {
	bool is_on;
	struct progress_at *slot; /* NULL: the terminal */
	uint64_t started_ns, shown_ns;
	uint64_t kernel, kernel_started_ns; /* of the only run */
	struct progress_past past;
	int width; /* of the line that stands there, 0: none */
} line;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* -- text -- */

__attribute__((format(printf, 2, 3))) static void add(char text[PROGRESS_TEXT_MAX], const char *format, ...)
{
	size_t used = strlen(text);
	va_list list;

	va_start(list, format);
	vsnprintf(text + used, PROGRESS_TEXT_MAX - used, format, list);
	va_end(list);
}

/* 999999, then 1.0 million */
static void add_count(char text[PROGRESS_TEXT_MAX], uint64_t count)
{
	if (count < 1000000)
		add(text, "%llu", (unsigned long long)count);
	else
		add(text, "%llu.%llu million", (unsigned long long)(count / 1000000),
		    (unsigned long long)(count / 100000 % 10));
}

/* The time that is left, from the time that the parts took; nothing while that would be a guess. */
static void add_remaining(char text[PROGRESS_TEXT_MAX], uint64_t done, uint64_t elapsed_ns, const char *of)
{
	unsigned long long seconds, hours, minutes;

	if (done < FORECAST_PARTS || elapsed_ns < FORECAST_NS)
		return;
	seconds = elapsed_ns / 1000000 * (PARTS - done) / done / 1000;
	hours = seconds / 3600;
	minutes = seconds / 60 % 60;
	if (hours > 0)
		add(text, ", %llu:%02llu:%02llu left%s", hours, minutes, seconds % 60, of);
	else
		add(text, ", %llu:%02llu left%s", minutes, seconds % 60, of);
}

static uint64_t parts(uint64_t done, uint64_t total)
{
	if (done >= total)
		return PARTS;
	return total > UINT64_MAX / PARTS ? done / (total / PARTS) : done * PARTS / total;
}

/* The share of all work that is done. Runs that do not know their total count when they have ended. */
static uint64_t parts_done(const struct progress_at *running, size_t count, const struct progress_past *past)
{
	uint64_t sum = past->ended * PARTS;

	for (size_t i = 0; i < count; i++)
		sum += running[i].total != 0 ? parts(running[i].done, running[i].total) : 0;
	return sum / past->runs;
}

/* A program that is run alone does not know how many kernels will follow, but each of them how long it is;
 * and, before the first, how much of its data is made. */
static void add_kernel(char text[PROGRESS_TEXT_MAX], const struct progress_at *at, uint64_t kernel_ns)
{
	uint64_t done = parts(at->kernel_done, at->kernel_total);

	add(text, ", %llu %% of ", (unsigned long long)(done * 100 / PARTS));
	if (at->kernels != 0)
		add(text, "kernel %llu", (unsigned long long)at->kernels);
	else
		add(text, "its data");
	add_remaining(text, done, kernel_ns, " of it");
}

void progress_print(char text[PROGRESS_TEXT_MAX], const struct progress_at *running, size_t count,
		    const struct progress_past *past)
{
	uint64_t accesses = past->ended_accesses, done = parts_done(running, count, past);
	uint64_t elapsed_ms = past->elapsed_ns / 1000000;

	for (size_t i = 0; i < count; i++)
		accesses += running[i].accesses;
	text[0] = '\0';
	if (past->runs > 1)
		add(text, "%zu of %zu runs done, ", past->ended, past->runs);
	add_count(text, accesses);
	add(text, " accesses, ");
	add_count(text, elapsed_ms != 0 ? accesses * 1000 / elapsed_ms : 0);
	add(text, "/s");
	if (done > 0)
		add(text, ", %llu %%", (unsigned long long)(done * 100 / PARTS));
	else if (past->runs == 1 && count == 1 && running->kernel_total != 0)
		add_kernel(text, running, past->kernel_ns);
	add_remaining(text, done, past->elapsed_ns, "");
}

/* -- the terminal -- */

void progress_start(size_t runs)
{
	memset(&line, 0, sizeof(line));
	line.is_on = isatty(STDERR_FILENO);
	line.past.runs = runs;
	line.started_ns = now_ns();
	line.shown_ns = line.started_ns + SECOND_NS - SHOW_EVERY_NS;
}

bool progress_is_on(void)
{
	return line.is_on;
}

void progress_redirect(struct progress_at *slot)
{
	line.slot = slot;
}

void progress_show(const struct progress_at *running, size_t count)
{
	char text[PROGRESS_TEXT_MAX];
	uint64_t now;
	int width;

	if (!line.is_on)
		return;
	if (line.slot) {
		*line.slot = *running;
		return;
	}
	now = now_ns();
	if (count == 1 && (running->kernels != line.kernel || line.kernel_started_ns == 0)) {
		line.kernel = running->kernels;
		line.kernel_started_ns = now;
	}
	if (now < line.shown_ns + SHOW_EVERY_NS)
		return;
	line.shown_ns = now;
	line.past.elapsed_ns = now - line.started_ns;
	line.past.kernel_ns = now - line.kernel_started_ns;
	progress_print(text, running, count, &line.past);
	width = (int)strlen(text);
	fprintf(stderr, "\r%s%*s", text, line.width > width ? line.width - width : 0, "");
	fflush(stderr);
	line.width = width;
}

void progress_run_ended(uint64_t accesses)
{
	line.past.ended++;
	line.past.ended_accesses += accesses;
}

void progress_end(void)
{
	if (line.width > 0)
		fprintf(stderr, "\r%*s\r", line.width, "");
	memset(&line, 0, sizeof(line));
}
