/* The module: the library as it is, and one parameter, the policy string.
 *
 * What is kept is the text, which has been parsed once and found good: it is the same thing as the policy,
 * and empty before anybody has said anything. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <uvmpolicy/uvmpolicy.h>

#include "uvmp_kernel.h"

static char text[UVMP_POLICY_TEXT_MAX]; /* under the lock of the module's parameters */

static int parse(const char *word, size_t length, struct uvmp_policy *policy)
{
	struct uvmp_policy_error *error = kzalloc(sizeof(*error), GFP_KERNEL);
	enum uvmp_status status;

	if (!error)
		return -ENOMEM;
	status = uvmp_policy_parse(word, length, policy, error);
	if (status != UVMP_OK)
		pr_err("uvmpolicy: policy, at offset %u: %s\n", error->offset, error->text);
	kfree(error);
	return status == UVMP_OK ? 0 : -EINVAL;
}

/* Called with the lock held, at load and when the file in sysfs is written, which ends in a newline mostly.
 */
static int policy_set(const char *value, const struct kernel_param *parameter)
{
	size_t length = strlen(value);
	struct uvmp_policy policy;
	int result;

	if (length > 0 && value[length - 1] == '\n')
		length--;
	result = parse(value, length, &policy);
	if (result == 0 && length >= sizeof(text))
		result = -EINVAL;
	if (result != 0)
		return result;
	memcpy(text, value, length);
	text[length] = '\0';
	return 0;
}

static int policy_get(char *buffer, const struct kernel_param *parameter)
{
	struct uvmp_policy policy;
	int result = parse(text, strlen(text), &policy);

	if (result != 0)
		return result;
	if (uvmp_policy_print(&policy, buffer, UVMP_POLICY_TEXT_MAX) != UVMP_OK)
		return -EINVAL;
	strlcat(buffer, "\n", PAGE_SIZE);
	return (int)strlen(buffer);
}

int uvmp_kernel_policy(struct uvmp_policy *policy)
{
	int result;

	if (!policy)
		return -EINVAL;
	kernel_param_lock(THIS_MODULE);
	result = parse(text, strlen(text), policy);
	kernel_param_unlock(THIS_MODULE);
	return result;
}
EXPORT_SYMBOL(uvmp_kernel_policy);

static const struct kernel_param_ops policy_ops = {.set = policy_set, .get = policy_get};

module_param_cb(policy, &policy_ops, NULL, 0644);
MODULE_PARM_DESC(policy, "the policy string, as uvmsim --policy takes it; empty: the default");

/* Without these two a module cannot be unloaded, or does not say that it can. */
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
