# The Python package, and the description of the C API for other languages. Read by the Makefile.
## make api        adapters/python/uvmpolicy/api.json, the C API as data, from the headers
PYTHON ?= python3
described := $(wildcard include/uvmpolicy/*.h adapters/common/uvmpolicy/*.h)
api:
	@mkdir -p $(BUILD); $(PYTHON) adapters/python/tools/describe.py $(described) > $(BUILD)/api.json
	@cp $(BUILD)/api.json adapters/python/uvmpolicy/api.json
.PHONY: api

# What the package loads: the core, the host kit and the simulator in one library. The simulator's own symbols stay inside.
all: $(BUILD)/libuvmpolicy-python.so
entry := adapters/python/entry.c
inside := $(call obj,rel,$(sim) $(entry)) $(call obj,fast,$(filter adapters/%,$(fast)))
$(inside): HOST += -fPIC -fvisibility=hidden
$(inside): adapters/python/python.mk
$(BUILD)/libuvmpolicy-python.so: $(call obj,rel,$(entry) $(hostkit) $(filter-out $(fast),$(sim))) $(call obj,fast,$(fast))
	$(link) -shared -Wl,-z,defs $^ $(SIMLIBS) -o $@
