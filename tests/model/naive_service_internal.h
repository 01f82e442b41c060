/* naive_service_internal.h: state of the naive model, and what its files (naive_service_*.c) need of each other. A file needs
 * only files that precede it here. */
#ifndef NAIVE_SERVICE_INTERNAL_H
#define NAIVE_SERVICE_INTERNAL_H

#include "naive_plan.h"
#include "naive_service.h"
#include "naive_tbn.h"
#include "naive_withdraw.h"

#define NONE  UVMP_PROC_NONE
#define PAGES NAIVE_SERVICE_PAGES
#define WALKS 1100u

struct page {
	uint64_t resident;
	uint64_t evicted; /* GPUs that lost it by eviction */
	uint8_t right[NAIVE_PROCS];
	bool is_duplicated, is_discarded;
};

/* A chunk that backs pages [first, end) of a block on a GPU. */
struct owned {
	bool exists, is_announced;
	uint32_t first, end;
	struct uvmp_chunk chunk;
};

struct range {
	bool exists;
	uint64_t space;
	uvmp_addr base, end, origin; /* end inclusive */
	enum uvmp_right right;
	uint32_t home, preferred;
	uint64_t accessed_by;
	enum uvmp_read_duplication duplication;
};

struct block {
	bool exists;
	uint32_t number;
	uint64_t space, stamp; /* when it was made */
	struct range *range;
	uvmp_addr start;
	uint32_t pages;
	struct page page[PAGES];
	struct owned owned[NAIVE_PROCS][PAGES]; /* by first page */
	/* orders of units: has there been memory since it was last given up, the latest touch of each unit, and how many */
	bool is_known[NAIVE_PROCS];
	uint64_t touch[NAIVE_PROCS][PAGES], touches[NAIVE_PROCS][PAGES];
	uint64_t entry[NAIVE_PROCS][PAGES]; /* when the unit became resident; orders units with the same latest touch */
	uint32_t frame[NAIVE_PROCS][PAGES]; /* of the unit with this first page, from 1 on; 0: none */
	uint32_t place[NAIVE_PROCS], places; /* newest first */
	struct uvmp_prefetch_state prefetch;
	bool has_tree; /* of tbn and sl: since the first decision */
	struct naive_tbn tree;
	bool is_suspect; /* the detector has, or has had, an array of its pages */
};

struct space {
	bool exists;
	uint64_t id;
	struct naive_thrash thrash;
};

struct channel {
	bool exists;
	uint32_t gpu, aperture, subcontext;
	uint64_t instance, space;
};

struct gpu {
	struct naive_pmm *pmm;
	uint32_t order_pages; /* of 4 KiB, of a unit of the order; 0: memory in chunks */
	uint32_t unit_pages;  /* the same in pages of the host */
	bool counts_units;   /* a unit counts with all its pages */
	bool hears_arrivals; /* the host reports them: decisions touch nothing that is listed */
	/* frames of units: those that were given up, oldest first; and the last that was ever used */
	uint32_t free_frame[NAIVE_BLOCKS * PAGES], free_frames, last_frame;
	uint64_t memory_pages, clock;
	struct uvmp_fault *entry; /* the ring */
	uint32_t capacity, get, put, cached_put;
	struct naive_replay replay;
	struct uvmp_service_counts counts;
	struct uvmp_chunk parked[PAGES]; /* evicted for, not taken yet */
	uint32_t parkeds;
	struct uvmp_note *note; /* the ring */
	uint32_t notes, note_get, note_put, note_cached_put, note_batches;
};

enum request_kind { FREE_RANGE, FREE_PART, ADVISE, MIGRATE, WITHDRAW, CPU_FAULT };

struct request {
	enum request_kind kind;
	uint64_t ticket, space, bytes, thread;
	uvmp_addr base;
	enum uvmp_advice advice;
	enum uvmp_access access;
	uint32_t processor;
};

/* A chunk that is pinned until the operation ends. */
struct pin {
	struct block *block;
	uint32_t gpu, first;
};

struct naive_service {
	struct uvmp_policy policy;
	struct uvmp_processors processors;
	uint32_t procs, page_bytes;
	uint32_t max_spaces, max_ranges, max_instances, max_requests;
	bool has_counters, maps_evicted;
	naive_service_group *host_group;
	void *host;
	uint64_t now, id, tickets, stamps;
	uint32_t batch, last_gpu;
	bool is_full; /* some memory has been */
	struct uvmp_action *group;
	enum uvmp_status *status;
	uvmp_mask *moved;
	uint32_t actions, performed; /* of this group; of the one before, which can still be read */
	struct space space[NAIVE_SPACES];
	struct range range[NAIVE_RANGES];
	struct block *block[NAIVE_BLOCKS];
	struct channel channel[NAIVE_CHANNELS];
	struct gpu gpu[NAIVE_PROCS];
	struct request request[NAIVE_REQUESTS];
	uint32_t requests;
	struct pin pin[NAIVE_PROCS * PAGES * 4u];
	uint32_t pins;
	struct naive_holds holds; /* of units, until some time */
	bool hint[PAGES], is_hint; /* of the prefetcher */
	struct uvmp_region subtree[PAGES];
	bool label[PAGES];         /* what the detector is told to be prefetched [driver: stale-prefetch-mask] */
	uint32_t present;

	/* the batch of the running bottom half */
	uint32_t in_gpu;
	struct naive_fetch *fetch;
	uint32_t order[NAIVE_FAULT_MAX];
	bool is_fatal[NAIVE_FAULT_MAX]; /* by position in order */
	uint8_t cancel_mode[NAIVE_FAULT_MAX];
	enum uvmp_status replay_error;     /* of the replay machine's last failure */
	uint32_t orders, position, walked; /* walked: of them now, from position on */
	bool has_fatal;
	bool has_next; /* a block with faults in this batch that is serviced next */
	uvmp_addr next_start;
	uint64_t fatal_space;
	bool was_prefetch_enabled;

	/* a CPU fault that was let pass [driver: cpu-fault] */
	uint64_t latch_ns, latch_thread, latch_space;
	uvmp_addr latch_page;
	bool is_latched;
};

struct unit {
	struct block *block;
	uint32_t first;
	uint64_t key[3];
};

/* What an eviction is about, and the block that leaves now. */
struct eviction {
	bool rest[PAGES]; /* order of units: what has to leave yet */
	uint32_t gpu, root, number;
	int victim;
	uvmp_addr for_address;
	struct block *block;
	bool held[PAGES], leaving[PAGES], lost[PAGES], copied[PAGES];
	struct naive_transfer out[UVMP_PLAN_TRANSFERS_MAX];
	uint32_t outs;
};

struct block_service {
	struct block *block;
	uint32_t requester;
	enum uvmp_cause cause;
	enum uvmp_migrate_cause migrate_cause;
	bool is_retry, is_prefetching, is_unmapped; /* unmapped: no processor is mapped afterwards */
	bool withdraws; /* a victim comes back */
	bool want[NAIVE_PROCS][PAGES], duplicate[PAGES], pinned[PAGES], prefetched[PAGES];
	uint8_t access[PAGES];
	uint64_t procs[PAGES]; /* of pinned pages */
	uint32_t throttles[PAGES];
	uint32_t faults, present; /* pages that faulted; that were there when the prefetcher was asked */
	uint32_t source[PAGES];   /* from where the pages of this destination come; itself: they are there */
	bool arrived[PAGES];
};

/* Neighbouring units of a block with neighbouring frames, as one action. */
struct frame_run {
	bool pages[PAGES];
	uint32_t next, frame, frames; /* page behind, first frame, and how many */
	enum uvmp_cause cause;
};

static inline bool in(uint64_t set, uint32_t p)
{
	return p < 64 && (set >> p & 1) != 0;
}

static inline uint64_t bit(uint32_t p)
{
	return (uint64_t)1 << p;
}

static inline bool is_on(const struct block *b, uint32_t i, uint32_t p)
{
	return in(b->page[i].resident, p);
}

/* -- naive_service_space.c -- */

bool naive_any(const bool *flag);
void naive_pack(const bool *flag, uvmp_mask *mask);
struct uvmp_region naive_bounds(const bool *flag);
struct space *naive_find_space(struct naive_service *n, uint64_t id);
struct space *naive_make_space(struct naive_service *n, uint64_t id);
void naive_drop_space(struct naive_service *n, uint64_t id);
struct range *naive_find_range(struct naive_service *n, uint64_t space, uvmp_addr address);
struct block *naive_find_block(const struct naive_service *n, uint64_t space, uvmp_addr address);
void naive_add_place(struct block *b, uint32_t p);
struct block *naive_make_block(struct naive_service *n, struct range *range, uvmp_addr address);
struct space *naive_space_of(struct naive_service *n, const struct block *b);
struct naive_thrash_block *naive_thrash_of(struct naive_service *n, const struct block *b);
bool naive_is_anywhere_on(const struct block *b, uint32_t p);
void naive_resident_on(const struct block *b, uint32_t p, bool *flag);
uint64_t naive_mapped_at(const struct naive_service *n, const struct page *page, uint32_t right);
struct block *naive_block_before(struct naive_service *n, const struct range *range, uint64_t before);
struct range *naive_lowest_piece(struct naive_service *n, uint64_t space, uvmp_addr origin, uvmp_addr from);
bool naive_is_covered(struct naive_service *n, const struct request *r);
uvmp_addr naive_page_address(const struct naive_service *n, const struct block *b, uint32_t i);
bool naive_has_tree(const struct naive_service *n);

/* -- naive_service_queue.c -- */

struct uvmp_action *naive_emit(struct naive_service *n, enum uvmp_action_kind kind, enum uvmp_cause cause);
struct uvmp_action *naive_emit_pages(struct naive_service *n, enum uvmp_action_kind kind,
		enum uvmp_cause cause, const struct block *b, const bool *pages);
bool naive_has_failed_to_move(const struct naive_service *n, uint32_t k, uint32_t i);
enum uvmp_status naive_perform_group(struct naive_service *n);
void naive_emit_throttle(struct naive_service *n, struct block *b, uint32_t p, uint32_t i, uint64_t until_ns);
void naive_emit_cancel(struct naive_service *n, uint32_t gpu, uint64_t space, uvmp_addr address,
		enum uvmp_cause cause, uint8_t mode, bool has_pages);

/* -- naive_service_memory.c -- */

uint32_t naive_big_pages(const struct naive_service *n);
struct uvmp_region naive_chunk_around(const struct naive_service *n, const struct block *b, uint32_t page);
uint32_t naive_size_of(const struct naive_service *n, struct uvmp_region region);
uint64_t naive_offset_of(struct uvmp_chunk chunk);
uint32_t naive_bytes_of(const struct naive_service *n, struct uvmp_chunk chunk);
void naive_unpin_all(struct naive_service *n);
void naive_mark_chunks(struct naive_service *n, struct block *b, uint32_t p, const bool *pages,
		enum uvmp_chunk_mark what);
void naive_take_frame(struct gpu *g, uint32_t *frame);
void naive_give_frames(struct gpu *g, struct block *b, uint32_t gpu, const bool *left);
void naive_leave_processor(struct naive_service *n, struct block *b, uint32_t p, const bool *pages,
		bool is_free);
bool naive_page_counts(const struct naive_service *n, const struct block *b, uint32_t gpu, uint32_t page,
		const bool *want);
uint32_t naive_count_pages(const struct naive_service *n, uint32_t gpu);
void naive_touch_units(struct naive_service *n, struct block *b, uint32_t gpu, const bool *pages);
void naive_decide_units(struct naive_service *n, struct block *b, uint32_t gpu, const bool *pages, const bool *arrived);
bool naive_take_parked_chunk(struct gpu *g, uint32_t size, struct uvmp_chunk *chunk);
void naive_own_chunk(struct naive_service *n, struct block *b, uint32_t gpu, struct uvmp_region region,
		struct uvmp_chunk chunk);
void naive_disown_chunk(struct naive_service *n, struct block *b, uint32_t gpu, uint32_t first);
bool naive_is_over(const struct naive_service *n, uint32_t gpu, uint64_t coming);
void naive_emit_frames(struct naive_service *n, struct block *b, uint32_t gpu, enum uvmp_action_kind kind,
		struct frame_run *run);
void naive_add_frame(struct naive_service *n, struct block *b, uint32_t gpu, enum uvmp_action_kind kind,
		uint32_t first, enum uvmp_cause cause, struct frame_run *run);
void naive_give_memory(struct naive_service *n, struct block *b);
bool naive_has_memory(const struct naive_service *n, const struct block *b);

/* -- naive_service_mapping.c -- */

void naive_unmap(struct naive_service *n, enum uvmp_cause cause, struct block *b, uint32_t p,
		const bool *pages, uvmp_addr for_address);
void naive_map_remote(struct naive_service *n, enum uvmp_cause cause, struct block *b, uint32_t p,
		const bool *pages, uvmp_addr for_address);
void naive_map_evicted(struct naive_service *n, struct block *b, uint32_t gpu, const bool *pages,
		uvmp_addr for_address);
uint32_t naive_throttles_of(const struct block_service *s, const bool *pages);
bool naive_is_pinning(const struct block_service *s, const struct naive_transfer *t);
void naive_map_pages(struct naive_service *n, struct block_service *s, uint32_t dst);

/* -- naive_service_victim.c -- */

void naive_take_closure(const struct naive_service *n, uint32_t gpu, const struct block *own,
		const bool *want, const struct unit *unit, bool *rest);
bool naive_choose_unit(const struct naive_service *n, uint32_t gpu, const struct block *b, const bool *want,
		bool withdraws, struct unit *victim);

/* -- naive_service_transfers.c -- */

void naive_plan_out(struct naive_service *n, struct eviction *e);
uint32_t naive_plan_in(struct naive_service *n, struct block_service *s, uint32_t dst,
		struct naive_transfer *copy);
void naive_emit_copies(struct naive_service *n, const struct block_service *s,
		const struct naive_transfer *in, uint32_t ins, const struct eviction *e);

/* -- naive_service_eviction.c -- */

enum uvmp_status naive_evict_unit(struct naive_service *n, uint32_t gpu, const struct block *b,
		const bool *want, bool withdraws, uvmp_addr for_address);
void naive_keep_free(struct naive_service *n);
enum uvmp_status naive_evict_root(struct naive_service *n, uint32_t gpu, uint32_t size, struct block *b);
void naive_look_ahead(struct naive_service *n);
struct eviction *naive_evict_ahead(struct naive_service *n, uint32_t gpu, const struct block *b);
void naive_end_ahead(struct naive_service *n, struct eviction *e);

/* -- naive_service_prefetch.c -- */

void naive_add_prefetched(struct naive_service *n, struct block_service *s, uint32_t destinations,
		uint32_t dst);
void naive_switch_prefetcher(struct naive_service *n);

/* -- naive_service_block.c -- */

enum uvmp_status naive_serve_block(struct naive_service *n, struct block_service *s);
bool naive_choose_destination(struct naive_service *n, struct block_service *s, uint32_t i,
		enum uvmp_access access, uint8_t accesses, uint8_t operation, uint64_t *until_ns);
enum uvmp_status naive_serve_request_block(struct naive_service *n, const struct block_service *wanted);

/* -- naive_service_advise.c -- */

enum uvmp_status naive_cut_range(struct naive_service *n, const struct request *r, uvmp_addr address);
enum uvmp_status naive_advise_part(struct naive_service *n, const struct request *r);

/* -- naive_service_request.c -- */

void naive_serve_request(struct naive_service *n);

/* -- naive_service_batch.c -- */

bool naive_is_pending(const struct gpu *g);
void naive_bottom_half(struct naive_service *n, uint32_t gpu);

/* -- naive_service_counter.c -- */

bool naive_has_notes(const struct gpu *g);
void naive_serve_notes(struct naive_service *n, uint32_t gpu);

#endif
