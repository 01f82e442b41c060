#!/bin/sh
# The two commands of README, make run and make test, on a bare Debian 12: debootstrap's smallest system and gcc, libc6-dev,
# make and git. In a chroot under BUILD/bare, from a clean clone of HEAD. Skipped, with the reason, where that cannot be.
#
# usage: bare.sh BUILD [COMMAND...]   default: 'make run' 'make test'
#
# Packages come from where this system's apt gets Debian 12, else from deb.debian.org. The system without the repository is kept in
# BUILD/bare/base.tar for a week. Mounts and processes are in namespaces of their own, which end with this script.
set -u
suite=bookworm packages=gcc,libc6-dev,make,git

skip() {
	echo "skipped: make test-bare: $*"
	exit 0
}
if [ "${1:-}" = --inside ]; then # in namespaces of its own: bare.sh --inside ROOT COMMAND...
	root=$2
	shift 2
	mount -t proc proc "$root/proc" && mount -t sysfs -o ro sysfs "$root/sys" && mount -t tmpfs shm "$root/dev/shm" &&
		mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts" && ln -sf pts/ptmx "$root/dev/ptmx" || exit 1
	failed=0
	for command in "$@"; do
		began=$(date +%s)
		# shellcheck disable=SC2154 # proxies, in small letters
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb ${http_proxy:+"http_proxy=$http_proxy"} \
			${https_proxy:+"https_proxy=$https_proxy"} chroot "$root" sh -c "cd /opt/clone && $command" </dev/null
		status=$?
		took="$(($(date +%s) - began)) s, build/ has $(du -sm "$root/opt/clone/build" 2>/dev/null | cut -f 1) MB"
		if [ $status = 0 ]; then
			echo "ok   bare Debian: $command, $took"
		else
			failed=1
			echo "FAIL bare Debian: $command (exit status $status), $took"
		fi
	done
	exit $failed
fi

mkdir -p "$1/bare"
bare=$(cd "$1/bare" && pwd) root=$bare/root base=$bare/base.tar
cd "$(dirname "$0")/.." || exit 1
shift
[ $# -gt 0 ] || set -- 'make run' 'make test'
[ "$(id -u)" = 0 ] || skip 'it needs root: sudo make test-bare'
command -v debootstrap >/dev/null || skip 'it needs debootstrap: apt-get install debootstrap'
unshare --mount --pid --fork true 2>/dev/null || skip 'it needs mount namespaces (unshare), as in a container with CAP_SYS_ADMIN'
[ "$(df -Pm "$bare" | awk 'END {print $4}')" -ge 4096 ] || skip "it needs 4 GB below $bare"

# What apt knows: a line "URI SUITE" of each source of Debian 12.
sources() {
	# shellcheck disable=SC2016 # names of apt's
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Component: main' 2>/dev/null |
		awk -v suite="$suite" '($2 == suite || $2 == suite "-updates" || $2 == suite "-security") && !seen[$0]++'
}
settings() { apt-config dump 2>/dev/null | grep -E '^Acquire::(http|https|Retries|ForceIP|Proxy|Check-)'; }
proxy() { # SCHEME: apt's proxy, else the environment's
	eval "$(apt-config shell p "Acquire::$1::Proxy" 2>/dev/null)"
	echo "${p:-$2}"
	p=
}
http_proxy=$(proxy http "${http_proxy:-}") https_proxy=$(proxy https "${https_proxy:-}")
export http_proxy https_proxy

# Removes the system, but never through a mount: /dev or a home directory may have been mounted below for a look inside.
remove_root() {
	awk -v below="$root/" 'index($5, below) == 1 {print "mounted: " $5; found = 1} END {exit found}' /proc/self/mountinfo >&2 || {
		echo "make test-bare: unmount what is mounted below $root first" >&2
		exit 1
	}
	rm -rf --one-file-system "$root"
}

# debootstrap mounts /proc and /sys: in a namespace of its own, these end with it, however it ends.
bootstrap() {
	mirror=$(sources | awk -v suite="$suite" '$2 == suite {print $1; exit}')
	remove_root
	unshare --mount --propagation private debootstrap --variant=minbase \
		--include="$packages" "$suite" "$root" "${mirror:-http://deb.debian.org/debian}" >"$bare/debootstrap.log" 2>&1 || {
		echo "skipped: make test-bare: debootstrap failed: $(tail -n 1 "$bare/debootstrap.log") (all of it: $bare/debootstrap.log)"
		return 1
	}
	sources | sed 's/\(.*\) \(.*\)/deb \1 \2 main/' >"$bare/sources.list"
	[ ! -s "$bare/sources.list" ] || cp "$bare/sources.list" "$root/etc/apt/sources.list"
	settings >"$root/etc/apt/apt.conf.d/90host"
	for file in resolv.conf hosts apt/auth.conf; do [ ! -f "/etc/$file" ] || cp -L "/etc/$file" "$root/etc/$file"; done
	[ ! -d /etc/apt/auth.conf.d ] || cp -r /etc/apt/auth.conf.d "$root/etc/apt"
	if grep -q https: "$root/etc/apt/sources.list" "$root/etc/apt/apt.conf.d/90host" && [ -f /etc/ssl/certs/ca-certificates.crt ]; then
		mkdir -p "$root/etc/ssl/certs" && cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs"
	fi
	rm -f "$root"/var/cache/apt/archives/*.deb
	tar -C "$root" -cf "$base.part" . && mv "$base.part" "$base" || exit 1
}

began=$(date +%s)
find "$bare" -maxdepth 1 -name base.tar -mtime +7 -delete
if [ ! -f "$base" ]; then
	bootstrap || exit 0
	echo "       debootstrap of $suite: $(($(date +%s) - began)) s"
fi
remove_root && mkdir "$root" && tar -C "$root" -xf "$base" || exit 1
[ ! -c /dev/userfaultfd ] || cp -a /dev/userfaultfd "$root/dev"
if [ -e .git ]; then
	git -c safe.directory='*' clone -q --depth 1 "file://$PWD" "$root/opt/clone" || exit 1
	[ -z "$(git status --porcelain)" ] || echo '       what is not committed is not part of this test'
else
	mkdir "$root/opt/clone" && tar -cf - --exclude=./build . | tar -C "$root/opt/clone" -xf -
fi
unshare --mount --propagation private --pid --fork --kill-child sh "$PWD/tests/bare.sh" --inside "$root" "$@"
status=$?
[ $status != 0 ] || remove_root
[ $status = 0 ] || echo "it is left to look at: chroot $root"
exit $status
