/* The figures of a run as OpenMetrics text.
 *
 * A file is written beside its place and renamed, so that a reader always finds a complete one. At a socket every
 * connection gets the latest text, and is closed; a thread answers, so that a slow reader does not delay the run. */
#include "run_metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "metrics.h"
#include "run_figures.h"
#include "run_options.h"
#include "say.h"

#define SOCKET_HEAD    "unix:"
#define WAITING_MOST   16 /* connections */
#define SEND_SECONDS   2  /* a reader that takes no bytes for this time is given up */
#define LINGER_SECONDS 1
#define REQUEST_BYTES  4096
#define REQUESTS_MOST  16

/* -- opening -- */

static int refuse(const char *path, const char *why)
{
	return say_error("--metrics: %.200s: %s", path, why);
}

static int open_file(struct run_metrics *metrics)
{
	struct stat info;
	FILE *file;

	if (stat(metrics->path, &info) == 0 && !S_ISREG(info.st_mode))
		return refuse(metrics->path,
			      S_ISDIR(info.st_mode) ? "Is a directory" : "is not a regular file");
	metrics->claim = output_claim("--metrics:", metrics->path);
	if (!metrics->claim)
		return RUN_USAGE;
	if (asprintf(&metrics->beside, "%s.%d.tmp", metrics->path, (int)getpid()) < 0)
		return say_error("out of memory");
	file = fopen(metrics->beside, "we");
	if (!file)
		return refuse(metrics->path, strerror(errno));
	fclose(file);
	unlink(metrics->beside);
	return 0;
}

/* A socket file that a killed run has left behind. */
static bool is_stale(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is_refused = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
			  errno == ECONNREFUSED;
	struct stat info;

	if (fd >= 0)
		close(fd);
	return is_refused && lstat(address->sun_path, &info) == 0 && S_ISSOCK(info.st_mode);
}

static int open_socket(struct run_metrics *metrics)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (metrics->path[0] == '\0')
		return say_error("--metrics: a path must follow " SOCKET_HEAD);
	if (strlen(metrics->path) >= sizeof(address.sun_path))
		return refuse(metrics->path, "longer than 107 bytes, the limit of a socket's path");
	strcpy(address.sun_path, metrics->path); /* NOLINT: the length is checked */
	metrics->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (metrics->socket < 0)
		return refuse(metrics->path, strerror(errno));
	if (is_stale(&address))
		unlink(metrics->path);
	if (bind(metrics->socket, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(metrics->socket, WAITING_MOST) != 0)
		return refuse(metrics->path, strerror(errno));
	return 0;
}

int run_metrics_open(struct run_metrics *metrics, const char *where)
{
	bool is_socket = strncmp(where, SOCKET_HEAD, strlen(SOCKET_HEAD)) == 0;

	metrics->socket = -1;
	metrics->path = is_socket ? where + strlen(SOCKET_HEAD) : where;
	pthread_mutex_init(&metrics->lock, NULL);
	return is_socket ? open_socket(metrics) : open_file(metrics);
}

/* -- serving -- */

/* Waits until the reader closes, too: a request that is not read, or comes late, would be an error for the reader. */
static void linger(int fd)
{
	const struct timeval limit = {LINGER_SECONDS, 0};
	char request[REQUEST_BYTES];

	shutdown(fd, SHUT_WR);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (int i = 0; i < REQUESTS_MOST && recv(fd, request, sizeof(request), 0) > 0; i++)
		;
	close(fd);
}

static void answer(struct run_metrics *metrics, int fd)
{
	const struct timeval limit = {SEND_SECONDS, 0};
	char *text, *at;
	ssize_t sent = 0;
	size_t left;

	pthread_mutex_lock(&metrics->lock);
	left = metrics->bytes;
	text = at = malloc(left + 1u);
	if (text && left != 0)
		memcpy(text, metrics->text, left);
	pthread_mutex_unlock(&metrics->lock);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	for (; text && left != 0; left -= (size_t)sent, at += sent) {
		sent = send(fd, at, left, MSG_NOSIGNAL);
		if (sent <= 0)
			break;
	}
	free(text);
	linger(fd);
}

static void *serve(void *context)
{
	struct run_metrics *metrics = context;
	int fd;

	while ((fd = accept4(metrics->socket, NULL, NULL, SOCK_CLOEXEC)) >= 0 || errno == EINTR ||
	       errno == ECONNABORTED)
		if (fd >= 0)
			answer(metrics, fd);
	return NULL;
}

void run_metrics_serve(struct run_metrics *metrics)
{
	pthread_t thread;

	if (!metrics->path || metrics->socket < 0)
		return;
	if (pthread_create(&thread, NULL, serve, metrics) == 0)
		pthread_detach(thread); /* a slow reader does not delay the end */
	else
		(void)refuse(metrics->path, "no thread can be started to answer");
}

/* -- the text -- */

static void write_gauge(FILE *out, const char *name, const char *unit, const char *help, double value)
{
	metrics_family(out, name, "gauge", unit, help);
	fprintf(out, "%s %.9g\n", name, value);
}

static void write_run(FILE *out, const struct run_metrics *metrics, const struct run_rates *rates,
		      const struct run_shared *shared)
{
	const struct run_interval now = run_rates_interval(rates, 0);
	char labels[METRICS_LABELS_MOST] = "";

	metrics_family(out, "uvmp_run", "info", NULL, "The run");
	metrics_label(labels, "version", UVMSIM_VERSION);
	metrics_label(labels, "store", metrics->store);
	metrics_label(labels, "policy", metrics->policy);
	fprintf(out, "uvmp_run_info{%s} 1\n", labels);
	write_gauge(out, "uvmp_run_running", NULL, "1 while the program runs, 0 afterwards",
		    metrics->is_ended ? 0 : 1);
	write_gauge(out, "uvmp_run_elapsed_seconds", "seconds", "Time since the start",
		    (double)rates->now_ns / 1e9);
	write_gauge(out, "uvmp_run_processes", NULL, "Processes that used managed memory", rates->used);
	write_gauge(out, "uvmp_run_unlisted_processes", NULL,
		    "Processes beyond those with samples of their own", run_slots_beyond(shared));
	write_gauge(out, "uvmp_run_stalled_ratio", "ratio",
		    "Part of the last interval in which a thread waited for a page, of the process with most",
		    now.stalled / 100.0);
	write_gauge(out, "uvmp_run_thrashing", NULL, "1 while a process thrashes", run_rates_thrash(rates));
}

static void write_pagers(FILE *out, const struct run_rates *rates, const struct run_shared *shared)
{
	struct metrics_pager *pager = calloc(rates->slots ? rates->slots : 1u, sizeof(*pager));
	size_t count = 0;

	for (uint32_t i = 0; pager && i < rates->slots; i++) {
		char number[16], pid[16];

		if (!run_has_used(&rates->stats[i]))
			continue;
		snprintf(number, sizeof(number), "%" PRIu32, i);
		snprintf(pid, sizeof(pid), "%" PRId32, shared->slot[i].pid);
		metrics_label(pager[count].labels, "process", number); /* exec keeps the pid */
		metrics_label(pager[count].labels, "pid", pid);
		metrics_label(pager[count].labels, "name", shared->slot[i].name);
		pager[count++].stats = rates->stats[i];
	}
	if (pager)
		metrics_pagers(out, pager, count);
	free(pager);
}

/* Says so once. */
static void fail(struct run_metrics *metrics)
{
	if (!metrics->has_failed)
		(void)refuse(metrics->path, strerror(errno));
	metrics->has_failed = true;
}

static void replace_file(struct run_metrics *metrics, const char *text, size_t bytes)
{
	FILE *file = fopen(metrics->beside, "we");
	bool is_written = file && fwrite(text, 1, bytes, file) == bytes;

	if (file && fclose(file) != 0)
		is_written = false;
	if (is_written && rename(metrics->beside, metrics->path) == 0)
		return;
	fail(metrics);
	unlink(metrics->beside);
}

static void replace_answer(struct run_metrics *metrics, char *text, size_t bytes)
{
	char *before;

	pthread_mutex_lock(&metrics->lock);
	before = metrics->text;
	metrics->text = text;
	metrics->bytes = bytes;
	pthread_mutex_unlock(&metrics->lock);
	free(before);
}

void run_metrics_update(struct run_metrics *metrics, const struct run_rates *rates,
			const struct run_shared *shared)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out;

	if (!metrics->path)
		return;
	out = open_memstream(&text, &bytes);
	if (!out) {
		fail(metrics);
		return;
	}
	write_run(out, metrics, rates, shared);
	write_pagers(out, rates, shared);
	metrics_end(out);
	if (fclose(out) != 0)
		fail(metrics);
	else if (metrics->socket >= 0) {
		replace_answer(metrics, text, bytes);
		return;
	} else
		replace_file(metrics, text, bytes);
	free(text);
}

bool run_metrics_close(struct run_metrics *metrics)
{
	if (!metrics->path)
		return true;
	if (metrics->socket >= 0)
		unlink(metrics->path);
	output_close(metrics->claim, OUTPUT_DISCARD);
	metrics->claim = NULL;
	return !metrics->has_failed;
}
