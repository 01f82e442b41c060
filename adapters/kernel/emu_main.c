/* emu_main.c: parameters, the device, and the life of the module.
 *
 * Parts end in the opposite order. Programs can enter from misc_register on; none is inside when the
 * module is unloaded, since each open file holds the module. */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>
#include <linux/slab.h>
#include <linux/stat.h>

#include "emu.h"
#include "uvmp_kernel.h"

#define EMU_MAGIC      0x75766d70u /* of the file system */
#define EMU_BLOCKS_MAX (1u << 24)
#define EMU_LOG_MAX    (1u << 20) /* KiB */

static uint gpus = 1, memory_mib = 64, fault_entries = 256, counter_entries = 64, utlbs = 8, blocks = 4096,
	    log_kib = 1024;
static unsigned long long seed = 1;
static ushort mode = 0600;
static char *policy = "";

module_param(gpus, uint, 0444);
MODULE_PARM_DESC(gpus, "emulated GPUs, 1..4");
module_param(memory_mib, uint, 0444);
MODULE_PARM_DESC(memory_mib, "memory of each GPU in MiB, 2..65536");
module_param(fault_entries, uint, 0444);
MODULE_PARM_DESC(fault_entries, "entries of each GPU's fault ring, 2..65536");
module_param(counter_entries, uint, 0444);
MODULE_PARM_DESC(counter_entries, "entries of each GPU's ring of access-counter notifications, 0..65536");
module_param(utlbs, uint, 0444);
MODULE_PARM_DESC(utlbs, "uTLBs of each GPU, 1..64");
module_param(blocks, uint, 0444);
MODULE_PARM_DESC(blocks, "VABlocks of managed memory that can be in use at a time, 1..16777216");
module_param(log_kib, uint, 0444);
MODULE_PARM_DESC(log_kib, "newest KiB of decision log and of trace that are kept, 1..1048576");
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "seed of all random choices");
module_param(mode, ushort, 0444);
MODULE_PARM_DESC(mode, "of the device file, octal with a leading 0, up to 0777");
module_param(policy, charp, 0444);
MODULE_PARM_DESC(policy, "a policy string; empty: that of the module uvmpolicy");

static struct emu_driver *the_driver;

/* -- parameters ----------------------------------------------------------------------------------- */

static bool accepts(const char *name, unsigned int value, unsigned int least, unsigned int most)
{
	if (value >= least && value <= most)
		return true;
	pr_err("uvmpolicy_emu: %s=%u is not accepted; %u..%u\n", name, value, least, most);
	return false;
}

static int parse_policy(struct uvmp_policy *to)
{
	struct uvmp_policy_error *error;
	enum uvmp_status status;

	if (policy[0] == '\0')
		return uvmp_kernel_policy(to);
	error = kzalloc(sizeof(*error), GFP_KERNEL);
	if (!error)
		return -ENOMEM;
	status = uvmp_policy_parse(policy, strlen(policy), to, error);
	if (status != UVMP_OK)
		pr_err("uvmpolicy_emu: policy, at offset %u: %s\n", error->offset, error->text);
	kfree(error);
	return status == UVMP_OK ? 0 : -EINVAL;
}

static int check_params(struct emu_driver *driver)
{
	bool is_good = accepts("gpus", gpus, 1, UVMP_EMU_GPUS_MAX);

	is_good &= accepts("memory_mib", memory_mib, 2, 65536);
	is_good &= accepts("fault_entries", fault_entries, 2, 65536);
	is_good &= accepts("counter_entries", counter_entries, 0, 65536);
	is_good &= accepts("utlbs", utlbs, 1, 64);
	is_good &= accepts("blocks", blocks, 1, EMU_BLOCKS_MAX);
	is_good &= accepts("log_kib", log_kib, 1, EMU_LOG_MAX);
	if (mode > 0777) {
		pr_err("uvmpolicy_emu: mode=0%o is not accepted; 0..0777\n", mode);
		is_good = false;
	}
	if (!is_good)
		return -EINVAL;
	driver->params = (struct emu_params){
		.gpus = gpus,
		.memory_mib = memory_mib,
		.fault_entries = fault_entries,
		.counter_entries = counter_entries,
		.utlbs = utlbs,
		.blocks = blocks,
		.log_kib = log_kib,
		.seed = seed,
		.mode = mode,
	};
	return parse_policy(&driver->policy);
}

/* -- the inodes' file system ---------------------------------------------------------------------- */

static int fs_begin(struct fs_context *context)
{
	return init_pseudo(context, EMU_MAGIC) ? 0 : -ENOMEM;
}

/* Without an owner: its mount would hold the module without end. An inode lives no longer than its open file,
 * which holds the module. */
static struct file_system_type fs_type = {
	.name = UVMP_EMU_DEVICE,
	.init_fs_context = fs_begin,
	.kill_sb = kill_anon_super,
};

/* -- building and taking down --------------------------------------------------------------------- */

struct emu_stage {
	int (*begin)(struct emu_driver *driver);
	void (*end)(struct emu_driver *driver);
};

static int begin_texts(struct emu_driver *driver)
{
	size_t bytes = (size_t)driver->params.log_kib << 10;
	int result = emu_text_init(&driver->log, bytes);

	if (result != 0)
		return result;
	result = emu_text_init(&driver->trace, bytes);
	if (result != 0)
		emu_text_exit(&driver->log);
	return result;
}

static void end_texts(struct emu_driver *driver)
{
	emu_text_exit(&driver->trace);
	emu_text_exit(&driver->log);
}

static void end_gpus_from(struct emu_driver *driver, u32 count)
{
	while (count > 0)
		emu_gpu_exit(&driver->gpu[--count]);
}

static int begin_gpus(struct emu_driver *driver)
{
	for (u32 i = 0; i < driver->params.gpus; i++) {
		int result = emu_gpu_init(&driver->gpu[i], driver, i + 1);

		if (result != 0) {
			end_gpus_from(driver, i);
			return result;
		}
	}
	return 0;
}

static void end_gpus(struct emu_driver *driver)
{
	end_gpus_from(driver, driver->params.gpus);
}

static int begin_mount(struct emu_driver *driver)
{
	driver->mount = kern_mount(&fs_type);
	return PTR_ERR_OR_ZERO(driver->mount);
}

static void end_mount(struct emu_driver *driver)
{
	kern_unmount(driver->mount);
}

static int begin_debugfs(struct emu_driver *driver)
{
	emu_debugfs_init(driver);
	return 0;
}

static int begin_device(struct emu_driver *driver)
{
	driver->misc.minor = MISC_DYNAMIC_MINOR;
	driver->misc.name = UVMP_EMU_DEVICE;
	driver->misc.fops = &emu_file_operations;
	driver->misc.mode = driver->params.mode;
	return misc_register(&driver->misc);
}

static void end_device(struct emu_driver *driver)
{
	misc_deregister(&driver->misc);
}

static int begin_interrupts(struct emu_driver *driver)
{
	return 0;
}

static void end_interrupts(struct emu_driver *driver)
{
	for (u32 i = 0; i < driver->params.gpus; i++)
		emu_gpu_silence(&driver->gpu[i]);
}

/* Interrupts of GPUs run the bottom half, and the bottom half performs actions on GPUs: it exists
 * before the first submission, and the GPUs, which are idle then, are silenced before it ends. */
static const struct emu_stage stages[] = {
	{begin_texts, end_texts},	    {emu_frame_init, emu_frame_exit},	{begin_gpus, end_gpus},
	{emu_bottom_init, emu_bottom_exit}, {begin_interrupts, end_interrupts}, {begin_mount, end_mount},
	{begin_debugfs, emu_debugfs_exit},  {begin_device, end_device},
};

static void end(struct emu_driver *driver, size_t count)
{
	while (count > 0)
		stages[--count].end(driver);
}

static int begin(struct emu_driver *driver)
{
	for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
		int result = stages[i].begin(driver);

		if (result != 0) {
			end(driver, i);
			return result;
		}
	}
	return 0;
}

/* The structure is large for kmalloc. */
static int __init emu_init(void)
{
	int result;

	the_driver = kvzalloc(sizeof(*the_driver), GFP_KERNEL);
	if (!the_driver)
		return -ENOMEM;
	result = check_params(the_driver);
	if (result == 0)
		result = begin(the_driver);
	if (result != 0)
		kvfree(the_driver);
	return result;
}

static void __exit emu_exit(void)
{
	end(the_driver, ARRAY_SIZE(stages));
	kvfree(the_driver);
}

module_init(emu_init);
module_exit(emu_exit);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("the libuvmpolicy authors");
MODULE_DESCRIPTION("A driver in the shape of a UVM driver, with emulated GPUs");
MODULE_VERSION(UVMP_VERSION_STRING);
