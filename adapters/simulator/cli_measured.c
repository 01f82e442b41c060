/* measured: compare faults of a real GPU with the library, fault by fault. */
#include "cli.h"

#include <string.h>

#include "measured.h"

const char help_measured[] =
	"usage: uvmsim measured FILE... [--policy \"KEY=VALUE ...\"]... [--brief]\n"
	"\n"
	"Replays measured faults of a real GPU (-: standard input). For each fault it\n"
	"prints the pages that the driver moved and the pages that the library chooses\n"
	"with the same residency. After each fault residency is set to the measured\n"
	"residency, so that one miss causes no further misses.\n"
	"\n"
	"  --policy TEXT   policy string (uvmsim list policies); may be repeated;\n"
	"                  default: the driver's\n"
	"  --brief         only the closing line of each policy\n"
	"\n"
	"A row shows the block of 2 MiB as the driver left it, one character per 64 KiB:\n"
	"# resident before, F faulting page, p prefetched, . absent. Where the library\n"
	"differs, the row below shows the block as the library would have left it.\n"
	"agree* means: the same pages, in different copies.\n"
	"\n"
	"Exit status: 0 all faults agree; 1 some differ; 2 bad input. File format:\n"
	"docs/measured.md.\n";

#define POLICIES_MAX 64
#define COLUMN	     32 /* bytes of a text in the table */

/* One character per 64 KiB. */
static void draw(char picture[33], const uvmp_mask *before, const uvmp_mask *moved, uint32_t fault)
{
	for (uint32_t i = 0; i < 32; i++) {
		struct uvmp_region piece = {i * 16, i * 16 + 16};

		if (fault / 16 == i)
			picture[i] = 'F';
		else if (uvmp_mask_region_any(moved, piece))
			picture[i] = 'p';
		else
			picture[i] = uvmp_mask_region_any(before, piece) ? '#' : '.';
	}
	picture[32] = '\0';
}

/* `4+60 KiB`: the copies in ascending order; cut with `..` if there are too many for the column. */
static void print_copies(char text[COLUMN], const uvmp_mask *moved, const uvmp_mask *starts)
{
	size_t used = 0;

	for (uint32_t page = uvmp_mask_next_set(starts, 0); page < UVMP_MASK_BITS;) {
		uint32_t next = uvmp_mask_next_set(starts, page + 1);
		uint32_t end = uvmp_mask_next_clear(moved, page);
		char kib[COLUMN];

		snprintf(kib, sizeof(kib), "%s%lu", used == 0 ? "" : "+",
			 4ul * ((end < next ? end : next) - page));
		if (used + strlen(kib) > 15) {
			used += (size_t)snprintf(text + used, COLUMN - used, "..");
			break;
		}
		used += (size_t)snprintf(text + used, COLUMN - used, "%s", kib);
		page = next;
	}
	snprintf(text + used, COLUMN - used, " KiB");
}

static void print_next(char text[COLUMN], uint32_t next, uint32_t end)
{
	if (next == end)
		snprintf(text, COLUMN, "no further fault");
	else
		snprintf(text, COLUMN, "next fault at %lu", (unsigned long)next);
}

static void print_row(const struct measured_fault *fault, const struct measured_verdict *verdict)
{
	char driver[COLUMN], library[COLUMN], picture[33];
	struct uvmp_region walked = {fault->page, fault->next};
	uvmp_mask moved = fault->moved;

	if (fault->is_touch) {
		uvmp_mask_region_set(&moved, walked);
		print_next(driver, fault->next, fault->end);
		print_next(library, verdict->next, fault->end);
	} else {
		print_copies(driver, &moved, &fault->starts);
		print_copies(library, &verdict->decided, &verdict->starts);
	}
	draw(picture, &verdict->before, &moved, fault->page);
	printf("%6lu  %s  %5lu  %-19s  %5lu  %-19s  %s\n", (unsigned long)fault->page, picture,
	       (unsigned long)uvmp_mask_weight(&moved), driver,
	       (unsigned long)uvmp_mask_weight(&verdict->decided), library,
	       !verdict->agrees		  ? "DIFFERS"
	       : verdict->has_same_copies ? "agree"
					  : "agree*");
	if (verdict->agrees)
		return;
	draw(picture, &verdict->before, &verdict->decided, fault->page);
	printf("%6s  %s  as the library would have it\n", "", picture);
}

static void print_heading(const char *program, const struct measured_fault *fault)
{
	const char *phase = "the GPU touches one page after the other";

	if (fault->is_touch)
		phase = "the host fills the block; a fault shows the pages prefetched with the fault before";
	else if (fault->proc == UVMP_CPU)
		phase = "the host reads back";
	printf("\n%s: %s\n", program, phase);
	printf("%6s  %-32s  %5s  %-19s  %5s  library\n", "fault", "block, 64 KiB a character", "pages",
	       "driver", "pages");
}

struct tally {
	size_t faults, agree, copied, same_copies;
};

static int judge_all(const struct measured *measured, const struct uvmp_policy *policy, bool is_brief,
		     struct tally *tally)
{
	struct measured_model model;

	for (size_t i = 0; i < measured->faults; i++) {
		const struct measured_fault *fault = &measured->fault[i];
		const struct measured_fault *last = i > 0 ? fault - 1 : NULL;
		struct measured_verdict verdict;
		enum uvmp_status status;

		if (last == NULL || last->program != fault->program)
			measured_start(&model, policy);
		status = measured_judge(&model, fault, &verdict);
		if (status != UVMP_OK)
			return say_error("page %lu of %s: %s", (unsigned long)fault->page,
					 measured->program[fault->program], uvmp_status_text(status));
		tally->faults++;
		tally->agree += verdict.agrees;
		tally->copied += !fault->is_touch;
		tally->same_copies += !fault->is_touch && verdict.has_same_copies;
		if (is_brief)
			continue;
		if (last == NULL || last->program != fault->program || last->proc != fault->proc ||
		    last->is_touch != fault->is_touch)
			print_heading(measured->program[fault->program], fault);
		print_row(fault, &verdict);
	}
	return CLI_DONE;
}

/* One policy over all files. */
static int report(const struct measured *measured, const char *text, bool is_brief)
{
	struct tally tally = {0, 0, 0, 0};
	char canonical[UVMP_POLICY_TEXT_MAX] = "";
	struct uvmp_policy policy;

	if (!options_policy("--policy", text, &policy))
		return CLI_BAD_INPUT;
	uvmp_policy_print(&policy, canonical, sizeof(canonical));
	if (!is_brief)
		cli_print_words(printf("policy: "), canonical, stdout);
	if (judge_all(measured, &policy, is_brief, &tally) != CLI_DONE)
		return CLI_BAD_INPUT;
	if (is_brief) {
		printf("%zu of %zu faults agree (%s)\n", tally.agree, tally.faults,
		       text[0] != '\0' ? text : "default policy");
	} else {
		printf("\n%zu of %zu faults with copies were moved in the same copies\n", tally.same_copies,
		       tally.copied);
		printf("%zu of %zu faults agree\n", tally.agree, tally.faults);
	}
	return tally.agree == tally.faults ? CLI_DONE : CLI_CHECK_FAILED;
}

static int read_file(const char *path, struct measured *measured)
{
	FILE *in = cli_open(path);
	bool done;

	if (in == NULL)
		return CLI_BAD_INPUT;
	done = measured_read(in, path, measured);
	cli_close(in);
	return done ? CLI_DONE : say_error("%s", measured->error);
}

static int parse_arguments(int argc, char **argv, struct measured *measured, const char *policy[POLICIES_MAX],
			   size_t *policies, bool *is_brief)
{
	static const char *const options[] = {"policy=*", "brief", NULL};
	struct options args = CLI_OPTIONS(options, "measured");
	struct uvmp_policy unused;
	const char *value;
	size_t files = 0;
	int what;

	while ((what = options_next(&args, &value)) != OPTIONS_END) {
		if (what == OPTIONS_BAD)
			return CLI_BAD_INPUT;
		if (what == 1) {
			*is_brief = true;
		} else if (what == OPTIONS_OPERAND) {
			files++;
			if (read_file(value, measured) != CLI_DONE)
				return CLI_BAD_INPUT;
		} else if (*policies == POLICIES_MAX) {
			return say_error("at most %d policies", POLICIES_MAX);
		} else {
			if (!options_policy("--policy", value, &unused))
				return CLI_BAD_INPUT;
			policy[(*policies)++] = value;
		}
	}
	return files > 0 ? CLI_DONE : say_error("a file must follow measured; see `uvmsim measured --help`");
}

int cmd_measured(int argc, char **argv)
{
	const char *policy[POLICIES_MAX];
	struct measured measured = {0};
	size_t policies = 0;
	bool is_brief = false;
	int status = parse_arguments(argc, argv, &measured, policy, &policies, &is_brief);

	if (status == CLI_DONE && policies == 0)
		policy[policies++] = "";
	for (size_t i = 0; i < policies && status != CLI_BAD_INPUT; i++) {
		int one = report(&measured, policy[i], is_brief);

		if (one != CLI_DONE)
			status = one;
		if (!is_brief && i + 1 < policies)
			putchar('\n');
	}
	measured_free(&measured);
	return status;
}
