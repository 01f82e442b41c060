/* The presets: names for the policies that were published or shipped, each with its source. */
#include "uvmpolicy/policy.h"

static const struct uvmp_policy_preset presets[] = {
	{"nvidia-595", "the NVIDIA driver 595.45.04 (open kernel modules) as it ships", ""},
	{"nvidia-block", "the same, with a replay for each VABlock", "replay=block"},
	{"nvidia-batch", "the same, with a replay for each batch and no flush", "replay=batch"},
	{"nvidia-once", "the same, with one replay when all batches are done", "replay=once"},
	{"nvidia-aggressive", "the same with threshold 1, measured by Allen and Ge: a fault fetches its whole block",
	 "threshold=1"},
	{"auto", "prefetches, victims and remote access by what they have cost so far",
	 "prefetch=auto evict=auto remote=auto batch=96 counter_threshold=2048 plan=overlapped"},
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
	{"granularity-256k", "the same with 256 KiB", "evict=lru2m granularity=256k"},
	{"uvmsmart", "UVM Smart as it ships: tree-based prefetcher, LRU of 2 MiB (Ganguly et al., ISCA'19)",
	 "prefetch=tbn evict=lru2m batch=1 thrash=off counters=off"},
	{"uvmsmart-none", "UVM Smart without prefetching, LRU of 4 KiB (ISCA'19, combinations)",
	 "prefetch=none evict=lru4k batch=1 thrash=off counters=off"},
	{"uvmsmart-lru-od",
	 "UVM Smart: no prefetch once memory is full, LRU of 4 KiB (ISCA'19, combinations)",
	 "prefetch=tbn prefetch_full=none evict=lru4k batch=1 thrash=off counters=off"},
	{"uvmsmart-random", "UVM Smart: random prefetch and eviction once memory is full (ISCA'19, combinations)",
	 "prefetch=tbn prefetch_full=random evict=random4k batch=1 thrash=off counters=off"},
	{"uvmsmart-sl", "UVM Smart: 64 KiB are prefetched and evicted once memory is full (ISCA'19, combinations)",
	 "prefetch=tbn prefetch_full=sl evict=sl64k batch=1 thrash=off counters=off"},
	{"uvmsmart-tbn", "UVM Smart: tree-based prefetch and eviction (ISCA'19, combinations)",
	 "prefetch=tbn evict=tbne batch=1 thrash=off counters=off"},
	{"uvmsmart-reserve", "UVM Smart, the oldest 10 % of pages protected (ISCA'19, reservation)",
	 "prefetch=tbn evict=tbne reserve=10 batch=1 thrash=off counters=off"},
	{"uvmsmart-ahead", "UVM Smart, 5 % of memory freed before each batch (ISCA'19, pre-eviction)",
	 "prefetch=tbn prefetch_full=none evict=lru4k free_buffer=5 batch=1 thrash=off counters=off"},
	{"uvmsmart-adaptive",
	 "UVM Smart, migration delayed by pressure and round trips (Ganguly et al., IPDPS'20)",
	 "prefetch=tbn evict=lfu2m remote=adaptive batch=1 thrash=off counters=off"},
	{"uvmsmart-always", "UVM Smart, migration always delayed (baseline of IPDPS'20)",
	 "prefetch=tbn evict=lfu2m remote=always batch=1 thrash=off counters=off"},
	{"uvmsmart-oversub", "UVM Smart, migration delayed once memory is full (baseline of IPDPS'20)",
	 "prefetch=tbn evict=lfu2m remote=oversub batch=1 thrash=off counters=off"},
	{"uvmsmart-pinned", "UVM Smart, evicted pages are accessed remotely (IPDPS'20, penalty 1048576)",
	 "prefetch=tbn evict=lfu2m remote=adaptive remote_penalty=1048576 batch=1 thrash=off counters=off"},
	{"uvmsmart-runtime",
	 "UVM Smart, patterns choose eviction and remote access (Ganguly et al., DATE'21)",
	 "prefetch=tbn evict=tbne runtime=on batch=1 thrash=off counters=off"},
	{"zheng-random", "one random page beside each fault (Zheng et al., HPCA'16)",
	 "prefetch=random thrash=off counters=off"},
	{"zheng-sequential", "pages in the order of their addresses (Zheng et al., HPCA'16)",
	 "prefetch=sequential thrash=off counters=off"},
	{"zheng-locality", "128 pages from the faulted page on (Zheng et al., HPCA'16)",
	 "prefetch=locality thrash=off counters=off"},
	{"batch-aware-base", "the baseline of Kim et al.: Zheng's prefetcher, LRU of 64 KiB (ASPLOS'20)",
	 "prefetch=locality prefetch_full=none evict=lru2m granularity=64k replay=batch_wait batch=1024 "
	 "thrash=off "
	 "counters=off"},
	{"batch-aware-to", "batch-aware-base with more thread blocks than fit (Kim et al., ASPLOS'20)",
	 "prefetch=locality prefetch_full=none evict=lru2m granularity=64k replay=batch_wait batch=1024 "
	 "thrash=off counters=off "
	 "threads=on"},
	{"batch-aware-ue",
	 "batch-aware-base with evictions from the batch's start, in both directions (ASPLOS'20)",
	 "prefetch=locality prefetch_full=none evict=lru2m granularity=64k replay=batch_wait batch=1024 "
	 "thrash=off counters=off "
	 "plan=unobtrusive"},
	{"batch-aware", "batch-aware-to and batch-aware-ue together (Kim et al., ASPLOS'20)",
	 "prefetch=locality prefetch_full=none evict=lru2m granularity=64k replay=batch_wait batch=1024 "
	 "thrash=off counters=off "
	 "plan=unobtrusive threads=on"},
	{"etc",
	 "batch-aware-base, throttled SMs, compressed memory (ETC, ASPLOS'19, as in Kim et al.)",
	 "prefetch=locality prefetch_full=none evict=lru2m granularity=64k replay=batch_wait batch=1024 "
	 "thrash=off counters=off "
	 "sm_throttle=on memory_ratio=125"},
	{"compressed-link",
	 "batch-aware-base on a link that compresses 5 to 4 (baseline of Kim et al., ASPLOS'20)",
	 "prefetch=locality prefetch_full=none evict=lru2m granularity=64k replay=batch_wait batch=1024 "
	 "thrash=off counters=off "
	 "link_ratio=125"},
	{"cppe", "pattern-aware prefetching, MHPE eviction (Yu et al., CPPE, IPDPS'20)",
	 "prefetch=pattern evict=mhpe thrash=off counters=off"},
	{"forest",
	 "trees that fit how each range was accessed; needs touches (Lin et al., Forest, ISCA'25)",
	 "prefetch=forest evict=lru2m granularity=64k thrash=off counters=off"},
	{"early-adaptor", "threshold from fault rates (Go et al., Early-Adaptor, ISPASS'23)", "adapt=early"},
	{"safe", "threshold by the number of uTLBs that share a block (SAFE)", "prefetch=safe"},
	{"beyond-block", "density, and the next blocks when a block is full (Rhee et al.)", "prefetch=next"},
	{"stride", "the next pages of repeated strides", "prefetch=stride"},
	{"cyclic", "LRU of 2 MiB, blocks in cyclic thrashing are pinned (CASES'20)", "evict=lru2m cyclic=on"},
	{"second-chance", "second chance over 2 MiB (clock)", "evict=clock2m"},
};

#define PRESETS ((uint32_t)(sizeof(presets) / sizeof(presets[0])))

const struct uvmp_policy_preset *uvmp_policy_preset_at(uint32_t index)
{
	return index < PRESETS ? &presets[index] : NULL;
}
