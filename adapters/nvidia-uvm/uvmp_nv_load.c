/* Load and exit: the module parameters, and what of a policy cannot be served in this driver. */
#include "uvmp_nv.h"

static char *uvmp_policy = "";
module_param(uvmp_policy, charp, 0444);
MODULE_PARM_DESC(uvmp_policy,
		 "decisions of libuvmpolicy, such as prefetch=tbn,evict=lfu2m; empty: the driver's own");

static unsigned int uvmp_shadow;
module_param(uvmp_shadow, uint, 0444);
MODULE_PARM_DESC(uvmp_shadow, "1: the driver decides; differences of uvmp_policy are counted in debugfs");

struct uvmp_nv_settings uvmp_nv;

/* Keys whose rule stays the driver's, with the parameter of the driver that sets it. */
static const struct {
	const char *key, *parameter;
} theirs[] = {
	{"replay", "uvm_perf_fault_replay_policy"},
	{"put_ratio", "uvm_perf_fault_replay_update_put_ratio"},
	{"batch", "uvm_perf_fault_batch_count"},
	{"coalesce", "uvm_perf_fault_coalesce"},
	{"max_batches", "uvm_perf_fault_max_batches_per_service"},
	{"max_throttled", "uvm_perf_fault_max_throttle_per_service"},
	{"prefetch_lapse_ms", "uvm_perf_reenable_prefetch_faults_lapse_msec"},
	{"counters", "uvm_perf_access_counter_migration_enable"},
	{"counter_batch", "uvm_perf_access_counter_batch_count"},
	{"counter_threshold", "uvm_perf_access_counter_threshold"},
	{"map_on_eviction", "uvm_perf_map_remote_on_eviction"},
	{"map_on_atomics", "uvm_perf_map_remote_on_native_atomics_fault"},
	{"pma_order", "uvm_perf_pma_batch_nonpinned_order"},
};

static const char *parameter_of(const char *word, size_t key)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(theirs); i++)
		if (strlen(theirs[i].key) == key && memcmp(theirs[i].key, word, key) == 0)
			return theirs[i].parameter;
	return NULL;
}

/* What the adapter serves of the policy; everything else is the driver's default. */
static void keep_served(const struct uvmp_policy *policy, struct uvmp_policy *served)
{
	uvmp_policy_init(served);
	served->prefetch = policy->prefetch;
	served->evict = policy->evict;
	served->granularity = policy->granularity;
	served->reserve = policy->reserve;
	served->thrash = policy->thrash;
	served->quirks = served->replay.quirks = policy->quirks;
}

static bool has_word(const char *text, const char *word, size_t length)
{
	for (; *text != '\0'; text += strcspn(text, " "), text += strspn(text, " "))
		if (strcspn(text, " ") == length && memcmp(text, word, length) == 0)
			return true;
	return false;
}

/* The first word of `asked` that is not in `served`. */
static bool refuses_word(const char *asked, const char *served, char *text)
{
	for (const char *word = asked; *word != '\0'; word += strspn(word, " ")) {
		size_t length = strcspn(word, " "), key = strcspn(word, "=");
		const char *parameter = parameter_of(word, key);

		if (has_word(served, word, length)) {
			word += length;
			continue;
		}
		if (parameter != NULL)
			snprintf(text, UVMP_POLICY_ERROR_MAX, "%.*s: the driver's parameter %s sets this",
				 (int)length, word, parameter);
		else
			snprintf(text, UVMP_POLICY_ERROR_MAX, "%.*s: not available in this driver",
				 (int)length, word);
		return true;
	}
	return false;
}

static bool refuses_prefetcher(const struct uvmp_policy *policy, char *text)
{
	const struct uvmp_prefetch_traits *traits = uvmp_prefetch_traits_of(policy->prefetch.prefetcher);
	const char *why = NULL;

	if (traits->walks_ranges)
		why = "it decides across VA blocks, and the driver holds the lock of one";
	else if (traits->has_touches || traits->counts_touches)
		why = "the driver does not report touches of pages";
	else if (traits->has_utlbs)
		why = "the driver does not report the uTLBs of a block";
	else if (traits->has_kernels || traits->has_neighbour || traits->has_memory ||
		 traits->range_bytes != 0 || traits->processor_bytes != 0)
		why = "it needs state that this driver does not give";
	if (why != NULL)
		snprintf(text, UVMP_POLICY_ERROR_MAX, "prefetch=%s: %s",
			 uvmp_prefetch_name(policy->prefetch.prefetcher), why);
	return why != NULL;
}

static bool refuses_order(const struct uvmp_policy *policy, char *text)
{
	bool is_refused = uvmp_policy_unit_pages(policy) != UVMP_ROOT_CHUNK_BYTES / UVMP_POLICY_PAGE_BYTES;

	if (is_refused)
		snprintf(
			text, UVMP_POLICY_ERROR_MAX,
			"evict=%s: the driver evicts units of 2 MiB; lru|lru2m|lfu2m|clock2m, granularity=2m",
			uvmp_evict_name(policy->evict));
	return is_refused;
}

struct texts {
	struct uvmp_policy served;
	char asked[UVMP_POLICY_TEXT_MAX], kept[UVMP_POLICY_TEXT_MAX];
};

bool uvmp_nv_refuses(const struct uvmp_policy *policy, char *text)
{
	struct texts *texts;
	bool is_refused;

	if (refuses_prefetcher(policy, text) || refuses_order(policy, text))
		return true;
	texts = uvm_kvmalloc(sizeof(*texts));
	if (texts == NULL) {
		snprintf(text, UVMP_POLICY_ERROR_MAX, "out of memory");
		return true;
	}
	keep_served(policy, &texts->served);
	(void)uvmp_policy_print(policy, texts->asked, sizeof(texts->asked));
	texts->kept[0] = '\0';
	(void)uvmp_policy_print(&texts->served, texts->kept, sizeof(texts->kept));
	is_refused = refuses_word(texts->asked, texts->kept, text);
	uvm_kvfree(texts);
	return is_refused;
}

static NV_STATUS read_policy(const char *string, struct uvmp_policy_error *error)
{
	NV_STATUS status = NV_OK;

	if (uvmp_policy_parse(string, strlen(string), &uvmp_nv.policy, error) != UVMP_OK ||
	    uvmp_nv_refuses(&uvmp_nv.policy, error->text)) {
		printk(KERN_ERR "nvidia-uvm: uvmp_policy: %s\n", error->text);
		status = NV_ERR_INVALID_ARGUMENT;
	}
	return status;
}

static NV_STATUS load(void)
{
	struct uvmp_policy_error *error;
	NV_STATUS status;

	memset(&uvmp_nv, 0, sizeof(uvmp_nv));
	if (uvmp_policy == NULL || uvmp_policy[0] == '\0')
		return NV_OK;
	error = uvm_kvmalloc(sizeof(*error));
	if (error == NULL)
		return NV_ERR_NO_MEMORY;
	status = read_policy(uvmp_policy, error);
	uvm_kvfree(error);
	if (status != NV_OK)
		return status;
	uvmp_nv.prefetcher = uvmp_prefetch_traits_of(uvmp_nv.policy.prefetch.prefetcher);
	(void)uvmp_geometry_init(&uvmp_nv.geometry, (uint32_t)PAGE_SIZE, (uint32_t)UVM_BIG_PAGE_SIZE,
				 (uint32_t)UVM_VA_BLOCK_SIZE);
	uvmp_nv.mode = uvmp_shadow != 0 ? UVMP_NV_SHADOW : UVMP_NV_DECIDE;
	uvmp_nv_counts_init();
	printk(KERN_INFO "nvidia-uvm: uvmp_policy: %s%s\n", uvmp_policy,
	       uvmp_nv.mode == UVMP_NV_SHADOW ? ", compared with the driver" : "");
	return NV_OK;
}

/* Called at module load, before any GPU or VA space is added. An error ends the load. */
NV_STATUS __wrap_uvm_perf_heuristics_init(void)
{
	NV_STATUS status = load();

	return status == NV_OK ? __real_uvm_perf_heuristics_init() : status;
}

/* Also called if the load has failed. */
void __wrap_uvm_perf_heuristics_exit(void)
{
	__real_uvm_perf_heuristics_exit();
	uvmp_nv_order_exit();
	uvmp_nv_counts_exit();
	uvmp_nv.mode = UVMP_NV_OFF;
}
