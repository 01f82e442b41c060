# libuvmpolicy. `make help` lists the targets. Everything built goes under $(BUILD)/.
BUILD  ?= build
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/libuvmpolicy
VERSION := 0.1.0
SOMAJOR := 0

WARN  := -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wsign-compare -Wshadow -Wstrict-prototypes
# WERROR=1: warnings are errors, as in .ci/run.
ERROR := $(if $(WERROR),-Werror)
BASE  := -std=c11 -Iinclude -MMD -MP
# The core runs where there is no libc and no FPU: kernels, firmware, simulators.
NOFPU := $(if $(filter x86_64-% i%86-% aarch64-%,$(shell $(CC) -dumpmachine)),-mgeneral-regs-only)
CORE  := $(BASE) $(WARN) -U_FORTIFY_SOURCE -ffreestanding -fvisibility=hidden -fPIC
HOST  := $(BASE) $(WARN) -D_GNU_SOURCE -Iadapters/common -Iadapters/simulator -Iadapters/userspace -Ilibuvmpolicy -Itests -I$(BUILD) -DUVMSIM_VERSION='"$(VERSION)"'
SAN   := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
TSAN  := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
COV   := -O0 -g --coverage
# For clang.
FUZZ  := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
# The memory sanitizer must see every store: no libzstd, no pager with its threads, and no getc() inlined from libc's header.
MSAN  := -O1 -g -D__NO_INLINE__ -fsanitize=memory -fsanitize-memory-track-origins -fno-sanitize-recover=all -fno-omit-frame-pointer
HAVE_ZSTD := $(shell printf '\043include <zstd.h>\nint main(void){return (int)ZSTD_versionNumber();}' | \
               $(CC) -xc - -lzstd -o /dev/null 2>/dev/null && echo 1)
LIBS  := $(if $(HAVE_ZSTD),-lzstd)

# In uvmsim, the core and what feeds it is made for speed, and may use all of the machine's registers.
FAST  := $(subst -O2,-O3,$(CFLAGS))

core  := $(wildcard libuvmpolicy/*/*.c)
common := $(wildcard adapters/common/*.c)
sim   := $(common) $(wildcard $(addprefix adapters/simulator/,*.c import/*.c machine/*.c vectors/*.c vectors/reference/*.c workloads/*.c))
fast  := $(core) $(filter $(addprefix adapters/simulator/,agents% belady% bound% driver% host% space% machine/% workloads/%),$(sim))
pager := $(filter-out $(addprefix adapters/userspace/,run%.c preload%.c),$(wildcard adapters/userspace/*.c))
runner := $(wildcard adapters/userspace/run*.c) $(addprefix adapters/common/,nearest.c number.c options.c quote.c say.c)
simlib:= $(filter-out adapters/simulator/main.c,$(sim))
model := $(wildcard tests/model/*.c)
tests := $(wildcard tests/properties/*.c tests/unit/*.c)
fuzzs := $(wildcard fuzz/fuzz_*.c)
vecs  := $(sort $(wildcard tests/vectors/*/*.vec))
obj    = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(2))
prog   = $(patsubst %.c,$(BUILD)/$(1)/%,$(notdir $(2)))

# The targets that most people type use all processors, unless the user says how many.
JOBS   = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: all run decisions test test-quick test-long test-bare check lint coverage fuzz msan soak cross fidelity fidelity-figures policies bench kernel kernel-test kernel-test-debug install uninstall examples clean help
.PHONY: test-run test-quick-run test-long-run coverage-run fuzz-run msan-run cross-programs
.DELETE_ON_ERROR:
.SECONDARY:
pagers:= $(BUILD)/libuvmpolicy-pager.a $(BUILD)/libuvmp-preload.so $(BUILD)/uvmp-run
all: $(BUILD)/libuvmpolicy.a $(BUILD)/libuvmpolicy.so.$(SOMAJOR) $(BUILD)/uvmsim $(pagers)

help: ; @sed -n 's/^## //p' Makefile

## make run        build uvmsim; one screen: recorded faults, what prefetching saves, a full memory over time. V=1: details
run: $(BUILD)/uvmsim
	@V='$(V)' sh tests/run.sh $(BUILD)/uvmsim

## make test       install what is missing, then all tests (address and undefined-behaviour sanitizers on)
##                 TEST='prefetch pager': only the tests with one of these words in their names; TEST=test_pager: exactly that one
test:
	@sh tests/deps.sh test
	@UVMP_TEST_SHARE=$${UVMP_TEST_SHARE:-10} $(MAKE) --no-print-directory $(JOBS) test-run

## make test-quick unit tests, all vectors and a 50th of the property tests: under a minute after a build
## make test-long  the property tests in full: `make test` runs a 10th of their cases (UVMP_TEST_SHARE=10)
test-quick test-long:
	@sh tests/deps.sh test
	@UVMP_TEST_SHARE=$(if $(filter %long,$@),1,50) $(MAKE) --no-print-directory $(JOBS) $@-run

## make test-bare  `make run` and `make test` on a bare Debian 12, in a chroot below build/bare; needs root and debootstrap
test-bare:
	@sh tests/deps.sh $@ || true # what is missing is skipped, with the reason
	@sh tests/bare.sh $(BUILD)

scripts := $(wildcard tests/cli/*.sh)
quick := tests/cli/vectors.sh $(call prog,san,$(filter-out tests/unit/test_pager%.c,$(tests)))
long  := $(call prog,san,$(shell grep -lE "test_share_of|test_is_chosen" $(tests)))
every := $(sort $(scripts)) $(call prog,san,$(tests) $(fuzzs)) $(BUILD)/tsan/test_emu_gpu_threads $(BUILD)/san/soak_pager $(BUILD)/soak_pager
words := $(if $(filter command%,$(origin TEST)),$(TEST))
# The tests of one word: the one of that name, or all with the word in their names.
named  = $(strip $(or $(filter %/$(1) %/$(1).sh,$(every)),$(foreach t,$(every),$(if $(findstring $(1),$(notdir $(t))),$(t)))))
unknown := $(firstword $(foreach w,$(words),$(if $(call named,$(w)),,$(w))))
chosen := $(if $(words),$(sort $(foreach w,$(words),$(call named,$(w)))),$(every))
# What the chosen tests $(1) need: themselves, and for a script the programs that it runs.
needed = $(filter $(BUILD)/%,$(1)) $(if $(filter %.sh,$(1)),$(BUILD)/san/uvmsim) $(if $(filter-out %/cli.sh %/vectors.sh,$(filter %.sh,$(1))),all $(BUILD)/uvmp_run_program)
ifneq ($(unknown),)
test-run:
	@echo 'make test: no test is named $(unknown); the nearest are:' $$(sh tests/test.sh --nearest '$(unknown)' $(basename $(notdir $(every)))) >&2; exit 2
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
lint: $(BUILD)/models.inc
	@sh tests/deps.sh lint
	@sh tests/lint/lint.sh $(BUILD)

## make coverage   line and branch coverage of libuvmpolicy by gcovr; fails below 100 %; HTML in build/coverage/
coverage:
	@sh tests/deps.sh coverage
	@$(MAKE) --no-print-directory coverage-run
# Coverage is that of the core; tests of the pager have threads, which gcov cannot count.
covered := $(filter-out tests/unit/test_pager%.c tests/unit/test_store.c tests/unit/test_emu%.c,$(tests))
coverage-run: $(call prog,cov,$(covered)) $(BUILD)/cov/uvmsim
	@sh tests/coverage.sh $(BUILD) $(call prog,cov,$(covered))

## make fuzz       every fuzz target under libFuzzer, FUZZ_SECONDS each (default 30); needs clang
fuzz:
	@sh tests/deps.sh fuzz
	@$(MAKE) --no-print-directory fuzz-run
fuzz-run: $(call prog,fuzz,$(fuzzs))
	@sh tests/fuzz.sh $(BUILD) $(call prog,fuzz,$(fuzzs))

## make msan       unit tests, a 50th of the property tests, vectors, traces and the fuzz targets' corpora under the memory sanitizer,
##                 then the engine against a naive second one; needs clang
msan:
	@sh tests/deps.sh test
	@sh tests/deps.sh msan
	@UVMP_TEST_SHARE=50 $(MAKE) --no-print-directory msan-run
msan-run: $(call prog,msan,$(covered) $(fuzzs) soak_service.c) $(BUILD)/msan/uvmsim
	@UVMSIM=$(BUILD)/msan/uvmsim sh tests/test.sh $(BUILD)/msan tests/cli/vectors.sh tests/cli/traces.sh $(call prog,msan,$(covered) $(fuzzs))
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
##                 CROSS='i386 s390x': only these (of i386 s390x powerpc aarch64)
cross: $(BUILD)/uvmsim
	@CROSS='$(CROSS)' sh tests/deps.sh cross || true # what is missing is skipped, with the reason
	@MAKE='$(MAKE)' sh tests/cross.sh $(BUILD) $(CROSS)

## make fidelity   published figures against simulated ones, into docs/fidelity.md; fails if a row that was inside is not any
##                 more. FIDELITY=PATTERN: only these, printed; FIDELITY_LONG=1: also runs of many minutes
fidelity: $(BUILD)/uvmsim
	@sh tests/fidelity/fidelity.sh $(BUILD)/uvmsim $(BUILD) $(if $(FIDELITY),'$(FIDELITY)')

## make fidelity-figures  the pictures of docs/fidelity from their data, the tables of docs/accuracy.md; without any run
fidelity-figures:
	@sh tests/fidelity/plot.sh docs/fidelity
	@sh tests/fidelity/accuracy.sh docs/accuracy.md

## make policies   every preset on nine programs at five memory sizes, into docs/policies-results.md and .svg; goes on where it
##                 was interrupted. POLICIES_SHORT=1: two programs, two sizes, one seed, under build/policies/short/
policies: $(BUILD)/uvmsim
	@sh tests/policies/policies.sh $(BUILD)/uvmsim $(BUILD)

## make decisions  decision logs of every preset (6 runs each) into build/decisions-logs; AGAINST=DIR: compared with those of DIR
decisions: $(BUILD)/uvmsim $(BUILD)/decisions
	@sh tests/decisions/record.sh $(BUILD) $(BUILD)/decisions-logs $(AGAINST)

## make bench      instructions per decision (callgrind); accesses and faults a second, memory; with seed, repeats and spread
bench: $(BUILD)/bench $(BUILD)/bench-pager $(BUILD)/bench-store $(BUILD)/uvmsim
	@sh tests/deps.sh bench
	@sh tests/bench/bench.sh $(BUILD)
	@sh tests/bench/speed.sh $(BUILD)
	@sh tests/bench/pager.sh $(BUILD) $(BENCH_PAGER)
	@$(BUILD)/bench-store

## make kernel     uvmpolicy.ko and uvmpolicy_emu.ko, into build/kernel/module; KDIR=: for that kernel (default: the running one)
kernel:
	@$(MAKE) --no-print-directory -C adapters/kernel BUILD='$(abspath $(BUILD))/kernel' $(if $(KDIR),KDIR='$(KDIR)')

## make kernel-test  the modules in Debian's cloud kernel under qemu, in under 3 minutes; nothing is installed but packages.
##                 kernel-test-debug: in a kernel with KASAN, lockdep, UBSAN and kmemleak, built first, which takes long
kernel-test kernel-test-debug: $(BUILD)/libuvmpolicy.a $(BUILD)/uvmsim
	@$(if $(findstring debug,$@),sh tests/deps.sh $@ && sh tests/kernel/debug_kernel.sh $(BUILD)/kernel-debug)
	@CC='$(CC)' sh tests/kernel/kernel_test.sh $(BUILD) $(if $(findstring debug,$@),debug,stock)

## make install    libraries, headers, uvmsim, uvmp-run, manuals, documents; make uninstall removes them. Of PREFIX (default
##                 /usr/local), BINDIR, LIBDIR, INCLUDEDIR, MANDIR, DOCDIR; DESTDIR before each
put     = $(foreach f,$(2),$(1):$(f):$(3)/$(notdir $(f)))
headers:= $(wildcard include/uvmpolicy/*.h) $(addprefix adapters/userspace/,pager.h store.h)
installed = $(call put,644,$(headers),$(INCLUDEDIR)/uvmpolicy) \
  $(call put,644,$(addprefix $(BUILD)/,libuvmpolicy.a libuvmpolicy-pager.a),$(LIBDIR)) \
  $(call put,755,$(addprefix $(BUILD)/,libuvmpolicy.so.$(VERSION) libuvmp-preload.so),$(LIBDIR)) \
  $(call put,644,$(addprefix $(BUILD)/,libuvmpolicy.pc libuvmpolicy-pager.pc),$(LIBDIR)/pkgconfig) \
  $(call put,755,$(addprefix $(BUILD)/,uvmsim uvmp-run),$(BINDIR)) $(call put,644,$(wildcard docs/*.1),$(MANDIR)/man1) $(call put,644,LICENSE,$(DOCDIR)) \
  $(foreach d,. examples fidelity,$(call put,644,$(filter-out %.1,$(foreach f,$(wildcard docs/$(d)/*),$(if $(wildcard $(f)/.),,$(f)))),$(DOCDIR)/$(d)))
install: all $(BUILD)/libuvmpolicy.pc $(BUILD)/libuvmpolicy-pager.pc
	@set -e; for f in $(installed); do IFS=:; set -- $$f; install -D -m "$$1" "$$2" '$(DESTDIR)'"$$3"; done
	@ln -sf libuvmpolicy.so.$(VERSION) '$(DESTDIR)$(LIBDIR)/libuvmpolicy.so.$(SOMAJOR)'; ln -sf libuvmpolicy.so.$(SOMAJOR) '$(DESTDIR)$(LIBDIR)/libuvmpolicy.so'
uninstall:
	@for f in $(installed); do rm -f '$(DESTDIR)'"$${f##*:}"; done
	@rm -f '$(DESTDIR)$(LIBDIR)/libuvmpolicy.so' '$(DESTDIR)$(LIBDIR)/libuvmpolicy.so.$(SOMAJOR)'
	@for d in $(INCLUDEDIR)/uvmpolicy $(DOCDIR)/examples $(DOCDIR)/fidelity $(DOCDIR); do rmdir '$(DESTDIR)'"$$d" 2>/dev/null || :; done
# $(1) TITLE LIBRARIES. Directories below PREFIX are named by it, so that an installation can be moved.
below   = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
pc_file = printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(call below,$(LIBDIR))' 'includedir=$(call below,$(INCLUDEDIR))' 'Name: $(basename $(@F))' \
  'Description: $(1)' 'Version: $(VERSION)' 'Cflags: -I$${includedir}' 'Libs: -L$${libdir} $(2)' > $@
$(BUILD)/libuvmpolicy.pc: FORCE
	@$(call pc_file,decisions of a GPU unified-memory driver,-luvmpolicy)
$(BUILD)/libuvmpolicy-pager.pc: FORCE
	@$(call pc_file,managed memory larger than what is resident,-luvmpolicy-pager $(LIBS) -lpthread)

## make examples   programs that need more memory than they may take, into build/examples
examples: $(patsubst docs/examples/%.c,$(BUILD)/examples/%,$(filter-out $(addprefix docs/examples/,engine.c arena.c decide.c kernel_%),$(wildcard docs/examples/*.c)))
$(BUILD)/examples/%: docs/examples/%.c $(BUILD)/libuvmpolicy-pager.a $(addprefix $(BUILD)/include/uvmpolicy/,pager.h store.h)
	@mkdir -p $(@D); $(CC) $(LDFLAGS) $(ERROR) $(CPPFLAGS) -I$(BUILD)/include -Wall -Wextra $(subst -O2,-O3,$(CFLAGS)) $< $(BUILD)/libuvmpolicy-pager.a $(LIBS) -lpthread -o $@
$(BUILD)/include/uvmpolicy/%.h: adapters/userspace/%.h # as they are installed
	@mkdir -p $(@D); cp $< $@

## make clean      remove build/
clean: ; rm -rf $(BUILD)

# GPUs, hosts and links are data: every file in models/ becomes an array, and a row of a table by name.
gpus := $(sort $(foreach e,gpu host link,$(wildcard adapters/simulator/models/*.$(e))))
$(BUILD)/models.inc: $(gpus) adapters/simulator/models
	@mkdir -p $(@D); n=0; for f in $(gpus); do n=$$((n + 1)); printf 'static const unsigned char model_%d[] = {\n' $$n; \
	  od -An -v -tx1 $$f | sed 's/ \(..\)/0x\1,/g'; echo '};'; done > $@
	@n=0; { echo 'const struct model_file model_files[] = {'; for f in $(gpus); do n=$$((n + 1)); \
	  echo "{\"$${f##*/}\", model_$$n, sizeof(model_$$n)},"; done; echo '{NULL, NULL, 0}};'; } >> $@
$(foreach k,rel san cov fuzzed msan,$(BUILD)/$(k)/adapters/simulator/model_files.o): $(BUILD)/models.inc

# Objects are rebuilt when the compiler or its flags change; objects that use zstd also when zstd is
# installed or removed, and the search for the preload library when the path from BINDIR to LIBDIR changes. A change of
# LDFLAGS rebuilds one object that every program links.
kinds := rel fast san tsan cov fuzzed
zstd_users := $(shell grep -l HAVE_ZSTD $(sim) $(pager) $(tests))
lib_users  := $(shell grep -l UVMP_LIBDIR $(runner))
flags      := $(CC) $(CPPFLAGS) $(CFLAGS) $(CORE) $(NOFPU) $(filter-out -I$(BUILD),$(HOST)) $(SAN) $(TSAN) $(COV) $(FUZZ) $(MSAN)
zstd_flags := $(if $(HAVE_ZSTD),-DHAVE_ZSTD)
lib_flags  := -DUVMP_LIBDIR='"$(shell realpath -ms --relative-to='$(BINDIR)' '$(LIBDIR)')"'
link_flags := $(LDFLAGS)
$(foreach k,$(kinds),$(call obj,$(k),libuvmpolicy/base/base.c)): $(BUILD)/link_flags
$(addprefix $(BUILD)/,flags zstd_flags lib_flags link_flags): FORCE
	@mkdir -p $(BUILD); echo '$(subst ','\'',$($(@F)))' | cmp -s - $@ || echo '$(subst ','\'',$($(@F)))' > $@
.PHONY: FORCE
$(foreach k,$(kinds),$(foreach u,zstd lib,$(eval $(call obj,$(k),$($(u)_users)): HOST += $$($(u)_flags)) \
  $(eval $(call obj,$(k),$($(u)_users)): $(BUILD)/$(u)_flags)))
compile = @mkdir -p $(@D); $(if $(V),set -x;) $(CC) $(ERROR) $(CPPFLAGS)
link    = @$(if $(V),set -x;) $(CC) $(LDFLAGS)
$(BUILD)/rel/libuvmpolicy/%.o: libuvmpolicy/%.c $(BUILD)/flags
	$(compile) $(CORE) $(CFLAGS) $(NOFPU) -Wframe-larger-than=1024 -c $< -o $@
$(BUILD)/fast/libuvmpolicy/%.o: libuvmpolicy/%.c $(BUILD)/flags
	$(compile) $(CORE) $(FAST) -c $< -o $@
$(BUILD)/fast/%.o: %.c $(BUILD)/flags
	$(compile) $(HOST) $(FAST) -c $< -o $@
$(BUILD)/san/libuvmpolicy/%.o: libuvmpolicy/%.c $(BUILD)/flags
	$(compile) $(CORE) $(SAN) -c $< -o $@
$(BUILD)/tsan/libuvmpolicy/%.o: libuvmpolicy/%.c $(BUILD)/flags
	$(compile) $(CORE) $(TSAN) -c $< -o $@
$(BUILD)/cov/libuvmpolicy/%.o: libuvmpolicy/%.c $(BUILD)/flags
	$(compile) $(CORE) $(COV) -c $< -o $@
$(BUILD)/rel/%.o: %.c $(BUILD)/flags
	$(compile) $(HOST) $(CFLAGS) -c $< -o $@
$(BUILD)/san/%.o: %.c $(BUILD)/flags
	$(compile) $(HOST) $(SAN) -c $< -o $@
$(BUILD)/tsan/%.o: %.c $(BUILD)/flags
	$(compile) $(HOST) $(TSAN) -c $< -o $@
$(BUILD)/cov/%.o: %.c $(BUILD)/flags
	$(compile) $(HOST) $(COV) -c $< -o $@

$(BUILD)/libuvmpolicy.a: $(call obj,rel,$(core))
	@rm -f $@; $(AR) rcs $@ $^
$(BUILD)/libuvmpolicy.so.$(VERSION): $(call obj,rel,$(core))
	$(link) -shared -nostdlib -Wl,-soname,libuvmpolicy.so.$(SOMAJOR) -Wl,-z,defs -Wl,--no-undefined $^ -lc -o $@
$(BUILD)/libuvmpolicy.so.$(SOMAJOR): $(BUILD)/libuvmpolicy.so.$(VERSION)
	@ln -sf $(<F) $@; ln -sf $(@F) $(BUILD)/libuvmpolicy.so
$(BUILD)/uvmsim: $(call obj,rel,$(filter-out $(fast),$(sim))) $(call obj,fast,$(fast))
	$(link) $(CFLAGS) $^ $(LIBS) -o $@
$(BUILD)/san/uvmsim: $(call obj,san,$(sim) $(core))
	$(link) $(SAN) $^ $(LIBS) -o $@
$(BUILD)/cov/uvmsim: $(call obj,cov,$(sim) $(core))
	$(link) $(COV) $^ $(LIBS) -o $@
$(BUILD)/libuvmpolicy-pager.a: $(call obj,rel,$(pager) $(core))
	@rm -f $@; $(AR) rcs $@ $^
preload := $(wildcard adapters/userspace/preload*.c) adapters/userspace/run_config.c
$(call obj,rel,$(pager) $(preload)): HOST += -fPIC -fvisibility=hidden
$(call obj,rel,$(wildcard adapters/userspace/preload_*.c)): HOST += -fexceptions
$(BUILD)/libuvmp-preload.so: $(call obj,rel,$(preload) $(pager)) $(BUILD)/libuvmpolicy.a
	$(link) -shared -Wl,--exclude-libs,ALL -Wl,-z,defs $^ $(LIBS) -lpthread -ldl -o $@
$(BUILD)/uvmp-run: $(call obj,rel,$(runner)) $(BUILD)/libuvmpolicy-pager.a $(BUILD)/libuvmp-preload.so
	$(link) $(CFLAGS) $(filter-out %.so,$^) $(LIBS) -lpthread -o $@
$(BUILD)/uvmp_run_program: tests/cli/uvmp_run_program.c
	$(link) $(HOST) $(CPPFLAGS) $(CFLAGS) $< -lpthread -o $@
$(BUILD)/bench: $(call obj,rel,tests/bench/bench.c) $(BUILD)/libuvmpolicy.a
	$(link) $(CFLAGS) $^ -o $@
$(BUILD)/bench-pager $(BUILD)/bench-store: $(BUILD)/bench-%: $(call obj,rel,tests/bench/%.c) $(BUILD)/libuvmpolicy-pager.a
	$(link) $(CFLAGS) $^ $(LIBS) -lpthread -o $@

# What records the engine's decisions: tests/decisions/record.sh.
$(BUILD)/decisions: $(call obj,rel,tests/decisions/record.c) $(BUILD)/libuvmpolicy.a
	$(link) $(CFLAGS) $^ -o $@
$(BUILD)/soak: $(call obj,rel,tests/soak/soak_service.c $(model)) $(BUILD)/libuvmpolicy.a
	$(link) $(CFLAGS) $^ -o $@
# The soak of the pager, also as the sanitizers see it.
soaks := tests/soak/soak_pager.c tests/model/flaky_store.c $(pager)
$(BUILD)/soak_pager: $(call obj,rel,$(soaks)) $(BUILD)/libuvmpolicy.a
	$(link) $(CFLAGS) $^ $(LIBS) -lpthread -o $@
$(BUILD)/san/soak_pager: $(call obj,san,$(soaks) $(core))
	$(link) $(SAN) $^ $(LIBS) -lpthread -o $@
$(BUILD)/tsan/soak_pager: $(call obj,tsan,$(soaks) $(core))
	$(link) $(TSAN) $^ $(LIBS) -lpthread -o $@

# What the tests of one kind of build have in common: models, simulator, pager and core, in one thin archive.
$(foreach k,san cov,$(eval $(BUILD)/$(k)/tested.a: $(call obj,$(k),$(model) $(simlib) $(pager) $(core))))
$(BUILD)/%/tested.a:
	@rm -f $@; $(AR) rcsT $@ $^
# One program per test file: test + archive (+ cmocka).
define test_program
$(BUILD)/$(1)/$(notdir $(basename $(2))): $(BUILD)/$(1)/$(basename $(2)).o $(3) $(BUILD)/$(1)/tested.a
	@$$(CC) $$(LDFLAGS) $(4) $$(filter-out %.a,$$^) $$(filter %.a,$$^) $(5) $$(LIBS) -o $$@
endef
$(foreach t,$(tests),$(eval $(call test_program,san,$(t),,$(SAN),-lcmocka)))
$(foreach t,$(covered),$(eval $(call test_program,cov,$(t),,$(COV),-lcmocka)))
# The emulated GPU of the kernel adapter, outside of the kernel: threads stand for what it needs of it.
hardware := $(addprefix adapters/kernel/emu_,gpu.c ring.c counter.c) tests/support/kernel/kernel.c
$(foreach k,san tsan,$(call obj,$(k),$(hardware) tests/unit/test_emu_gpu.c)): HOST := $(filter-out -Wpedantic -Wconversion -Wsign-%,$(HOST)) -Itests/support/kernel
$(BUILD)/san/test_emu_gpu: $(call obj,san,$(hardware))
$(BUILD)/tsan/test_emu_gpu_threads: $(call obj,tsan,tests/unit/test_emu_gpu.c $(hardware) $(core))
	$(link) $(TSAN) $^ -lcmocka -lpthread -o $@
# As released, without the pager, which needs a host of 64 bits: what tests/cross.sh runs on other machines.
cross-programs: $(BUILD)/foreign-uvmsim $(call prog,foreign,$(covered))
$(BUILD)/foreign.a: $(call obj,rel,$(filter-out tests/model/flaky_store.c,$(model)) $(simlib) $(core))
	@rm -f $@; $(AR) rcs $@ $^
$(foreach t,$(covered),$(eval $(BUILD)/foreign/$(notdir $(basename $(t))): $(BUILD)/rel/$(basename $(t)).o))
$(BUILD)/foreign-uvmsim: $(call obj,rel,adapters/simulator/main.c) $(BUILD)/foreign.a
	$(link) $(CFLAGS) $^ $(LIBS) -o $@
$(BUILD)/foreign/%: $(BUILD)/foreign.a
	@mkdir -p $(@D); $(CC) $(LDFLAGS) $(CFLAGS) $(filter-out %.a,$^) $< $(LIBS) -lcmocka -o $@
# Fuzz targets: with gcc they replay corpora, with clang they are libFuzzer programs.
$(foreach t,$(fuzzs),$(eval $(call test_program,san,$(t),$(call obj,san,fuzz/replay.c),$(SAN),)))
# The naive models and the consistency checks judge the code under test: they are not under test. In the core, and
# where bytes become calls of it, values that are compared are not bytes of the input, except in the policy string: no tracing.
judges := $(wildcard tests/model/naive_*.c) $(filter %_check.c,$(core))
$(call obj,fuzzed,$(judges)): FUZZ := -O2 -g
$(call obj,fuzzed,$(filter-out $(judges) libuvmpolicy/policy/%,$(core) $(model)) fuzz/fuzz_service.c): FUZZ += -fno-sanitize-coverage=trace-cmp
$(BUILD)/fuzzed/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D); clang $(ERROR) $(CPPFLAGS) $(HOST) $(FUZZ) -c $< -o $@
$(BUILD)/fuzz/%: $(BUILD)/fuzzed/fuzz/%.o $(call obj,fuzzed,$(model) $(simlib) $(core))
	@mkdir -p $(@D); clang $(LDFLAGS) $(subst fuzzer-no-link,fuzzer,$(FUZZ)) $^ $(LIBS) -o $@
msan := $(call obj,msan,$(filter-out %/flaky_store.c,$(model)) $(simlib) $(core))
$(BUILD)/msan/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D); clang $(ERROR) $(CPPFLAGS) $(HOST) $(MSAN) -c $< -o $@
$(BUILD)/msan/tested.a: $(msan)
$(call prog,msan,$(covered)): $(BUILD)/msan/tested.a
	@clang $(LDFLAGS) $(MSAN) $(filter-out %.a,$^) $< -lcmocka -o $@
$(call prog,msan,$(fuzzs) soak_service.c) $(BUILD)/msan/uvmsim: $(BUILD)/msan/tested.a
	@clang $(LDFLAGS) $(MSAN) $(filter-out %.a,$^) $< -o $@
$(foreach t,$(covered) $(fuzzs) tests/soak/soak_service.c,$(eval $(call prog,msan,$(t)): $(call obj,msan,$(t))))
$(call prog,msan,$(fuzzs)): $(call obj,msan,fuzz/replay.c)
$(BUILD)/msan/uvmsim: $(call obj,msan,adapters/simulator/main.c)

-include $(shell find $(BUILD) \( -path '$(BUILD)/kernel*' -o -path $(BUILD)/bare \) -prune -o -type f -name '*.d' -print 2>/dev/null)
