/* timed_progress.h: the progress of a timed run, for the user. */
#ifndef UVMSIM_TIMED_PROGRESS_H
#define UVMSIM_TIMED_PROGRESS_H

#include "timed_internal.h"

/* Reports progress; honours Ctrl-C. False: the run was interrupted. */
bool timed_show_progress(struct timed *m);

#endif
