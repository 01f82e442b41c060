/* The runs of a sweep: see sweep_run.h. The file of results is locked while they are performed; each line is written when its run
 * has ended. */
#include "sweep_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../cli.h"
#include "../interrupt.h"
#include "../parallel.h"
#include "../progress.h"
#include "array.h"
#include "csv_line.h"
#include "output.h"
#include "results.h"
#include "sweep_row.h"

typedef unsigned long long number;

struct performance {
	const struct sweep_plan *plan;
	const struct sweep_order *order;
	struct results results;
	struct output *whole; /* the file in the order of the sweep */
	FILE *out;
	uint64_t *todo; /* runs without a result */
	size_t todos, room;
	uint64_t wanted; /* runs of the shard */
	size_t added, crashed;
	bool is_broken; /* after a report: no further run is useful */
};

/* -- the file -- */

static bool fail(struct performance *p, const char *what)
{
	say_error("--out %.300s: %s", p->order->out, what);
	p->is_broken = true;
	return false;
}

/* What the file has must be of this sweep, and of this version. */
static bool check_key(struct performance *p)
{
	const struct sweep *sweep = &p->plan->sweep;
	const struct results_key *key = &p->results.key;
	char *header = sweep_header(sweep), id[17];
	bool is_same;

	if (!header)
		return fail(p, "out of memory");
	snprintf(id, sizeof(id), "%016llx", (number)sweep->id);
	is_same = !p->results.has_key || (strcmp(key->sweep, id) == 0 && key->runs == sweep->runs);
	if (!is_same)
		fail(p, "has the results of another sweep; name another file, or remove it");
	else if (p->results.has_key && strcmp(key->version, UVMSIM_VERSION) != 0)
		is_same = fail(
			p, "has the results of another version of uvmsim; name another file, or remove it");
	else if (p->results.header && strcmp(p->results.header, header) != 0)
		is_same = fail(p, "has the columns of another sweep; name another file, or remove it");
	if (!p->results.header) {
		p->results.header = header;
		return is_same;
	}
	free(header);
	return is_same;
}

/* Opens and locks the file, reads what it has, and cuts a line that is not whole. */
static bool open_results(struct performance *p)
{
	char error[RESULTS_ERROR_MAX];
	int fd = open(p->order->out, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct stat info;
	uint64_t end = 0;

	if (fd >= 0)
		p->out = fdopen(fd, "a+");
	if (!p->out)
		return fail(p, strerror(errno));
	if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
		return fail(p, "is not a regular file");
	/* a lock of this process: a child that outlives it for a moment does not hold it */
	if (fcntl(fd, F_SETLK, &lock) != 0)
		return fail(p, errno == EAGAIN || errno == EACCES ? "another uvmsim writes to this file" : strerror(errno));
	rewind(p->out);
	if (!results_read(&p->results, p->out, p->order->out, &end, error)) {
		say_error("--out %s", error);
		return false;
	}
	if (!check_key(p))
		return false;
	if (ftruncate(fd, (off_t)end) != 0 || fseeko(p->out, 0, SEEK_END) != 0)
		return fail(p, strerror(errno));
	if (end == 0 && (fprintf(p->out, "%s\n", p->results.header) < 0 || fflush(p->out) != 0))
		return fail(p, strerror(errno));
	return true;
}

/* The runs of the shard without a result, in their order. */
static bool find_todo(struct performance *p)
{
	const uint64_t runs = p->plan->sweep.runs;
	unsigned char *has = array_zeros(runs, 1);

	for (size_t i = 0; i < p->results.count && has; i++)
		has[p->results.line[i].run] = 1;
	for (uint64_t run = p->order->shard; run < runs && has; run += p->order->shards) {
		p->wanted++;
		if (has[run] != 0)
			continue;
		if (!ARRAY_RESERVE(p->todo, p->room, p->todos + 1)) {
			free(has);
			return fail(p, "out of memory");
		}
		p->todo[p->todos++] = run;
	}
	if (!has)
		return fail(p, "out of memory");
	free(has);
	return true;
}

/* -- runs -- */

static void run_child(void *context, size_t index, void *answer)
{
	const struct performance *p = context;
	struct run_request *q = calloc(1, sizeof(*q));
	char policy[SWEEP_POLICY_MAX];

	if (!q)
		_exit(1);
	sweep_plan_request(p->plan, p->todo[index], q, policy);
	run_alone(q, answer);
	free(q);
}

static bool append(struct performance *p, uint64_t run, const struct report *report)
{
	char *line = sweep_row(&p->plan->sweep, run, report, p->order->host);

	if (!line)
		return fail(p, "out of memory");
	if (fprintf(p->out, "%s\n", line) < 0 || fflush(p->out) != 0) {
		free(line);
		return fail(p, strerror(errno));
	}
	p->added++;
	return results_add(&p->results, line, run, 0, NULL) || fail(p, "out of memory");
}

static bool take_answer(struct performance *p, uint64_t run, const struct run_answer *answer)
{
	struct run_request *q = calloc(1, sizeof(*q));
	struct report report = {.is_complete = answer->is_complete, .has_faults_only = answer->recorded.has_faults_only};
	char policy[SWEEP_POLICY_MAX];
	bool is_good = false;

	if (q) {
		sweep_plan_request(p->plan, run, q, policy);
		is_good = run_describe(q, 0, answer, &report);
		if (is_good && !answer->is_complete)
			report.error = strdup(answer->error);
		is_good = is_good && (answer->is_complete || report.error);
	}
	is_good = is_good ? append(p, run, &report) : fail(p, "out of memory");
	free(report.workload);
	free(report.policy_given);
	free(report.error);
	free(q);
	return is_good;
}

/* A run that was interrupted, or whose process was ended, has no result: the next call performs it again. */
static bool take(void *context, size_t index, const void *memory, const char *crash)
{
	struct performance *p = context;
	const struct run_answer *answer = memory;

	if (crash && interrupt_caught == 0) {
		say_note("run %llu has no result: %s", (number)p->todo[index], crash);
		p->crashed++;
	}
	if (crash || (!answer->is_complete && interrupt_caught != 0))
		return true;
	progress_run_ended(answer->result.accesses);
	return take_answer(p, p->todo[index], answer);
}

static void perform(struct performance *p)
{
	size_t jobs = p->order->jobs != 0 ? p->order->jobs : parallel_processors();
	struct parallel work = {.count = p->todos,
				.answer_bytes = sizeof(struct run_answer),
				.context = p,
				.run = run_child,
				.take = take};

	jobs = jobs < JOBS_MOST ? jobs : JOBS_MOST;
	work.jobs = (unsigned)(jobs < p->todos ? jobs : p->todos);
	interrupt_catch();
	progress_start(p->todos);
	if (work.jobs != 0 && !parallel_run(&work) && !p->is_broken)
		fail(p, "no process can be started for the runs");
	progress_end();
	interrupt_done();
}

/* -- the end -- */

/* The file may also have results of other shards. */
static bool is_of_shard(const struct performance *p, size_t result)
{
	return p->results.line[result].run % p->order->shards == p->order->shard;
}

/* Results of runs of the shard. */
static uint64_t count_done(const struct performance *p)
{
	uint64_t done = 0;

	for (size_t i = 0; i < p->results.count; i++)
		done += is_of_shard(p, i);
	return done;
}

/* How many results of the shard are of runs that ended in an error. */
static size_t count_errors(const struct performance *p)
{
	size_t column = csv_line_find(p->results.header, "complete"), errors = 0;
	char text[8];

	for (size_t i = 0; i < p->results.count; i++)
		if (is_of_shard(p, i))
			errors += !csv_line_field(p->results.line[i].text, column, text, sizeof(text)) ||
				  strcmp(text, "1") != 0;
	return errors;
}

/* If the file has all runs of the shard, its lines are put in order. */
static int finish(struct performance *p)
{
	char error[RESULTS_ERROR_MAX];
	uint64_t done;
	size_t errors;

	if (!results_sort(&p->results, error))
		return say_error("--out %s", error);
	done = count_done(p);
	if (done == p->wanted) {
		struct output *whole = p->whole;

		p->whole = NULL;
		if (!results_write(&p->results, whole))
			return CLI_BAD_INPUT;
	}
	errors = count_errors(p);
	printf("%s: %llu of %llu runs", p->order->out, (number)done, (number)p->wanted);
	if (p->order->shards > 1)
		printf(" of shard %llu/%llu", (number)p->order->shard + 1u, (number)p->order->shards);
	printf(", %zu now", p->added);
	if (errors != 0)
		printf(", %zu with an error (columns complete and error)", errors);
	putchar('\n');
	if (interrupt_caught != 0) {
		say_error("interrupted; the same command continues");
		return interrupt_status();
	}
	return errors != 0 || p->crashed != 0 ? CLI_CHECK_FAILED : CLI_DONE;
}

int sweep_run(const struct sweep_plan *plan, const struct sweep_order *order)
{
	struct performance p = {.plan = plan, .order = order};
	int status = CLI_BAD_INPUT;

	p.whole = output_claim("--out", order->out);
	if (p.whole && open_results(&p) && find_todo(&p)) {
		perform(&p);
		if (!p.is_broken)
			status = finish(&p);
	}
	output_close(p.whole, OUTPUT_DISCARD);
	if (p.out)
		fclose(p.out);
	free(p.todo);
	results_close(&p.results);
	return status;
}
