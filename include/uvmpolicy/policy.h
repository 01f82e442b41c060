/* policy.h: the policy, which selects the decisions and their parameters.
 *
 * The policy string has one syntax for the command line, the environment variable UVMP_POLICY, the module
 * parameter and the C API.
 *
 *   prefetch=density threshold=51 min_faults=1 evict=lru replay=batch_flush batch=256
 *   preset=uvmsmart evict=lru4k
 *
 * Words `key=value` are separated by blanks or commas. A preset comes first, and later keys override it.
 * Without a preset, keys override the values of nvidia-595. Errors are an unknown key, a bad value, a
 * repeated key, and a key that the chosen policies do not use. The error names the key and the accepted
 * values.
 */
#ifndef UVMPOLICY_POLICY_H
#define UVMPOLICY_POLICY_H

#include "adapt.h"
#include "base.h"
#include "counter.h"
#include "evict.h"
#include "fault.h"
#include "plan.h"
#include "prefetch.h"
#include "replay.h"
#include "thrash.h"

#ifdef __cplusplus
extern "C" {
#endif

#define UVMP_POLICY_TEXT_MAX  4096u /* longest canonical form, with its NUL; longest text that is parsed */
#define UVMP_POLICY_ERROR_MAX 1024u

/* Do access counters move pages? */
enum uvmp_counters {
	UVMP_COUNTERS_DRIVER = 0, /* "driver": as the driver's parameter -1: where the system has ATS; and
				   * with 4 KiB pages notifications are drained and nothing is done
				   * [driver: notifications-drained] */
	UVMP_COUNTERS_OFF = 1,	  /* "off" */
	UVMP_COUNTERS_ON = 2	  /* "on": with every page size, as the driver does with 64 KiB */
};

#define UVMP_PREFETCH_FULL_SAME 0u

/* seq_pages and locality_pages count pages of this size, for every page size of the host; the engine rounds
 * them up. */
#define UVMP_POLICY_PAGE_BYTES 4096u

/* Unit of eviction: 16 pages of 4 KiB times two to this power. */
enum uvmp_granularity {
	UVMP_GRANULARITY_64K = 0, /* "64k" */
	UVMP_GRANULARITY_128K,
	UVMP_GRANULARITY_256K,
	UVMP_GRANULARITY_512K,
	UVMP_GRANULARITY_1M, /* "1m" */
	UVMP_GRANULARITY_2M
};

/* Everything that a policy string can say. uvmp_policy_init and uvmp_policy_parse set `size` (base.h). It
 * reaches at least to `quirks`. New fields go behind the last one, never into the structures inside. */
struct uvmp_policy {
	uint32_t size;			      /* bytes */
	struct uvmp_prefetch_params prefetch; /* prefetch, threshold, min_faults, seq_pages, locality_pages,
					       * stride_*, next_*, shared_*, private_threshold */
	enum uvmp_adapt adapt;		      /* adapt */
	enum uvmp_evictor evict;	      /* evict */
	enum uvmp_granularity granularity;    /* granularity: the unit of lru2m, lfu2m, clock2m */
	bool runtime;			      /* runtime: uvmp_pattern_decide says when evict=tbne begins to
					       * choose basic blocks (2 MiB leave before), and when remote
					       * becomes `oversub` */
	bool cyclic;			      /* cyclic: uvmp_cyclic_* pins blocks */
	uint32_t cyclic_share;		      /* cyclic_share: of uvmp_cyclic_params */
	bool auto_keep;			      /* auto_keep: uvmp_evict.keeps_old */
	struct uvmp_remote_params remote;     /* remote, remote_threshold, remote_penalty */
	uint32_t reserve;		      /* reserve: uvmp_evict.reserve_percent */
	uint32_t free_buffer;		      /* free_buffer: percent of memory that are free, or made free,
					       * when a batch begins [uvmsmart: eviction-trigger] */
	uint32_t prefetch_full;		      /* prefetch_full: UVMP_PREFETCH_FULL_SAME, or 1 + the enum
					    * uvmp_prefetcher from the batch on that follows the one that
					    * filled a GPU's memory [uvmsmart: oversubscription-switch]; with
					    * the defaults of its parameters. Nothing brings the first one
					    * back [uvmsmart: prefetcher-not-restored] */
	uint32_t pma_order;		      /* pma_order: roots per pool request, as a power of two */
	struct uvmp_replay_params replay;     /* replay, put_ratio, batch, max_*, prefetch_lapse_ms */
	bool coalesce;			      /* coalesce */
	struct uvmp_thrash_params thrash;     /* thrash (on, off), thrash_threshold, pin_threshold, lapse_us,
					       * lapse_votes, nap, epoch, pin, max_resets */
	enum uvmp_counters counters;	      /* counters */
	uint32_t counter_batch;		      /* counter_batch: notifications per batch, 1..65536 */
	uint32_t counter_threshold;	      /* counter_threshold: accesses before one notifies, 1..65535 */
	bool map_on_eviction;		      /* map_on_eviction: with counters, pages evicted from a GPU stay
					       * mapped to it [driver: remote-on-eviction] */
	bool map_on_atomics;		      /* map_on_atomics: see uvmp_residency_facts.maps_on_atomics */
	enum uvmp_plan_order plan;	      /* plan: serial, overlapped, unobtrusive */
	struct uvmp_controls controls; /* pressure_*, early_*, threads, extra_blocks, threads_*, sm_* */
	uint32_t memory_ratio;	       /* memory_ratio: of uvmp_etc_capacity, for each GPU's memory */
	uint32_t link_ratio;	       /* link_ratio: used by hosts, not by the engine */
	bool quirks;		       /* quirks; the same value as in prefetch, replay and thrash */
	/* Plugins (plugin.h), which must stay as they are while the policy, or an engine with it, is in use.
	 * That of `prefetch` is prefetch.plugin. NULL: the key names a policy of the library. */
	const struct uvmp_prefetch_plugin
		*full_plugin;			      /* prefetch_full, with the defaults of its parameters */
	const struct uvmp_evict_plugin *evict_plugin; /* evict */
	uint32_t evict_value[UVMP_PLUGIN_VALUES_MAX]; /* of its parameters */
};

struct uvmp_policy_error {
	uint32_t offset;		  /* where in the text, in bytes */
	uint32_t length;		  /* of the offending word */
	char text[UVMP_POLICY_ERROR_MAX]; /* e.g. `threshold: 101 is not accepted; 0..100`; NUL-terminated */
};

/* Sets the defaults, preset nvidia-595, for a host whose struct uvmp_policy has `size` bytes.
 * UVMP_ERR_ARGUMENT: NULL, size. Programs in C and C++ call uvmp_policy_init: no effect if NULL. */
UVMP_API enum uvmp_status uvmp_policy_init_size(struct uvmp_policy *policy, size_t size);
static inline void uvmp_policy_init(struct uvmp_policy *policy)
{
	(void)uvmp_policy_init_size(policy, sizeof(*policy));
}
/* Is every parameter in range, every unused one at its default, and quirks the same in all four places? With
 * quirks off a density threshold of 0 is not valid ([driver: threshold-zero]: the corrected rule accepts
 * 1..100), nor is a vote threshold of 0 [driver: vote-threshold-zero]. uvmp_service_params_check (service.h)
 * names the field and its range, also for a host of single decisions: `prefetch`, `replay`, `thrash` and
 * `remote` are the parameters of such decisions. */
UVMP_API bool uvmp_policy_is_valid(const struct uvmp_policy *policy);

/* Traits of the prefetcher and of the eviction order, also of a plugin; the name of the order. The policy
 * must be valid. O(1). */
UVMP_API const struct uvmp_prefetch_traits *uvmp_policy_prefetch_traits(const struct uvmp_policy *policy);
UVMP_API const struct uvmp_evict_traits *uvmp_policy_evict_traits(const struct uvmp_policy *policy);
UVMP_API const char *uvmp_policy_evict_name(const struct uvmp_policy *policy);

/* Pages of 4 KiB per unit of eviction: the unit of `evict`, or `granularity` if the order supports it. The
 * policy must be valid. */
UVMP_API uint32_t uvmp_policy_unit_pages(const struct uvmp_policy *policy);

/* -- what a policy needs of its host ------------------------------------------------------------- */

/* Requirements of a policy on its host. Hosts call uvmp_policy_needs instead of testing names of prefetchers
 * and eviction orders. */
struct uvmp_needs {
	uint32_t size;	     /* set by the host, see base.h */
	uint32_t page_bytes; /* accepted page sizes of the host: the sum of 4096, 16384, 65536 and 2097152,
			      * as far as they divide the unit of eviction; evict=tbne: 4096 alone */
	bool touches;	     /* uvmp_service_touch or _access for every access to a resident page */
	bool accesses;	     /* uvmp_service_access, with the kind of access: accesses are counted */
	bool notifications;  /* access-counter notifications (uvmp_service_note) are acted on, on every
			     * system */
	bool kernels;	     /* uvmp_service_begin_kernel and _end_kernel */
	bool utlbs;	     /* faults that carry their uTLB */
	bool one_gpu;	     /* the prefetcher's state of a range knows one GPU only */
	bool histories; /* the engine records which pages of each block were touched, for the next decision */
	/* uvmp_service_gpu.sms, and a GPU that obeys UVMP_ACTION_LIMIT: the controllers that ask for both,
	 * bit i for enum uvmp_controller i */
	uint32_t sms;
	uint32_t block_bytes; /* arena that the engine may take per resident block beside uvmp_service_size,
			      * bytes */
	bool requests;	      /* the access counters count each request of up to 128 bytes, as GPUs do */
};

/* Answers from the traits of everything that the policy names, prefetch_full included. UVMP_ERR_ARGUMENT:
 * NULL, policy not valid, needs->size. O(1). */
UVMP_API enum uvmp_status uvmp_policy_needs(const struct uvmp_policy *policy, struct uvmp_needs *needs);

#define UVMP_POLICY_EVICTORS_MAX 128u

/* The eviction orders that work with pages of `page_bytes`, as "lru|lru2m", for error messages: those with
 * units of whole pages, with the key granularity for its largest units. UVMP_ERR_ARGUMENT: NULL.
 * UVMP_ERR_SPACE: capacity (NUL included) is too small; UVMP_POLICY_EVICTORS_MAX suffices. */
UVMP_API enum uvmp_status uvmp_policy_evictors(uint32_t page_bytes, char *text, size_t capacity);

/* -- text ------------------------------------------------------------------------------------------ */

/* Parses `length` bytes of text: key=value words; a preset, as preset=NAME or NAME alone, comes first. On
 * error *policy is unchanged and *error (may be NULL) says what is wrong; on success *error is unchanged.
 * Keys of a preset that a later key makes useless fall back to their defaults; keys given in the text itself
 * are an error then.
 * UVMP_ERR_ARGUMENT: NULL. UVMP_ERR_SYNTAX: neither key=value nor a preset, or longer than
 * UVMP_POLICY_TEXT_MAX, or a byte that is not printable ASCII. UVMP_ERR_UNKNOWN: key, preset or choice.
 * UVMP_ERR_RANGE: number. UVMP_ERR_CONFLICT: repeated key, preset not first, a key that the chosen policies
 * do not use, threshold=0 or lapse_votes=0 with quirks=0, or two values that exclude each other
 * (pressure_low, early_low, early_high).
 * `size` is that of the host's struct uvmp_policy (UVMP_ERR_ARGUMENT if it is wrong). Programs in C and C++
 * call uvmp_policy_parse. */
UVMP_API enum uvmp_status uvmp_policy_parse_size(const char *text, size_t length, struct uvmp_policy *policy,
						 size_t size, struct uvmp_policy_error *error);
static inline enum uvmp_status uvmp_policy_parse(const char *text, size_t length, struct uvmp_policy *policy,
						 struct uvmp_policy_error *error)
{
	return uvmp_policy_parse_size(text, length, policy, sizeof(*policy), error);
}

/* Prints the canonical form: every key that the policy uses, in the table's order, one blank between. Parsing
 * it gives the same policy, printing that the same text. UVMP_ERR_ARGUMENT: NULL or policy not valid.
 * UVMP_ERR_SPACE: capacity (NUL included) is too small; UVMP_POLICY_TEXT_MAX always suffices. */
UVMP_API enum uvmp_status uvmp_policy_print(const struct uvmp_policy *policy, char *text, size_t capacity);

/* -- list of keys and presets, for help texts and front ends --------------------------------- */

/* One key. */
struct uvmp_policy_key {
	uint32_t size;	     /* set by the host, see base.h */
	const char *name;    /* constant text of the library */
	const char *summary; /* one line; likewise */
	char used_by[192];   /* "prefetch=density", several values as "counters=driver|on"; "": always used */
	uint32_t min, max;   /* accepted numbers; for names: accepted choices */
	uint32_t initial;    /* in nvidia-595, and wherever the key is not used */
	bool is_choice;	     /* the value is a name, see uvmp_policy_choice */
};

struct uvmp_policy_preset {
	char name[24];
	char summary[96]; /* one line, with its source */
	char text[192];	  /* the keys in which it differs from nvidia-595; "" for none */
};

/* Fills *key with the key of this number, in the order in which uvmp_policy_print prints keys; returns `key`.
 * NULL beyond the last, for NULL, and if key->size is wrong. O(keys). */
UVMP_API const struct uvmp_policy_key *uvmp_policy_key_at(uint32_t index, struct uvmp_policy_key *key);
/* The preset of this number; NULL beyond the last. O(1). */
UVMP_API const struct uvmp_policy_preset *uvmp_policy_preset_at(uint32_t index);

/* Name of the choice-th value of the i-th key; NULL beyond the last, and for keys whose value is a number. */
UVMP_API const char *uvmp_policy_choice(uint32_t index, uint32_t choice);
/* One line on that value, for prefetchers and eviction orders; "" for other names; NULL where
 * uvmp_policy_choice returns NULL. */
UVMP_API const char *uvmp_policy_choice_summary(uint32_t index, uint32_t choice);

#ifdef __cplusplus
}
#endif
#endif
