/* Performs the engine's actions. The budget is the memory of GPU 1, the store that of the CPU, which never
 * faults.
 *
 * POPULATE and COPY move pages (pages_in.c, pages_out.c), REPLAY wakes threads whose page has arrived, and
 * CANCEL raises SIGBUS. The other actions concern page tables and memory that the kernel manages. */
#include "pager_internal.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* SIGBUS, as when the kernel cannot read a page. Only the kernel may set si_addr. */
static void kill_thread(const struct stalled *fault)
{
	siginfo_t info = {.si_signo = SIGBUS, .si_code = SI_QUEUE};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = (void *)(uintptr_t)fault->address;
	if (fault->thread == 0)
		kill(getpid(), SIGBUS);
	else if (syscall(SYS_rt_tgsigqueueinfo, getpid(), fault->thread, SIGBUS, &info) != 0 &&
		 errno == EAGAIN)
		syscall(SYS_tgkill, getpid(), fault->thread, SIGBUS); /* else it has ended meanwhile */
}

static void cancel(struct uvmp_pager *p, const struct uvmp_action *a)
{
	statistics_publish(p); /* it may be the end of the process */
	p->cancels += p->cancels != UINT32_MAX;
	for (uint32_t i = 0; i < p->stalled.count; i++) {
		uint64_t page = (p->stalled.fault[i].address - a->address) / p->page_bytes;

		if (page >= UVMP_MASK_BITS || !uvmp_mask_test(&a->pages, (uint32_t)page))
			continue;
		p->stalled.fault[i].is_cancelled = true;
		kill_thread(&p->stalled.fault[i]);
	}
}

/* Moves the pages of a COPY or POPULATE, one transfer after the other. A transfer that fails has moved no page; the
 * others are moved all the same. Returns the first failure. */
static enum uvmp_status move(struct uvmp_pager *p, const struct uvmp_action *a, uvmp_mask *moved)
{
	enum uvmp_status first = UVMP_OK;
	struct uvmp_region transfer;

	for (transfer = uvmp_action_next_transfer(a, 0); transfer.end != 0;
	     transfer = uvmp_action_next_transfer(a, transfer.end)) {
		enum uvmp_status status = a->to == GPU ? pages_in(p, a, transfer) : pages_out(p, a, transfer);

		if (status == UVMP_OK)
			uvmp_mask_region_set(moved, transfer);
		else if (first == UVMP_OK)
			first = status;
	}
	return first;
}

/* moved: pages that a COPY or POPULATE has moved. */
static enum uvmp_status perform(struct uvmp_pager *p, const struct uvmp_action *a, uvmp_mask *moved)
{
	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_BATCH:
		p->stats.batches++;
		p->stats.duplicates += a->faults - a->merged_faults;
		return UVMP_OK;
	case UVMP_ACTION_POPULATE: /* on the CPU: what the store does not know is zero */
		return a->to == GPU ? move(p, a, moved) : UVMP_OK;
	case UVMP_ACTION_COPY:
		return move(p, a, moved);
	case UVMP_ACTION_EVICT:
		p->stats.evictions += a->part == 0;
		return UVMP_OK;
	case UVMP_ACTION_REPLAY:
		waiting_replay(p);
		return UVMP_OK;
	case UVMP_ACTION_THROTTLE:
		p->throttled_until_ns = a->until_ns;
		return UVMP_OK;
	case UVMP_ACTION_CANCEL:
		cancel(p, a);
		return UVMP_OK;
	default:
		return UVMP_OK;
	}
}

/* Time on the engine's clock, which replays may have advanced. */
static uint64_t clock_of_log(const struct uvmp_pager *p)
{
	uint64_t now_ns = pager_now_ns() - p->start_ns;

	return now_ns > p->now_ns ? now_ns : p->now_ns;
}

static void perform_and_complete(struct uvmp_pager *p, const struct uvmp_action *a)
{
	char text[UVMP_ACTION_TEXT_MAX];
	enum uvmp_status status;
	uvmp_mask moved = {{0}};

	if (p->log && uvmp_action_print(a, text, sizeof(text)) == UVMP_OK)
		pager_log(p, text);
	status = perform(p, a, &moved);
	uvmp_service_complete_pages(p->service, a->id, status, &moved);
	if (p->log && p->logs_completions &&
	    uvmp_completion_print(a->id, clock_of_log(p), status, text, sizeof(text)) == UVMP_OK)
		pager_log(p, text);
}

/* Adds an arena segment for what the engine keeps beside the usual. */
static bool grow(struct uvmp_pager *p)
{
	uint32_t i = 0;
	void *segment;

	while (i < SEGMENTS_MORE && p->segment[i])
		i++;
	if (i == SEGMENTS_MORE)
		return false;
	segment = mmap(NULL, p->arena_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (segment == MAP_FAILED)
		return false;
	if (uvmp_service_grow(p->service, segment, p->arena_bytes) != UVMP_OK) {
		munmap(segment, p->arena_bytes);
		return false;
	}
	p->segment[i] = segment;
	return true;
}

/* Without memory for the engine, faults wait until a later call. */
static bool next_action(struct uvmp_pager *p, const struct uvmp_action **action)
{
	enum uvmp_status status = uvmp_service_next(p->service, p->now_ns, action);

	while (status == UVMP_ERR_ARENA && grow(p))
		status = uvmp_service_next(p->service, p->now_ns, action);
	return status == UVMP_OK;
}

enum uvmp_status actions_perform(struct uvmp_pager *p, uint64_t ticket)
{
	enum uvmp_status status = ticket == 0 ? UVMP_OK : UVMP_ERR_ARENA; /* until its DONE is seen */
	const struct uvmp_action *action;

	pages_out_stranded(p);
	p->error = 0;
	waiting_report(p);
	while (next_action(p, &action)) {
		perform_and_complete(p, action);
		waiting_report(p);
		if (action->kind != UVMP_ACTION_DONE)
			continue;
		if (action->ticket == 0)
			waiting_bottom_half_ended(p);
		else if (action->ticket == ticket)
			status = (enum uvmp_status)action->status;
	}
	return status;
}

int actions_finish(struct uvmp_pager *p, enum uvmp_status queued, uint64_t ticket)
{
	enum uvmp_status status = queued;

	p->error = 0;
	if (queued == UVMP_OK)
		status = actions_perform(p, ticket);
	if (status == UVMP_OK)
		return 0;
	if (p->error != 0)
		return p->error;
	return status == UVMP_ERR_UNKNOWN || status == UVMP_ERR_RANGE ? -EINVAL : -ENOMEM;
}
