/* A simulator for tests of the host kit that trusts nothing: it has memories with contents, page tables of its own made
 * from the callbacks, and it checks each access, copy and mapping. A frame that two pages share, a mapping of the wrong
 * frame, a lost copy or a late shoot-down ends in a wrong value. */
#ifndef TESTS_HOST_MIRROR_H
#define TESTS_HOST_MIRROR_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <uvmpolicy/fault.h>
#include <uvmpolicy/host.h>

#define MIRROR_BASE    ((uvmp_addr)0x7f0000000000)
#define MIRROR_BYTES   ((uint64_t)64 << 20)
#define MIRROR_PROCS   5u
#define MIRROR_UNKNOWN UINT64_MAX /* contents that the program does not rely on */
#define MIRROR_WAITING 4096u
#define MIRROR_COPIES  65536u

struct mirror_page {
	uint8_t right, holder;
	uint64_t frame; /* byte offset, as the callback said; UVMP_HOST_NO_FRAME */
};

struct mirror_warp {
	uint32_t processor;
	uint64_t warp;
	uvmp_addr address;
	enum uvmp_access access;
	bool is_done;
};

struct mirror {
	struct uvmp_host *host;
	struct uvmp_host_options options;
	uint32_t pages, page_bytes, procs;
	uint64_t frames;			  /* of a GPU */
	struct mirror_page *table[MIRROR_PROCS];  /* [pages] */
	uint64_t *memory[MIRROR_PROCS];		  /* contents: of the CPU by page, of GPUs by frame */
	uint32_t *mapped[MIRROR_PROCS];		  /* GPUs: how many page tables map the frame */
	uint8_t *busy[MIRROR_PROCS];		  /* GPUs: the frame is written by a copy */
	uint64_t *expected;			  /* [pages]: what the program wrote last */
	uint8_t *is_vague; /* [pages]: was discarded; the driver may lose what is written without a migration */
	uint64_t value;				  /* of the next write */
	struct mirror_warp waiting[MIRROR_WAITING];
	uint32_t waitings;
	struct uvmp_host_copy copy[MIRROR_COPIES]; /* asynchronous, in progress */
	uint32_t copies;
	uint64_t copy_ns;    /* of each page */
	uint64_t now_ns, replays, cancels, maps, unmaps, dones, lines;
	uint64_t last_ns;    /* of the latest callback: times of events do not decrease */
	struct uvmp_host_done done;
	enum uvmp_status cancel_status;
	void (*on_replay)(struct mirror *m, const struct uvmp_host_waiter *waiter);
	bool may_cancel; /* cancels are no failures of the test */
	char line[4096];
	FILE *log;
	uint64_t random;
};

static inline uint32_t mirror_index(const struct mirror *m, uvmp_addr address)
{
	assert_true(address >= MIRROR_BASE && address - MIRROR_BASE < MIRROR_BYTES);
	return (uint32_t)((address - MIRROR_BASE) / m->page_bytes);
}

/* The contents of a frame, or of a page of the CPU. */
static inline uint64_t *mirror_contents(struct mirror *m, uint32_t processor, uint64_t frame, uint32_t page)
{
	if (processor == UVMP_CPU) {
		assert_true(frame == UVMP_HOST_NO_FRAME);
		return &m->memory[UVMP_CPU][page];
	}
	assert_true(frame % m->page_bytes == 0);
	assert_true(frame / m->page_bytes < m->frames);
	return &m->memory[processor][frame / m->page_bytes];
}

static inline void mirror_time(struct mirror *m, uint64_t now_ns)
{
	assert_true(now_ns >= m->last_ns);
	m->last_ns = now_ns;
}

/* -- callbacks -- */

static inline uint64_t mirror_frame_at(uint64_t frame, uint32_t i, uint32_t page_bytes)
{
	return frame == UVMP_HOST_NO_FRAME ? frame : frame + (uint64_t)i * page_bytes;
}

static inline void mirror_map(void *user, const struct uvmp_host_mapping *mapping)
{
	struct mirror *m = user;
	uint32_t first = mirror_index(m, mapping->address);

	mirror_time(m, mapping->now_ns);
	m->maps++;
	assert_true(mapping->processor < m->procs && mapping->holder < m->procs);
	assert_true(mapping->bytes != 0 && mapping->bytes % m->page_bytes == 0);
	assert_true(mapping->right != UVMP_RIGHT_NONE);
	for (uint32_t i = 0; i < mapping->bytes / m->page_bytes; i++) {
		struct mirror_page *page = &m->table[mapping->processor][first + i];
		uint64_t frame = mirror_frame_at(mapping->frame, i, m->page_bytes);

		(void)mirror_contents(m, mapping->holder, frame, first + i);
		if (page->right != UVMP_RIGHT_NONE) {
			assert_int_equal(page->holder, mapping->holder);
			assert_true(page->frame == frame);
		} else if (mapping->holder != UVMP_CPU) {
			m->mapped[mapping->holder][frame / m->page_bytes]++;
			assert_int_equal(m->busy[mapping->holder][frame / m->page_bytes], 0);
		}
		*page = (struct mirror_page){(uint8_t)mapping->right, (uint8_t)mapping->holder, frame};
		assert_true(uvmp_host_is_mapped(m->host, mapping->processor,
						mapping->address + (uint64_t)i * m->page_bytes, UVMP_ACCESS_READ));
	}
}

static inline void mirror_unmap(void *user, const struct uvmp_host_mapping *mapping)
{
	struct mirror *m = user;
	uint32_t first = mirror_index(m, mapping->address);

	mirror_time(m, mapping->now_ns);
	m->unmaps++;
	assert_true(mapping->bytes != 0 && mapping->bytes % m->page_bytes == 0);
	for (uint32_t i = 0; i < mapping->bytes / m->page_bytes; i++) {
		struct mirror_page *page = &m->table[mapping->processor][first + i];

		assert_true(page->right > (uint8_t)mapping->right);
		assert_int_equal(page->holder, mapping->holder);
		assert_true(page->frame == mirror_frame_at(mapping->frame, i, m->page_bytes));
		page->right = (uint8_t)mapping->right;
		if (page->right == UVMP_RIGHT_NONE && page->holder != UVMP_CPU)
			m->mapped[page->holder][page->frame / m->page_bytes]--;
	}
}

/* No processor can write a page that is copied, nor use the frame that is written. */
static inline void mirror_check_copy(struct mirror *m, const struct uvmp_host_copy *copy)
{
	uint32_t first = mirror_index(m, copy->address);

	assert_true(copy->bytes != 0 && copy->bytes % m->page_bytes == 0);
	assert_true(copy->is_zero_fill == (copy->from == UVMP_PROC_NONE));
	assert_true(copy->is_zero_fill || copy->from < m->procs);
	assert_true(copy->to < m->procs && copy->to != copy->from);
	assert_true((copy->to_frame == UVMP_HOST_NO_FRAME) == (copy->to == UVMP_CPU));
	for (uint32_t i = 0; i < copy->bytes / m->page_bytes; i++) {
		uint64_t frame = mirror_frame_at(copy->to_frame, i, m->page_bytes);

		(void)mirror_contents(m, copy->to, frame, first + i);
		for (uint32_t p = 0; p < m->procs && !copy->is_zero_fill; p++)
			assert_true(m->table[p][first + i].right <= UVMP_RIGHT_READ);
		if (copy->to == UVMP_CPU)
			continue;
		assert_int_equal(m->mapped[copy->to][frame / m->page_bytes], 0);
		assert_int_equal(m->busy[copy->to][frame / m->page_bytes], 0);
	}
}

static inline void mirror_move(struct mirror *m, const struct uvmp_host_copy *copy)
{
	uint32_t first = mirror_index(m, copy->address);

	for (uint32_t i = 0; i < copy->bytes / m->page_bytes; i++) {
		uint64_t *to = mirror_contents(m, copy->to, mirror_frame_at(copy->to_frame, i, m->page_bytes),
					       first + i);

		*to = copy->is_zero_fill ? 0
					 : *mirror_contents(m, copy->from,
							    mirror_frame_at(copy->from_frame, i, m->page_bytes),
							    first + i);
	}
}

static inline uint64_t mirror_copy_ns(void *user, const struct uvmp_host_copy *copy)
{
	struct mirror *m = user;

	mirror_check_copy(m, copy);
	mirror_move(m, copy);
	return copy->bytes / m->page_bytes * m->copy_ns;
}

static inline void mirror_set_busy(struct mirror *m, const struct uvmp_host_copy *copy, uint8_t busy)
{
	for (uint32_t i = 0; copy->to != UVMP_CPU && i < copy->bytes / m->page_bytes; i++)
		m->busy[copy->to][copy->to_frame / m->page_bytes + i] = busy;
}

static inline void mirror_copy(void *user, const struct uvmp_host_copy *copy)
{
	struct mirror *m = user;

	mirror_time(m, copy->now_ns);
	mirror_check_copy(m, copy);
	assert_true(m->copies < MIRROR_COPIES);
	m->copy[m->copies++] = *copy;
	mirror_set_busy(m, copy, 1);
}

/* Ends the copy in progress of this number, with a status. */
static inline void mirror_copied(struct mirror *m, uint32_t index, enum uvmp_status status)
{
	struct uvmp_host_copy copy = m->copy[index];

	if (status == UVMP_OK)
		mirror_move(m, &copy);
	mirror_set_busy(m, &copy, 0);
	m->copy[index] = m->copy[--m->copies];
	assert_int_equal(uvmp_host_copied(m->host, copy.id, status, m->now_ns), UVMP_OK);
}

/* A processor uses a page that it has mapped. */
static inline void mirror_use(struct mirror *m, uint32_t processor, uvmp_addr address, enum uvmp_access access)
{
	uint32_t index = mirror_index(m, address);
	const struct mirror_page *page = &m->table[processor][index];
	uint64_t *contents = mirror_contents(m, page->holder, page->frame, index);

	assert_true(page->right != UVMP_RIGHT_NONE);
	if (m->expected[index] != MIRROR_UNKNOWN && *contents != m->expected[index])
		fail_msg("page %u: processor %u reads %llu from processor %u at 0x%llx, not %llu", index, processor,
			 (unsigned long long)*contents, page->holder, (unsigned long long)page->frame,
			 (unsigned long long)m->expected[index]);
	if (access > UVMP_ACCESS_READ) {
		assert_true(page->right >= UVMP_RIGHT_READ_WRITE);
		*contents = ++m->value;
		m->expected[index] = m->is_vague[index] ? MIRROR_UNKNOWN : m->value;
	}
	(void)uvmp_host_access(m->host, processor, address, access);
}

static inline struct mirror_warp *mirror_waiter(struct mirror *m, const struct uvmp_host_waiter *waiter)
{
	for (uint32_t i = 0; i < m->waitings; i++) {
		struct mirror_warp *w = &m->waiting[i];

		if (!w->is_done && w->processor == waiter->processor && w->warp == waiter->warp &&
		    w->address == waiter->address && w->access == waiter->access)
			return w;
	}
	fail_msg("an answer to a warp that does not wait");
	return NULL;
}

static inline void mirror_answered(struct mirror *m, const struct uvmp_host_waiter *waiter)
{
	struct mirror_warp *w = mirror_waiter(m, waiter);

	mirror_time(m, waiter->now_ns);
	assert_true(waiter->since_ns <= waiter->now_ns);
	*w = m->waiting[--m->waitings];
}

static inline void mirror_replay(void *user, const struct uvmp_host_waiter *waiter)
{
	struct mirror *m = user;

	mirror_answered(m, waiter);
	m->replays++;
	assert_true(uvmp_host_is_mapped(m->host, waiter->processor, waiter->address, waiter->access));
	mirror_use(m, waiter->processor, waiter->address, waiter->access);
	if (m->on_replay)
		m->on_replay(m, waiter);
}

static inline void mirror_cancel(void *user, const struct uvmp_host_waiter *waiter, enum uvmp_status status)
{
	struct mirror *m = user;

	mirror_answered(m, waiter);
	assert_true(status < UVMP_OK);
	if (!m->may_cancel)
		fail_msg("%s: cancelled, status %d: %s; %s", m->options.policy, status, uvmp_host_error(m->host),
			 m->line);
	m->cancel_status = status;
	m->cancels++;
}

static inline void mirror_done(void *user, const struct uvmp_host_done *done)
{
	struct mirror *m = user;

	mirror_time(m, done->now_ns);
	m->done = *done;
	m->dones++;
}

static inline void mirror_log(void *user, const char *line)
{
	struct mirror *m = user;

	m->lines++;
	if (m->log)
		fprintf(m->log, "%s\n", line);
	snprintf(m->line, sizeof(m->line), "%.4095s", line);
}

/* -- life -- */

/* Options for GPUs of `memory_bytes` under a policy; the test may change them before mirror_open. */
static inline void mirror_init(struct mirror *m, const char *policy, uint32_t gpus, uint64_t memory_bytes)
{
	memset(m, 0, sizeof(*m));
	m->options = (struct uvmp_host_options){.size = sizeof(m->options),
						.memory_bytes = memory_bytes,
						.policy = policy,
						.gpus = gpus,
						.user = m,
						.map = mirror_map,
						.unmap = mirror_unmap,
						.copy_ns = mirror_copy_ns,
						.replay = mirror_replay,
						.cancel = mirror_cancel,
						.done = mirror_done,
						.log = mirror_log};
	m->random = 1;
	if (getenv("MIRROR_LOG")) /* to look at a failure */
		m->log = stderr;
}

static inline void mirror_open(struct mirror *m)
{
	char error[UVMP_HOST_ERROR_MAX];

	m->host = uvmp_host_open(&m->options, error);
	if (!m->host)
		fail_msg("%s: %s", m->options.policy, error);
	assert_string_equal(error, "");
	m->page_bytes = m->options.page_bytes != 0 ? m->options.page_bytes : 4096;
	m->procs = (m->options.gpus != 0 ? m->options.gpus : 1) + 1u;
	assert_true(m->procs <= MIRROR_PROCS);
	m->pages = (uint32_t)(MIRROR_BYTES / m->page_bytes);
	m->frames = uvmp_host_capacity(m->host) / m->page_bytes;
	assert_true(m->frames != 0);
	for (uint32_t p = 0; p < m->procs; p++) {
		uint64_t count = p == UVMP_CPU ? m->pages : m->frames;

		m->table[p] = calloc(m->pages, sizeof(*m->table[p]));
		m->memory[p] = calloc((size_t)count, sizeof(*m->memory[p]));
		m->mapped[p] = calloc((size_t)count, sizeof(*m->mapped[p]));
		m->busy[p] = calloc((size_t)count, 1);
		for (uint32_t i = 0; i < m->pages; i++)
			m->table[p][i] = (struct mirror_page){
				p == UVMP_CPU && m->options.is_all_managed && m->options.is_on_cpu
					? UVMP_RIGHT_READ_WRITE_ATOMIC
					: UVMP_RIGHT_NONE,
				UVMP_CPU, UVMP_HOST_NO_FRAME};
	}
	m->expected = calloc(m->pages, sizeof(*m->expected));
	m->is_vague = calloc(m->pages, 1);
}

static inline void mirror_close(struct mirror *m)
{
	uvmp_host_close(m->host);
	for (uint32_t p = 0; p < m->procs; p++) {
		free(m->table[p]);
		free(m->memory[p]);
		free(m->mapped[p]);
		free(m->busy[p]);
	}
	free(m->expected);
	free(m->is_vague);
}

/* -- what the program does -- */

static inline uvmp_addr mirror_address(const struct mirror *m, uint32_t page)
{
	return MIRROR_BASE + (uint64_t)page * m->page_bytes;
}

/* Pages [first, first + count) are fresh: zeros, or data of the CPU. */
static inline void mirror_fresh_on(struct mirror *m, uint32_t first, uint32_t count, bool is_on_cpu)
{
	for (uint32_t i = first; i < first + count; i++) {
		m->is_vague[i] = 0;
		m->expected[i] = 0;
		if (!is_on_cpu)
			continue;
		m->memory[UVMP_CPU][i] = m->expected[i] = ++m->value;
		m->table[UVMP_CPU][i].right = UVMP_RIGHT_READ_WRITE_ATOMIC;
	}
}

static inline void mirror_fresh(struct mirror *m, uint32_t first, uint32_t count)
{
	mirror_fresh_on(m, first, count, m->options.is_on_cpu);
}

/* Inputs begin on the CPU, results nowhere. */
static inline void mirror_add_on(struct mirror *m, uint32_t first, uint32_t count, uint32_t home)
{
	assert_int_equal(uvmp_host_add_range_on(m->host, mirror_address(m, first), (uint64_t)count * m->page_bytes,
						home),
			 UVMP_OK);
	mirror_fresh_on(m, first, count, home == UVMP_CPU);
}

static inline void mirror_add(struct mirror *m, uint32_t first, uint32_t count)
{
	assert_int_equal(uvmp_host_add_range(m->host, mirror_address(m, first), (uint64_t)count * m->page_bytes),
			 UVMP_OK);
	mirror_fresh(m, first, count);
}

/* Pages were freed: the CPU's mappings end without a callback. */
static inline void mirror_freed(struct mirror *m, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		m->expected[i] = MIRROR_UNKNOWN;
		if (m->table[UVMP_CPU][i].holder == UVMP_CPU)
			m->table[UVMP_CPU][i].right = UVMP_RIGHT_NONE;
		for (uint32_t p = 0; p < m->procs; p++)
			assert_int_equal(m->table[p][i].right, UVMP_RIGHT_NONE);
	}
}

/* An access: it hits, or its warp waits. */
static inline void mirror_access(struct mirror *m, uint32_t processor, uint64_t warp, uint32_t page,
				 enum uvmp_access access)
{
	uvmp_addr address = mirror_address(m, page) + 4u * (warp % (m->page_bytes / 4u));
	bool is_mapped = m->table[processor][page].right >= (uint8_t)uvmp_access_right(access);

	assert_int_equal(is_mapped, uvmp_host_is_mapped(m->host, processor, address, access));
	if (is_mapped) {
		mirror_use(m, processor, address, access);
		return;
	}
	assert_true(m->waitings < MIRROR_WAITING);
	m->waiting[m->waitings++] = (struct mirror_warp){processor, warp, address, access, false};
	assert_int_equal(uvmp_host_fault_on(m->host, processor, warp, address, access, m->now_ns), UVMP_OK);
}

/* Runs until nothing is due; ends asynchronous copies in order. */
static inline void mirror_settle(struct mirror *m)
{
	uint64_t next = uvmp_host_run(m->host, m->now_ns);

	for (uint32_t i = 0; next != UINT64_MAX || m->copies != 0; i++) {
		if (i == 10000000u)
			fail_msg("no end");
		if (m->copies != 0)
			mirror_copied(m, 0, UVMP_OK);
		else {
			assert_true(next > m->now_ns);
			m->now_ns = next;
		}
		next = uvmp_host_run(m->host, m->now_ns);
		assert_true(next == uvmp_host_next_ns(m->host));
	}
}

/* -- agreement -- */

/* The page tables are those of the engine; resident pages have frames of their own. */
static inline void mirror_check(struct mirror *m)
{
	uint8_t *used[MIRROR_PROCS] = {NULL};
	struct uvmp_host_page_state page = {.size = sizeof(page)};

	assert_true(uvmp_service_check(uvmp_host_service(m->host)));
	for (uint32_t p = 1; p < m->procs; p++)
		used[p] = calloc((size_t)m->frames, 1);
	for (uint32_t i = 0; i < m->pages; i++) {
		if (uvmp_host_page(m->host, 0, mirror_address(m, i), &page) != UVMP_OK)
			continue;
		for (uint32_t p = 0; p < m->procs; p++) {
			assert_int_equal(uvmp_host_page(m->host, p, mirror_address(m, i), &page), UVMP_OK);
			assert_int_equal(page.read >> p & 1u, m->table[p][i].right >= UVMP_RIGHT_READ);
			assert_int_equal(page.write >> p & 1u, m->table[p][i].right >= UVMP_RIGHT_READ_WRITE);
			if (p == UVMP_CPU || (page.resident >> p & 1u) == 0) {
				assert_true(page.frame == UVMP_HOST_NO_FRAME);
				continue;
			}
			assert_true(page.frame / m->page_bytes < m->frames);
			assert_int_equal(used[p][page.frame / m->page_bytes], 0);
			used[p][page.frame / m->page_bytes] = 1;
		}
	}
	for (uint32_t p = 1; p < m->procs; p++)
		free(used[p]);
}

#endif
