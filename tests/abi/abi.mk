# The binary interface of the shared libraries: docs/abi.md.
abi_libs := libuvmpolicy libuvmpolicy-host libuvmpolicy-pager
abi_headers_libuvmpolicy := include/uvmpolicy
abi_headers_libuvmpolicy-host := adapters/common/uvmpolicy
abi_headers_libuvmpolicy-pager := adapters/userspace
.PHONY: abi-check abi-record
## make abi-check  compares the shared libraries with the recorded interface of the last version, tests/abi (abidiff);
##                 make abi-record: records it again, when a version is released
abi-check abi-record: abi-%: $(abi_libs:%=$(BUILD)/%.so.$(SOMAJOR))
	@sh tests/deps.sh abi
	@$(foreach l,$(abi_libs),sh tests/abi/abi.sh $* $(BUILD)/$(l).so.$(VERSION) $(abi_headers_$(l)) tests/abi/$(l).abi &&) true
