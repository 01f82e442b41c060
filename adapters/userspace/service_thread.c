/* The servicing thread: waits for messages of the kernel, and services them (faults.c). */
#include "high_fd.h"
#include "pager_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLUSH_MS     500u  /* a recorded row is in the file after this time */
#define CANCELS_MOST 1000u /* cancels in a row, after which further ones */
#define CANCELS_MS   10	   /* follow at this distance */

/* The program has closed the userfaultfd: missing pages would read as zeros from now on. */
static void give_up_all(void)
{
	static const char text[] = "uvmpolicy: the program has closed the pager's descriptors\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1u);
	abort();
}

static void *serve(void *context)
{
	struct uvmp_pager *p = context;
	struct pollfd fds[2] = {{.fd = p->uffd.fd, .events = POLLIN}, {.fd = p->stop[0], .events = POLLIN}};
	bool is_row_waiting = false;
	uint64_t flushed_ns = 0;
	bool is_failing;

	if (p->thread_began)
		p->thread_began();
	for (;;) {
		uint64_t start_ns, end_ns;

		if (poll(fds, 2, p->sample.pages != 0 ? SAMPLE_MS : is_row_waiting ? (int)FLUSH_MS : -1) < 0)
			continue;
		if (((fds[0].revents & (POLLNVAL | POLLERR | POLLHUP)) | (fds[1].revents & POLLNVAL)) != 0)
			give_up_all();
		if (fds[1].revents != 0)
			return NULL;
		pthread_mutex_lock(&p->lock);
		start_ns = pager_now_ns();
		faults_service(p);
		sample_turn(p);
		if (start_ns - flushed_ns >= FLUSH_MS * 1000000u) {
			trace_file_flush(p->trace);
			flushed_ns = start_ns;
		}
		is_row_waiting = trace_file_waits(p->trace);
		end_ns = pager_now_ns();
		p->stats.service_ns += end_ns - start_ns;
		thrash_judge(&p->thrash, &p->stats, end_ns);
		is_failing = p->cancels >= CANCELS_MOST;
		pager_release(p);
		if (is_failing) /* a thread that cannot be killed retries at once, without end */
			(void)poll(&fds[1], 1, CANCELS_MS);
	}
}

int pager_start(struct uvmp_pager *p, uint32_t copy_threads)
{
	int error;

	if (pipe2(p->stop, O_CLOEXEC) != 0)
		return -errno;
	p->stop[0] = high_fd(p->stop[0]);
	p->stop[1] = high_fd(p->stop[1]);
	error = copiers_open(&p->copiers, copy_threads, p->page_bytes, p->thread_began);
	if (error == 0 || error == -EAGAIN) /* fewer do, too */
		error = pager_thread(&p->thread, serve, p);
	p->is_running = error == 0;
	if (error == 0)
		return 0;
	copiers_close(&p->copiers);
	close(p->stop[0]);
	close(p->stop[1]);
	return error;
}

void pager_stop(struct uvmp_pager *p)
{
	if (!p->is_running)
		return;
	close(p->stop[1]);
	pthread_join(p->thread, NULL);
	copiers_close(&p->copiers);
	close(p->stop[0]);
	p->is_running = false;
}
