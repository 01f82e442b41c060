/* run_metrics.h: the figures of a run as OpenMetrics text, in a file or at a Unix socket. */
#ifndef UVMP_RUN_METRICS_H
#define UVMP_RUN_METRICS_H

#include "output.h"
#include "run_rates.h"

#include <pthread.h>

/* Zeroed: no metrics. */
struct run_metrics {
	const char *path; /* of the file or socket; NULL: no metrics */
	const char *policy, *store;
	char *beside; /* name of the file that replaces `path` */
	int socket;   /* -1: a file */
	struct output *claim; /* of a file, against other outputs */
	bool has_failed;
	bool is_ended;	      /* the program has ended */
	pthread_mutex_t lock; /* of text and bytes */
	char *text;
	size_t bytes;
};

/* `where` as --metrics takes it: FILE or unix:PATH. 0, or RUN_USAGE after one message. */
int run_metrics_open(struct run_metrics *metrics, const char *where);
/* Begins to answer at the socket. Threads must not be made before the program is forked. */
void run_metrics_serve(struct run_metrics *metrics);
/* Replaces the file, or the answer at the socket. */
void run_metrics_update(struct run_metrics *metrics, const struct run_rates *rates,
			const struct run_shared *shared);
/* Removes the socket; the file stays. False: the file could not be written, which was said. */
bool run_metrics_close(struct run_metrics *metrics);

#endif
