# The programs of the hosts. Read by the Makefile.
## make kernel     uvmpolicy.ko and uvmpolicy_emu.ko, into build/kernel/module; KDIR=: for that kernel (default: the running one)
kernel:
	@$(MAKE) --no-print-directory -C adapters/kernel BUILD='$(abspath $(BUILD))/kernel' $(if $(KDIR),KDIR='$(KDIR)')

## make kernel-test  the modules in Debian's cloud kernel under qemu, in under 3 minutes; nothing is installed but packages.
##                 kernel-test-debug: in a kernel with KASAN, lockdep, UBSAN and kmemleak, built first, which takes long
kernel-test kernel-test-debug: $(BUILD)/libuvmpolicy.a $(BUILD)/uvmsim
	@$(if $(findstring debug,$@),sh tests/deps.sh $@ && sh tests/kernel/debug_kernel.sh $(BUILD)/kernel-debug)
	@CC='$(CC)' sh tests/kernel/kernel_test.sh $(BUILD) $(if $(findstring debug,$@),debug,stock)

## make cuda       the recorder of unified memory (CUPTI) and the micro-benchmarks, where CUDA is found (CUDA=: its folder); and
##                 uvmp-calibrate, which needs no CUDA: docs/cuda.md
CUDA ?= /usr/local/cuda
cupti := $(firstword $(wildcard $(CUDA)/include/cupti.h $(CUDA)/extras/CUPTI/include/cupti.h))
nvcc  := $(wildcard $(CUDA)/bin/nvcc)
cuda: $(BUILD)/uvmp-calibrate $(if $(cupti),$(BUILD)/libuvmp-cupti.so) $(if $(cupti),$(if $(nvcc),$(BUILD)/uvmp-cuda-bench))
	@$(if $(cupti),:,echo 'no cupti.h under $(CUDA): only uvmp-calibrate is built')
$(BUILD)/uvmp-calibrate: $(call obj,rel,adapters/cuda/calibrate.c $(cuda) $(addprefix adapters/common/,nearest.c number.c \
  options.c output.c output_conflicts.c output_path.c say.c)) $(BUILD)/libuvmpolicy.a
	$(link) $(CFLAGS) $^ -lm -o $@
$(BUILD)/libuvmp-cupti.so: \
  $(addprefix adapters/cuda/,cupti.c record.c record_memory.c record_write.c record.h record_events.h record_memory.h) \
  $(foreach f,output output_conflicts output_path say,adapters/common/$(f).c adapters/common/$(f).h)
	$(link) $(HOST) $(CFLAGS) -isystem $(dir $(cupti)) -isystem $(CUDA)/include -fPIC -shared -fvisibility=hidden \
	  $(filter %.c,$^) -L$(CUDA)/lib64 -L$(CUDA)/extras/CUPTI/lib64 -lcupti -lpthread -o $@
$(BUILD)/uvmp-cuda-bench: adapters/cuda/bench.cu
	@mkdir -p $(@D); $(nvcc) -O2 -I$(dir $(cupti)) $< -L$(CUDA)/lib64 -L$(CUDA)/extras/CUPTI/lib64 -lcupti -o $@

# GPUs, hosts and links are data: every file in models/ becomes an array, and a row of a table by name.
gpus := $(sort $(foreach e,gpu host link list,$(wildcard adapters/simulator/models/*.$(e))))
$(BUILD)/models.inc: $(gpus) adapters/simulator/models
	@mkdir -p $(@D); n=0; for f in $(gpus); do n=$$((n + 1)); printf 'static const unsigned char model_%d[] = {\n' $$n; \
	  od -An -v -tx1 $$f | sed 's/ \(..\)/0x\1,/g'; echo '};'; done > $@
	@n=0; { echo 'const struct model_file model_files[] = {'; for f in $(gpus); do n=$$((n + 1)); \
	  echo "{\"$${f##*/}\", model_$$n, sizeof(model_$$n)},"; done; echo '{NULL, NULL, 0}};'; } >> $@
$(foreach k,rel san cov fuzzed msan,$(BUILD)/$(k)/adapters/simulator/model_files.o): $(BUILD)/models.inc

# What a report of uvmsim needs: style sheet, script, and the library for charts.
html_files := adapters/simulator/html/report.css adapters/simulator/html/report.js $(CHARTJS)
$(BUILD)/html.inc: $(html_files) $(BUILD)/chartjs_flags
	@mkdir -p $(@D); for f in $(html_files); do echo "static const unsigned char html_$$(basename $$f | tr .- __)[] = {"; \
	  od -An -v -tx1 $$f | sed 's/ \(..\)/0x\1,/g'; echo '};'; done > $@
$(foreach k,rel san cov fuzzed msan,$(BUILD)/$(k)/adapters/simulator/html/files.o): $(BUILD)/html.inc

$(BUILD)/uvmsim: $(call obj,rel,$(filter-out $(fast),$(sim))) $(call obj,fast,$(fast))
	$(link) $(CFLAGS) $^ $(SIMLIBS) -o $@
# The pager is one object in its archive, without its private names. The shared library contains the core, and exports the
# functions of pager.h and store.h.
OBJCOPY ?= objcopy
$(BUILD)/pager.o: $(call obj,rel,$(pager))
	$(link) $(CFLAGS) $(if $(findstring -flto,$(CFLAGS)),-flinker-output=nolto-rel) -nostdlib -r $^ -o $@
	@$(OBJCOPY) --localize-hidden $@
$(BUILD)/libuvmpolicy-pager.a: $(BUILD)/pager.o $(call obj,rel,$(core))
	@rm -f $@; $(AR) rcs $@ $^
$(BUILD)/libuvmpolicy-pager.so.$(VERSION): $(call obj,rel,$(pager)) $(BUILD)/libuvmpolicy.a adapters/userspace/pager.map
	$(link) -shared -Wl,-soname,libuvmpolicy-pager.so.$(SOMAJOR) -Wl,--version-script=$(filter %.map,$^) -Wl,-z,defs \
	  $(filter-out %.map,$^) $(LIBS) -lpthread -o $@
$(BUILD)/libuvmpolicy-pager.so.$(SOMAJOR): $(BUILD)/libuvmpolicy-pager.so.$(VERSION)
	@ln -sf $(<F) $@; ln -sf $(@F) $(BUILD)/libuvmpolicy-pager.so
preload := $(wildcard adapters/userspace/preload*.c) adapters/userspace/run_config.c adapters/common/plugin_blame.c \
  adapters/common/plugin_files.c adapters/common/segment.c
$(call obj,rel,$(pager) $(preload) $(hostkit) $(nearest)): HOST += -fPIC -fvisibility=hidden
$(call obj,rel,$(wildcard adapters/userspace/preload_*.c)): HOST += -fexceptions
$(BUILD)/libuvmp-preload.so: $(call obj,rel,$(preload) $(pager)) $(BUILD)/libuvmpolicy.a adapters/userspace/preload.map
	$(link) -shared -Wl,--version-script=$(filter %.map,$^) -Wl,--exclude-libs,ALL -Wl,-z,defs $(filter-out %.map,$^) $(LIBS) \
	  -lpthread -ldl -o $@
$(BUILD)/uvmp-run: $(call obj,rel,$(runner)) $(BUILD)/libuvmpolicy-pager.a $(BUILD)/libuvmp-preload.so
	$(link) $(CFLAGS) $(filter-out %.so,$^) $(LIBS) -lpthread -ldl -o $@

# The host kit, likewise. Both libraries contain the core and export its functions, so that a program links one library.
$(BUILD)/host.o: $(call obj,rel,$(hostkit) $(nearest))
	$(link) $(CFLAGS) $(if $(findstring -flto,$(CFLAGS)),-flinker-output=nolto-rel) -nostdlib -r $^ -o $@
	@$(OBJCOPY) --localize-hidden $@
$(BUILD)/libuvmpolicy-host.a: $(BUILD)/host.o $(call obj,rel,$(core))
	@rm -f $@; $(AR) rcs $@ $^
$(BUILD)/libuvmpolicy-host.so.$(VERSION): $(call obj,rel,$(hostkit) $(nearest) $(core)) adapters/common/host.map
	$(link) -shared -Wl,-soname,libuvmpolicy-host.so.$(SOMAJOR) -Wl,--version-script=$(filter %.map,$^) -Wl,-z,defs \
	  $(filter %.o,$^) -o $@
$(BUILD)/libuvmpolicy-host.so.$(SOMAJOR): $(BUILD)/libuvmpolicy-host.so.$(VERSION)
	@ln -sf $(<F) $@; ln -sf $(@F) $(BUILD)/libuvmpolicy-host.so
