# The Python package, and the description of the C API for other languages. Read by the Makefile.
## make api        adapters/python/uvmpolicy/api.json, the C API as data, from the headers
PYTHON ?= python3
described := $(wildcard include/uvmpolicy/*.h $(if $(wildcard adapters/common/host_*.c),adapters/common/uvmpolicy/*.h))
api:
	@mkdir -p $(BUILD); $(PYTHON) adapters/python/tools/describe.py $(described) > $(BUILD)/api.json
	@cp $(BUILD)/api.json adapters/python/uvmpolicy/api.json
.PHONY: api

# What the package loads: the core and the host kit in one library.
all: $(BUILD)/libuvmpolicy-python.so
$(BUILD)/libuvmpolicy-python.so: $(call obj,rel,$(core))
	$(link) -shared -Wl,-z,defs $^ -lc -o $@
