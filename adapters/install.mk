# Installation and examples. Read by the Makefile.
## make install    libraries, headers, uvmsim, uvmp-run, uvmp-calibrate, manuals, documents, and what make cuda has built of
##                 the recorder; make uninstall removes them. Of PREFIX (default /usr/local), BINDIR, LIBDIR, PRELOADDIR (the
##                 library of uvmp-run; LIBDIR), INCLUDEDIR, MANDIR, DOCDIR; DESTDIR before each
put     = $(foreach f,$(2),$(1):$(f):$(3)/$(notdir $(f)))
headers:= $(wildcard include/uvmpolicy/*.h) $(addprefix adapters/userspace/,pager.h store.h) \
  $(wildcard adapters/*/uvmpolicy/*.h adapters/*/uvmpolicy/*.hpp)
# The files of a folder that are not manuals.
documents = $(filter-out %.1 %.3 %.7,$(foreach f,$(wildcard $(1)/*),$(if $(wildcard $(f)/.),,$(f))))
cmakes := $(addprefix $(BUILD)/,uvmpolicyConfig.cmake uvmpolicyConfigVersion.cmake)
shared := libuvmpolicy libuvmpolicy-host libuvmpolicy-pager
pcs    := $(addprefix $(BUILD)/,$(addsuffix .pc,$(shared)))
installed = $(call put,644,$(headers),$(INCLUDEDIR)/uvmpolicy) \
  $(call put,644,$(addprefix $(BUILD)/,$(addsuffix .a,$(shared))),$(LIBDIR)) \
  $(call put,755,$(addprefix $(BUILD)/,$(addsuffix .so.$(VERSION),$(shared))),$(LIBDIR)) \
  $(call put,755,$(BUILD)/libuvmp-preload.so,$(PRELOADDIR)) \
  $(call put,644,$(pcs),$(LIBDIR)/pkgconfig) $(call put,644,$(cmakes),$(LIBDIR)/cmake/uvmpolicy) \
  $(call put,755,$(addprefix $(BUILD)/,uvmsim uvmp-run uvmp-calibrate),$(BINDIR)) \
  $(foreach s,1 3 7,$(call put,644,$(wildcard docs/*.$(s)),$(MANDIR)/man$(s))) \
  $(call put,644,LICENSE adapters/python/uvmpolicy/api.json,$(DOCDIR)) \
  $(foreach d,. examples fidelity pictures,$(call put,644,$(call documents,docs/$(d)),$(DOCDIR)/$(d)))
# What needs CUDA is installed where `make cuda` has built it.
with_cuda = $(call put,755,$(BUILD)/libuvmp-cupti.so,$(PRELOADDIR)) $(call put,755,$(BUILD)/uvmp-cuda-bench,$(BINDIR))
install: all $(cmakes) $(pcs)
	@set -e; for f in $(installed) $(foreach f,$(with_cuda),$(if $(wildcard $(word 2,$(subst :, ,$(f)))),$(f))); do \
	  IFS=:; set -- $$f; install -D -m "$$1" "$$2" '$(DESTDIR)'"$$3"; done
	@for l in $(shared); do ln -sf $$l.so.$(VERSION) '$(DESTDIR)$(LIBDIR)'/$$l.so.$(SOMAJOR); \
	  ln -sf $$l.so.$(SOMAJOR) '$(DESTDIR)$(LIBDIR)'/$$l.so; done
uninstall:
	@for f in $(installed) $(with_cuda); do rm -f '$(DESTDIR)'"$${f##*:}"; done
	@for l in $(shared); do rm -f '$(DESTDIR)$(LIBDIR)'/$$l.so '$(DESTDIR)$(LIBDIR)'/$$l.so.$(SOMAJOR); done
	@for d in $(INCLUDEDIR)/uvmpolicy $(DOCDIR)/examples $(DOCDIR)/fidelity $(DOCDIR)/pictures $(DOCDIR) \
	  $(LIBDIR)/cmake/uvmpolicy; do rmdir '$(DESTDIR)'"$$d" 2>/dev/null || :; done
# $(1) TITLE LIBRARIES [LIBRARIES-OF-A-STATIC-PROGRAM]. Directories below PREFIX are named by it, so that an installation can be
# moved.
below   = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
pc_file = printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(call below,$(LIBDIR))' 'includedir=$(call below,$(INCLUDEDIR))' \
  'Name: $(basename $(@F))' 'Description: $(1)' 'Version: $(VERSION)' 'Cflags: -I$${includedir}' 'Libs: -L$${libdir} $(2)' \
  $(if $(3),'Libs.private: $(3)') > $@
$(BUILD)/libuvmpolicy.pc: FORCE
	@$(call pc_file,decisions of a GPU unified-memory driver,-luvmpolicy)
$(BUILD)/libuvmpolicy-host.pc: FORCE
	@$(call pc_file,unified memory for a simulator of GPUs,-luvmpolicy-host)
$(BUILD)/libuvmpolicy-pager.pc: FORCE
	@$(call pc_file,managed memory larger than what is resident,-luvmpolicy-pager,$(strip $(LIBS) -lpthread))
# The package of CMake finds the headers from where it lies.
$(cmakes): $(BUILD)/%: adapters/packaging/%.in FORCE
	@sed -e 's,@VERSION@,$(VERSION),g; s,@SOMAJOR@,$(SOMAJOR),g' \
	  -e 's,@LIBS@,$(subst $() ,;,$(patsubst -l%,%,$(strip $(LIBS) -lpthread))),' \
	  -e 's,@INCLUDE@,$(shell realpath -ms --relative-to='$(LIBDIR)' '$(INCLUDEDIR)'),' \
	  -e 's,@POINTER@,$(shell echo __SIZEOF_POINTER__ | $(CC) -E -P -),' $< > $@

## make examples   programs that need more memory than they may take, into build/examples
examples: $(patsubst docs/examples/%.c,$(BUILD)/examples/%,$(wildcard docs/examples/*_out_of_core.c) docs/examples/own_store.c)
$(BUILD)/examples/%: docs/examples/%.c $(BUILD)/libuvmpolicy-pager.a $(addprefix $(BUILD)/include/uvmpolicy/,pager.h store.h)
	@mkdir -p $(@D); $(CC) $(LDFLAGS) $(ERROR) $(CPPFLAGS) -MMD -MF $@.d -MT $@ -I$(BUILD)/include -Wall -Wextra \
	  $(subst -O2,-O3,$(CFLAGS)) $< $(BUILD)/libuvmpolicy-pager.a $(LIBS) -lpthread -o $@
$(BUILD)/include/uvmpolicy/%.h: adapters/userspace/%.h # as they are installed
	@mkdir -p $(@D); cp $< $@
