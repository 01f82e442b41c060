# What is handed on: one pair of files, a tarball. Read by the Makefile.
## make amalgamation  the library as one source and one header, build/amalgamation/uvmpolicy.c and uvmpolicy.h;
##                 PREFIX_NAME=foo: foo.c and foo.h, with foo_ in place of uvmp_, so that one program can hold two copies
amalgamation:
	@sh adapters/packaging/amalgamate.sh '$(BUILD)/amalgamation' $(if $(PREFIX_NAME),'$(PREFIX_NAME)')

## make dist       the sources as build/libuvmpolicy-VERSION.tar.gz: the same bytes for the same files, with and without git
dist:
	@sh adapters/packaging/dist.sh '$(BUILD)' $(VERSION)

## make deb        Debian packages into build/deb: libraries, headers, tools, documents; checked by lintian. DEBFULLNAME, DEBEMAIL
deb:
	@sh tests/deps.sh deb
	@sh adapters/packaging/deb.sh '$(BUILD)/deb' $(VERSION) $(SOMAJOR)
.PHONY: amalgamation dist deb
