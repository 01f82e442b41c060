/* The module: the unchanged library, and one parameter, the policy string.
 *
 * The text is kept after it was parsed successfully. The empty text is the default policy. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <uvmpolicy/uvmpolicy.h>

#include "uvmp_kernel.h"

static char text[UVMP_POLICY_TEXT_MAX + 1]; /* under the lock of the module's parameters */

/* At load, and when the file in sysfs is written, mostly with a newline. */
static int policy_set(const char *value, const struct kernel_param *parameter)
{
	size_t length = strlen(value);
	struct uvmp_policy_error *error;
	struct uvmp_policy policy;
	enum uvmp_status status;

	if (length > 0 && value[length - 1] == '\n')
		length--;
	error = kzalloc(sizeof(*error), GFP_KERNEL);
	if (!error)
		return -ENOMEM;
	status = uvmp_policy_parse(value, length, &policy, error);
	if (status != UVMP_OK)
		pr_err("uvmpolicy: policy, at offset %u: %s\n", error->offset, error->text);
	kfree(error);
	if (status != UVMP_OK)
		return -EINVAL;
	memcpy(text, value, length);
	text[length] = '\0';
	return 0;
}

static void policy_now(struct uvmp_policy *policy)
{
	WARN_ON(uvmp_policy_parse(text, strlen(text), policy, NULL) != UVMP_OK);
}

static int policy_get(char *buffer, const struct kernel_param *parameter)
{
	struct uvmp_policy policy;

	policy_now(&policy);
	if (uvmp_policy_print(&policy, buffer, PAGE_SIZE - 1) != UVMP_OK)
		return -EINVAL;
	strlcat(buffer, "\n", PAGE_SIZE);
	return (int)strlen(buffer);
}

int uvmp_kernel_policy(struct uvmp_policy *policy)
{
	if (!policy)
		return -EINVAL;
	kernel_param_lock(THIS_MODULE);
	policy_now(policy);
	kernel_param_unlock(THIS_MODULE);
	return 0;
}
EXPORT_SYMBOL(uvmp_kernel_policy);

static const struct kernel_param_ops policy_ops = {.set = policy_set, .get = policy_get};

module_param_cb(policy, &policy_ops, NULL, 0644);
MODULE_PARM_DESC(policy, "the policy string, as uvmsim --policy takes it; empty: the default");

/* A module without these functions cannot be unloaded. */
static int __init uvmpolicy_init(void)
{
	return 0;
}

static void __exit uvmpolicy_exit(void)
{
}

module_init(uvmpolicy_init);
module_exit(uvmpolicy_exit);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("the libuvmpolicy authors");
MODULE_DESCRIPTION("Decisions of a unified-memory (UVM) driver, as pure functions");
MODULE_VERSION(UVMP_VERSION_STRING);
