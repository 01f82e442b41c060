# libuvmpolicy. `make help` lists the targets. Everything built goes under $(BUILD)/.
BUILD  ?= build
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
PRELOADDIR ?= $(LIBDIR)
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/libuvmpolicy
VERSION := 1.0.0
SOMAJOR := 1

WARN  := -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wsign-compare -Wshadow -Wstrict-prototypes
# WERROR=1: warnings are errors, as in .ci/run.
ERROR := $(if $(WERROR),-Werror)
BASE  := -std=c11 -Iinclude -MMD -MP
# The core runs where there is no libc and no FPU: kernels, firmware, simulators.
NOFPU := $(if $(filter x86_64-% i%86-% aarch64-%,$(shell $(CC) -dumpmachine)),-mgeneral-regs-only)
# GCC clears and copies structures with rep stos and rep movs, which take longer to start than to store 256 bytes.
strategy := unrolled_loop:256:noalign,libcall:-1:noalign
NOREP := $(shell f='-mmemset-strategy=$(strategy) -mmemcpy-strategy=$(strategy)'; \
           $(CC) $$f -c -xc /dev/null -o /dev/null 2>/dev/null && echo $$f)
CORE  := $(BASE) $(WARN) -U_FORTIFY_SOURCE -ffreestanding -fvisibility=hidden -fPIC
HOST  := $(BASE) $(WARN) -D_GNU_SOURCE -Iadapters/common -Iadapters/simulator -Iadapters/userspace -Ilibuvmpolicy -Itests \
  -I$(BUILD) -DUVMSIM_VERSION='"$(VERSION)"'
HAVE_ZSTD := $(shell printf '\043include <zstd.h>\nint main(void){return (int)ZSTD_versionNumber();}' | \
               $(CC) -xc - -lzstd -o /dev/null 2>/dev/null && echo 1)
LIBS  := $(if $(HAVE_ZSTD),-lzstd)
# Of the simulator alone: profiles in databases.
HAVE_SQLITE := $(shell printf '\043include <sqlite3.h>\nint main(void){return sqlite3_libversion_number();}' | \
               $(CC) -xc - -lsqlite3 -o /dev/null 2>/dev/null && echo 1)
SIMLIBS := $(LIBS) $(if $(HAVE_SQLITE),-lsqlite3)
# Of Debian's libjs-chart.js: becomes part of uvmsim, which writes it into reports. Without it, `--report` is an error.
CHARTJS ?= $(wildcard /usr/share/javascript/chart.js/chart.min.js)

# In uvmsim, the core and what feeds it is made for speed, and may use all of the machine's registers.
FAST  := $(subst -O2,-O3,$(CFLAGS))

core  := $(wildcard libuvmpolicy/*/*.c)
hostkit := $(wildcard adapters/common/host_*.c)
nearest := adapters/common/nearest.c
common := $(filter-out $(hostkit),$(wildcard adapters/common/*.c))
sim   := $(common) $(wildcard $(addprefix adapters/simulator/,*.c curve/*.c explain/*.c html/*.c import/*.c observe/*.c plot/*.c \
           whatif/*.c report/*.c sweep/*.c timed/*.c vectors/*.c vectors/reference/*.c workloads/*.c))
fast  := $(core) $(filter $(addprefix adapters/simulator/,agents% belady% bound% curve/% host% observe/% page_cache% shared_rows% \
           space% trace% untimed% timed/% workloads/%),$(sim))
pager := adapters/common/packer.c \
  $(filter-out $(addprefix adapters/userspace/,run%.c preload%.c),$(wildcard adapters/userspace/*.c))
runner := $(wildcard adapters/userspace/run*.c adapters/userspace/metrics.c) $(addprefix adapters/common/,nearest.c number.c \
            options.c output.c output_conflicts.c output_path.c plugin_blame.c plugin_crash.c plugin_files.c plugins.c quote.c \
            say.c segment.c)
# Of real GPUs: what needs no CUDA. cupti.c and bench.cu need it.
cuda  := $(filter-out adapters/cuda/cupti.c adapters/cuda/calibrate.c,$(wildcard adapters/cuda/*.c))
simlib:= $(filter-out adapters/simulator/main.c,$(sim)) $(hostkit)
obj    = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(2))
prog   = $(patsubst %.c,$(BUILD)/$(1)/%,$(notdir $(2)))

# The targets that most people type use all processors, unless the user says how many.
JOBS   = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: all run decisions test test-quick test-long test-bare check lint coverage fuzz msan soak cross fidelity \
  fidelity-figures policies policy-tables page-tables bench profile scale kernel kernel-test kernel-test-debug cuda install \
  uninstall examples clean help
.PHONY: test-run test-quick-run test-long-run coverage-run fuzz-run msan-run cross-programs
.DELETE_ON_ERROR:
.SECONDARY:
pagers:= $(BUILD)/libuvmpolicy-pager.a $(BUILD)/libuvmpolicy-pager.so.$(SOMAJOR) $(BUILD)/libuvmp-preload.so $(BUILD)/uvmp-run
all: $(BUILD)/libuvmpolicy.a $(BUILD)/libuvmpolicy.so.$(SOMAJOR) $(BUILD)/uvmsim $(BUILD)/uvmp-calibrate $(pagers) \
  $(addprefix $(BUILD)/libuvmpolicy-host.,a so.$(SOMAJOR))

help: ; @sed -n 's/^## //p' Makefile $(filter %.mk,$(MAKEFILE_LIST))

## make run        build uvmsim; one screen: recorded faults, what prefetching saves, a full memory over time. V=1: details
run:
	@[ -x $(BUILD)/uvmsim ] || echo 'building uvmsim: about half a minute on two processors' >&2
	@$(MAKE) --no-print-directory $(JOBS) $(BUILD)/uvmsim
	@V='$(V)' sh tests/run.sh $(BUILD)/uvmsim

include tests/targets.mk adapters/install.mk adapters/packaging.mk

## make clean      remove build/
clean: ; rm -rf $(BUILD)

# Objects are rebuilt when the compiler or its flags change; objects that use zstd or SQLite also when
# it is installed or removed, and the search for the preload library when the path from BINDIR to PRELOADDIR changes. A change of
# LDFLAGS rebuilds one object that every program links.
kinds := rel fast san tsan cov fuzzed
zstd_users := $(sort $(shell grep -l HAVE_ZSTD $(sim) $(pager) $(tests)))
chartjs_users := adapters/simulator/html/files.c
lib_users  := $(shell grep -l UVMP_LIBDIR $(runner))
flags      := $(CC) $(CPPFLAGS) $(CFLAGS) $(CORE) $(NOFPU) $(NOREP) $(filter-out -I$(BUILD),$(HOST)) $(SAN) $(TSAN) $(COV) \
  $(FUZZ) $(MSAN)
sqlite_users := $(shell grep -l HAVE_SQLITE $(sim))
zstd_flags := $(if $(HAVE_ZSTD),-DHAVE_ZSTD)
sqlite_flags := $(if $(HAVE_SQLITE),-DHAVE_SQLITE)
chartjs_flags := $(if $(CHARTJS),-DHAVE_CHARTJS)
lib_flags  := -DUVMP_LIBDIR='"$(shell realpath -ms --relative-to='$(BINDIR)' '$(PRELOADDIR)')"'
link_flags := $(LDFLAGS)
$(foreach k,$(kinds),$(call obj,$(k),libuvmpolicy/base/base.c)): $(BUILD)/link_flags
$(addprefix $(BUILD)/,flags zstd_flags sqlite_flags chartjs_flags lib_flags link_flags): FORCE
	@mkdir -p $(BUILD); echo '$(subst ','\'',$($(@F)))' | cmp -s - $@ || echo '$(subst ','\'',$($(@F)))' > $@
.PHONY: FORCE
$(foreach k,$(kinds),$(foreach u,zstd sqlite chartjs lib,$(eval $(call obj,$(k),$($(u)_users)): HOST += $$($(u)_flags)) \
  $(eval $(call obj,$(k),$($(u)_users)): $(BUILD)/$(u)_flags)))
compile = @mkdir -p $(@D); $(if $(V),set -x;) $(CC) $(ERROR) $(CPPFLAGS)
link    = @$(if $(V),set -x;) $(CC) $(LDFLAGS)
$(BUILD)/rel/libuvmpolicy/%.o: libuvmpolicy/%.c $(BUILD)/flags
	$(compile) $(CORE) $(CFLAGS) $(NOFPU) $(NOREP) -Wframe-larger-than=1024 -c $< -o $@
$(BUILD)/fast/libuvmpolicy/%.o: libuvmpolicy/%.c $(BUILD)/flags
	$(compile) $(CORE) $(FAST) -c $< -o $@
$(BUILD)/fast/%.o: %.c $(BUILD)/flags
	$(compile) $(HOST) $(FAST) -c $< -o $@
$(BUILD)/rel/%.o: %.c $(BUILD)/flags
	$(compile) $(HOST) $(CFLAGS) -c $< -o $@

$(BUILD)/libuvmpolicy.a: $(call obj,rel,$(core))
	@rm -f $@; $(AR) rcs $@ $^
$(BUILD)/libuvmpolicy.so.$(VERSION): $(call obj,rel,$(core)) libuvmpolicy/libuvmpolicy.map
	$(link) -shared -nostdlib -Wl,-soname,libuvmpolicy.so.$(SOMAJOR) -Wl,--version-script=$(filter %.map,$^) -Wl,-z,defs \
	  -Wl,--no-undefined $(filter %.o,$^) -lc -o $@
$(BUILD)/libuvmpolicy.so.$(SOMAJOR): $(BUILD)/libuvmpolicy.so.$(VERSION)
	@ln -sf $(<F) $@; ln -sf $(@F) $(BUILD)/libuvmpolicy.so

include adapters/adapters.mk adapters/python/python.mk tests/abi/abi.mk tests/programs.mk
-include $(shell find $(BUILD) \( -path '$(BUILD)/kernel*' -o -path $(BUILD)/bare \) -prune -o -type f -name '*.d' -print \
                       2>/dev/null)
