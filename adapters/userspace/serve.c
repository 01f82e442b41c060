/* Faults in, engine, actions out.
 *
 * The budget is the memory of GPU 1, the store that of the CPU, which never faults. What the kernel tells:
 *
 * - A page is missing: a fault of the GPU; the thread is noted as waiting.
 * - A page is missing that should be here: another thread's fault has brought it meanwhile, or the program
 * has dropped it (MADV_DONTNEED), and zeros are what it wants, or the sample has it aside.
 * - A write to a page that is protected: it was clean. It becomes dirty; no decision is asked for.
 *
 * What the engine says: POPULATE and COPY bring pages and send them away (pages.c); a REPLAY wakes those
 * whose page has come; a CANCEL is a SIGBUS. The rest concerns page tables and memory that the kernel keeps
 * for us. */
#include "pager_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#define AHEAD_MOST 64u /* pages that are opened with one that is written */

uint64_t pager_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* -- contents that are not wanted any more -- */

/* All of it lies in one area. A page that is here and missing is one that the program has dropped:
 * take_missing. */
void serve_clear(struct uvmp_pager *p, uint64_t base, uint64_t bytes)
{
	const struct area *area = areas_find(&p->areas, base);
	uint64_t first = base, some = 0;

	sample_forget(p, base, bytes);
	serve_disown(p, base, bytes);
	away_listen(p);
	for (; area_next_ours(area, first, &first, &some) && first < base + bytes; first += some) {
		some = some < base + bytes - first ? some : base + bytes - first;
		madvise((void *)(uintptr_t)first, some, MADV_DONTNEED);
	}
}

void serve_disown(struct uvmp_pager *p, uint64_t base, uint64_t bytes)
{
	const struct area *area = areas_find(&p->areas, base);
	struct part part;

	for (uint64_t at = base; area_next(area, at, base + bytes, &part); at += part.bytes)
		pages_disown(p, area, part.block, part.run);
}

/* -- who waits in vain -- */

/* SIGBUS, as when the kernel cannot read a page. Only the kernel may fill in si_addr. */
static void kill_thread(const struct waiting *waiting)
{
	siginfo_t info = {.si_signo = SIGBUS, .si_code = SI_QUEUE};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = (void *)(uintptr_t)waiting->address;
	if (waiting->tid == 0)
		kill(getpid(), SIGBUS);
	else if (syscall(SYS_rt_tgsigqueueinfo, getpid(), waiting->tid, SIGBUS, &info) != 0 &&
	         errno == EAGAIN)
		syscall(SYS_tgkill, getpid(), waiting->tid, SIGBUS); /* else it has ended meanwhile */
}

static void cancel(struct uvmp_pager *p, const struct uvmp_action *a)
{
	pager_show(p); /* it may be the end of the process */
	p->vain += p->vain != UINT32_MAX;
	for (size_t i = 0; i < p->waitings; i++) {
		uint64_t page = (p->waiting[i].address - a->address) / p->page_bytes;

		if (page >= UVMP_MASK_BITS || !uvmp_mask_test(&a->pages, (uint32_t)page))
			continue;
		p->waiting[i].is_cancelled = true;
		kill_thread(&p->waiting[i]);
	}
}

/* -- the engine's actions -- */

static enum uvmp_status perform(struct uvmp_pager *p, const struct uvmp_action *a)
{
	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_BATCH:
		p->stats.batches++;
		p->stats.duplicates += a->count - a->detail;
		return UVMP_OK;
	case UVMP_ACTION_POPULATE: /* on the CPU: what the store does not know is zero */
		return a->to == GPU ? pages_bring(p, a) : UVMP_OK;
	case UVMP_ACTION_COPY:
		return a->to == GPU ? pages_bring(p, a) : pages_send(p, a);
	case UVMP_ACTION_EVICT:
		p->stats.evictions += a->count == 0;
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

/* On the engine's clock, which may be ahead by what replays have added. */
static uint64_t clock_of_log(const struct uvmp_pager *p)
{
	uint64_t now_ns = pager_now_ns() - p->start_ns;

	return now_ns > p->now_ns ? now_ns : p->now_ns;
}

static void perform_and_complete(struct uvmp_pager *p, const struct uvmp_action *a)
{
	char text[UVMP_ACTION_TEXT_MAX];
	enum uvmp_status status;

	if (p->log && uvmp_action_print(a, text, sizeof(text)) == UVMP_OK)
		pager_log(p, text);
	status = perform(p, a);
	uvmp_service_complete(p->service, a->id, status);
	if (p->log && p->logs_completions &&
	    uvmp_completion_print(a->id, clock_of_log(p), status, text, sizeof(text)) == UVMP_OK)
		pager_log(p, text);
}

/* Another piece of arena, for what the engine keeps beside the usual. */
static bool grow(struct uvmp_pager *p)
{
	uint32_t i = 0;
	void *piece;

	while (i < PIECES_MORE && p->more[i])
		i++;
	if (i == PIECES_MORE)
		return false;
	piece = mmap(NULL, p->arena_bytes, PROT_READ | PROT_WRITE,
	             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (piece == MAP_FAILED)
		return false;
	if (uvmp_service_grow(p->service, piece, p->arena_bytes) != UVMP_OK) {
		munmap(piece, p->arena_bytes);
		return false;
	}
	p->more[i] = piece;
	return true;
}

/* Without memory for the engine faults wait, until there is some at a later call. */
static bool next_action(struct uvmp_pager *p, struct uvmp_action *action)
{
	enum uvmp_status status = uvmp_service_next(p->service, p->now_ns, action);

	while (status == UVMP_ERR_ARENA && grow(p))
		status = uvmp_service_next(p->service, p->now_ns, action);
	return status == UVMP_OK;
}

enum uvmp_status serve_pump(struct uvmp_pager *p, uint64_t ticket)
{
	enum uvmp_status status = ticket == 0 ? UVMP_OK : UVMP_ERR_ARENA; /* until its DONE is seen */
	struct uvmp_action action;

	pages_send_kept(p);
	p->error = 0;
	waiting_report(p);
	while (next_action(p, &action)) {
		perform_and_complete(p, &action);
		waiting_report(p);
		if (action.kind != UVMP_ACTION_DONE)
			continue;
		if (action.ticket == 0)
			waiting_bottom_half_ended(p);
		else if (action.ticket == ticket)
			status = (enum uvmp_status)action.status;
	}
	return status;
}

/* -- what the kernel tells -- */

/* A page that is here was touched. */
static void touch(struct uvmp_pager *p, uint64_t address, uint32_t tid, bool is_write)
{
	uint32_t thread = threads_number(&p->threads, tid);

	trace_file_access(p->trace, p->now_ns, thread, is_write, address, false);
	if (p->wants_touches)
		(void)uvmp_service_access(p->service, GPU, SPACE, address,
		                          is_write ? UVMP_ACCESS_WRITE : UVMP_ACCESS_READ);
}

/* Writes go on as they began: with a page as many of the next ones are opened as changed just before it.
 * Whoever writes a page after the other waits a few times then, and not at each; pages opened in vain are
 * written out in vain. To pages that were not washed washed ones are dirty, and only washed ones open washed
 * ones: what the engine hears of does not depend on the store. */
static struct uvmp_region pages_to_open(const struct block *block, uint32_t page)
{
	struct uvmp_region run = {page, page + 1u};
	uvmp_mask changed = block->dirty, open;
	uint32_t before = 0;

	if (uvmp_mask_test(&block->washed, page)) {
		uvmp_mask_andnot(&open, &block->washed, &changed);
	} else {
		uvmp_mask_or(&changed, &changed, &block->washed);
		uvmp_mask_andnot(&open, &block->here, &changed);
	}
	while (before < AHEAD_MOST && before < page && uvmp_mask_test(&changed, page - before - 1u))
		before++;
	while (run.outer <= page + before && run.outer < UVMP_MASK_BITS && uvmp_mask_test(&open, run.outer))
		run.outer++;
	return run;
}

static void take_write(struct uvmp_pager *p, struct block *block, uint64_t address, uint32_t page,
                       uint32_t tid)
{
	struct uvmp_region run = {page, page + 1u};
	uint64_t bytes;

	p->stats.write_faults++;
	if (uvmp_mask_test(&block->here, page) && !uvmp_mask_test(&block->aside, page)) {
		run = pages_to_open(block, page);
		uvmp_mask_region_set(&block->dirty, run);
		if (!uvmp_mask_test(&block->washed, page))
			touch(p, address, tid, true);
		uvmp_mask_region_clear(&block->washed, run);
	}
	bytes = (uint64_t)(run.outer - run.first) * p->page_bytes;
	uffd_protect(&p->uffd, address, bytes, false);
	uffd_wake(&p->uffd, address, bytes);
}

static void take_missing(struct uvmp_pager *p, struct block *block, uint64_t address, uint32_t page,
                         uint32_t tid, bool is_write)
{
	struct waiting waiting = {.address = address, .tid = tid, .is_write = is_write};

	if (uvmp_mask_test(&block->aside, page) && sample_touch(p, address, is_write)) {
		p->stats.touches++;
		touch(p, address, tid, is_write);
		return;
	}
	p->stats.faults++;
	if (uvmp_mask_test(&block->here, page)) {
		if (uffd_fill(&p->uffd, address, p->page_bytes))
			uvmp_mask_set(&block->dirty, page);
		uffd_wake(&p->uffd, address, p->page_bytes);
		return;
	}
	if (is_write)
		uvmp_mask_set(&block->wanted, page);
	waiting.since_ns = pager_now_ns();
	waiting.thread = threads_number(&p->threads, tid);
	trace_file_access(p->trace, p->now_ns, waiting.thread, is_write, address, true);
	waiting_add(p, &waiting);
}

static struct block *ours(const struct uvmp_pager *p, uint64_t address, uint32_t *page)
{
	const struct area *area = areas_find(&p->areas, address);
	struct block *block;

	if (!area)
		return NULL;
	block = area_block(area, address);
	*page = (uint32_t)(address % BLOCK_BYTES / p->page_bytes);
	return uvmp_mask_test(&block->lost, *page) ? NULL : block;
}

/* Freed meanwhile, or moved, or part of a mapping that has grown: known only when no change is under way. */
static struct block *look_again(struct uvmp_pager *p, uint64_t address, uint32_t *page)
{
	away_listen(p);
	away_settle(p);
	return ours(p, address, page);
}

/* The one with this number. It may be over by what it is preceded by. */
static void take_fault(struct uvmp_pager *p, uint32_t i)
{
	struct heard heard = p->heard[i];
	uint64_t address = heard.address & ~(uint64_t)(p->page_bytes - 1u);
	uint32_t page;
	struct block *block = ours(p, address, &page);

	if (!block)
		block = look_again(p, address, &page);
	if (p->heard[i].address == 0)
		return;
	if (!block)
		away_let_go(p, heard.address);
	else if ((heard.flags & UFFD_PAGEFAULT_FLAG_WP) != 0)
		take_write(p, block, address, page, heard.tid);
	else
		take_missing(p, block, address, page, heard.tid,
		             (heard.flags & UFFD_PAGEFAULT_FLAG_WRITE) != 0);
}

/* The engine's clock. It is that of the rows that are recorded, so that the simulator has the same one. */
static void pass_time(struct uvmp_pager *p)
{
	uint64_t now_ns = (pager_now_ns() - p->start_ns) / 1000u * 1000u;

	if (now_ns > p->now_ns)
		p->now_ns = now_ns;
}

/* The engine's fault buffer holds what is pending, as a GPU's does; batches are made of it as the policy
 * says. What was unmapped comes before the faults. True: there may be more. */
static bool take_some(struct uvmp_pager *p)
{
	uint32_t asked, got, count;

	do {
		uint32_t room = p->heards < p->fault_room ? p->fault_room - (uint32_t)p->heards : 0;

		asked = room < AWAY_HEAR_MOST ? room : AWAY_HEAR_MOST;
		got = asked == 0 ? 0 : away_hear(p, asked);
	} while (got == asked && asked != 0);
	away_settle(p);
	count = p->heards < p->fault_room ? (uint32_t)p->heards : p->fault_room;
	pass_time(p);
	for (uint32_t i = 0; i < count; i++)
		take_fault(p, i);
	trace_file_batch(p->trace);
	p->heards -= count;
	if (p->heards != 0)
		memmove(p->heard, p->heard + count, p->heards * sizeof(*p->heard));
	return got == asked;
}

void serve_all(struct uvmp_pager *p)
{
	bool has_more;

	do {
		has_more = take_some(p);
		serve_pump(p, 0);
	} while (has_more || p->heards != 0 || p->departures != 0);
}
