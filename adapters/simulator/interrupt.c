/* One flag, set by the handler. The same wish often comes twice: timeout(1) signals the process and then its
 * group, a terminal signals parent and children while the parent passes it on. So a second signal counts as
 * another one only some time after the first. */
#include "interrupt.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define SAME_WISH_NS INT64_C(200000000)

static const int signals[] = {SIGINT, SIGTERM};
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

volatile sig_atomic_t interrupt_caught;
static struct timespec caught_at;
static struct sigaction before[SIGNALS];

static void handle(int number)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (interrupt_caught == 0) {
		caught_at = now;
		interrupt_caught = number;
		return;
	}
	if ((int64_t)(now.tv_sec - caught_at.tv_sec) * 1000000000 + (now.tv_nsec - caught_at.tv_nsec) <
	    SAME_WISH_NS)
		return;
	signal(number, SIG_DFL);
	raise(number); /* arrives when the handler returns */
}

static void install(int flags)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = flags};

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaddset(&action.sa_mask, signals[i]); /* the handler is not interrupted by itself */
	for (size_t i = 0; i < SIGNALS; i++)
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

void interrupt_catch(void)
{
	for (size_t i = 0; i < SIGNALS; i++)
		sigaction(signals[i], NULL, &before[i]);
	install(0);
}

void interrupt_done(void)
{
	install(SA_RESTART);
	for (size_t i = 0; i < SIGNALS && interrupt_caught == 0; i++)
		sigaction(signals[i], &before[i], NULL);
}
