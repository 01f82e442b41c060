/* run_panel.h: figures of a run in the lower part of the terminal on standard error, while the program prints above. */
#ifndef UVMP_RUN_PANEL_H
#define UVMP_RUN_PANEL_H

#include "run_rates.h"

struct run_panel {
	const char *program, *store;
	const char *asked, *policy; /* as given, and in canonical form */
	uint64_t budget_bytes;
	int rows, width, height; /* of the terminal, and of the panel; height 0: not shown */
	bool is_utf8, is_coloured;
};

void run_panel_init(struct run_panel *panel);
/* Shows the panel, or draws it again, also in another size. False: the terminal is too small, or cannot move its cursor. */
bool run_panel_draw(struct run_panel *panel, const struct run_rates *rates, const struct run_shared *shared);
/* Gives the whole terminal back. Without effect if the panel is not shown. */
void run_panel_hide(struct run_panel *panel);

#endif
