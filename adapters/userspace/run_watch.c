/* What uvmp-run tells while the program runs. Without a terminal, --live and --metrics there is nothing to tell but
 * thrashing; with --quiet nothing, and then uvmp-run only waits. */
#include "run_watch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "run_live.h"
#include "say.h"

#define PERIOD_NS  500000000u
#define LINE_TURNS 2u /* without a terminal: turns for each line */

static int choose_form(struct run_watch *watch, const char *live)
{
	static const char *const words[] = {"line", "full", NULL};
	bool is_terminal = isatty(STDERR_FILENO);
	int chosen = !live || !*live ? 0 : options_choice("--live", live, words);

	if (chosen < 0)
		return RUN_USAGE;
	if (live && watch->is_quiet)
		return say_error("--live and --quiet contradict each other");
	if (chosen == 1 && !is_terminal)
		return say_error("--live=full: standard error is not a terminal; --live=line writes a line "
				 "each second");
	if (chosen == 1)
		watch->form = RUN_LIVE_PANEL;
	else if (is_terminal)
		watch->form = watch->is_quiet ? RUN_LIVE_NONE : RUN_LIVE_LINE;
	else
		watch->form = live ? RUN_LIVE_LINES : RUN_LIVE_NONE;
	return 0;
}

int run_watch_open(struct run_watch *watch, const struct run_options *options)
{
	const char *where = run_option(options, "--metrics");
	int status;

	watch->is_quiet = run_option(options, "--quiet") != NULL;
	status = choose_form(watch, run_option(options, "--live"));
	if (status == 0 && where)
		status = run_metrics_open(&watch->metrics, where);
	if (status == 0 && watch->form == RUN_LIVE_PANEL)
		run_panel_init(&watch->panel);
	return status;
}

void run_watch_begin(struct run_watch *watch, uint64_t now_ns)
{
	watch->start_ns = now_ns;
	watch->next_ns = now_ns + PERIOD_NS;
	run_metrics_serve(&watch->metrics);
	run_metrics_update(&watch->metrics, &watch->rates, watch->shared);
}

uint64_t run_watch_wait_ns(const struct run_watch *watch, uint64_t now_ns)
{
	if (watch->is_quiet && !watch->metrics.path)
		return UINT64_MAX;
	return now_ns < watch->next_ns ? watch->next_ns - now_ns : 0;
}

/* A terminal that another job owns now is left alone. */
static bool is_watched(void)
{
	return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static void show(struct run_watch *watch)
{
	int width = watch->form == RUN_LIVE_LINES ? 0 : run_live_width(NULL);

	if (watch->rates.used == 0)
		return;
	if (watch->form == RUN_LIVE_LINES && watch->turns % LINE_TURNS == 0)
		run_live_line(&watch->rates, watch->policy, 0, false);
	if (watch->form < RUN_LIVE_LINE || watch->form == RUN_LIVE_LINES || !is_watched())
		return;
	if (watch->form == RUN_LIVE_PANEL && run_panel_draw(&watch->panel, &watch->rates, watch->shared))
		return;
	run_live_line(&watch->rates, watch->policy, width, true);
	watch->is_line_shown = true;
}

void run_watch_turn(struct run_watch *watch, uint64_t now_ns)
{
	if (now_ns < watch->next_ns)
		return;
	watch->next_ns = now_ns + PERIOD_NS;
	watch->turns++;
	run_rates_take(&watch->rates, watch->shared, now_ns - watch->start_ns, false);
	if (!watch->is_quiet) {
		run_live_thrash(&watch->rates, watch->shared, watch->is_line_shown);
		show(watch);
	}
	run_metrics_update(&watch->metrics, &watch->rates, watch->shared);
}

void run_watch_hide(struct run_watch *watch)
{
	run_panel_hide(&watch->panel);
	if (watch->is_line_shown)
		fputs("\r\033[K", stderr);
	watch->is_line_shown = false;
}

bool run_watch_end(struct run_watch *watch, uint64_t now_ns)
{
	run_watch_hide(watch);
	if (!watch->metrics.path)
		return true;
	run_rates_take(&watch->rates, watch->shared, now_ns - watch->start_ns, true);
	watch->metrics.is_ended = true;
	run_metrics_update(&watch->metrics, &watch->rates, watch->shared);
	return run_metrics_close(&watch->metrics);
}
