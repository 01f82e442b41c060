#!/bin/sh
# A kernel that looks for mistakes, from Debian's source package: debug_kernel.sh DIRECTORY. It is built once (the
# better part of an hour on two slow cores; the sources stay, 2.5 GB in all) and again when debug.config changes.
set -eu
unset MAKEFLAGS MAKEOVERRIDES MFLAGS
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
package=$(apt-cache depends linux-source 2>/dev/null | sed -n 's/.*Depends: \(linux-source-.*\)/\1/p')
source=$(find . -maxdepth 1 -type d -name 'linux-source-*' | sort -V | tail -n 1)

if [ -z "$source" ]; then
	[ -n "$package" ] || { echo "no package linux-source: is there a Debian mirror? (apt-get update)" >&2; exit 1; }
	echo "fetching and unpacking $package"
	rm -rf fetched && mkdir fetched
	(cd fetched && apt-get download -q "$package" >log 2>&1 && dpkg -x ./*.deb . && tar xf usr/src/linux-source-*.tar.xz) ||
		{ echo "cannot fetch $package:" >&2; tail -n 3 fetched/log >&2; exit 1; }
	source=./$(basename fetched/linux-source-*)
	mv "fetched/$source" . && rm -rf fetched
fi

config=$here/debug.config
if ! cmp -s "$config" config.built; then
	echo "configuring and building $source; the log is $1/kernel.log"
	make -C "$source" tinyconfig >kernel.log 2>&1
	(cd "$source" && scripts/kconfig/merge_config.sh -m .config "$config" && make olddefconfig) >>kernel.log 2>&1
	grep '^CONFIG' "$config" | grep -vxFf "$source/.config" >config.lost || true
	[ ! -s config.lost ] || { echo "this kernel has no such options:" >&2; cat config.lost >&2; exit 1; }
	make -C "$source" -j"${JOBS:-$(nproc)}" bzImage modules >>kernel.log 2>&1 || { tail -n 20 kernel.log >&2; exit 1; }
	cp "$config" config.built
fi
ln -sfn "$source" source
