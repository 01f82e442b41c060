/* cli_policies.h: the policies that a subcommand is given with --policy: policy strings, all presets, or those
 * whose names match a pattern. */
#ifndef UVMSIM_CLI_POLICIES_H
#define UVMSIM_CLI_POLICIES_H

#include <stdbool.h>
#include <stddef.h>

#include "uvmpolicy/policy.h"

#define CLI_POLICIES_MAX 256

struct cli_policy {
	struct uvmp_policy policy;
	const char *given;  /* as the user wrote it, or the preset's name; the caller's or static */
	const char *preset; /* its name, if the policy is a preset and nothing else; NULL */
};

/* Starts as zeros. */
struct cli_policies {
	struct cli_policy policy[CLI_POLICIES_MAX];
	size_t count;
	bool is_all;   /* `all` was given */
	bool is_sweep; /* `all` or a pattern was */
};

/* A policy string; `all`, every preset, which stands alone; or `preset=` and a pattern of a shell, every preset
 * that it matches. CLI_DONE, or CLI_BAD_INPUT after a report that begins with `option`. */
int cli_policies_add(struct cli_policies *policies, const char *option, const char *text);

#endif
