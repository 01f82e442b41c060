/* Counts of decisions and differences, in debugfs as uvmp_nvidia/counts, and the clock that both detectors share in
 * shadow mode. */
#include "uvmp_nv.h"

/* -- counts -- */

static DEFINE_SPINLOCK(lock);
static struct uvmp_nv_count counts[UVMP_NV_KINDS];
static char last[UVMP_NV_KINDS][UVMP_NV_LAST_MAX];
static struct dentry *folder;

void uvmp_nv_counts_get(enum uvmp_nv_kind kind, struct uvmp_nv_count *count)
{
	spin_lock(&lock);
	*count = counts[kind];
	spin_unlock(&lock);
}

void uvmp_nv_decided(enum uvmp_nv_kind kind)
{
	spin_lock(&lock);
	counts[kind].decisions++;
	spin_unlock(&lock);
}

void uvmp_nv_left(enum uvmp_nv_kind kind)
{
	spin_lock(&lock);
	counts[kind].left++;
	spin_unlock(&lock);
}

void uvmp_nv_differs(enum uvmp_nv_kind kind, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	spin_lock(&lock);
	counts[kind].different++;
	(void)vsnprintf(last[kind], sizeof(last[kind]), format, arguments);
	spin_unlock(&lock);
	va_end(arguments);
}

static int uvmp_nv_counts_show(struct seq_file *file, void *unused)
{
	static const char *const name[] = {"prefetch", "thrash", "evict", "order"};
	char text[UVMP_NV_LAST_MAX];

	(void)unused;
	seq_printf(file, "%-8s %12s %12s %12s  %s\n", "decision", "library", "different", "left",
		   "latest difference");
	for (uint32_t i = 0; i < UVMP_NV_KINDS; i++) {
		struct uvmp_nv_count count;

		uvmp_nv_counts_get((enum uvmp_nv_kind)i, &count);
		spin_lock(&lock);
		memcpy(text, last[i], sizeof(text));
		spin_unlock(&lock);
		seq_printf(file, "%-8s %12llu %12llu %12llu  %s\n", name[i],
			   (unsigned long long)count.decisions, (unsigned long long)count.different,
			   (unsigned long long)count.left, text);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(uvmp_nv_counts);

/* Without debugfs the counts are kept, and cannot be read. */
void uvmp_nv_counts_init(void)
{
	memset(counts, 0, sizeof(counts));
	memset(last, 0, sizeof(last));
	folder = debugfs_create_dir("uvmp_nvidia", NULL);
	debugfs_create_file("counts", 0444, folder, NULL, &uvmp_nv_counts_fops);
}

void uvmp_nv_counts_exit(void)
{
	debugfs_remove(folder);
	folder = NULL;
}

/* -- the clock -- */

static struct uvmp_nv_clock *clock_of(struct uvmp_nv_space *space)
{
	return &space->clock[((unsigned long)current >> 6) % UVMP_NV_CLOCKS];
}

/* Threads that share an entry, which is rare, may read different times for both detectors. */
NvU64 uvmp_nv_read_clock(struct uvmp_nv_space *space)
{
	NvU64 now_ns = NV_GETTIME();

	if (uvmp_nv.mode == UVMP_NV_SHADOW) {
		spin_lock(&space->clock_lock);
		*clock_of(space) = (struct uvmp_nv_clock){current, now_ns};
		spin_unlock(&space->clock_lock);
	}
	return now_ns;
}

NvU64 uvmp_nv_driver_clock(uvm_va_space_t *va_space)
{
	struct uvmp_nv_space *space = uvmp_nv.mode == UVMP_NV_SHADOW ? uvmp_nv_space_of(va_space) : NULL;
	NvU64 now_ns = NV_GETTIME();

	if (space != NULL) {
		spin_lock(&space->clock_lock);
		if (clock_of(space)->thread == current) {
			now_ns = clock_of(space)->now_ns;
			clock_of(space)->thread = NULL;
		}
		spin_unlock(&space->clock_lock);
	}
	return now_ns;
}
