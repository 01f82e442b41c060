#!/bin/sh
# Boots a kernel in an emulated machine of two processors: boot.sh KERNEL INITRAMFS DIRECTORY SECONDS [ARGUMENT...]
# The processor is one without ERMS: with it the kernel clears and copies memory byte by byte, each of which is emulated.
# no_timer_check: on a busy machine the check of the emulated timer by the kernel fails.
# DIRECTORY gets console.log, results.log and out/. The exit status says only whether the kernel came to its end.
set -u
kernel=$1 initramfs=$2 directory=$3 seconds=$4
shift 4
cd "$directory" || exit 1
rm -rf console.log results.log out.tgz out qemu.log
timeout -k 5 "$seconds" qemu-system-x86_64 -accel tcg -cpu max,-erms,-la57 -smp 2 -m 1024 \
	-nodefaults -no-user-config -display none -no-reboot \
	-kernel "$kernel" -initrd "$initramfs" -serial file:console.log -serial file:results.log -serial file:out.tgz \
	-append "console=ttyS0 loglevel=7 nokaslr no_timer_check mitigations=off oops=panic panic=-1 reboot=t $*" >qemu.log 2>&1 </dev/null
status=$?
if ! grep -q '^the end' results.log 2>/dev/null; then
	if [ $status = 124 ]; then why="after $seconds s"; else why="(qemu: exit status $status $(tail -n 1 qemu.log))"; fi
	echo "FAIL boot: the kernel has not come to its end $why; its last words, in $directory/console.log:"
	tail -n 25 console.log 2>/dev/null | sed 's/^/     /'
	exit 1
fi
mkdir out && tar xzf out.tgz -C out || { echo "FAIL boot: $directory/out.tgz is damaged"; exit 1; }
