#!/bin/sh
# Lists external names of the core that break the rule of prefixes: names.sh DECLARED OBJECT
#
# DECLARED holds the functions of the public headers, one a line, sorted. A name of DECLARED starts with uvmp_; every other name
# that OBJECT defines and other files can use is private and starts with uvmpi_.
set -u
export LC_ALL=C
nm -g --defined-only "$2" | awk -v list="$1" '
	BEGIN { while ((getline name < list) > 0) is_public[name] = 1 }
	NF != 3 { next }
	$3 in is_public { functions++; if ($3 !~ /^uvmp_/) print $3 ": public, but does not start with uvmp_"; next }
	$3 !~ /^uvmpi_/ { print $3 ": in no public header, but does not start with uvmpi_" }
	END { if (!functions) print "no public function at all" }'
