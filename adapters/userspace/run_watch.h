/* run_watch.h: what uvmp-run tells while the program runs: on the terminal, and as metrics. */
#ifndef UVMP_RUN_WATCH_H
#define UVMP_RUN_WATCH_H

#include "run_metrics.h"
#include "run_options.h"
#include "run_panel.h"
#include "run_rates.h"

enum run_live_form {
	RUN_LIVE_NONE,	/* lines about thrashing only */
	RUN_LIVE_LINE,	/* one line that is replaced, on a terminal */
	RUN_LIVE_LINES, /* a line a second, elsewhere */
	RUN_LIVE_PANEL
};

/* Zeroed, then run_watch_open. */
struct run_watch {
	enum run_live_form form;
	bool is_quiet, is_line_shown;
	uint64_t start_ns, next_ns; /* of the monotonic clock */
	uint64_t turns;
	const struct run_shared *shared;
	const char *policy; /* as given */
	struct run_rates rates;
	struct run_metrics metrics;
	struct run_panel panel;
};

/* Takes --live, --metrics and --quiet. 0, or RUN_USAGE after one message. */
int run_watch_open(struct run_watch *watch, const struct run_options *options);
/* The program has started. watch->shared, policy, panel's texts and metrics' texts are set. */
void run_watch_begin(struct run_watch *watch, uint64_t now_ns);
/* Nanoseconds until the next turn. UINT64_MAX: there is nothing to tell. */
uint64_t run_watch_wait_ns(const struct run_watch *watch, uint64_t now_ns);
/* Tells, if the time for it has come. */
void run_watch_turn(struct run_watch *watch, uint64_t now_ns);
/* Leaves the terminal as it was: before a stop, and before the report. */
void run_watch_hide(struct run_watch *watch);
/* The program has ended: the last metrics. False: they could not be written, which was said. */
bool run_watch_end(struct run_watch *watch, uint64_t now_ns);

#endif
