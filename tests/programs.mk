# Programs of the tests, by kind of build: san, tsan, cov, fuzz, msan, foreign. Read by the Makefile.
$(BUILD)/san/libuvmpolicy/%.o: libuvmpolicy/%.c $(BUILD)/flags
	$(compile) $(CORE) $(SAN) -DUVMPI_DEBUG -c $< -o $@
$(BUILD)/tsan/libuvmpolicy/%.o: libuvmpolicy/%.c $(BUILD)/flags
	$(compile) $(CORE) $(TSAN) -c $< -o $@
$(BUILD)/cov/libuvmpolicy/%.o: libuvmpolicy/%.c $(BUILD)/flags
	$(compile) $(CORE) $(COV) -c $< -o $@
$(BUILD)/san/%.o: %.c $(BUILD)/flags
	$(compile) $(HOST) $(SAN) -c $< -o $@
# As the core's, so that tests know whether it asserts. The tests themselves are quick: most of their time would be the
# compiler's. Those of the pager are optimised: in a child that a thread forks, the address sanitizer of GCC 12 takes stack
# variables of code without optimisation for damaged.
$(BUILD)/san/tests/unit/%.o: tests/unit/%.c $(BUILD)/flags
	$(compile) $(HOST) $(SAN) -DUVMPI_DEBUG $(if $(filter test_pager%,$(@F)),,-O0) -c $< -o $@
$(BUILD)/tsan/%.o: %.c $(BUILD)/flags
	$(compile) $(HOST) $(TSAN) -c $< -o $@
# Coverage is that of the core and of its headers, which the tests call. Simulator and models only drive it.
$(BUILD)/cov/tests/%.o: tests/%.c $(BUILD)/flags
	$(compile) $(HOST) $(COV) -c $< -o $@
$(BUILD)/cov/tests/model/%.o: tests/model/%.c $(BUILD)/flags
	$(compile) $(HOST) -O1 -g -c $< -o $@
$(BUILD)/cov/%.o: %.c $(BUILD)/flags
	$(compile) $(HOST) -O1 -g -c $< -o $@

$(BUILD)/san/uvmsim: $(call obj,san,$(sim) $(core))
	$(link) $(SAN) $^ $(SIMLIBS) -o $@
$(BUILD)/cov/uvmsim: $(call obj,cov,$(sim) $(core))
	$(link) $(COV) $^ $(SIMLIBS) -o $@
$(BUILD)/uvmp_run_program: tests/cli/uvmp_run_program.c
	$(link) $(HOST) $(CPPFLAGS) $(CFLAGS) $< -lpthread -o $@
$(BUILD)/bench: $(call obj,rel,$(wildcard tests/bench/bench*.c)) $(BUILD)/libuvmpolicy.a
	$(link) $(CFLAGS) $^ -o $@
# The pager's calls of the engine are timed on their way (tests/bench/deciding.c).
comma := ,
timed := fault access next complete complete_pages
$(BUILD)/bench-pager: $(call obj,rel,tests/bench/pager.c tests/bench/deciding.c) $(BUILD)/libuvmpolicy-pager.a
	$(link) $(CFLAGS) $(addprefix -Wl$(comma)--wrap=uvmp_service_,$(timed)) $^ $(LIBS) -lpthread -o $@
$(BUILD)/bench-store: $(call obj,rel,tests/bench/store.c) $(BUILD)/libuvmpolicy-pager.a
	$(link) $(CFLAGS) $^ $(LIBS) -lpthread -o $@

# What records the engine's decisions: tests/decisions/record.sh.
$(BUILD)/decisions: $(call obj,rel,tests/decisions/record.c) $(BUILD)/libuvmpolicy.a
	$(link) $(CFLAGS) $^ -o $@
$(BUILD)/soak: $(call obj,rel,tests/soak/soak_service.c $(model) $(wildcard adapters/simulator/vectors/reference/*.c)) \
  $(BUILD)/libuvmpolicy.a
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
$(foreach k,san cov,$(eval $(BUILD)/$(k)/tested.a: $(call obj,$(k),$(model) $(simlib) $(pager) $(cuda) $(core))))
$(BUILD)/%/tested.a:
	@rm -f $@; $(AR) rcsT $@ $^
# One program per test file: test + archive (+ cmocka).
define test_program
$(BUILD)/$(1)/$(notdir $(basename $(2))): $(BUILD)/$(1)/$(basename $(2)).o $(3) $(BUILD)/$(1)/tested.a
	@$$(CC) $$(LDFLAGS) $(4) $$(filter-out %.a,$$^) $$(filter %.a,$$^) $(5) $$(SIMLIBS) -o $$@
endef
$(foreach t,$(tests),$(eval $(call test_program,san,$(t),,$(SAN),-lcmocka -lm)))
$(foreach t,$(covered),$(eval $(call test_program,cov,$(t),,$(COV),-lcmocka -lm)))
# The emulated GPU of the kernel adapter, outside of the kernel: threads stand for what it needs of it.
hardware := $(addprefix adapters/kernel/emu_,gpu.c ring.c counter.c) tests/support/kernel/kernel.c
$(foreach k,san tsan,$(call obj,$(k),$(hardware) tests/unit/test_emu_gpu.c)): HOST := \
  $(filter-out -Wpedantic -Wconversion -Wsign-%,$(HOST)) -Itests/support/kernel
$(BUILD)/san/test_emu_gpu: $(call obj,san,$(hardware))
$(BUILD)/tsan/test_emu_gpu_threads: $(call obj,tsan,tests/unit/test_emu_gpu.c $(hardware) $(core))
	$(link) $(TSAN) $^ -lcmocka -lpthread -o $@
# The adapter for NVIDIA's driver, over a mock of what it uses of driver and kernel; test_nvidia_64k has pages of 64 KiB.
nvidia := $(wildcard adapters/nvidia-uvm/*.c tests/support/nvidia/*.c)
nvidia_tests := $(wildcard tests/unit/test_nvidia*.c)
nvidia_flags := -Iadapters/nvidia-uvm -Itests/support/nvidia -DUVMP_NV_DRIVER='"nvidia_mock.h"'
$(call obj,san,$(nvidia) $(nvidia_tests)): HOST += $(nvidia_flags)
$(BUILD)/san/tests/unit/test_nvidia_64k.o: HOST += -DMOCK_PAGE_SHIFT=16
$(call prog,san,$(filter-out %_64k.c,$(nvidia_tests))): $(call obj,san,$(nvidia))
$(BUILD)/san/test_nvidia_64k: $(call obj,san/64k,$(nvidia))
$(BUILD)/san/64k/%.o: %.c $(BUILD)/flags
	$(compile) $(HOST) $(nvidia_flags) -DMOCK_PAGE_SHIFT=16 $(SAN) -c $< -o $@
# As released, without the pager, which needs a host of 64 bits: what tests/cross.sh runs on other machines.
cross-programs: $(BUILD)/foreign-uvmsim $(call prog,foreign,$(covered))
$(BUILD)/foreign.a: $(call obj,rel,$(filter-out tests/model/flaky_store.c,$(model)) $(simlib) $(core))
	@rm -f $@; $(AR) rcs $@ $^
$(foreach t,$(covered),$(eval $(BUILD)/foreign/$(notdir $(basename $(t))): $(BUILD)/rel/$(basename $(t)).o))
$(BUILD)/foreign-uvmsim: $(call obj,rel,adapters/simulator/main.c) $(BUILD)/foreign.a
	$(link) $(CFLAGS) $^ $(SIMLIBS) -o $@
$(BUILD)/foreign/%: $(BUILD)/foreign.a
	@mkdir -p $(@D); $(CC) $(LDFLAGS) $(CFLAGS) $(filter-out %.a,$^) $< $(SIMLIBS) -lcmocka -lm -o $@
# Fuzz targets: with gcc they replay corpora, with clang they are libFuzzer programs.
$(foreach t,$(fuzzs),$(eval $(call test_program,san,$(t),$(call obj,san,fuzz/replay.c),$(SAN),)))
# The naive models and the consistency checks judge the code under test: they are not under test. In the core, and
# where bytes become calls of it, values that are compared are not bytes of the input, except in the policy string: no tracing.
judges := $(wildcard tests/model/naive_*.c) $(filter %_check.c,$(core))
$(call obj,fuzzed,$(judges)): FUZZ := -O2 -g
$(call obj,fuzzed,$(filter-out $(judges) libuvmpolicy/policy/%,$(core) $(model)) fuzz/fuzz_service.c): FUZZ += \
  -fno-sanitize-coverage=trace-cmp
$(BUILD)/fuzzed/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D); clang $(ERROR) $(CPPFLAGS) $(HOST) $(FUZZ) -c $< -o $@
$(BUILD)/fuzz/%: $(BUILD)/fuzzed/fuzz/%.o $(call obj,fuzzed,$(model) $(simlib) $(core))
	@mkdir -p $(@D); clang $(LDFLAGS) $(subst fuzzer-no-link,fuzzer,$(FUZZ)) $^ $(SIMLIBS) -o $@
msan := $(call obj,msan,$(filter-out %/flaky_store.c,$(model)) $(simlib) $(core))
$(BUILD)/msan/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D); clang $(ERROR) $(CPPFLAGS) $(HOST) $(MSAN) -c $< -o $@
$(BUILD)/msan/tested.a: $(msan)
$(call prog,msan,$(covered)): $(BUILD)/msan/tested.a
	@clang $(LDFLAGS) $(MSAN) $(filter-out %.a,$^) $< -lcmocka -lm -o $@
$(call prog,msan,$(fuzzs) soak_service.c) $(BUILD)/msan/uvmsim: $(BUILD)/msan/tested.a
	@clang $(LDFLAGS) $(MSAN) $(filter-out %.a,$^) $< -o $@
$(foreach t,$(covered) $(fuzzs) tests/soak/soak_service.c,$(eval $(call prog,msan,$(t)): $(call obj,msan,$(t))))
$(call prog,msan,$(fuzzs)): $(call obj,msan,fuzz/replay.c)
$(BUILD)/msan/uvmsim: $(call obj,msan,adapters/simulator/main.c)
