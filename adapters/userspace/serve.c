/* Faults in, engine, actions out.
 *
 * The budget is the memory of GPU 1, the store that of the CPU, which never faults. What the kernel tells:
 *
 *   missing page   a fault of the GPU; the thread is noted as waiting
 *   write to a page that is write-protected: it was clean. It becomes dirty; no decision is asked for
 *   missing page that should be here: another thread's fault has brought it meanwhile, or the program has
 * dropped it (MADV_DONTNEED): then zeros are what it wants; or the sample has it aside
 *
 * What the engine says: POPULATE and COPY to the GPU put pages into place without waking anybody, clean ones
 * write-protected; a COPY to the CPU protects the pages, writes those that are dirty, and drops them all; a
 * REPLAY wakes those whose page has come; a CANCEL is a SIGBUS. The rest
 * concerns page tables and memory that the kernel keeps for us. */
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

#define MESSAGES_MOST 256u

uint64_t pager_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* -- pages of a block -- */

static struct block *block_of(const struct area *area, uint64_t address)
{
	return &area->block[(address - area->base) / BLOCK_BYTES];
}

static uint64_t address_of(const struct uvmp_pager *p, const struct area *area, const struct block *block,
                           uint32_t page)
{
	return area->base + (uint64_t)(block - area->block) * BLOCK_BYTES + (uint64_t)page * p->page_bytes;
}

static uint64_t store_page(const struct uvmp_pager *p, const struct area *area, const struct block *block,
                           uint32_t page)
{
	return area->store_page + (address_of(p, area, block, page) - area->base) / UVMP_STORE_PAGE_BYTES;
}

static uint64_t bytes_of(const struct uvmp_pager *p, struct uvmp_region run)
{
	return (uint64_t)(run.outer - run.first) * p->page_bytes;
}

/* Advice cuts the engine's blocks: where in ours an action's block begins. */
static uint32_t first_page(const struct uvmp_pager *p, const struct uvmp_action *a)
{
	return (uint32_t)(a->address % BLOCK_BYTES / p->page_bytes);
}

/* The next run within `within`, from its start on, whose pages are all in the set, or all not. */
static struct uvmp_region next_part(const uvmp_mask *set, struct uvmp_region within, bool *is_in)
{
	uint32_t outer;

	*is_in = uvmp_mask_test(set, within.first);
	outer = *is_in ? uvmp_mask_next_clear(set, within.first) : uvmp_mask_next_set(set, within.first);
	within.outer = outer < within.outer ? outer : within.outer;
	return within;
}

static int fail(struct uvmp_pager *p, int error)
{
	if (error != 0 && p->error == 0)
		p->error = error;
	if (error != 0 && p->stats.store_error == 0)
		p->stats.store_error = error;
	return error;
}

/* For the engine; the errno itself is kept in p->error. */
static enum uvmp_status status_of(int error)
{
	if (error == 0)
		return UVMP_OK;
	return error == -ENOMEM || error == -ENOSPC ? UVMP_ERR_NO_MEMORY : UVMP_ERR_STATE;
}

/* -- in -- */

/* A copy that several threads may work on: they only read what is known of the block. */
struct copy {
	struct uvmp_pager *pager;
	const struct area *area;
	const struct block *block;
	struct uvmp_region run;
	const uint8_t *data; /* of the run; NULL: to be read, each part by whoever copies it */
};

static int read_run(const struct copy *copy, struct uvmp_region run, uint8_t *to)
{
	struct uvmp_pager *p = copy->pager;

	return p->store->read(p->store, store_page(p, copy->area, copy->block, run.first),
	                      bytes_of(p, run) / UVMP_STORE_PAGE_BYTES, to);
}

/* Pages that somebody wants to write come without protection. */
static int bring_part(void *context, struct uvmp_region rest)
{
	const struct copy *copy = context;
	struct uvmp_pager *p = copy->pager;
	uint64_t offset = (uint64_t)(rest.first - copy->run.first) * p->page_bytes;
	const uint8_t *data = copy->data ? copy->data + offset : p->bounce + offset;
	int error = copy->data ? 0 : read_run(copy, rest, p->bounce + offset);

	while (rest.first != rest.outer && error == 0) {
		bool is_wanted;
		struct uvmp_region part = next_part(&copy->block->wanted, rest, &is_wanted);

		error = uffd_copy(&p->uffd, address_of(p, copy->area, copy->block, part.first), data,
		                  bytes_of(p, part), !is_wanted);
		data += bytes_of(p, part);
		rest.first = part.outer;
	}
	return error;
}

/* The run holds something in the store. */
static int bring_stored(struct uvmp_pager *p, const struct area *area, struct block *block,
                        struct uvmp_region run)
{
	struct copy copy = {p, area, block, run, NULL};
	uvmp_mask written;
	int error = 0;

	if (p->store->at)
		copy.data = p->store->at(p->store, store_page(p, area, block, run.first));
	if (!copy.data && !p->store->is_parallel) {
		error = read_run(&copy, run, p->bounce);
		copy.data = p->bounce;
	}
	if (error == 0)
		error = copiers_run(&p->copiers, bring_part, &copy, run);
	if (error != 0)
		return error;
	uvmp_mask_region_and(&written, &block->wanted, run);
	if (!p->uffd.has_protect)
		uvmp_mask_region_set(&written, run);
	uvmp_mask_or(&block->dirty, &block->dirty, &written);
	p->stats.bytes_in += bytes_of(p, run);
	p->stats.copies_in++;
	return 0;
}

/* Zeros cannot be protected on the way in: whoever uses the page first may write. So they count as dirty, and
 * are looked at when they leave. */
static int bring_zeros(struct uvmp_pager *p, const struct area *area, struct block *block,
                       struct uvmp_region run)
{
	int error = uffd_zero(&p->uffd, address_of(p, area, block, run.first), bytes_of(p, run));

	uvmp_mask_region_set(&block->dirty, run);
	p->stats.bytes_zeroed += bytes_of(p, run);
	return error;
}

static enum uvmp_status bring(struct uvmp_pager *p, const struct uvmp_action *a)
{
	const struct area *area = areas_find(&p->areas, a->address);
	struct block *block = block_of(area, a->address);
	uint32_t first = first_page(p, a);
	struct uvmp_region run = {a->run.first + first, a->run.outer + first}, rest = run;
	int error = 0;

	while (rest.first != rest.outer && error == 0) {
		bool is_stored;
		struct uvmp_region part = next_part(&block->stored, rest, &is_stored);

		error = is_stored ? bring_stored(p, area, block, part) : bring_zeros(p, area, block, part);
		rest.first = part.outer;
	}
	if (fail(p, error) != 0) {
		/* what came goes again: the engine counts on none of it */
		madvise((void *)(uintptr_t)address_of(p, area, block, run.first), bytes_of(p, run),
		        MADV_DONTNEED);
		uvmp_mask_region_clear(&block->dirty, run);
		return status_of(error);
	}
	uvmp_mask_region_set(&block->here, run);
	uvmp_mask_region_clear(&block->wanted, run);
	p->stats.resident_bytes += bytes_of(p, run);
	return UVMP_OK;
}

/* -- out -- */

static bool is_zero(const uint64_t *word, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes / sizeof(*word); i++) {
		if (word[i] != 0)
			return false;
	}
	return true;
}

/* Dirty pages that the store does not know, and that hold zeros, are as if they had never been touched. */
static void forgive_zeros(const struct uvmp_pager *p, const struct area *area, struct block *block,
                          uvmp_mask *dirty)
{
	uvmp_mask fresh;

	uvmp_mask_andnot(&fresh, dirty, &block->stored);
	for (uint32_t page = uvmp_mask_next_set(&fresh, 0); page < UVMP_MASK_BITS;
	     page = uvmp_mask_next_set(&fresh, page + 1u)) {
		if (!is_zero((const void *)(uintptr_t)address_of(p, area, block, page), p->page_bytes))
			continue;
		uvmp_mask_clear(dirty, page);
		uvmp_mask_clear(&block->dirty, page);
	}
}

static int write_part(void *context, struct uvmp_region part)
{
	const struct copy *copy = context;
	struct uvmp_pager *p = copy->pager;

	return p->store->write(p->store, store_page(p, copy->area, copy->block, part.first),
	                       bytes_of(p, part) / UVMP_STORE_PAGE_BYTES,
	                       (void *)(uintptr_t)address_of(p, copy->area, copy->block, part.first));
}

static int write_run(struct uvmp_pager *p, const struct area *area, struct block *block,
                     struct uvmp_region run)
{
	struct copy copy = {p, area, block, run, NULL};
	int error = p->store->is_parallel ? copiers_run(&p->copiers, write_part, &copy, run)
	                                  : write_part(&copy, run);

	if (error != 0)
		return error;
	uvmp_mask_region_set(&block->stored, run);
	uvmp_mask_region_clear(&block->dirty, run);
	p->stats.bytes_out += bytes_of(p, run);
	p->stats.copies_out++;
	return 0;
}

static int write_dirty(struct uvmp_pager *p, const struct area *area, struct block *block,
                       const uvmp_mask *dirty)
{
	int error = 0;

	for (struct uvmp_region run = uvmp_mask_next_run(dirty, 0); run.outer != 0 && error == 0;
	     run = uvmp_mask_next_run(dirty, run.outer))
		error = write_run(p, area, block, run);
	return error;
}

/* The next stretch, from `from` on, that holds leaving pages and none that stay: what lies between them is
 * missing, and one call does for all of it. */
static struct uvmp_region next_stretch(const struct block *block, const uvmp_mask *leaving, uint32_t from)
{
	struct uvmp_region stretch = uvmp_mask_next_run(leaving, from), run = stretch;
	uvmp_mask stay;

	uvmp_mask_andnot(&stay, &block->here, leaving);
	while (run.outer != 0 && uvmp_mask_next_set(&stay, stretch.first) >= run.outer) {
		stretch.outer = run.outer;
		run = uvmp_mask_next_run(leaving, run.outer);
	}
	return stretch;
}

/* Pages that are clean are protected already: whoever writes to one of them meanwhile waits, and finds it
 * missing. */
static int send_stretch(struct uvmp_pager *p, const struct area *area, struct block *block,
                        const uvmp_mask *leaving, struct uvmp_region stretch)
{
	uint64_t at = address_of(p, area, block, stretch.first);
	uvmp_mask pages, dirty;
	uint64_t bytes;
	int error = 0;

	uvmp_mask_region_and(&pages, leaving, stretch);
	uvmp_mask_and(&dirty, &pages, &block->dirty);
	bytes = (uint64_t)uvmp_mask_weight(&pages) * p->page_bytes;
	if (!uvmp_mask_is_empty(&dirty)) {
		error = uffd_protect(&p->uffd, at, bytes_of(p, stretch), true);
		if (error != 0)
			return error;
		forgive_zeros(p, area, block, &dirty);
		error = write_dirty(p, area, block, &dirty);
	}
	if (error != 0)
		return error;
	madvise((void *)(uintptr_t)at, bytes_of(p, stretch), MADV_DONTNEED);
	uvmp_mask_andnot(&block->here, &block->here, &pages);
	p->stats.resident_bytes -= bytes;
	p->stats.bytes_dropped += bytes - (uint64_t)uvmp_mask_weight(&dirty) * p->page_bytes;
	return 0;
}

/* Pages leave. What was discarded and then written to again is as good as any other, which the engine cannot
 * know. */
static enum uvmp_status send(struct uvmp_pager *p, const struct uvmp_action *a)
{
	const struct area *area = areas_find(&p->areas, a->address);
	struct block *block = block_of(area, a->address);
	struct uvmp_region stretch;
	uvmp_mask leaving;
	int error = 0;

	uvmp_mask_shift_up(&leaving, &a->pages, first_page(p, a));
	if (!uvmp_mask_is_empty(&block->aside))
		error = sample_restore(p, address_of(p, area, block, 0), BLOCK_BYTES);
	for (stretch = next_stretch(block, &leaving, 0); stretch.outer != 0 && error == 0;
	     stretch = next_stretch(block, &leaving, stretch.outer))
		error = send_stretch(p, area, block, &leaving, stretch);
	return status_of(fail(p, error));
}

static void disown_run(struct uvmp_pager *p, const struct area *area, struct block *block,
                       struct uvmp_region run)
{
	uint64_t bytes = (uint64_t)(run.outer - run.first) * p->page_bytes;
	uvmp_mask here;

	p->store->forget(p->store, store_page(p, area, block, run.first), bytes / UVMP_STORE_PAGE_BYTES);
	uvmp_mask_region_clear(&block->stored, run);
	if (!p->uffd.has_protect)
		return;
	uvmp_mask_region_and(&here, &block->here, run);
	for (run = uvmp_mask_next_run(&here, 0); run.outer != 0; run = uvmp_mask_next_run(&here, run.outer)) {
		bytes = (uint64_t)(run.outer - run.first) * p->page_bytes;
		if (uffd_protect(&p->uffd, address_of(p, area, block, run.first), bytes, true) == 0)
			uvmp_mask_region_clear(&block->dirty, run);
	}
}

/* A page that is here and missing is one that the program has dropped: take_missing. */
void serve_clear(struct uvmp_pager *p, uint64_t base, uint64_t bytes)
{
	sample_forget(p, base, bytes);
	serve_disown(p, base, bytes);
	madvise((void *)(uintptr_t)base, bytes, MADV_DONTNEED);
}

void serve_disown(struct uvmp_pager *p, uint64_t base, uint64_t bytes)
{
	while (bytes != 0) {
		const struct area *area = areas_find(&p->areas, base);
		uint64_t offset = base % BLOCK_BYTES, some = BLOCK_BYTES - offset;
		struct uvmp_region run;

		if (!area) /* the engine will say so */
			return;
		some = some < bytes ? some : bytes;
		run = (struct uvmp_region){(uint32_t)(offset / p->page_bytes),
		                           (uint32_t)((offset + some) / p->page_bytes)};
		disown_run(p, area, block_of(area, base), run);
		base += some;
		bytes -= some;
	}
}

/* -- who waits in vain -- */

/* SIGBUS, as when the kernel cannot read a page. Only the kernel may fill in si_addr. */
static void kill_thread(const struct waiting *waiting)
{
	siginfo_t info = {.si_signo = SIGBUS, .si_code = SI_QUEUE};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = (void *)(uintptr_t)waiting->address;
	if (waiting->tid == 0 || syscall(SYS_rt_tgsigqueueinfo, getpid(), waiting->tid, SIGBUS, &info) != 0)
		kill(getpid(), SIGBUS);
}

static void cancel(struct uvmp_pager *p, const struct uvmp_action *a)
{
	pager_show(p); /* it may be the end of the process */
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
	char text[UVMP_ACTION_TEXT_MAX];

	if (p->log && uvmp_action_print(a, text, sizeof(text)) == UVMP_OK)
		fprintf(p->log, "%s\n", text);
	switch ((enum uvmp_action_kind)a->kind) {
	case UVMP_ACTION_BATCH:
		p->stats.batches++;
		p->stats.duplicates += a->count - a->detail;
		return UVMP_OK;
	case UVMP_ACTION_POPULATE: /* on the CPU: what the store does not know is zero */
		return a->to == GPU ? bring(p, a) : UVMP_OK;
	case UVMP_ACTION_COPY:
		return a->to == GPU ? bring(p, a) : send(p, a);
	case UVMP_ACTION_DISCARD: /* on advice the pages stay for now */
		return a->cause == UVMP_CAUSE_EVICTION ? send(p, a) : UVMP_OK;
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

enum uvmp_status serve_pump(struct uvmp_pager *p, uint64_t ticket)
{
	enum uvmp_status status = UVMP_OK;
	struct uvmp_action action;

	waiting_report(p);
	while (uvmp_service_next(p->service, p->now_ns, &action) == UVMP_OK) {
		uvmp_service_complete(p->service, action.id, perform(p, &action));
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

static void take_write(struct uvmp_pager *p, struct block *block, uint64_t address, uint32_t page,
                       uint32_t tid)
{
	p->stats.write_faults++;
	if (uvmp_mask_test(&block->here, page) && !uvmp_mask_test(&block->aside, page)) {
		uvmp_mask_set(&block->dirty, page);
		touch(p, address, tid, true);
	}
	uffd_protect(&p->uffd, address, p->page_bytes, false);
	uffd_wake(&p->uffd, address, p->page_bytes);
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

static void take(struct uvmp_pager *p, const struct uffd_msg *message)
{
	uint64_t address = message->arg.pagefault.address & ~(uint64_t)(p->page_bytes - 1u);
	const struct area *area = areas_find(&p->areas, address);
	uint64_t flags = message->arg.pagefault.flags;
	uint32_t tid = p->uffd.has_tid ? message->arg.pagefault.feat.ptid : 0, page;
	struct block *block;

	if (message->event != UFFD_EVENT_PAGEFAULT)
		return;
	if (!area) { /* freed meanwhile */
		uffd_wake(&p->uffd, address, p->page_bytes);
		return;
	}
	block = block_of(area, address);
	page = (uint32_t)((address - area->base) % BLOCK_BYTES / p->page_bytes);
	if ((flags & UFFD_PAGEFAULT_FLAG_WP) != 0)
		take_write(p, block, address, page, tid);
	else
		take_missing(p, block, address, page, tid, (flags & UFFD_PAGEFAULT_FLAG_WRITE) != 0);
}

/* The engine's clock. It is that of the rows that are recorded, so that the simulator has the same one. */
static void pass_time(struct uvmp_pager *p)
{
	uint64_t now_ns = (pager_now_ns() - p->start_ns) / 1000u * 1000u;

	if (now_ns > p->now_ns)
		p->now_ns = now_ns;
}

/* The engine's fault buffer holds what is pending, as a GPU's does; batches are made of it as the policy
 * says. */
bool serve_take(struct uvmp_pager *p)
{
	struct uffd_msg message[MESSAGES_MOST];
	uint32_t room = p->fault_room, asked, got = 0;

	do {
		ssize_t bytes;

		asked = room < MESSAGES_MOST ? room : MESSAGES_MOST;
		bytes = read(p->uffd.fd, message, asked * sizeof(message[0]));
		pass_time(p);
		got = bytes <= 0 ? 0 : (uint32_t)((size_t)bytes / sizeof(message[0]));
		for (uint32_t i = 0; i < got; i++)
			take(p, &message[i]);
		room -= got;
	} while (got == asked && room != 0);
	trace_file_batch(p->trace);
	return got == asked;
}
