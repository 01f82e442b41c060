#!/bin/sh
# tests/bare.sh removes nothing through a mount, and leaves none behind when debootstrap fails. With a debootstrap that is not one.
# usage: bare_mounts.sh BUILD
set -u
if [ "${2:-}" != inside ]; then
	if [ "$(id -u)" != 0 ] || ! unshare --mount true 2>/dev/null; then
		echo 'skipped: mounts of make test-bare: needs root and mount namespaces'
		exit 0
	fi
	exec unshare --mount --propagation private sh "$0" "$1" inside
fi
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d "$(cd "$1" && pwd)/work.XXXXXX") || exit 1
root=$work/bare/root
trap 'umount "$root/home" "$root/proc" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
. tests/cli/support/verdict.sh
bare() { PATH=$work/bin:$PATH sh tests/bare.sh "$work" true >"$work/out" 2>&1; }

mkdir -p "$work/bin" "$work/precious" "$root/home"
cat >"$work/bin/debootstrap" <<'END'
#!/bin/sh
for root in "$@"; do case $root in /*) break ;; esac; done
mkdir -p "$root/proc" && mount -t tmpfs none "$root/proc" && echo 'mounted, then ended'
exit 1
END
chmod 755 "$work/bin/debootstrap"
bare
if grep -q 'it needs 4 GB' "$work/out"; then cat "$work/out" && exit 0; fi
grep -q 'debootstrap failed: mounted, then ended' "$work/out"
verdict $? 'a debootstrap that fails is said to have failed'
! grep -qF " $root/" /proc/self/mountinfo
verdict $? 'its mounts have ended with it'

umount "$root/proc" 2>/dev/null
mkdir -p "$root/home"
echo data >"$work/precious/file"
tar -cf "$work/bare/base.tar" -T /dev/null
mount --bind "$work/precious" "$root/home" || exit 1
bare
status=$?
[ "$(cat "$work/precious/file" 2>/dev/null)" = data ]
verdict $? 'a directory that is mounted below the old system keeps its files'
[ $status = 1 ] && grep -qF "mounted: $root/home" "$work/out"
verdict $? 'it is named, exit status 1'
exit $failed
