/* residency.h: where a page is resident, and which processors map it.
 *
 * The driver's rules for one page, without state:
 *
 *   destination                                   [driver: read-duplication, residency-choice]
 *   right of the requester's mapping, and the     [driver: block-service]
 *     processors that lose rights
 *   mappings of other processors after a move     [driver: other-mappings]
 *
 * A fault on a page that is serviced for processor p:
 *
 *   uvmp_residency_select(&processors, &facts, &place);       where to; read duplicate?
 *   ... the host moves or copies the page to place.to, or finds it there ...
 *   uvmp_residency_map(&processors, &map_facts, &map);        rights: p, victims, others
 *
 * Quirk reproduced by default: [driver: pinned-stops-mapping] (a level of rights at which all pages are
 * pinned ends the mapping of others), in uvmp_residency_map_levels.
 */
#ifndef UVMPOLICY_RESIDENCY_H
#define UVMPOLICY_RESIDENCY_H

#include "base.h"
#include "mask.h"
#include "processor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -- where to [driver: read-duplication, residency-choice]
 * --------------------------------------------------------------------- */

/* Policy of a range. UNSET: read-duplicated pages stay so for reads, and no other page is duplicated. */
enum uvmp_read_duplication {
	UVMP_DUPLICATION_UNSET = 0,
	UVMP_DUPLICATION_ENABLED = 1,
	UVMP_DUPLICATION_DISABLED = 2
};

/* What the page is serviced for. */
enum uvmp_operation {
	UVMP_OPERATION_FAULT = 0,	   /* replayable faults of GPUs, faults of the CPU */
	UVMP_OPERATION_NON_REPLAYABLE = 1, /* faults of copy engines and the like */
	UVMP_OPERATION_ACCESS_COUNTER = 2
};

/* Zero means: no preferred location, no PIN hint, held by no processor, a fault. `accesses` is required. */
struct uvmp_residency_facts {
	uint32_t requester; /* processor that wants the page; 0 is the CPU */
	uint8_t accesses;   /* set of accesses, not empty */
	enum uvmp_operation operation;
	uint32_t preferred;   /* preferred location; without has_preferred 0 or UVMP_PROC_NONE */
	uint64_t accessed_by; /* set of processors: policy accessed-by */
	uint64_t resident;    /* set of processors: holders of this page */
	uint32_t pin;	      /* target of a PIN hint; without has_pin 0 or UVMP_PROC_NONE */
	enum uvmp_read_duplication duplication;
	bool has_preferred;    /* the page has a preferred location: `preferred` */
	bool has_pin;	       /* thrash.h gave a PIN hint: to `pin` */
	bool is_duplicated;    /* the page is read-duplicated now */
	bool is_system_forced; /* test override: everything to system memory */
	bool is_hmm;	       /* the block is one of heterogeneous memory management */
	bool is_hmm_system;    /* HMM: the mapping must stay in system memory */
	bool is_hmm_fixed;     /* HMM: the page cannot migrate */
	bool is_foreign;       /* the faulting process' memory map is not the block's */
	bool maps_on_atomics;  /* parameter uvm_perf_map_remote_on_native_atomics_fault; driver: false */
};

struct uvmp_residency_place {
	uint32_t to;	   /* processor */
	uint32_t nearest;  /* closest holder to the requester [driver: processors], UVMP_PROC_NONE if
			       * it is resident nowhere */
	uint8_t row;	   /* which row of the table decided, 1..12 [driver: residency-choice] */
	bool is_duplicate; /* copy it; other holders keep theirs */
};

/* May the page be read-duplicated [driver: read-duplication]? True by policy, or if the page is duplicated
 * and neither the policy nor a pin forbids it. */
UVMP_API bool uvmp_residency_can_duplicate(enum uvmp_read_duplication policy, bool is_duplicated,
					   bool is_pinned);

/* The table of [driver: residency-choice], first match wins; a destination without memory becomes the CPU.
 * O(processors). UVMP_ERR_ARGUMENT: NULL, or processors not valid. UVMP_ERR_RANGE: requester, preferred, pin,
 * a member of resident or accessed_by that is no processor of `processors`; preferred or pin names a
 * processor without its flag; accesses empty or with unknown bits; operation or duplication out of range. */
UVMP_API enum uvmp_status uvmp_residency_select(const struct uvmp_processors *processors,
						const struct uvmp_residency_facts *facts,
						struct uvmp_residency_place *place);

/* NUMA node for a page that moves to `to` (end of [driver: residency-choice]); for a GPU the node of the
 * staging buffer. Nodes are numbers >= 0; UVMP_NODE_NONE: no node is chosen. `preferred_node`
 * belongs to the policy, `current_node` to the processor on which the driver runs. `facts` is not checked;
 * NULL gives NONE. */
#define UVMP_NODE_NONE (-1)
UVMP_API int32_t uvmp_residency_node(const struct uvmp_residency_facts *facts, uint32_t to,
				     int32_t preferred_node, int32_t current_node);

/* -- rights after the move [driver: block-service, other-mappings] -- */

/* `right` is required. Zero in the other fields means: the CPU, a prefetch, no mapping, no policy. */
struct uvmp_map_facts {
	uint32_t requester;
	uint32_t to;		 /* holder that the requester will use */
	enum uvmp_access access; /* as what the page is serviced, not NONE */
	enum uvmp_right right;	 /* right of the process; at least what access needs, so never 0 */
	uint64_t read;		 /* sets of processors: whose mapping of the page reads at least, */
	uint64_t write;		 /* writes at least (a subset of read), */
	uint64_t atomic;	 /* has all rights (a subset of write). All as they are after the move */
	uint64_t accessed_by;	 /* set of processors: policy accessed-by */
	uint64_t thrashing;	 /* set of processors: those of a pinned page; empty if it is not pinned */
	uint32_t preferred;	 /* preferred location; without has_preferred 0 or UVMP_PROC_NONE */
	enum uvmp_read_duplication duplication;
	bool has_preferred; /* the page has a preferred location: `preferred` */
	bool is_duplicated; /* the page is read-duplicated (after the move) */
	bool is_hmm;	    /* the block is one of heterogeneous memory management */
	bool has_migrated;  /* the page came to `to` in this block service: no processor is a victim.
			     * So are all pages serviced for access counters, which never revoke
			     * [driver: counter-policy] */
	bool is_discarded;  /* the page is in the block's discarded set */
	bool is_integrated; /* system with integrated GPUs: every processor is mapped */
	bool is_cpu_barred; /* the page's range group must not migrate: the CPU is not mapped */
};

/* Packed record: the rights on one page. */
struct uvmp_map {
	uint8_t right;		/* enum uvmp_right: map the requester with this */
	uint8_t left;		/* enum uvmp_right: what `victims` keep; NONE if there are none */
	uint8_t others_right;	/* enum uvmp_right: map `others` with this; NONE if there are none */
	bool leaves_discarded;	/* the page is written: remove it from the discarded set (step 6) */
	uint64_t victims;	/* set of processors that lose a right; each is a REVOCATION event */
	uint64_t others_atomic; /* set of processors to map with UVMP_RIGHT_READ_WRITE_ATOMIC */
	uint64_t others;	/* set of processors to map with others_right; disjoint from others_atomic */
};

/* O(processors). UVMP_ERR_ARGUMENT: NULL, or processors not valid. UVMP_ERR_RANGE: a processor or set that is
 * not of `processors`; preferred names one without has_preferred; access, right or duplication out of
 * range; write or atomic not nested as said. UVMP_ERR_CONFLICT: the access needs more than the process'
 * right. */
UVMP_API enum uvmp_status uvmp_residency_map(const struct uvmp_processors *processors,
					     const struct uvmp_map_facts *facts, struct uvmp_map *map);

/* The highest level of rights at which others are mapped. level[r - 1] holds the pages that the block service
 * maps with right r (READ, READ_WRITE, READ_WRITE_ATOMIC), `pinned` the thrashing-pinned pages (NULL: none).
 * The driver goes through the levels upwards and, at one whose pages are all pinned, maps those and stops:
 * pages of higher levels get no mapping for others [driver: pinned-stops-mapping]. Without quirks, and if
 * there is no such level, the answer is UVMP_RIGHT_READ_WRITE_ATOMIC. Levels without pages count for nothing.
 * NULL as level: no level, that is READ_WRITE_ATOMIC. */
UVMP_API enum uvmp_right uvmp_residency_map_levels(const uvmp_mask level[3], const uvmp_mask *pinned,
						   bool quirks);

#ifdef __cplusplus
}
#endif
#endif
