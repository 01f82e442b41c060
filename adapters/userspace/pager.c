/* The program's calls, the servicing thread, and what happens at a fork. */
#include "high_fd.h"
#include "pager_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES_LEAST 1024u
#define ENTRIES_MOST  65536u
#define CUTS_MOST     2048u /* of memory by advice: each makes a range, and a block of the engine, more */
#define AREAS_MOST    8192u /* at a time */
#define LARGE_PAGE    65536u
#define TIMES_BUDGET  64u /* managed memory, if nothing else is said */
/* Managed: the engine's (service.h), less those that ranges may need. */
#define BLOCKS_MOST ((1u << 24) - CUTS_MOST - AREAS_MOST)
#define HOLES_MOST  64u
#define SEED        1u    /* of what is random, as uvmsim's unless told otherwise */
#define SAMPLE_MOST 4096u /* pages */
#define FLUSH_MS    500u  /* a row waits no longer before it is in the file */
/* Of arena, for what the engine may keep of a block beside the usual (service.h); not used before it is
 * needed. */
#define EACH_BYTES 45056u

/* -- all pagers of the process, for fork -- */

#define VAIN_MOST 1000u /* cancels, after which the next ones */
#define VAIN_MS   10    /* come this much apart */

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uvmp_pager *all;

/* -- creating -- */

void uvmp_pager_config_init(struct uvmp_pager_config *config)
{
	*config = (struct uvmp_pager_config){.page_bytes = 4096, .batch_threads = 1};
}

struct error {
	char *text;
	size_t bytes;
};

static int refuse(struct error error, int number, const char *format, ...)
{
	va_list arguments;

	if (error.bytes == 0)
		return number;
	va_start(arguments, format);
	vsnprintf(error.text, error.bytes, format, arguments);
	va_end(arguments);
	return number;
}

static int check(const struct uvmp_pager_config *c, struct error error)
{
	uint64_t most = (uint64_t)1 << 46;

	if (c->budget_bytes < UVMP_PAGER_BUDGET_LEAST)
		return refuse(error, -EINVAL,
		              "budget: %llu bytes are not accepted; 8 MiB and more: one instruction may need "
		              "four VABlocks at once",
		              (unsigned long long)c->budget_bytes);
	if (c->budget_bytes > most)
		return refuse(error, -EINVAL, "budget: %llu bytes are not accepted; 64 TiB at most",
		              (unsigned long long)c->budget_bytes);
	if (c->managed_bytes != 0 && (c->managed_bytes < BLOCK_BYTES || c->managed_bytes > most))
		return refuse(error, -EINVAL, "managed memory: %llu bytes are not accepted; 2 MiB and more",
		              (unsigned long long)c->managed_bytes);
	if (c->page_bytes != 4096 && c->page_bytes != 65536)
		return refuse(error, -EINVAL, "pages of %u bytes are not accepted; 4096 65536",
		              c->page_bytes);
	if (c->sample_pages > SAMPLE_MOST)
		return refuse(error, -EINVAL, "a sample of %u pages is not accepted; 0..%u", c->sample_pages,
		              SAMPLE_MOST);
	if (c->batch_threads < 1 || c->batch_threads > 16)
		return refuse(error, -EINVAL, "%u threads are not accepted; 1..16", c->batch_threads);
	if (c->managed_bytes / BLOCK_BYTES > BLOCKS_MOST)
		return refuse(
		        error, -EINVAL,
		        "managed memory (managed_bytes, --managed): %llu bytes are not accepted; %llu at "
		        "most",
		        (unsigned long long)c->managed_bytes, BLOCKS_MOST * (unsigned long long)BLOCK_BYTES);
	return 0;
}

static int take_policy(struct uvmp_pager *p, const struct uvmp_pager_config *c, struct error error)
{
	const char *text = c->policy ? c->policy : getenv("UVMP_POLICY");
	struct uvmp_policy_error what;

	if (!text)
		text = UVMP_PAGER_POLICY;
	uvmp_policy_init(&p->policy);
	if (uvmp_policy_parse(text, strlen(text), &p->policy, &what) != UVMP_OK)
		return refuse(error, -EINVAL, "policy: %s", what.text);
	if (p->policy.evict != UVMP_EVICT_LRU && p->policy.evict != UVMP_EVICT_LRU_2M &&
	    c->page_bytes != 4096)
		return refuse(error, -EINVAL,
		              "policy: with pages of %u bytes only evict=lru and evict=lru2m work",
		              c->page_bytes);
	if (p->policy.replay.max_batches == 0 && p->policy.quirks)
		return refuse(error, -EINVAL, "policy: max_batches=0 services nothing");
	return 0;
}

static uint32_t entries(const struct uvmp_policy *policy)
{
	uint32_t batch = policy->replay.max_batch;

	if (batch < ENTRIES_LEAST)
		return ENTRIES_LEAST;
	return batch < ENTRIES_MOST ? batch + 1u : ENTRIES_MOST;
}

/* A policy may hold more than its memory, as if it were compressed; here it is not: the budget is what it
 * holds. */
static uint64_t memory_for(const struct uvmp_policy *policy, uint64_t budget)
{
	uint64_t bytes = budget * 100u / policy->memory_ratio / LARGE_PAGE * LARGE_PAGE;

	return bytes < BLOCK_BYTES ? BLOCK_BYTES : bytes;
}

static int open_engine(struct uvmp_pager *p, uint64_t budget, uint64_t managed, struct error error)
{
	uint64_t held = memory_for(&p->policy, budget);
	struct uvmp_processors processors = {.count = 2, .can_access = {1u, 2u}, .native_atomics = {1u, 2u}};
	struct uvmp_service_gpu gpu = {
	        .memory_bytes = held, .fault_entries = entries(&p->policy), .utlbs = UTLBS};
	struct uvmp_service_params params = {.policy = &p->policy,
	                                     .processors = &processors,
	                                     .gpu = &gpu,
	                                     .page_bytes = p->page_bytes,
	                                     .blocks = (uint32_t)(managed / BLOCK_BYTES),
	                                     .spaces = 1,
	                                     .instances = 1,
	                                     .requests = 16,
	                                     .seed = SEED};
	size_t size;

	params.ranges = CUTS_MOST + (params.blocks < AREAS_MOST ? params.blocks : AREAS_MOST);
	params.blocks += params.ranges;
	p->fault_room = gpu.fault_entries - 1u;
	gpu.splits = 16;
	if (gpu.splits > held / BLOCK_BYTES)
		gpu.splits = (uint32_t)(held / BLOCK_BYTES);
	size = uvmp_service_size(&params, params.blocks);
	if (size == 0)
		return refuse(error, -EINVAL, "budget or managed memory is too large for this policy");
	p->arena_bytes = size + (size_t)params.blocks * EACH_BYTES;
	p->arena = mmap(NULL, p->arena_bytes, PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p->arena == MAP_FAILED) {
		p->arena = NULL;
		return refuse(error, -ENOMEM, "no address space for the engine");
	}
	if (uvmp_service_init(&params, p->arena, p->arena_bytes, &p->service) != UVMP_OK)
		return refuse(error, -EINVAL, "the policy does not work with this memory");
	uvmp_service_bind(p->service, GPU, UVMP_APERTURE_VID, 0, 0, SPACE);
	return 0;
}

/* -- statistics that others look at -- */

static void count(struct uvmp_pager *p, struct uvmp_pager_stats *stats)
{
	*stats = p->stats;
	stats->managed_bytes = p->areas.bytes;
	stats->store_bytes = p->store->size(p->store);
	stats->trace_error = trace_file_error(p->trace);
}

void pager_show(struct uvmp_pager *p)
{
	if (p->shown)
		count(p, p->shown);
}

/* -- the lock, taken and given back -- */

/* Who holds a lock of ours must come to its end: a handler of a signal may touch managed memory, which nobody
 * would service, and a thread that is cancelled leaves the lock held for good. */
static void hold_off(struct pager_caller *caller)
{
	sigset_t every;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &caller->cancel_state);
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &caller->mask);
}

static void hold_off_no_more(const struct pager_caller *caller)
{
	int ours;

	pthread_sigmask(SIG_SETMASK, &caller->mask, NULL);
	pthread_setcancelstate(caller->cancel_state, &ours);
}

/* What is known of managed memory is true from here on. */
static void enter(struct uvmp_pager *p)
{
	struct pager_caller caller;

	hold_off(&caller);
	pthread_mutex_lock(&p->lock);
	p->caller = caller;
	away_settle(p);
}

/* Faults that a call has read, for a message that came with them, are nobody else's any more. */
static void release(struct uvmp_pager *p)
{
	if (p->heards != 0 || p->departures != 0)
		serve_all(p);
	pager_show(p);
	pthread_mutex_unlock(&p->lock);
}

static void leave(struct uvmp_pager *p)
{
	struct pager_caller caller = p->caller;

	release(p);
	hold_off_no_more(&caller);
}

/* -- the servicing thread -- */

/* The program has closed the userfaultfd: what is missing would read as zeros from now on. */
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
	bool is_vain;

	if (p->thread_began)
		p->thread_began();
	for (;;) {
		uint64_t start_ns;

		if (poll(fds, 2, p->sample.pages != 0 ? SAMPLE_MS : is_row_waiting ? (int)FLUSH_MS : -1) < 0)
			continue;
		if (((fds[0].revents & (POLLNVAL | POLLERR | POLLHUP)) | (fds[1].revents & POLLNVAL)) != 0)
			give_up_all();
		if (fds[1].revents != 0)
			return NULL;
		pthread_mutex_lock(&p->lock);
		start_ns = pager_now_ns();
		serve_all(p);
		sample_turn(p);
		if (start_ns - flushed_ns >= FLUSH_MS * 1000000u) {
			trace_file_flush(p->trace);
			flushed_ns = start_ns;
		}
		is_row_waiting = trace_file_waits(p->trace);
		p->stats.service_ns += pager_now_ns() - start_ns;
		is_vain = p->vain >= VAIN_MOST;
		release(p);
		if (is_vain) /* whoever cannot be killed tries again at once, for ever */
			(void)poll(&fds[1], 1, VAIN_MS);
	}
}

int pager_thread(pthread_t *thread, void *(*begin)(void *), void *context)
{
	sigset_t every, before;
	int error;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	error = pthread_create(thread, NULL, begin, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

static int start(struct uvmp_pager *p, uint32_t copy_threads)
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

static void stop(struct uvmp_pager *p)
{
	if (!p->is_running)
		return;
	close(p->stop[1]);
	pthread_join(p->thread, NULL);
	copiers_close(&p->copiers);
	close(p->stop[0]);
	p->is_running = false;
}

/* Does the policy look at touches? As the simulator tells it. */
static bool wants_touches(const struct uvmp_policy *policy)
{
	return policy->evict != UVMP_EVICT_LRU || !policy->quirks ||
	       policy->prefetch.prefetcher == UVMP_PREFETCH_PATTERN ||
	       policy->prefetch_full == 1u + UVMP_PREFETCH_PATTERN;
}

static int open_trace(struct uvmp_pager *p, const struct uvmp_pager_config *c, struct error error)
{
	char policy[UVMP_POLICY_TEXT_MAX];
	int status;

	if (!c->trace)
		return 0;
	p->trace = trace_file_open(c->trace, &status);
	if (status == -ENOTSUP)
		return refuse(error, status, "%s cannot be compressed: built without zstd", c->trace);
	if (!p->trace)
		return refuse(error, status, "%s: %s", c->trace, strerror(-status));
	uvmp_pager_policy(p, policy, sizeof(policy));
	trace_file_comment(p->trace, "recorded by the pager of libuvmpolicy from %s",
	                   program_invocation_short_name);
	trace_file_comment(p->trace, "uvmsim run --memory %llu --policy '%s'",
	                   (unsigned long long)c->budget_bytes, policy);
	trace_file_comment(p->trace, "pages of %u bytes; %u resident ones sampled every %u ms", p->page_bytes,
	                   p->sample.pages, SAMPLE_MS);
	trace_file_flush(p->trace);
	return 0;
}

static const char *why_no_userfaultfd(const struct uvmp_pager *p, int status)
{
	if (status != -ENOTSUP)
		return strerror(-status);
	return p->store->is_mapped
	               ? "store map needs UFFDIO_CONTINUE for memory files, which this kernel does not have "
	                 "(Linux 5.14 does)"
	               : "this kernel cannot write-protect pages, which keeps writes from being lost (Linux "
	                 "5.7 "
	                 "can); store map works without";
}

/* Whole blocks. */
static uint64_t managed_for(const struct uvmp_pager_config *c)
{
	uint64_t most = BLOCKS_MOST * (uint64_t)BLOCK_BYTES;
	uint64_t bytes = c->managed_bytes != 0 ? c->managed_bytes : TIMES_BUDGET * c->budget_bytes;

	return (bytes < most ? bytes : most) / BLOCK_BYTES * BLOCK_BYTES;
}

static int open_all(struct uvmp_pager *p, const struct uvmp_pager_config *c, struct error error)
{
	uint64_t managed = managed_for(c);
	char text[256] = "";
	int status = take_policy(p, c, error);

	if (status == 0)
		status = open_engine(p, c->budget_bytes, managed, error);
	if (status != 0)
		return status;
	if (!p->store)
		p->store = uvmp_store_open(c->store ? c->store : "mem", managed / UVMP_STORE_PAGE_BYTES,
		                           &status, text, sizeof(text));
	if (!p->store)
		return refuse(error, status, "%s", text);
	if (p->store->is_mapped && !c->own_store)
		p->store->fd = high_fd(p->store->fd);
	p->areas.most = managed;
	p->areas.page_bytes = p->page_bytes;
	p->bounce = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->bounce == MAP_FAILED) {
		p->bounce = NULL;
		return refuse(error, -ENOMEM, "out of memory");
	}
	status = uffd_open(&p->uffd, c->is_user_mode, p->store->is_mapped);
	if (status != 0)
		return refuse(error, status, "userfaultfd: %s", why_no_userfaultfd(p, status));
	p->start_ns = pager_now_ns();
	p->wants_touches = wants_touches(&p->policy);
	status = sample_open(&p->sample, p->uffd.is_mapped ? 0 : c->sample_pages, p->page_bytes);
	if (status != 0)
		return refuse(error, status, "out of memory");
	status = open_trace(p, c, error);
	if (status != 0)
		return status;
	status = start(p, c->batch_threads);
	return status == 0 ? 0 : refuse(error, status, "no thread: %s", strerror(-status));
}

/* What is unregistered first sends no message, for which nobody but us would be there; what cannot be is
 * left. */
static void unmap_area(struct uvmp_pager *p, const struct area *area)
{
	uint64_t first = area->base, bytes = 0;

	for (; area_next_ours(area, first, &first, &bytes); first += bytes) {
		p->store->forget(p->store, area->store_page + (first - area->base) / UVMP_STORE_PAGE_BYTES,
		                 bytes / UVMP_STORE_PAGE_BYTES);
		mprotect((void *)(uintptr_t)first, bytes, PROT_NONE); /* whoever waits there reads no zeros */
		if (uffd_unregister(&p->uffd, first, bytes) != 0)
			continue;
		if (p->trace) /* the trace must not see the address again: it stays taken */
			madvise((void *)(uintptr_t)first, bytes, MADV_DONTNEED);
		else
			munmap((void *)(uintptr_t)first, bytes);
	}
}

static void close_all(struct uvmp_pager *p)
{
	stop(p);
	(void)trace_file_close(p->trace);
	p->trace = NULL;
	for (size_t i = 0; i < p->areas.count; i++)
		unmap_area(p, p->areas.area[i]);
	areas_close(&p->areas);
	if (p->uffd.fd >= 0)
		close(p->uffd.fd);
	if (p->store)
		p->store->close(p->store);
	if (p->arena)
		munmap(p->arena, p->arena_bytes);
	if (p->bounce)
		munmap(p->bounce, BLOCK_BYTES);
	pthread_mutex_destroy(&p->lock);
	free(p->waiting);
	free(p->heard);
	free(p->departed);
	sample_close(&p->sample);
	threads_close(&p->threads);
	free(p);
}

static int create(const struct uvmp_pager_config *c, struct uvmp_pager **pager, char *text, size_t text_bytes)
{
	struct error error = {text, text ? text_bytes : 0};
	struct uvmp_pager *p = c && pager ? calloc(1, sizeof(*p)) : NULL;
	int status;

	if (!p && c && c->own_store)
		c->own_store->close(c->own_store);
	if (!c || !pager)
		return refuse(error, -EINVAL, "no configuration");
	if (!p)
		return refuse(error, -ENOMEM, "out of memory");
	pthread_mutex_init(&p->lock, NULL);
	p->uffd.fd = -1;
	p->store = c->own_store;
	p->thread_began = c->thread_began;
	p->log = c->log;
	p->page_bytes = c->page_bytes;
	p->stats.budget_bytes = c->budget_bytes / BLOCK_BYTES * BLOCK_BYTES;
	status = check(c, error);
	if (status == 0)
		status = open_all(p, c, error);
	if (status != 0) {
		close_all(p);
		return status;
	}
	pthread_mutex_lock(&all_lock);
	p->next = all;
	all = p;
	pthread_mutex_unlock(&all_lock);
	*pager = p;
	return 0;
}

int uvmp_pager_create(const struct uvmp_pager_config *c, struct uvmp_pager **pager, char *text,
                      size_t text_bytes)
{
	struct pager_caller caller;
	int status;

	hold_off(&caller);
	status = create(c, pager, text, text_bytes);
	hold_off_no_more(&caller);
	return status;
}

void uvmp_pager_destroy(struct uvmp_pager *p)
{
	struct uvmp_pager **at = &all;
	struct pager_caller caller;

	if (!p)
		return;
	hold_off(&caller);
	pthread_mutex_lock(&all_lock);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	pthread_mutex_unlock(&all_lock);
	close_all(p);
	hold_off_no_more(&caller);
}

/* -- memory -- */

/* Address space that begins with a block. */
static uint8_t *reserve(uint64_t bytes)
{
	uint8_t *memory = mmap(NULL, bytes + BLOCK_BYTES, PROT_READ | PROT_WRITE,
	                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t before;

	if (memory == MAP_FAILED)
		return NULL;
	before = (BLOCK_BYTES - (uint64_t)(uintptr_t)memory % BLOCK_BYTES) % BLOCK_BYTES;
	if (before != 0)
		munmap(memory, before);
	munmap(memory + before + bytes, BLOCK_BYTES - before);
	return memory + before;
}

/* Not in a hole that the program has made in an area: the engine knows that as a whole. */
static uint8_t *reserve_apart(const struct uvmp_pager *p, uint64_t bytes)
{
	uint8_t *hole[HOLES_MOST], *memory = NULL;
	size_t holes = 0;

	while (!memory && holes < HOLES_MOST) {
		memory = reserve(bytes);
		if (!memory)
			break;
		if (areas_overlap(&p->areas, (uint64_t)(uintptr_t)memory, bytes)) {
			hole[holes++] = memory;
			memory = NULL;
		}
	}
	while (holes != 0)
		munmap(hole[--holes], bytes);
	return memory;
}

static bool map_area(const struct uvmp_pager *p, const struct area *area, uint64_t first, uint64_t bytes)
{
	uint64_t offset = area->store_page * UVMP_STORE_PAGE_BYTES + (first - area->base);

	return mmap((void *)(uintptr_t)first, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
	            p->store->fd, (off_t)offset) != MAP_FAILED;
}

/* Pages of 4 KiB come and go: the kernel is not to make larger ones of them. */
static bool add_area(struct uvmp_pager *p, uint64_t base, uint64_t asked)
{
	struct area *area = areas_add(&p->areas, base, asked);

	if (!area)
		return false;
	if (p->store->is_mapped && !map_area(p, area, base, area->bytes)) {
		areas_remove(&p->areas, area);
		return false;
	}
	madvise((void *)(uintptr_t)base, area->bytes, MADV_NOHUGEPAGE);
	if (uffd_register(&p->uffd, base, area->bytes) == 0) {
		if (uvmp_service_add_range(p->service, SPACE, base, area->bytes, UVMP_PROT_READ_WRITE_ATOMIC,
		                           UVMP_PROC_NONE) == UVMP_OK)
			return true;
		uffd_unregister(&p->uffd, base, area->bytes);
	}
	areas_remove(&p->areas, area);
	return false;
}

void *uvmp_pager_alloc(struct uvmp_pager *p, size_t asked)
{
	uint64_t bytes = ((uint64_t)asked + BLOCK_BYTES - 1u) / BLOCK_BYTES * BLOCK_BYTES;
	uint8_t *memory;
	bool is_added;

	if (!p || asked == 0) {
		errno = EINVAL;
		return NULL;
	}
	enter(p);
	memory = bytes < asked || bytes > (uint64_t)1 << 46 ? NULL : reserve_apart(p, bytes);
	if (memory) {
		is_added = add_area(p, (uint64_t)(uintptr_t)memory, asked);
		if (is_added && p->areas.bytes > p->stats.peak_managed_bytes)
			p->stats.peak_managed_bytes = p->areas.bytes;
		if (is_added)
			trace_file_range(p->trace, (uint64_t)(uintptr_t)memory, bytes);
		if (!is_added) {
			munmap(memory, bytes);
			memory = NULL;
		}
	}
	leave(p);
	if (!memory)
		errno = ENOMEM;
	return memory;
}

/* Requests: the lock is held, and what the engine wants done for them is done here. */
static int finish(struct uvmp_pager *p, enum uvmp_status queued, uint64_t ticket)
{
	enum uvmp_status status = queued;

	p->error = 0;
	if (queued == UVMP_OK)
		status = serve_pump(p, ticket);
	if (status == UVMP_OK)
		return 0;
	if (p->error != 0)
		return p->error;
	return status == UVMP_ERR_UNKNOWN || status == UVMP_ERR_RANGE ? -EINVAL : -ENOMEM;
}

void pager_free_area(struct uvmp_pager *p, struct area *area)
{
	uint64_t ticket = 0;
	enum uvmp_status queued;

	queued = uvmp_service_free_range(p->service, SPACE, area->base, &ticket);
	(void)finish(p, queued, ticket);
	for (uint64_t i = 0; i < area->bytes / BLOCK_BYTES; i++)
		p->stats.resident_bytes -= (uint64_t)uvmp_mask_weight(&area->block[i].here) * p->page_bytes;
	sample_forget(p, area->base, area->bytes);
	trace_file_free(p->trace, area->base);
	unmap_area(p, area);
	areas_remove(&p->areas, area);
}

int uvmp_pager_free(struct uvmp_pager *p, void *memory)
{
	uint64_t base = (uint64_t)(uintptr_t)memory;
	struct area *area;

	if (!memory)
		return 0;
	if (!p)
		return -EINVAL;
	enter(p);
	area = areas_find(&p->areas, base);
	if (area && area->base == base)
		pager_free_area(p, area);
	else
		area = NULL;
	leave(p);
	return area ? 0 : -EINVAL;
}

/* From here to the end of the area, or to what is lost. */
static uint64_t usable(const struct area *area, uint64_t base)
{
	uint64_t first, bytes;

	if (!area || !area_next_ours(area, base, &first, &bytes))
		return 0;
	return first == base ? bytes : 0;
}

/* The area that holds all of these whole pages; NULL: none does. */
static struct area *whole_pages(const struct uvmp_pager *p, uint64_t base, uint64_t bytes)
{
	struct area *area = areas_find(&p->areas, base);

	if (!area || base % p->page_bytes != 0 || bytes % p->page_bytes != 0 || bytes > usable(area, base))
		return NULL;
	return area;
}

int uvmp_pager_unmap(struct uvmp_pager *p, void *memory, size_t bytes)
{
	uint64_t base = (uint64_t)(uintptr_t)memory;
	struct area *area;

	if (!p || bytes == 0)
		return -EINVAL;
	enter(p);
	area = whole_pages(p, base, bytes);
	if (area) {
		area_give(area, base, bytes, false);
		if (area->held == 0)
			pager_free_area(p, area);
		else
			serve_clear(p, base, bytes);
	}
	leave(p);
	return area ? 0 : -EINVAL;
}

/* Whole pages within the range: what shares a page with its neighbours keeps it. */
static int give_up(struct uvmp_pager *p, const void *memory, size_t bytes,
                   void (*how)(struct uvmp_pager *, uint64_t, uint64_t))
{
	uint64_t mask = p ? p->page_bytes - 1u : 0, base = (uint64_t)(uintptr_t)memory;
	uint64_t first = (base + mask) & ~mask, end = (base + bytes) & ~mask;
	bool is_ours;

	if (!p || bytes > UINT64_MAX - base)
		return -EINVAL;
	enter(p);
	is_ours = first < end ? whole_pages(p, first, end - first) != NULL
	                      : areas_find(&p->areas, base) != NULL;
	if (is_ours && first < end)
		how(p, first, end - first);
	leave(p);
	return is_ours ? 0 : -EINVAL;
}

int uvmp_pager_clear(struct uvmp_pager *p, void *memory, size_t bytes)
{
	return give_up(p, memory, bytes, serve_clear);
}

size_t uvmp_pager_usable(struct uvmp_pager *p, const void *memory)
{
	uint64_t base = (uint64_t)(uintptr_t)memory;
	size_t bytes;

	if (!p)
		return 0;
	enter(p);
	bytes = (size_t)usable(areas_find(&p->areas, base), base);
	leave(p);
	return bytes;
}

/* Whole pages around [*base, *base + *bytes). */
static bool take_pages(const struct uvmp_pager *p, uint64_t *base, uint64_t *bytes)
{
	uint64_t end = *base + *bytes, mask = p->page_bytes - 1u;

	if (*bytes == 0 || end < *base || end > UINT64_MAX - mask)
		return false;
	*base &= ~mask;
	*bytes = ((end + mask) & ~mask) - *base;
	return true;
}

int uvmp_pager_prefetch(struct uvmp_pager *p, const void *memory, size_t asked, bool is_in)
{
	uint64_t base = (uint64_t)(uintptr_t)memory, bytes = asked, ticket = 0;
	enum uvmp_status queued;
	int error;

	if (!p || !take_pages(p, &base, &bytes))
		return -EINVAL;
	enter(p);
	queued = uvmp_service_migrate(p->service, SPACE, base, bytes, is_in ? GPU : UVMP_CPU, &ticket);
	error = finish(p, queued, ticket);
	if (error == 0)
		trace_file_prefetch(p->trace, base, bytes, is_in);
	leave(p);
	return error;
}

struct translation {
	enum uvmp_advice advice;
	uint32_t processor;
	const char *row; /* of the trace */
};

static bool translate(enum uvmp_pager_advice advice, struct translation *to)
{
	static const struct translation table[] = {
	        [UVMP_PAGER_PREFER_RESIDENT] = {UVMP_ADVISE_PREFERRED, GPU, "preferred,gpu"},
	        [UVMP_PAGER_PREFER_STORE] = {UVMP_ADVISE_PREFERRED, UVMP_CPU, "preferred,cpu"},
	        [UVMP_PAGER_PREFER_NONE] = {UVMP_ADVISE_PREFERRED, UVMP_PROC_NONE, "preferred,none"},
	        [UVMP_PAGER_ACCESSED_BY] = {UVMP_ADVISE_ACCESSED_BY, GPU, "accessed-by,gpu"}};

	if ((uint32_t)advice >= sizeof(table) / sizeof(table[0]))
		return false;
	*to = table[advice];
	return true;
}

int uvmp_pager_advise(struct uvmp_pager *p, void *memory, size_t asked, enum uvmp_pager_advice advice)
{
	uint64_t base = (uint64_t)(uintptr_t)memory, bytes = asked, ticket = 0;
	enum uvmp_status queued;
	struct translation to;
	int error;

	if (advice == UVMP_PAGER_DISCARD) /* no decision changes; and the engine's advice would cut blocks */
		return give_up(p, memory, asked, serve_disown);
	if (advice == UVMP_PAGER_READ_MOSTLY) /* a clean page has its second copy, in the store */
		return asked != 0 && asked <= uvmp_pager_usable(p, memory) ? 0 : -EINVAL;
	if (!p || !translate(advice, &to) || !take_pages(p, &base, &bytes))
		return -EINVAL;
	enter(p);
	queued = uvmp_service_advise(p->service, SPACE, base, bytes, to.advice, to.processor, &ticket);
	error = finish(p, queued, ticket);
	if (error == 0)
		trace_file_advise(p->trace, to.row, base, bytes);
	leave(p);
	return error;
}

/* -- looking -- */

/* A process ends with this: it does not wait for a store that does not answer. */
static int flush(struct uvmp_pager *p)
{
	struct timespec until;
	int error;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	if (pthread_mutex_timedlock(&p->lock, &until) != 0)
		return -EBUSY;
	if (p->log)
		fflush(p->log);
	trace_file_flush(p->trace);
	error = trace_file_error(p->trace);
	pthread_mutex_unlock(&p->lock);
	return error;
}

int uvmp_pager_flush(struct uvmp_pager *p)
{
	struct pager_caller caller;
	int error;

	if (!p)
		return -EINVAL;
	hold_off(&caller);
	error = flush(p);
	hold_off_no_more(&caller);
	return error;
}

void uvmp_pager_stats(struct uvmp_pager *p, struct uvmp_pager_stats *stats)
{
	struct uvmp_pager_stats now;

	enter(p);
	count(p, &now);
	leave(p);
	*stats = now; /* may be managed memory */
}

void uvmp_pager_show_stats(struct uvmp_pager *p, struct uvmp_pager_stats *shown)
{
	enter(p);
	p->shown = shown;
	leave(p);
}

struct feature {
	bool is_there;
	const char *with, *without; /* NULL: nothing to be said */
};

void uvmp_pager_features(struct uvmp_pager *p, char *text, size_t bytes)
{
	const struct feature feature[] = {
	        {p->uffd.serves_kernel, "System calls may be given managed memory that is not resident.",
	         "System calls fail with EFAULT on managed memory that is not resident: this process may not "
	         "handle faults of the kernel. (Under uvmp-run the C library's calls copy through other "
	         "memory.)"},
	        {p->uffd.is_mapped,
	         "Managed memory is mapped from a memory file: nothing is copied or written, and no memory "
	         "saved.",
	         NULL},
	        {!p->uffd.is_mapped, "Pages that were not changed leave without a write.", NULL},
	        {p->uffd.has_tid, "Faults tell their thread.",
	         "Faults do not tell their thread: traces have one, errors go to the process."},
	        {p->uffd.has_events,
	         "Managed memory that is unmapped or moved behind the pager's back is let go.",
	         "This kernel does not tell what is unmapped or moved behind the pager's back: the program "
	         "must not do "
	         "that."}};
	size_t used = 0;

	if (bytes != 0)
		text[0] = '\0';
	for (size_t i = 0; i < sizeof(feature) / sizeof(feature[0]) && used < bytes; i++) {
		const char *line = feature[i].is_there ? feature[i].with : feature[i].without;

		if (line)
			used += (size_t)snprintf(text + used, bytes - used, "%s\n", line);
	}
}

int uvmp_pager_next_descriptor(const struct uvmp_pager *p, int from)
{
	const int ours[] = {p->uffd.fd, p->stop[0], p->stop[1], p->store->fd > 0 ? p->store->fd : -1,
	                    trace_file_descriptor(p->trace)};
	int next = -1;

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (ours[i] >= from && (next < 0 || ours[i] < next))
			next = ours[i];
	}
	return next;
}

bool uvmp_pager_serves_kernel(const struct uvmp_pager *p)
{
	return p->uffd.serves_kernel;
}

void uvmp_pager_policy(struct uvmp_pager *p, char *text, size_t bytes)
{
	if (uvmp_policy_print(&p->policy, text, bytes) != UVMP_OK && bytes != 0)
		text[0] = '\0';
}

/* -- fork -- */

static struct pager_caller at_fork; /* of who has all_lock */

static void before_fork(void)
{
	struct pager_caller caller;

	hold_off(&caller);
	pthread_mutex_lock(&all_lock);
	at_fork = caller;
	for (struct uvmp_pager *p = all; p; p = p->next) {
		pthread_mutex_lock(&p->lock);
		away_listen(p); /* the child will not be told */
		away_settle(p);
		if (p->log)
			fflush(p->log); /* what the child inherits is not to be written twice */
		if (p->store->fork)
			(void)p->store->fork(p->store, UVMP_STORE_BEFORE_FORK);
	}
}

static void in_parent(void)
{
	struct pager_caller caller = at_fork;

	for (struct uvmp_pager *p = all; p; p = p->next) {
		if (p->store->fork)
			(void)p->store->fork(p->store, UVMP_STORE_PARENT);
		release(p);
	}
	pthread_mutex_unlock(&all_lock);
	hold_off_no_more(&caller);
}

/* Mapped memory would be the parent's: its copy takes the place. Protection is not inherited. */
static bool begin_area(struct uvmp_pager *p, struct area *area)
{
	uint64_t first = area->base, bytes = 0;

	for (; area_next_ours(area, first, &first, &bytes); first += bytes) {
		if (p->store->is_mapped && !map_area(p, area, first, bytes))
			return false;
		if (uffd_register(&p->uffd, first, bytes) != 0)
			return false;
	}
	for (uint64_t i = 0; i < area->bytes / BLOCK_BYTES; i++)
		area->block[i].dirty = area->block[i].here;
	return true;
}

/* The child has the memory and all that is known of it, but neither thread nor registration. The descriptor
 * is the parent's: what it is asked for happens to the parent's memory. */
static bool begin_again(struct uvmp_pager *p)
{
	bool is_user_mode = !p->uffd.serves_kernel;

	p->log = NULL; /* the parent's, as is the trace */
	trace_file_leave(p->trace);
	p->trace = NULL;
	close(p->uffd.fd);
	close(p->stop[0]);
	close(p->stop[1]);
	p->uffd.fd = -1;
	p->is_running = false;
	p->shown = NULL;
	p->stats = (struct uvmp_pager_stats){.budget_bytes = p->stats.budget_bytes,
	                                     .resident_bytes = p->stats.resident_bytes,
	                                     .peak_managed_bytes = p->areas.bytes};
	p->waitings = p->untold = p->heards = p->departures = 0;
	if (p->store->fork && p->store->fork(p->store, UVMP_STORE_CHILD) != 0)
		return false;
	if (uffd_open(&p->uffd, is_user_mode, p->store->is_mapped) != 0)
		return false;
	for (size_t i = 0; i < p->areas.count; i++) {
		if (!begin_area(p, p->areas.area[i]))
			return false;
	}
	return start(p, p->copiers.wanted) == 0;
}

/* What is missing must not read as zeros. */
static void close_off(const struct area *area)
{
	uint64_t first = area->base, bytes = 0;

	for (; area_next_ours(area, first, &first, &bytes); first += bytes)
		mprotect((void *)(uintptr_t)first, bytes, PROT_NONE);
}

static void in_child(void)
{
	for (struct uvmp_pager *p = all; p; p = p->next) {
		pthread_mutex_init(&p->lock, NULL);
		if (begin_again(p))
			continue;
		for (size_t i = 0; i < p->areas.count; i++)
			close_off(p->areas.area[i]);
	}
	pthread_mutex_init(&all_lock, NULL);
	hold_off_no_more(&at_fork);
}

/* Before the program's, which so run outside of ours and find its memory at work, in the child too. */
__attribute__((constructor(101))) static void register_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}
