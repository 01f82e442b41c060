/* The policy string: one table of keys, one of presets, and a parser and a printer that know nothing but the
 * tables.
 *
 * Both work on a flat array with one number per key (a choice is the number of its name). Parsing: start from
 * the defaults, set what the words say, reset what the result does not use, then copy the array into the
 * policy. Printing goes the other way. Only load() and store() know where a key lives in struct uvmp_policy.
 */
#include "uvmpolicy/policy.h"

enum key {
	PREFETCH,
	THRESHOLD,
	MIN_FAULTS,
	SEQ_PAGES,
	LOCALITY_PAGES,
	STRIDE_DEPTH,
	STRIDE_CONFIDENCE,
	NEXT_BLOCKS,
	NEXT_PERCENT,
	SHARED_UTLBS,
	SHARED_THRESHOLD,
	PRIVATE_THRESHOLD,
	PREFETCH_FULL,
	ADAPT,
	PRESSURE_LOW,
	PRESSURE_STEP,
	PRESSURE_WINDOW,
	PRESSURE_OFF,
	EARLY_LOW,
	EARLY_HIGH,
	EARLY_EPOCH_US,
	EVICT,
	GRANULARITY,
	RESERVE,
	FREE_BUFFER,
	PMA_ORDER,
	RUNTIME,
	CYCLIC,
	CYCLIC_SHARE,
	REMOTE,
	REMOTE_THRESHOLD,
	REMOTE_PENALTY,
	REPLAY,
	PUT_RATIO,
	BATCH,
	COALESCE,
	MAX_BATCHES,
	MAX_THROTTLED,
	PREFETCH_LAPSE_MS,
	THRASH,
	THRASH_THRESHOLD,
	PIN_THRESHOLD,
	LAPSE_US,
	LAPSE_VOTES,
	NAP,
	EPOCH,
	PIN,
	MAX_RESETS,
	COUNTERS,
	COUNTER_BATCH,
	COUNTER_THRESHOLD,
	MAP_ON_EVICTION,
	MAP_ON_ATOMICS,
	PLAN,
	THREADS,
	EXTRA_BLOCKS,
	THREADS_PERIOD_US,
	THREADS_DROP,
	SM_THROTTLE,
	SM_EPOCH_US,
	MEMORY_RATIO,
	LINK_RATIO,
	QUIRKS,
	KEYS,
	ALWAYS = KEYS /* in place of the key that a row depends on */
};

/* How much of a caller's word an error quotes. */
#define QUOTE_MAX 40u

/* Whose names a key takes as values. */
enum names {
	NUMBERS,
	PREFETCHERS,
	FULL_PREFETCHERS,
	ADAPTERS,
	EVICTORS,
	SIZES,
	REMOTES,
	REPLAYS,
	SWITCHES,
	COUNTER_MODES,
	PLANS
};

struct row {
	struct uvmp_policy_key key;
	enum names names;
	enum key user;  /* used only while this key, which stands before, ... */
	uint32_t users; /* ... has a value of this set: bit v for value v */
};

static const char *switch_name(uint32_t choice)
{
	static const char name[][4] = {"off", "on"};

	return choice <= 1 ? name[choice] : NULL;
}

static const char *counters_name(uint32_t choice)
{
	static const char name[][8] = {"driver", "off", "on"};

	return choice <= UVMP_COUNTERS_ON ? name[choice] : NULL;
}

static const char *adapt_name(uint32_t choice)
{
	static const char name[][12] = {"off", "pressure", "early"};

	return choice < UVMP_ADAPT_COUNT ? name[choice] : NULL;
}

static const char *size_name(uint32_t choice)
{
	static const char name[][8] = {"64k", "128k", "256k", "512k", "1m", "2m"};

	return choice <= UVMP_GRANULARITY_2M ? name[choice] : NULL;
}

static const char *full_name(uint32_t choice)
{
	return choice == UVMP_PREFETCH_FULL_SAME ? "same"
	                                         : uvmp_prefetch_name((enum uvmp_prefetcher)(choice - 1u));
}

/* NULL for keys with numbers, and beyond the last name. */
static const char *choice_name(enum names names, uint32_t choice)
{
	switch (names) {
	case PREFETCHERS:
		return uvmp_prefetch_name((enum uvmp_prefetcher)choice);
	case FULL_PREFETCHERS:
		return full_name(choice);
	case ADAPTERS:
		return adapt_name(choice);
	case SIZES:
		return size_name(choice);
	case REMOTES:
		return uvmp_remote_name((enum uvmp_remote)choice);
	case EVICTORS:
		return uvmp_evict_name((enum uvmp_evictor)choice);
	case REPLAYS:
		return uvmp_replay_name((enum uvmp_replay_policy)choice);
	case SWITCHES:
		return switch_name(choice);
	case COUNTER_MODES:
		return counters_name(choice);
	case PLANS:
		return uvmp_plan_name((enum uvmp_plan_order)choice);
	default: /* NUMBERS */
		return NULL;
	}
}

#define NUMBER(name, min, max, initial, summary)                                                             \
	{                                                                                                    \
		{name, summary, "", min, max, initial, false}, NUMBERS, ALWAYS, 0                            \
	}
#define CHOICE(name, count, initial, names, summary)                                                         \
	{                                                                                                    \
		{name, summary, "", 0, (count)-1, initial, true}, names, ALWAYS, 0                           \
	}
#define CHOICE_OF(used_by, user, users, name, count, initial, names, summary)                                \
	{                                                                                                    \
		{name, summary, used_by, 0, (count)-1, initial, true}, names, user, users                    \
	}
#define NUMBER_OF(used_by, user, users, name, min, max, initial, summary)                                    \
	{                                                                                                    \
		{name, summary, used_by, min, max, initial, false}, NUMBERS, user, users                     \
	}

/* Orders of units, and those among them that know which goes first. */
#define PAGEWISE_EVICTORS ((1u << UVMP_EVICT_COUNT) - 1u - (1u << UVMP_EVICT_LRU))
#define PAGEWISE_NAMES    "lru2m|lru4k|random4k|sl64k|tbne|lfu2m|clock2m|mhpe"
#define REMOTE_MODES      ((1u << UVMP_REMOTE_COUNT) - 1u - (1u << UVMP_REMOTE_OFF))
#define ORDERED_EVICTORS  (PAGEWISE_EVICTORS - (1u << UVMP_EVICT_RANDOM_4K))
/* Those whose units have a size of choice. */
#define LARGE_EVICTORS (1u << UVMP_EVICT_LRU_2M | 1u << UVMP_EVICT_LFU_2M | 1u << UVMP_EVICT_CLOCK_2M)

/* Keys of one user: what people are told, and what is enforced. */
#define DENSITY_NUMBER(...)                                                                                  \
	NUMBER_OF("prefetch=density|next|pattern|safe", PREFETCH,                                            \
	          1u << UVMP_PREFETCH_DENSITY | 1u << UVMP_PREFETCH_NEXT | 1u << UVMP_PREFETCH_PATTERN |     \
	                  1u << UVMP_PREFETCH_SAFE,                                                          \
	          __VA_ARGS__)
#define STRIDE_NUMBER(...) NUMBER_OF("prefetch=stride", PREFETCH, 1u << UVMP_PREFETCH_STRIDE, __VA_ARGS__)
#define NEXT_NUMBER(...)   NUMBER_OF("prefetch=next", PREFETCH, 1u << UVMP_PREFETCH_NEXT, __VA_ARGS__)
#define SAFE_NUMBER(...)   NUMBER_OF("prefetch=safe", PREFETCH, 1u << UVMP_PREFETCH_SAFE, __VA_ARGS__)
#define THRASH_NUMBER(...) NUMBER_OF("thrash=on", THRASH, 1u << 1, __VA_ARGS__)
#define COUNTER_NUMBER(...)                                                                                  \
	NUMBER_OF("counters=driver|on", COUNTERS, 1u << UVMP_COUNTERS_DRIVER | 1u << UVMP_COUNTERS_ON,       \
	          __VA_ARGS__)

#define ADAPT_NUMBER(adapt, users, ...) NUMBER_OF("adapt=" adapt, ADAPT, users, __VA_ARGS__)
#define PRESSURE_NUMBER(...)            ADAPT_NUMBER("pressure", 1u << UVMP_ADAPT_PRESSURE, __VA_ARGS__)
#define EARLY_NUMBER(...)               ADAPT_NUMBER("early", 1u << UVMP_ADAPT_EARLY, __VA_ARGS__)
#define THREADS_NUMBER(...)             NUMBER_OF("threads=on", THREADS, 1u << 1, __VA_ARGS__)

static const struct row table[KEYS] = {
        [PREFETCH] = CHOICE("prefetch", UVMP_PREFETCH_COUNT, UVMP_PREFETCH_DENSITY, PREFETCHERS,
                            "what comes along with faulted pages"),
        [THRESHOLD] = DENSITY_NUMBER(
                "threshold", 0, 100, 51,
                "percent of a subtree that must be exceeded to fetch all of it; 0 only with quirks=1"),
        [MIN_FAULTS] = DENSITY_NUMBER("min_faults", 1, 20, 1,
                                      "faulted pages of a block before anything is prefetched"),
        [SEQ_PAGES] = NUMBER_OF("prefetch=sequential", PREFETCH, 1u << UVMP_PREFETCH_SEQUENTIAL, "seq_pages",
                                1, 512, 1, "pages of 4 KiB that the cursor takes per decision"),
        [LOCALITY_PAGES] =
                NUMBER_OF("prefetch=locality", PREFETCH, 1u << UVMP_PREFETCH_LOCALITY, "locality_pages", 1,
                          512, 128, "pages of 4 KiB from the faulting one on, it included"),
        [STRIDE_DEPTH] = STRIDE_NUMBER("stride_depth", 1, 64, 4, "pages ahead of a fault that fits"),
        [STRIDE_CONFIDENCE] =
                STRIDE_NUMBER("stride_confidence", 1, 7, 2, "how often a stride must have been seen"),
        [NEXT_BLOCKS] = NEXT_NUMBER("next_blocks", 1, 8, 2, "blocks that come when one is full"),
        [NEXT_PERCENT] =
                NEXT_NUMBER("next_percent", 1, 100, 90, "percent of its pages with which a block is full"),
        [SHARED_UTLBS] = SAFE_NUMBER("shared_utlbs", 2, 4096, 2,
                                     "uTLBs that fault on a block before it counts as shared"),
        [SHARED_THRESHOLD] = SAFE_NUMBER("shared_threshold", 1, 100, 1, "threshold for shared blocks"),
        [PRIVATE_THRESHOLD] = SAFE_NUMBER("private_threshold", 1, 100, 99,
                                          "threshold for blocks that are not shared; 100: nothing comes"),
        [PREFETCH_FULL] = CHOICE("prefetch_full", UVMP_PREFETCH_COUNT + 1, UVMP_PREFETCH_FULL_SAME,
                                 FULL_PREFETCHERS, "the prefetcher, for good, once memory has been full"),
        [ADAPT] = CHOICE_OF("prefetch=density|next|pattern", PREFETCH,
                            1u << UVMP_PREFETCH_DENSITY | 1u << UVMP_PREFETCH_NEXT |
                                    1u << UVMP_PREFETCH_PATTERN,
                            "adapt", UVMP_ADAPT_COUNT, UVMP_ADAPT_OFF, ADAPTERS,
                            "what changes the threshold: evictions and refaults, or fault rates"),
        [PRESSURE_LOW] = PRESSURE_NUMBER("pressure_low", 1, 100, 1,
                                         "threshold while all fits, and the lowest; at most threshold"),
        [PRESSURE_STEP] = PRESSURE_NUMBER("pressure_step", 1, 100, 10, "percent points a change"),
        [PRESSURE_WINDOW] =
                PRESSURE_NUMBER("pressure_window", 1, 1048576, 1024, "faulted pages between two looks"),
        [PRESSURE_OFF] = PRESSURE_NUMBER("pressure_off", 0, 1, 0,
                                         "1: nothing is prefetched while managed memory does not fit"),
        [EARLY_LOW] = EARLY_NUMBER("early_low", 1, 100, 26,
                                   "threshold of blocks that fault often; at most threshold"),
        [EARLY_HIGH] = EARLY_NUMBER("early_high", 1, 100, 76,
                                    "threshold of blocks that fault seldom; at least threshold"),
        [EARLY_EPOCH_US] = EARLY_NUMBER("early_epoch_us", 1, 1000000000, 10000, "over which rates are taken"),
        [EVICT] = CHOICE("evict", UVMP_EVICT_COUNT, UVMP_EVICT_LRU, EVICTORS,
                         "what leaves when memory is full"),
        [GRANULARITY] = CHOICE_OF("evict=lru2m|lfu2m|clock2m", EVICT, LARGE_EVICTORS, "granularity",
                                  UVMP_GRANULARITY_2M + 1, UVMP_GRANULARITY_2M, SIZES, "what leaves as one"),
        [RESERVE] = NUMBER_OF("evict=lru2m|lru4k|sl64k|tbne|lfu2m|clock2m|mhpe", EVICT, ORDERED_EVICTORS,
                              "reserve", 0, UVMP_EVICT_RESERVE_MAX, 0,
                              "percent of what would leave first that is spared"),
        [FREE_BUFFER] = NUMBER_OF("evict=" PAGEWISE_NAMES, EVICT, PAGEWISE_EVICTORS, "free_buffer", 0, 100, 0,
                                  "percent of memory that is made free before each batch"),
        [PMA_ORDER] = NUMBER_OF("evict=lru", EVICT, 1u << UVMP_EVICT_LRU, "pma_order", 0, 20, 6,
                                "2 MiB chunks per request to the memory pool, as a power of two"),
        [RUNTIME] = CHOICE_OF("evict=tbne", EVICT, 1u << UVMP_EVICT_TBN, "runtime", 2, 0, SWITCHES,
                              "2 MiB leave until the classifier of DATE'21 says otherwise"),
        [CYCLIC] = CHOICE_OF("evict=lru2m|lfu2m|clock2m", EVICT, LARGE_EVICTORS, "cyclic", 2, 0, SWITCHES,
                             "whether blocks that leave and return in circles are pinned"),
        [CYCLIC_SHARE] = NUMBER_OF("cyclic=on", CYCLIC, 1u << 1, "cyclic_share", 0, 100, 75,
                                   "percent of memory that may be pinned"),
        [REMOTE] = CHOICE_OF("evict=" PAGEWISE_NAMES, EVICT, PAGEWISE_EVICTORS, "remote", UVMP_REMOTE_COUNT,
                             UVMP_REMOTE_OFF, REMOTES, "when a GPU reads where the page lies, on the CPU"),
        [REMOTE_THRESHOLD] =
                NUMBER_OF("remote=adaptive|always|oversub", REMOTE, REMOTE_MODES, "remote_threshold", 1,
                          134217727, 8, "accesses to 64 KiB that bring the page after all"),
        [REMOTE_PENALTY] = NUMBER_OF("remote=adaptive", REMOTE, 1u << UVMP_REMOTE_ADAPTIVE, "remote_penalty",
                                     0, 1048576, 2, "factor of that per time out and back; 1048576 pins"),
        [REPLAY] = CHOICE("replay", UVMP_REPLAY_BATCH_WAIT + 1, UVMP_REPLAY_BATCH_FLUSH, REPLAYS,
                          "when the GPU goes on"),
        [PUT_RATIO] = NUMBER_OF("replay=batch_flush", REPLAY, 1u << UVMP_REPLAY_BATCH_FLUSH, "put_ratio", 0,
                                100, 50, "percent of duplicates beyond which a flush re-reads PUT"),
        [BATCH] = NUMBER("batch", 1, 1048576, 256, "raw faults per batch"),
        [COALESCE] = NUMBER("coalesce", 0, 1, 1, "1: merge repeated faults while fetching"),
        [MAX_BATCHES] = NUMBER("max_batches", 0, 1048576, 20, "batches per bottom half"),
        [MAX_THROTTLED] =
                NUMBER("max_throttled", 0, 1048576, 5, "batches with throttled faults per bottom half"),
        [PREFETCH_LAPSE_MS] = NUMBER("prefetch_lapse_ms", 0, UINT32_MAX, 1000,
                                     "how long prefetch faults stay off; 0: never turned off"),
        [THRASH] = CHOICE("thrash", 2, 1, SWITCHES,
                          "whether pages that bounce are pinned and their processors throttled"),
        [THRASH_THRESHOLD] = THRASH_NUMBER("thrash_threshold", 1, 7, 3,
                                           "events in quick succession from which a page counts as bouncing"),
        [PIN_THRESHOLD] = THRASH_NUMBER("pin_threshold", 1, 255, 10,
                                        "throttlings after which a bouncing page is pinned"),
        [LAPSE_US] = THRASH_NUMBER("lapse_us", 1, 1000000000, 500,
                                   "longest gap between events that still counts as quick; only 500 adapts"),
        [LAPSE_VOTES] =
                THRASH_NUMBER("lapse_votes", 0, 1000000, 32,
                              "votes before the lapse adapts; 0 only with quirks=1, where it means 500"),
        [NAP] = THRASH_NUMBER("nap", 1, 100, 1, "length of a throttling, in lapses"),
        [EPOCH] = THRASH_NUMBER("epoch", 1, 1000000, 2000,
                                "quiet time after which a block is forgotten, in lapses"),
        [PIN] = THRASH_NUMBER("pin", 0, 1000000, 300, "how long a page stays pinned, in lapses; 0: for good"),
        [MAX_RESETS] = THRASH_NUMBER("max_resets", 0, 1000000, 4, "how often one block is forgotten"),
        [COUNTERS] = CHOICE("counters", UVMP_COUNTERS_ON + 1, UVMP_COUNTERS_DRIVER, COUNTER_MODES,
                            "whether access counters move pages; driver: only where the system has ATS"),
        [COUNTER_BATCH] = COUNTER_NUMBER("counter_batch", 1, 65536, 256, "notifications per batch"),
        [COUNTER_THRESHOLD] = COUNTER_NUMBER("counter_threshold", 1, 65535, 256,
                                             "remote accesses before a counter notifies"),
        [MAP_ON_EVICTION] = COUNTER_NUMBER(
                "map_on_eviction", 0, 1, 1,
                "1: evicted pages stay mapped to their GPU, so that accesses count; 0: they fault"),
        [MAP_ON_ATOMICS] =
                NUMBER("map_on_atomics", 0, 1, 0,
                       "1: atomics of a GPU on memory of a GPU that can take them are mapped, not migrated"),
        [PLAN] = CHOICE(
                "plan",
                UVMP_PLAN_UNOBTRUSIVE + 1, UVMP_PLAN_SERIAL, PLANS,
                "serial: room, then pages; overlapped: both at once; unobtrusive: from the batch's start"),
        [THREADS] = CHOICE("threads", 2, 0, SWITCHES,
                           "whether SMs get more thread blocks than fit, to be switched in (Kim et al.)"),
        [EXTRA_BLOCKS] = THREADS_NUMBER("extra_blocks", 1, 16, 2, "most of them, per SM"),
        [THREADS_PERIOD_US] = THREADS_NUMBER("threads_period_us", 1, 1000000000, 100,
                                             "time between two looks at the lifetimes of pages"),
        [THREADS_DROP] = THREADS_NUMBER("threads_drop", 1, 100, 20,
                                        "percent by which the mean lifetime falls when one is taken back"),
        [SM_THROTTLE] =
                CHOICE("sm_throttle", 2, 0, SWITCHES, "whether SMs stand still while memory thrashes (ETC)"),
        [SM_EPOCH_US] = NUMBER_OF("sm_throttle=on", SM_THROTTLE, 1u << 1, "sm_epoch_us", 10, 1000000000, 100,
                                  "a fifth of it SMs are watched, four fifths they are left alone"),
        [MEMORY_RATIO] =
                NUMBER("memory_ratio", 100, 1000, 100,
                       "percent of its memory that a GPU holds by compression; offsets may lie beyond it"),
        [LINK_RATIO] = NUMBER("link_ratio", 100, 1000, 100,
                              "bytes that stand for 100 on a link that compresses; hosts apply it"),
        [QUIRKS] = NUMBER("quirks", 0, 1, 1, "1: the original's oddities as they are; 0: corrected rules"),
};

static const struct uvmp_policy_preset presets[] = {
        {"nvidia-595", "the NVIDIA driver 595.45.04 (open kernel modules) as it ships", ""},
        {"nvidia-block", "the same, a replay for each VABlock", "replay=block"},
        {"nvidia-batch", "the same, a replay for each batch, no flush", "replay=batch"},
        {"nvidia-once", "the same, one replay when all batches are done", "replay=once"},
        {"nvidia-aggressive", "the same with the threshold that Allen and Ge measured: all of a block",
         "threshold=1"},
        {"on-demand", "the NVIDIA driver with uvm_perf_prefetch_enable=0: only faulted pages move",
         "prefetch=none"},
        {"adaptive",
         "threshold from faults and evictions, aggressive while all fits (Allen and Ge 2021, VI.B)",
         "adapt=pressure"},
        {"adaptive-off", "the same, prefetching off when data does not fit (Allen and Ge 2021, VI.B)",
         "adapt=pressure pressure_off=1"},
        {"access-lru", "the driver with eviction by observed accesses, newest kept (Allen and Ge 2021, VI.B)",
         "evict=lru2m"},
        {"access-lfu", "the driver with eviction by counted accesses (Allen and Ge 2021, VI.B)",
         "evict=lfu2m"},
        {"granularity-64k", "the driver with allocation and eviction of 64 KiB (Allen and Ge 2021, VI.B)",
         "evict=lru2m granularity=64k"},
        {"granularity-256k", "the same of 256 KiB", "evict=lru2m granularity=256k"},
        {"uvmsmart", "UVM Smart as it ships: tree-based prefetcher, LRU of 2 MiB (Ganguly et al., ISCA'19)",
         "prefetch=tbn evict=lru2m batch=1 thrash=off counters=off"},
        {"uvmsmart-none", "UVM Smart without prefetching, LRU of 4 KiB (ISCA'19, combinations)",
         "prefetch=none evict=lru4k batch=1 thrash=off counters=off"},
        {"uvmsmart-lru-od",
         "UVM Smart: once memory is full nothing is prefetched, LRU of 4 KiB (ISCA'19, combinations)",
         "prefetch=tbn prefetch_full=none evict=lru4k batch=1 thrash=off counters=off"},
        {"uvmsmart-random", "UVM Smart: once memory is full random both ways (ISCA'19, combinations)",
         "prefetch=tbn prefetch_full=random evict=random4k batch=1 thrash=off counters=off"},
        {"uvmsmart-sl", "UVM Smart: once memory is full 64 KiB both ways (ISCA'19, combinations)",
         "prefetch=tbn prefetch_full=sl evict=sl64k batch=1 thrash=off counters=off"},
        {"uvmsmart-tbn", "UVM Smart: trees both ways (ISCA'19, combinations)",
         "prefetch=tbn evict=tbne batch=1 thrash=off counters=off"},
        {"uvmsmart-reserve", "UVM Smart, 10 % of the oldest pages spared (ISCA'19, reservation)",
         "prefetch=tbn evict=tbne reserve=10 batch=1 thrash=off counters=off"},
        {"uvmsmart-ahead", "UVM Smart, 5 % of memory made free ahead (ISCA'19, pre-eviction)",
         "prefetch=tbn prefetch_full=none evict=lru4k free_buffer=5 batch=1 thrash=off counters=off"},
        {"uvmsmart-adaptive",
         "UVM Smart, migration delayed by pressure and round trips (Ganguly et al., IPDPS'20)",
         "prefetch=tbn evict=lfu2m remote=adaptive batch=1 thrash=off counters=off"},
        {"uvmsmart-always", "UVM Smart, migration always delayed (IPDPS'20, compared with)",
         "prefetch=tbn evict=lfu2m remote=always batch=1 thrash=off counters=off"},
        {"uvmsmart-oversub", "UVM Smart, migration delayed once memory is full (IPDPS'20, compared with)",
         "prefetch=tbn evict=lfu2m remote=oversub batch=1 thrash=off counters=off"},
        {"uvmsmart-pinned", "UVM Smart, what left once is read where it lies (IPDPS'20, penalty 1048576)",
         "prefetch=tbn evict=lfu2m remote=adaptive remote_penalty=1048576 batch=1 thrash=off counters=off"},
        {"uvmsmart-runtime",
         "UVM Smart, patterns choose eviction and remote access (Ganguly et al., DATE'21)",
         "prefetch=tbn evict=tbne runtime=on batch=1 thrash=off counters=off"},
        {"zheng-random", "one random page beside each fault (Zheng et al., HPCA'16)",
         "prefetch=random thrash=off counters=off"},
        {"zheng-sequential", "pages from the lowest address up (Zheng et al., HPCA'16)",
         "prefetch=sequential thrash=off counters=off"},
        {"zheng-locality", "128 pages from the faulting one (Zheng et al., HPCA'16)",
         "prefetch=locality thrash=off counters=off"},
        {"batch-aware-base", "what Kim et al. compare with: Zheng's prefetcher, LRU of 64 KiB (ASPLOS'20)",
         "prefetch=locality prefetch_full=none evict=lru2m granularity=64k replay=batch_wait batch=1024 "
         "thrash=off "
         "counters=off"},
        {"batch-aware-to", "that with more thread blocks than fit (Kim et al., ASPLOS'20)",
         "prefetch=locality prefetch_full=none evict=lru2m granularity=64k replay=batch_wait batch=1024 "
         "thrash=off counters=off "
         "threads=on"},
        {"batch-aware-ue",
         "that with evictions begun with the batch, both ways at once (Kim et al., ASPLOS'20)",
         "prefetch=locality prefetch_full=none evict=lru2m granularity=64k replay=batch_wait batch=1024 "
         "thrash=off counters=off "
         "plan=unobtrusive"},
        {"batch-aware", "both (Kim et al., ASPLOS'20)",
         "prefetch=locality prefetch_full=none evict=lru2m granularity=64k replay=batch_wait batch=1024 "
         "thrash=off counters=off "
         "plan=unobtrusive threads=on"},
        {"etc",
         "that base with SMs throttled, memory compressed (ETC, Li et al., ASPLOS'19, as Kim et al. tell)",
         "prefetch=locality prefetch_full=none evict=lru2m granularity=64k replay=batch_wait batch=1024 "
         "thrash=off counters=off "
         "sm_throttle=on memory_ratio=125"},
        {"compressed-link",
         "that base on a link that compresses 5 to 4 (Kim et al., ASPLOS'20, compared with)",
         "prefetch=locality prefetch_full=none evict=lru2m granularity=64k replay=batch_wait batch=1024 "
         "thrash=off counters=off "
         "link_ratio=125"},
        {"cppe", "pattern-aware prefetching, MHPE eviction (Yu et al., CPPE, IPDPS'20)",
         "prefetch=pattern evict=mhpe thrash=off counters=off"},
        {"early-adaptor", "threshold from fault rates (Go et al., Early-Adaptor, ISPASS'23)", "adapt=early"},
        {"safe", "threshold by how many uTLBs share a block (SAFE)", "prefetch=safe"},
        {"beyond-block", "density, and the next blocks when one is full (Rhee et al.)", "prefetch=next"},
        {"stride", "the next pages of strides that repeat", "prefetch=stride"},
        {"cyclic", "LRU of 2 MiB, blocks that circle pinned (CASES'20)", "evict=lru2m cyclic=on"},
        {"second-chance", "second chance over 2 MiB (clock)", "evict=clock2m"},
};

#define PRESETS ((uint32_t)(sizeof(presets) / sizeof(presets[0])))

/* -- text -- */

/* Counts everything, keeps what fits with a NUL behind it. */
struct sink {
	char *text;
	size_t capacity, length;
};

struct span {
	const char *at;
	uint32_t length;
};

static struct span span_of(const char *text)
{
	struct span span = {text, 0};

	while (text[span.length] != '\0')
		span.length++;
	return span;
}

static bool equal(struct span span, const char *text)
{
	for (uint32_t i = 0; i < span.length; i++)
		if (text[i] != span.at[i]) /* also where text ends: a span holds no NUL */
			return false;
	return text[span.length] == '\0';
}

static void put_char(struct sink *sink, char c)
{
	if (sink->length + 1 < sink->capacity) {
		sink->text[sink->length] = c;
		sink->text[sink->length + 1] = '\0';
	}
	sink->length++;
}

static void put_text(struct sink *sink, const char *text)
{
	while (*text != '\0')
		put_char(sink, *text++);
}

/* A caller's word, cut so that it leaves room for what is said about it. */
static void put_quote(struct sink *sink, struct span span)
{
	for (uint32_t i = 0; i < span.length && i < QUOTE_MAX; i++)
		put_char(sink, span.at[i]);
	if (span.length > QUOTE_MAX)
		put_text(sink, "...");
}

static void put_number(struct sink *sink, uint32_t number)
{
	uint32_t unit = 1;

	while (number / unit >= 10)
		unit *= 10;
	for (; unit > 0; unit /= 10)
		put_char(sink, (char)('0' + number / unit % 10));
}

static void put_accepted(struct sink *sink, const struct row *row)
{
	if (!row->key.is_choice) {
		put_number(sink, row->key.min);
		put_text(sink, "..");
		put_number(sink, row->key.max);
		return;
	}
	for (uint32_t i = row->key.min; i <= row->key.max; i++) {
		put_text(sink, i > row->key.min ? " " : "");
		put_text(sink, choice_name(row->names, i));
	}
}

static bool parse_number(struct span span, uint32_t max, uint32_t *number)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < span.length; i++) {
		if (span.at[i] < '0' || span.at[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(span.at[i] - '0');
		if (n > max)
			return false;
	}
	*number = (uint32_t)n;
	return true;
}

/* -- values -- */

static void load(const struct uvmp_policy *policy, uint32_t value[KEYS])
{
	value[PREFETCH] = (uint32_t)policy->prefetch.prefetcher;
	value[THRESHOLD] = policy->prefetch.threshold;
	value[MIN_FAULTS] = policy->prefetch.min_faults;
	value[SEQ_PAGES] = policy->prefetch.sequential_pages;
	value[LOCALITY_PAGES] = policy->prefetch.locality_pages;
	value[STRIDE_DEPTH] = policy->prefetch.stride_depth;
	value[STRIDE_CONFIDENCE] = policy->prefetch.stride_confidence;
	value[NEXT_BLOCKS] = policy->prefetch.next_blocks;
	value[NEXT_PERCENT] = policy->prefetch.next_percent;
	value[SHARED_UTLBS] = policy->prefetch.shared_utlbs;
	value[SHARED_THRESHOLD] = policy->prefetch.shared_threshold;
	value[PRIVATE_THRESHOLD] = policy->prefetch.private_threshold;
	value[ADAPT] = (uint32_t)policy->adapt;
	value[PRESSURE_LOW] = policy->pressure_low;
	value[PRESSURE_STEP] = policy->pressure_step;
	value[PRESSURE_WINDOW] = policy->pressure_window;
	value[PRESSURE_OFF] = policy->pressure_off;
	value[EARLY_LOW] = policy->early_low;
	value[EARLY_HIGH] = policy->early_high;
	value[EARLY_EPOCH_US] = policy->early_epoch_us;
	value[EVICT] = (uint32_t)policy->evict;
	value[GRANULARITY] = (uint32_t)policy->granularity;
	value[RUNTIME] = policy->runtime;
	value[CYCLIC] = policy->cyclic;
	value[CYCLIC_SHARE] = policy->cyclic_share;
	value[REMOTE] = policy->remote.remote;
	value[REMOTE_THRESHOLD] = policy->remote.threshold;
	value[REMOTE_PENALTY] = policy->remote.penalty;
	value[RESERVE] = policy->reserve;
	value[FREE_BUFFER] = policy->free_buffer;
	value[PREFETCH_FULL] = policy->prefetch_full;
	value[PMA_ORDER] = policy->pma_order;
	value[REPLAY] = (uint32_t)policy->replay.policy;
	value[PUT_RATIO] = policy->replay.update_put_ratio;
	value[BATCH] = policy->replay.max_batch;
	value[COALESCE] = policy->coalesce;
	value[MAX_BATCHES] = policy->replay.max_batches;
	value[MAX_THROTTLED] = policy->replay.max_throttled;
	value[PREFETCH_LAPSE_MS] = policy->replay.prefetch_lapse_ms;
	value[THRASH] = policy->thrash.is_enabled;
	value[THRASH_THRESHOLD] = policy->thrash.threshold;
	value[PIN_THRESHOLD] = policy->thrash.pin_threshold;
	value[LAPSE_US] = policy->thrash.lapse_us;
	value[LAPSE_VOTES] = policy->thrash.vote_threshold;
	value[NAP] = policy->thrash.nap;
	value[EPOCH] = policy->thrash.epoch;
	value[PIN] = policy->thrash.pin;
	value[MAX_RESETS] = policy->thrash.max_resets;
	value[COUNTERS] = (uint32_t)policy->counters;
	value[COUNTER_BATCH] = policy->counter_batch;
	value[COUNTER_THRESHOLD] = policy->counter_threshold;
	value[MAP_ON_EVICTION] = policy->map_on_eviction;
	value[MAP_ON_ATOMICS] = policy->map_on_atomics;
	value[PLAN] = (uint32_t)policy->plan;
	value[THREADS] = policy->threads;
	value[EXTRA_BLOCKS] = policy->extra_blocks;
	value[THREADS_PERIOD_US] = policy->threads_period_us;
	value[THREADS_DROP] = policy->threads_drop;
	value[SM_THROTTLE] = policy->sm_throttle;
	value[SM_EPOCH_US] = policy->sm_epoch_us;
	value[MEMORY_RATIO] = policy->memory_ratio;
	value[LINK_RATIO] = policy->link_ratio;
	value[QUIRKS] = policy->quirks;
}

static void store(const uint32_t value[KEYS], struct uvmp_policy *policy)
{
	policy->prefetch.prefetcher = (enum uvmp_prefetcher)value[PREFETCH];
	policy->prefetch.threshold = value[THRESHOLD];
	policy->prefetch.min_faults = value[MIN_FAULTS];
	policy->prefetch.sequential_pages = value[SEQ_PAGES];
	policy->prefetch.locality_pages = value[LOCALITY_PAGES];
	policy->prefetch.stride_depth = value[STRIDE_DEPTH];
	policy->prefetch.stride_confidence = value[STRIDE_CONFIDENCE];
	policy->prefetch.next_blocks = value[NEXT_BLOCKS];
	policy->prefetch.next_percent = value[NEXT_PERCENT];
	policy->prefetch.shared_utlbs = value[SHARED_UTLBS];
	policy->prefetch.shared_threshold = value[SHARED_THRESHOLD];
	policy->prefetch.private_threshold = value[PRIVATE_THRESHOLD];
	policy->adapt = (enum uvmp_adapt)value[ADAPT];
	policy->pressure_low = value[PRESSURE_LOW];
	policy->pressure_step = value[PRESSURE_STEP];
	policy->pressure_window = value[PRESSURE_WINDOW];
	policy->pressure_off = value[PRESSURE_OFF] != 0;
	policy->early_low = value[EARLY_LOW];
	policy->early_high = value[EARLY_HIGH];
	policy->early_epoch_us = value[EARLY_EPOCH_US];
	policy->evict = (enum uvmp_evictor)value[EVICT];
	policy->granularity = (enum uvmp_granularity)value[GRANULARITY];
	policy->runtime = value[RUNTIME] != 0;
	policy->cyclic = value[CYCLIC] != 0;
	policy->cyclic_share = value[CYCLIC_SHARE];
	policy->remote.remote = value[REMOTE];
	policy->remote.threshold = value[REMOTE_THRESHOLD];
	policy->remote.penalty = value[REMOTE_PENALTY];
	policy->reserve = value[RESERVE];
	policy->free_buffer = value[FREE_BUFFER];
	policy->prefetch_full = value[PREFETCH_FULL];
	policy->pma_order = value[PMA_ORDER];
	policy->replay.policy = (enum uvmp_replay_policy)value[REPLAY];
	policy->replay.update_put_ratio = value[PUT_RATIO];
	policy->replay.max_batch = value[BATCH];
	policy->coalesce = value[COALESCE] != 0;
	policy->replay.max_batches = value[MAX_BATCHES];
	policy->replay.max_throttled = value[MAX_THROTTLED];
	policy->replay.prefetch_lapse_ms = value[PREFETCH_LAPSE_MS];
	policy->thrash.is_enabled = value[THRASH] != 0;
	policy->thrash.threshold = value[THRASH_THRESHOLD];
	policy->thrash.pin_threshold = value[PIN_THRESHOLD];
	policy->thrash.lapse_us = value[LAPSE_US];
	policy->thrash.vote_threshold = value[LAPSE_VOTES];
	policy->thrash.nap = value[NAP];
	policy->thrash.epoch = value[EPOCH];
	policy->thrash.pin = value[PIN];
	policy->thrash.max_resets = value[MAX_RESETS];
	policy->counters = (enum uvmp_counters)value[COUNTERS];
	policy->counter_batch = value[COUNTER_BATCH];
	policy->counter_threshold = value[COUNTER_THRESHOLD];
	policy->map_on_eviction = value[MAP_ON_EVICTION] != 0;
	policy->map_on_atomics = value[MAP_ON_ATOMICS] != 0;
	policy->plan = (enum uvmp_plan_order)value[PLAN];
	policy->threads = value[THREADS] != 0;
	policy->extra_blocks = value[EXTRA_BLOCKS];
	policy->threads_period_us = value[THREADS_PERIOD_US];
	policy->threads_drop = value[THREADS_DROP];
	policy->sm_throttle = value[SM_THROTTLE] != 0;
	policy->sm_epoch_us = value[SM_EPOCH_US];
	policy->memory_ratio = value[MEMORY_RATIO];
	policy->link_ratio = value[LINK_RATIO];
	policy->quirks = value[QUIRKS] != 0;
	policy->prefetch.quirks = policy->quirks;
	policy->replay.quirks = policy->quirks;
	policy->thrash.quirks = policy->quirks;
}

static void set_defaults(uint32_t value[KEYS])
{
	for (uint32_t k = 0; k < KEYS; k++)
		value[k] = table[k].key.initial;
}

static bool is_used(const uint32_t value[KEYS], uint32_t k)
{
	return table[k].user == ALWAYS || (table[k].users >> value[table[k].user] & 1u) != 0;
}

/* What a key may be beside another one: by names that one, KEYS if the table says it all. */
struct limit {
	enum key by;
	uint32_t min, max;
};

/* The driver takes a 0 by accident which the corrected rules do not share: a threshold that all exceed
 * [driver: threshold-zero], a number of votes that turns into another [driver: vote-threshold-zero]. The
 * thresholds of a controller lie to either side of the policy's, of which 0 counts as 1. */
static struct limit limit_of(const uint32_t value[KEYS], uint32_t k)
{
	uint32_t base = value[THRESHOLD] != 0 ? value[THRESHOLD] : 1u;
	struct limit limit = {KEYS, table[k].key.min, table[k].key.max};

	switch (k) {
	case THRESHOLD:
	case LAPSE_VOTES:
		limit.by = QUIRKS;
		limit.min = value[QUIRKS] != 0 ? 0 : 1;
		break;
	case PRESSURE_LOW:
	case EARLY_LOW:
		limit.by = THRESHOLD;
		limit.max = base;
		break;
	case EARLY_HIGH:
		limit.by = THRESHOLD;
		limit.min = base;
		break;
	default:
		break;
	}
	return limit;
}

static bool is_within(uint32_t value, struct limit limit)
{
	return value >= limit.min && value <= limit.max;
}

void uvmp_policy_init(struct uvmp_policy *policy)
{
	uint32_t value[KEYS];

	if (policy == NULL)
		return;
	set_defaults(value);
	store(value, policy);
}

bool uvmp_policy_is_valid(const struct uvmp_policy *policy)
{
	uint32_t value[KEYS];

	if (policy == NULL || policy->prefetch.quirks != policy->quirks ||
	    policy->replay.quirks != policy->quirks || policy->thrash.quirks != policy->quirks)
		return false;
	load(policy, value);
	for (uint32_t k = 0; k < KEYS; k++) {
		if (value[k] < table[k].key.min || value[k] > table[k].key.max)
			return false;
		/* its user stands before it: in range, or we would not be here */
		if (is_used(value, k) ? !is_within(value[k], limit_of(value, k))
		                      : value[k] != table[k].key.initial)
			return false;
	}
	return true;
}

uint32_t uvmp_policy_unit_pages(const struct uvmp_policy *policy)
{
	if ((LARGE_EVICTORS >> (uint32_t)policy->evict & 1u) != 0)
		return UVMP_BASIC_BLOCK_PAGES << (uint32_t)policy->granularity;
	return uvmp_evict_unit_pages(policy->evict);
}

/* -- parsing -- */

/* Part of the text; length 0: none. */
struct word {
	uint32_t offset, length;
};

struct parser {
	struct span text;
	uint32_t value[KEYS];
	struct word given[KEYS];         /* the word that set a key, not counting presets */
	struct word word;                /* the present one */
	struct uvmp_policy_error *error; /* NULL: none is wanted */
};

/* Points the error at the word and opens its text; nobody reads it where the caller wants none. */
static struct sink error_at(const struct parser *parser, struct word word)
{
	struct sink sink = {NULL, 0, 0};

	if (parser->error == NULL)
		return sink;
	sink.text = parser->error->text;
	sink.capacity = UVMP_POLICY_ERROR_MAX;
	parser->error->offset = word.offset;
	parser->error->length = word.length;
	parser->error->text[0] = '\0';
	return sink;
}

/* `NAME: WHAT` or, with tail, `NAME: WHAT TAIL`. */
static void say(const struct parser *parser, struct word word, struct span name, const char *what,
                const char *tail)
{
	struct sink sink = error_at(parser, word);

	put_quote(&sink, name);
	put_text(&sink, ": ");
	put_text(&sink, what);
	put_text(&sink, tail);
}

static bool is_separator(char c)
{
	return c == ' ' || c == ',';
}

/* Moves to the next word; false when there is none. */
static bool next_word(struct span text, struct word *word)
{
	uint32_t at = word->offset + word->length;

	while (at < text.length && is_separator(text.at[at]))
		at++;
	word->offset = at;
	while (at < text.length && !is_separator(text.at[at]))
		at++;
	word->length = at - word->offset;
	return word->length > 0;
}

/* Cuts `key=value` at its first '='; false if either side is empty. */
static bool split(struct span word, struct span *name, struct span *value)
{
	uint32_t at = 0;

	while (at < word.length && word.at[at] != '=')
		at++;
	name->at = word.at;
	name->length = at;
	value->at = word.at + at + 1;
	value->length = word.length - at - 1;
	return at > 0 && at + 1 < word.length;
}

static uint32_t find_key(struct span name)
{
	uint32_t k = 0;

	while (k < KEYS && !equal(name, table[k].key.name))
		k++;
	return k;
}

static enum uvmp_status read_value(const struct row *row, struct span text, uint32_t *value)
{
	uint32_t number;

	if (!row->key.is_choice) {
		if (!parse_number(text, row->key.max, &number) || number < row->key.min)
			return UVMP_ERR_RANGE;
		*value = number;
		return UVMP_OK;
	}
	for (uint32_t i = row->key.min; i <= row->key.max; i++) {
		if (equal(text, choice_name(row->names, i))) {
			*value = i;
			return UVMP_OK;
		}
	}
	return UVMP_ERR_UNKNOWN;
}

/* A preset's text is ours: its words are right, which a unit test sees to. */
static void apply_preset(const struct uvmp_policy_preset *preset, uint32_t value[KEYS])
{
	struct span text = span_of(preset->text), name, number;
	struct word word = {0, 0};

	while (next_word(text, &word)) {
		struct span whole = {text.at + word.offset, word.length};
		uint32_t k;

		(void)split(whole, &name, &number);
		k = find_key(name);
		(void)read_value(&table[k], number, &value[k]);
	}
}

/* PRESETS: no preset has that name. */
static uint32_t find_preset(struct span name)
{
	uint32_t i = 0;

	while (i < PRESETS && !equal(name, presets[i].name))
		i++;
	return i;
}

static enum uvmp_status take_preset(struct parser *parser, struct span wanted, bool is_first)
{
	uint32_t preset = find_preset(wanted);
	struct sink sink;

	if (!is_first) {
		say(parser, parser->word, span_of("preset"), "must come first, and once", "");
		return UVMP_ERR_CONFLICT;
	}
	if (preset < PRESETS) {
		apply_preset(&presets[preset], parser->value);
		return UVMP_OK;
	}
	sink = error_at(parser, parser->word);
	put_text(&sink, "preset: \"");
	put_quote(&sink, wanted);
	put_text(&sink, "\" is not accepted");
	return UVMP_ERR_UNKNOWN;
}

static void reject_value(const struct parser *parser, const struct row *row, struct span value)
{
	struct sink sink = error_at(parser, parser->word);
	const char *quote = row->key.is_choice ? "\"" : "";

	put_text(&sink, row->key.name);
	put_text(&sink, ": ");
	put_text(&sink, quote);
	put_quote(&sink, value);
	put_text(&sink, quote);
	put_text(&sink, " is not accepted; ");
	put_accepted(&sink, row);
}

static enum uvmp_status take_word(struct parser *parser, bool is_first)
{
	struct span word = {parser->text.at + parser->word.offset, parser->word.length}, name, value;
	enum uvmp_status status;
	uint32_t k;

	if (!split(word, &name, &value)) {
		if (find_preset(word) < PRESETS)
			return take_preset(parser, word, is_first);
		say(parser, parser->word, word, "neither key=value nor a preset", "");
		return UVMP_ERR_SYNTAX;
	}
	if (equal(name, "preset"))
		return take_preset(parser, value, is_first);
	k = find_key(name);
	if (k == KEYS) {
		say(parser, parser->word, name, "no such key", "");
		return UVMP_ERR_UNKNOWN;
	}
	if (parser->given[k].length > 0) {
		say(parser, parser->word, name, "given twice", "");
		return UVMP_ERR_CONFLICT;
	}
	status = read_value(&table[k], value, &parser->value[k]);
	if (status != UVMP_OK)
		reject_value(parser, &table[k], value);
	parser->given[k] = parser->word;
	return status;
}

static void reject_limit(const struct parser *parser, uint32_t k, struct limit limit)
{
	struct sink sink = error_at(parser, parser->given[k]);

	put_text(&sink, table[k].key.name);
	put_text(&sink, ": ");
	put_number(&sink, parser->value[k]);
	put_text(&sink, " is not accepted with ");
	put_text(&sink, table[limit.by].key.name);
	put_char(&sink, '=');
	put_number(&sink, parser->value[limit.by]);
	put_text(&sink, "; ");
	put_number(&sink, limit.min);
	put_text(&sink, "..");
	put_number(&sink, limit.max);
}

/* Resets what the result does not use; a key that was asked for in vain is an error. */
static enum uvmp_status reset_unused(struct parser *parser)
{
	for (uint32_t k = 0; k < KEYS; k++) {
		if (is_used(parser->value, k))
			continue;
		if (parser->given[k].length > 0) {
			say(parser, parser->given[k], span_of(table[k].key.name), "used only by ",
			    table[k].key.used_by);
			return UVMP_ERR_CONFLICT;
		}
		parser->value[k] = table[k].key.initial;
	}
	return UVMP_OK;
}

/* What nobody asked for follows what was asked for; two words that contradict each other are an error. */
static enum uvmp_status fit(struct parser *parser)
{
	for (uint32_t k = 0; k < KEYS; k++) {
		struct limit limit = limit_of(parser->value, k);

		if (!is_used(parser->value, k) || is_within(parser->value[k], limit))
			continue;
		if (parser->given[k].length > 0) {
			reject_limit(parser, k, limit);
			return UVMP_ERR_CONFLICT;
		}
		parser->value[k] = parser->value[k] < limit.min ? limit.min : limit.max;
	}
	return UVMP_OK;
}

/* Only printable bytes may reach words and error texts. */
static enum uvmp_status check_bytes(const struct parser *parser, size_t length)
{
	struct word word = {UVMP_POLICY_TEXT_MAX, 1};
	struct sink sink;

	if (length > UVMP_POLICY_TEXT_MAX) {
		sink = error_at(parser, word);
		put_text(&sink, "longer than ");
		put_number(&sink, UVMP_POLICY_TEXT_MAX);
		put_text(&sink, " bytes");
		return UVMP_ERR_SYNTAX;
	}
	for (word.offset = 0; word.offset < length; word.offset++) {
		uint8_t byte = (uint8_t)parser->text.at[word.offset];

		if (byte >= 0x20 && byte <= 0x7e)
			continue;
		sink = error_at(parser, word);
		put_text(&sink, "byte ");
		put_number(&sink, byte);
		put_text(&sink, " is not printable ASCII");
		return UVMP_ERR_SYNTAX;
	}
	return UVMP_OK;
}

static enum uvmp_status parse(struct parser *parser, size_t length)
{
	enum uvmp_status status = check_bytes(parser, length);
	bool is_first = true;

	if (status != UVMP_OK)
		return status;
	parser->text.length = (uint32_t)length;
	set_defaults(parser->value);
	while (next_word(parser->text, &parser->word)) {
		status = take_word(parser, is_first);
		if (status != UVMP_OK)
			return status;
		is_first = false;
	}
	status = reset_unused(parser);
	return status == UVMP_OK ? fit(parser) : status;
}

enum uvmp_status uvmp_policy_parse(const char *text, size_t length, struct uvmp_policy *policy,
                                   struct uvmp_policy_error *error)
{
	struct parser parser = {.text = {text, 0}, .error = error};
	enum uvmp_status status;

	if (text == NULL || policy == NULL) {
		struct sink sink = error_at(&parser, parser.word);

		put_text(&sink, uvmp_status_text(UVMP_ERR_ARGUMENT));
		return UVMP_ERR_ARGUMENT;
	}
	status = parse(&parser, length);
	if (status == UVMP_OK)
		store(parser.value, policy);
	return status;
}

/* -- printing -- */

static void put_policy(struct sink *sink, const uint32_t value[KEYS])
{
	for (uint32_t k = 0; k < KEYS; k++) {
		if (!is_used(value, k))
			continue;
		put_text(sink, k > 0 ? " " : "");
		put_text(sink, table[k].key.name);
		put_char(sink, '=');
		if (table[k].key.is_choice)
			put_text(sink, choice_name(table[k].names, value[k]));
		else
			put_number(sink, value[k]);
	}
}

enum uvmp_status uvmp_policy_print(const struct uvmp_policy *policy, char *text, size_t capacity)
{
	struct sink measure = {NULL, 0, 0}, sink = {text, capacity, 0};
	uint32_t value[KEYS];

	if (text == NULL || !uvmp_policy_is_valid(policy))
		return UVMP_ERR_ARGUMENT;
	load(policy, value);
	put_policy(&measure, value);
	if (measure.length >= capacity)
		return UVMP_ERR_SPACE;
	put_policy(&sink, value);
	return UVMP_OK;
}

/* -- tables -- */

const struct uvmp_policy_key *uvmp_policy_key_at(uint32_t index)
{
	return index < KEYS ? &table[index].key : NULL;
}

const struct uvmp_policy_preset *uvmp_policy_preset_at(uint32_t index)
{
	return index < PRESETS ? &presets[index] : NULL;
}

const char *uvmp_policy_choice(uint32_t index, uint32_t choice)
{
	return index < KEYS ? choice_name(table[index].names, choice) : NULL;
}
