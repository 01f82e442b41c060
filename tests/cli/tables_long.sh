#!/bin/sh
# Every table of docs/ that comes from runs of uvmsim: see tables.sh. usage: tables_long.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck disable=SC2046 # a list of names
exec sh tests/cli/tables.sh "$1" $(sh tests/machine/tables.sh --list | cut -d' ' -f1)
