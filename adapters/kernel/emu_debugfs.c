/* debugfs, uvmp_emu/: documented in uvmp_emu.h. */
#include "emu_bottom.h"

#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

/* -- stats, gpuN: one NAME VALUE a line -- */

#define STAT(field)                                                                                          \
	{                                                                                                    \
#field, offsetof(struct uvmp_emu_stats, field)                                               \
	}

static const struct {
	const char *name;
	size_t offset;
} stat[] = {
	STAT(faults_written), STAT(faults_lost), STAT(interrupts),	STAT(bottom_halves),
	STAT(batches),	      STAT(duplicates),	 STAT(replays),		STAT(flushed),
	STAT(cancelled),      STAT(accesses),	 STAT(remote_accesses), STAT(notifications),
	STAT(pages_in),	      STAT(pages_out),	 STAT(pages_peer),	STAT(pages_populated),
	STAT(evictions),      STAT(cpu_faults),	 STAT(cpu_fills),	STAT(throttled),
	STAT(policy_changes), STAT(frames_gpu),	 STAT(frames_cpu),	STAT(frames_cached),
	STAT(frames_shrunk),  STAT(work_ns),	 STAT(decide_ns),	STAT(broken),
};

static int show(struct seq_file *file, struct emu_driver *driver, u32 gpu)
{
	struct uvmp_emu_stats stats = {.gpu = gpu};

	emu_stats(driver, gpu, &stats);
	for (size_t i = 0; i < ARRAY_SIZE(stat); i++)
		seq_printf(file, "%s %llu\n", stat[i].name,
			   *(const u64 *)((const char *)&stats + stat[i].offset));
	return 0;
}

static int stats_show(struct seq_file *file, void *unused)
{
	return show(file, file->private, 0);
}
DEFINE_SHOW_ATTRIBUTE(stats);

static int gpu_show(struct seq_file *file, void *unused)
{
	const struct emu_gpu *gpu = file->private;

	return show(file, gpu->driver, gpu->id);
}
DEFINE_SHOW_ATTRIBUTE(gpu);

/* -- policy -- */

static int policy_show(struct seq_file *file, void *unused)
{
	struct emu_driver *driver = file->private;
	char *text = kmalloc(UVMP_POLICY_TEXT_MAX, GFP_KERNEL);
	enum uvmp_status status;

	if (text == NULL)
		return -ENOMEM;
	if (mutex_lock_killable(&driver->engine_lock) != 0) {
		kfree(text);
		return -EINTR;
	}
	status = uvmp_policy_print(&driver->policy, text, UVMP_POLICY_TEXT_MAX);
	mutex_unlock(&driver->engine_lock);
	if (status == UVMP_OK)
		seq_printf(file, "%s\n", text);
	kfree(text);
	return status == UVMP_OK ? 0 : -EIO;
}

static int policy_open(struct inode *inode, struct file *file)
{
	return single_open(file, policy_show, inode->i_private);
}

struct reading {
	struct uvmp_policy policy;
	struct uvmp_policy_error error;
};

static int change(struct emu_driver *driver, const char *text, size_t length)
{
	struct reading *reading = kzalloc(sizeof(*reading), GFP_KERNEL);
	struct emu_request request = {.ask = EMU_ASK_POLICY};
	int result;

	if (reading == NULL)
		return -ENOMEM;
	uvmp_policy_init(&reading->policy);
	if (uvmp_policy_parse(text, length, &reading->policy, &reading->error) != UVMP_OK) {
		pr_err("uvmpolicy_emu: policy, at offset %u: %s\n", reading->error.offset,
		       reading->error.text);
		kfree(reading);
		return -EINVAL;
	}
	request.policy = &reading->policy;
	result = emu_ask(driver, &request);
	kfree(reading);
	return result;
}

static ssize_t policy_write(struct file *file, const char __user *from, size_t count, loff_t *at)
{
	struct emu_driver *driver = file_inode(file)->i_private;
	size_t length = count;
	char *text;
	int result;

	if (count == 0 || count > UVMP_POLICY_TEXT_MAX)
		return -EINVAL;
	text = memdup_user_nul(from, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	if (text[length - 1u] == '\n')
		length--;
	result = change(driver, text, length);
	kfree(text);
	return result == 0 ? (ssize_t)count : result;
}

static const struct file_operations policy_fops = {
	.owner = THIS_MODULE,
	.open = policy_open,
	.read = seq_read,
	.write = policy_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* -- log, trace, clear -- */

static ssize_t text_read(struct file *file, char __user *to, size_t count, loff_t *at)
{
	return emu_text_read(file->private_data, to, count, at);
}

static const struct file_operations text_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = text_read,
	.llseek = default_llseek,
};

static ssize_t clear_write(struct file *file, const char __user *from, size_t count, loff_t *at)
{
	emu_bottom_clear(file->private_data);
	return (ssize_t)count;
}

static const struct file_operations clear_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = clear_write,
	.llseek = noop_llseek,
};

/* -- life -- */

void emu_debugfs_init(struct emu_driver *driver)
{
	char name[16];

	driver->debugfs = debugfs_create_dir(UVMP_EMU_DEVICE, NULL);
	debugfs_create_file("stats", 0400, driver->debugfs, driver, &stats_fops);
	debugfs_create_file("policy", 0600, driver->debugfs, driver, &policy_fops);
	debugfs_create_file("log", 0400, driver->debugfs, &driver->log, &text_fops);
	debugfs_create_file("trace", 0400, driver->debugfs, &driver->trace, &text_fops);
	debugfs_create_file("clear", 0200, driver->debugfs, driver, &clear_fops);
	debugfs_create_atomic_t("fail_cpu_frame", 0600, driver->debugfs, &driver->fail_cpu_frame);
	debugfs_create_atomic_t("fail_gpu_frame", 0600, driver->debugfs, &driver->fail_gpu_frame);
	for (u32 i = 0; i < driver->params.gpus; i++) {
		snprintf(name, sizeof(name), "gpu%u", i + 1u);
		debugfs_create_file(name, 0400, driver->debugfs, &driver->gpu[i], &gpu_fops);
	}
}

void emu_debugfs_exit(struct emu_driver *driver)
{
	debugfs_remove(driver->debugfs);
	driver->debugfs = NULL;
}
