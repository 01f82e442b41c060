/* One flag, set by the handler. One wish often arrives as several signals: timeout(1) signals the process and
 * then its group, and a parent passes a terminal's signal on to children that had it already. On a busy
 * machine the repetition is late, so a signal counts as another wish only some seconds after the first. A
 * terminal sends exactly one signal for each key press, so its second signal counts at once. */
#include "interrupt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define SAME_WISH_NS INT64_C(2000000000)

static const int signals[] = {SIGINT, SIGTERM};
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

volatile sig_atomic_t interrupt_caught;
static struct timespec caught_at;
static bool was_key; /* the first signal was from the terminal */
static struct sigaction before[SIGNALS];

static bool is_key(const siginfo_t *info)
{
#ifdef SI_KERNEL
	return info->si_code == SI_KERNEL;
#else
	(void)info;
	return false;
#endif
}

static bool is_another(const siginfo_t *info)
{
	struct timespec now;

	if (was_key && is_key(info))
		return true;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)(now.tv_sec - caught_at.tv_sec) * 1000000000 + (now.tv_nsec - caught_at.tv_nsec) >=
	       SAME_WISH_NS;
}

static void handle(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (interrupt_caught == 0) {
		clock_gettime(CLOCK_MONOTONIC, &caught_at);
		was_key = is_key(info);
		interrupt_caught = number;
	} else if (is_another(info)) {
		signal(number, SIG_DFL);
		raise(number); /* arrives when the handler returns */
	}
}

static void install(int flags)
{
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = flags | SA_SIGINFO};

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
