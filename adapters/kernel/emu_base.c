/* The lowest layer: the engine's clock, the interrupt of the bottom half, and failed checks. */
#include "emu_bottom.h"

#include <linux/timekeeping.h>

#define EMU_WARNINGS 3

u64 emu_clock(const struct emu_bottom *b)
{
	u64 passed = ktime_get_ns() - b->start_ns;

	return passed - passed % 1000u;
}

void emu_pass_time(struct emu_bottom *b)
{
	b->now_ns = max(b->now_ns, emu_clock(b));
}

void emu_bottom_interrupt(struct emu_driver *driver)
{
	queue_work(driver->queue, &driver->work);
}

void emu_broken(struct emu_driver *driver, const char *what)
{
	if (atomic64_inc_return(&driver->broken) <= EMU_WARNINGS)
		WARN(1, "uvmpolicy_emu: %s\n", what);
}
