# Targets that test and measure. Read by the Makefile.
# -g1: reports name functions and lines; compilers and linkers take about a fifth less time than with -g.
SAN   := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
TSAN  := -O1 -g1 -fsanitize=thread -fno-omit-frame-pointer
COV   := -O0 -g --coverage
# For clang.
FUZZ  := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
# The memory sanitizer must see every store: no libzstd, no pager with its threads, and no getc() inlined from libc's header.
MSAN  := -O1 -g -D__NO_INLINE__ -fsanitize=memory -fsanitize-memory-track-origins -fno-sanitize-recover=all -fno-omit-frame-pointer
model := $(wildcard tests/model/*.c)
tests := $(wildcard tests/properties/*.c tests/unit/*.c)
fuzzs := $(wildcard fuzz/fuzz_*.c)
vecs  := $(sort $(wildcard tests/vectors/*/*.vec))

## make test       install what is missing, then the tests (address and undefined-behaviour sanitizers on)
##                 TEST='prefetch pager': only the tests with one of these words in their names; TEST=test_pager: exactly that one
test:
	@sh tests/deps.sh test
	@UVMP_TEST_SHARE=$${UVMP_TEST_SHARE:-20} $(MAKE) --no-print-directory $(JOBS) test-run

## make test-quick the quick unit tests, all vectors and a 50th of the property tests: in about a minute after a build
## make test-long  what `make test` leaves out: all cases of the property tests, not a 20th of them, and the scripts that take
##                 minutes.
##                 LONG_SHORT=1: only the latter; `make coverage` has all cases, too, without the sanitizers
test-quick test-long:
	@sh tests/deps.sh test
	@UVMP_TEST_SHARE=$(if $(filter %long,$@),1,50) $(MAKE) --no-print-directory $(JOBS) $@-run

## make test-bare  `make run` and `make test` on a bare Debian 12, in a chroot below build/bare; needs root and debootstrap.
##                 BARE_SHORT=1: few of the tests
test-bare:
	@sh tests/deps.sh $@ || true # what is missing is skipped, with the reason
	@sh tests/bare.sh $(BUILD) $(if $(BARE_SHORT),'make run' 'make test TEST="test_policy vectors"')

scripts := $(wildcard tests/cli/*.sh)
# Programs that take ten seconds are left out of make test-quick.
slow  := $(addprefix tests/unit/test_,pager%.c timed%.c workload_touch.c workload_rodinia.c emu_gpu.c service_plugin.c \
  service_pages.c host_frames.c host_decisions.c) $(addprefix tests/properties/prop_,evict_auto.c service_evict.c)
quick := tests/cli/vectors.sh $(call prog,san,$(filter-out $(slow),$(tests)))
# What takes longest, by build/logs/seconds: scripts that build the library again or run many programs. With the long tests only,
# since make test has six minutes on two processors.
lasting := $(addprefix tests/cli/,add_policy.sh amalgamation.sh cmake.sh cpp_hosts.sh cuda.sh deb.sh dist.sh examples.sh \
  install.sh kernel_examples.sh pager_decisions.sh policy_report.sh preload.sh programs.sh python.sh snippets.sh tables_long.sh \
  traces.sh) $(addprefix $(BUILD)/,san/test_timed_smart san/test_pager_hard san/test_pager_map san/test_pager_service \
  tsan/test_emu_gpu_threads)
long  := $(sort $(lasting) $(if $(LONG_SHORT),,$(call prog,san,$(shell grep -lE "test_share_of|test_is_chosen" $(tests)))))
# The longest first, so that no processor waits for the last one.
every := $(BUILD)/san/soak_pager $(BUILD)/soak_pager $(sort $(scripts)) $(call prog,san,$(tests) $(fuzzs)) \
  $(BUILD)/tsan/test_emu_gpu_threads
words := $(if $(filter command%,$(origin TEST)),$(TEST))
# The tests of one word: the one of that name, or all with the word in their names.
named  = $(strip $(or $(filter %/$(1) %/$(1).sh,$(every)),$(foreach t,$(every),$(if $(findstring $(1),$(notdir $(t))),$(t)))))
unknown := $(firstword $(foreach w,$(words),$(if $(call named,$(w)),,$(w))))
chosen := $(if $(words),$(sort $(foreach w,$(words),$(call named,$(w)))),$(filter-out $(lasting),$(every)))
# What the chosen tests $(1) need: themselves, and for a script the programs that it runs.
needed = $(filter $(BUILD)/%,$(1)) $(if $(filter %.sh,$(1)),$(BUILD)/san/uvmsim) \
  $(if $(filter-out %/cli.sh %/vectors.sh,$(filter %.sh,$(1))),all $(BUILD)/uvmp_run_program)
ifneq ($(unknown),)
test-run:
	@echo 'make test: no test is named $(unknown); the nearest are:' \
	  $$(sh tests/test.sh --nearest '$(unknown)' $(basename $(notdir $(every)))) >&2; exit 2
else
test-run: $(call needed,$(chosen)) $(if $(words),,check)
	@sh tests/test.sh $(BUILD) $(chosen)
endif
test-quick-run: $(call needed,$(quick))
	@sh tests/test.sh $(BUILD) $(quick)
test-long-run: $(call needed,$(long))
	@sh tests/test.sh $(BUILD) $(long)

## make check      prove the rules of the core: symbols, data, floating point, stack, freestanding link, C++ headers
check: all
	@CC="$(CC)" WARN="$(WARN) -Werror" sh tests/check/check.sh $(BUILD)

## make lint       clang-format of the public headers, clang-tidy and cppcheck of the core and the hosts
lint: $(BUILD)/models.inc $(BUILD)/html.inc
	@sh tests/deps.sh lint
	@sh tests/lint/lint.sh $(BUILD)

## make coverage   line and branch coverage of libuvmpolicy by gcovr; fails below 100 %; HTML in build/coverage/
coverage:
	@sh tests/deps.sh coverage
	@$(MAKE) --no-print-directory coverage-run
# Coverage is that of the core; tests of the pager have threads, which gcov cannot count.
covered := $(filter-out $(addprefix tests/unit/test_,cuda%.c pager%.c store.c emu%.c nvidia%.c),$(tests))
coverage-run: $(call prog,cov,$(covered)) $(BUILD)/cov/uvmsim
	@sh tests/coverage.sh $(BUILD) $(call prog,cov,$(covered))

## make fuzz       every fuzz target under libFuzzer, FUZZ_SECONDS each (default 30); needs clang
fuzz:
	@sh tests/deps.sh fuzz
	@$(MAKE) --no-print-directory fuzz-run
fuzz-run: $(call prog,fuzz,$(fuzzs)) $(BUILD)/uvmsim
	@sh tests/fuzz.sh $(BUILD) $(call prog,fuzz,$(fuzzs))

## make msan       unit tests, a 50th of the property tests, vectors, traces and the fuzz targets' corpora under the memory
##                 sanitizer, then the engine against a naive second one; needs clang. MSAN_SHORT=1: no unit and property tests
msan:
	@sh tests/deps.sh test
	@sh tests/deps.sh msan
	@UVMP_TEST_SHARE=50 $(MAKE) --no-print-directory msan-run
of_msan := $(call prog,msan,$(if $(MSAN_SHORT),,$(covered)) $(fuzzs))
msan-run: $(of_msan) $(BUILD)/msan/soak_service $(BUILD)/msan/uvmsim
	@UVMSIM=$(BUILD)/msan/uvmsim sh tests/test.sh $(BUILD)/msan tests/cli/vectors.sh tests/cli/traces.sh $(of_msan)
	@$(BUILD)/msan/soak_service $(or $(SOAK_EVENTS),100000) $(or $(SOAK_SEED),1)

## make soak       the engine against a naive second one, SOAK_EVENTS events (default 10000000) from SOAK_SEED (1); then the pager:
##                 8 threads over 8 times the budget for SOAK_SECONDS (600), every word against a model, also with the
##                 address and thread sanitizers for a tenth of that each
SECONDS_OF = $$(( ($(or $(SOAK_SECONDS),600) + $(1) - 1) / $(1) )) $(or $(SOAK_SEED),1)
soak: $(BUILD)/soak $(BUILD)/soak_pager $(BUILD)/san/soak_pager $(BUILD)/tsan/soak_pager
	@$(BUILD)/soak $(or $(SOAK_EVENTS),10000000) $(or $(SOAK_SEED),1)
	@$(BUILD)/soak_pager $(call SECONDS_OF,1)
	@$(BUILD)/san/soak_pager $(call SECONDS_OF,10)
	@$(BUILD)/tsan/soak_pager $(call SECONDS_OF,10)

## make cross      the core on machines of 32 bits, big-endian, with pages of 64 KiB: unit tests, vectors, decisions as here;
##                 CROSS='i386 s390x': only these (of i386 s390x powerpc aarch64). CROSS_SHORT=1: no unit tests in an emulator
cross: $(BUILD)/uvmsim
	@CROSS='$(CROSS)' sh tests/deps.sh cross || true # what is missing is skipped, with the reason
	@MAKE='$(MAKE)' sh tests/cross.sh $(BUILD) $(CROSS)

## make fidelity   published figures against simulated ones, into docs/fidelity.md; fails if a row leaves its tolerance.
##                 FIDELITY=PATTERN: only these, printed; FIDELITY_LONG=1: also runs of many minutes
fidelity: $(BUILD)/uvmsim
	@sh tests/fidelity/fidelity.sh $(BUILD)/uvmsim $(BUILD) $(if $(FIDELITY),'$(FIDELITY)')

## make fidelity-figures  the pictures of docs/fidelity from their data, the tables of docs/accuracy.md; without any run
fidelity-figures:
	@sh tests/fidelity/plot.sh docs/fidelity
	@sh tests/fidelity/accuracy.sh docs/accuracy.md

## make fidelity-experiments  the tables of docs/fidelity-experiments.md; EXPERIMENT='NAME ...': only these
.PHONY: fidelity-experiments
fidelity-experiments: $(BUILD)/uvmsim
	@sh tests/fidelity/experiments_page.sh $(BUILD)/uvmsim docs/fidelity-experiments.md $(EXPERIMENT)

## make figure     FIGURE=NAME: one figure of docs/fidelity made again, and compared with its data there: docs/reproduce.md
.PHONY: figure docs
figure: $(BUILD)/uvmsim
	@sh tests/fidelity/figure.sh $(BUILD)/uvmsim $(BUILD) '$(FIGURE)'

## make docs       the documentation as a site, with the reference of the API, into build/docs; warnings are errors
docs:
	@sh tests/deps.sh docs
	@sh docs/site/docs.sh $(BUILD) $(VERSION)

## make policies   every preset and the best combination of keys, on nine programs at five memory sizes, and on nineteen at 16 times
##                 the size; into docs/policies-results.md, docs/policies-results-large.md and pictures; goes on where it was
##                 interrupted. POLICIES_SHORT=1: two programs, two sizes, one seed, under build/policies/short/;
##                 POLICIES_GPUS, POLICIES_SIZES, POLICIES_WORKLOADS, POLICIES_SCALE=1|16: only these, under build/policies/part/;
##                 POLICIES_STRINGS=PAGE: no search, but the strings of the page;
##                 POLICIES_KEPT=1: nothing runs, pages of the results so far; POLICIES_REUSE=1: also results of other revisions
policies: $(BUILD)/uvmsim
	@sh tests/policies/policies.sh $(BUILD)/uvmsim $(BUILD)

## make policy-tables  the tables of keys and presets in docs/policies.md and manual pages, from the library and its headers
policy-tables: $(BUILD)/uvmsim
	@sh tests/policies/tables.sh $(BUILD)/uvmsim docs/policies.md
	@sh tests/policies/man_tables.sh $(BUILD)/uvmsim docs

## make generated  all files that follow from the headers and the library: policy-tables, api
.PHONY: generated
generated: policy-tables api

## make page-tables  the tables of docs/machine.md, models.md, policies.md and uvmsim.md that come from runs, in two minutes;
##                 TABLE='NAME ...': only these (sh tests/machine/tables.sh --list)
page-tables: $(BUILD)/uvmsim
	@sh tests/machine/tables.sh $(BUILD)/uvmsim --pages docs $(TABLE)

## make decisions  decision logs of every preset (6 runs each) into build/decisions-logs; AGAINST=DIR: compared with those of DIR
decisions: $(BUILD)/uvmsim $(BUILD)/decisions
	@sh tests/decisions/record.sh $(BUILD) $(BUILD)/decisions-logs $(AGAINST)

## make bench      one table of instructions (callgrind), nanoseconds, rates and memory against original code and budgets, also as
##                 build/bench.csv, in about 15 minutes; then the pager. BENCH_SHORT=1: instructions and few repeats, 2 minutes
bench: $(BUILD)/bench $(BUILD)/bench-pager $(BUILD)/bench-store $(BUILD)/uvmsim
	@sh tests/deps.sh bench
	@sh tests/bench/bench.sh $(BUILD)
	@sh tests/bench/speed.sh $(BUILD) $(if $(BENCH_SHORT),instructions)
	@sh tests/bench/pager.sh $(BUILD) $(or $(BENCH_PAGER),$(if $(BENCH_SHORT),latency scan))
	@$(if $(BENCH_SHORT),,$(BUILD)/bench-store)

## make profile    the functions that take most instructions (callgrind): of the engine, and of a simulated run; CASE=: of that case
profile: $(BUILD)/bench $(BUILD)/uvmsim
	@sh tests/deps.sh bench
	@sh tests/bench/profile.sh $(BUILD) $(CASE)

## make scale      nanoseconds per fault from 256 MiB to 64 GiB, for every prefetcher and every order of eviction, in about 5
##                 minutes; SCALE_SIZES='256m 1g': these footprints; SCALE_UNIT=instructions: counted instead (callgrind)
scale: $(BUILD)/bench $(BUILD)/uvmsim
	@sh tests/bench/scale.sh $(BUILD)
