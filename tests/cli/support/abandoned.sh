#!/bin/sh
# Runs a command whose standard output, fd 1, is a pipe that its reader has left. SIGPIPE has its default action.
# usage: abandoned.sh FOLDER COMMAND...: the pipe is made in FOLDER, and removed
pipe=$1/abandoned.$$
shift
mkfifo "$pipe" || exit 99
exec 3<>"$pipe" 4>"$pipe" 3<&-
rm "$pipe"
exec env --default-signal=PIPE "$@" >&4 4>&-
