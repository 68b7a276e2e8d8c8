# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
#
# Shared by the scripts beside this folder: messages, paths, running a step
# with its output in a log. Sourced by bash after `set -euo pipefail`.

D2K_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
D2K_BUILD=$D2K_ROOT/build
# Logs of the steps; not in the build folder, which may not exist yet.
D2K_LOGS=$D2K_ROOT/.cache/logs

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
  bold=$'\e[1m' red=$'\e[31m' reset=$'\e[0m'
else
  bold='' red='' reset=''
fi

# say WORDS...: one line of progress.
say() {
  printf '%s==>%s %s\n' "$bold" "$reset" "$*"
}

# note WORDS...: a detail under the last line of progress.
note() {
  printf '    %s\n' "$*"
}

# die STATUS MESSAGE [REMEDY...]: the message, one line a remedy, the end.
die() {
  local status=$1
  shift
  printf '%serror:%s %s\n' "$red" "$reset" "$1" >&2
  shift
  local line
  for line in "$@"; do
    printf '       %s\n' "$line" >&2
  done
  exit "$status"
}

# help_if_asked ARGUMENT...: when one of them is -h or --help, prints the comment
# at the top of the script that calls it, and ends it.
help_if_asked() {
  local argument
  for argument in "$@"; do
    case $argument in
    -h | --help)
      sed -n '4,/^[^#]/s/^# \{0,1\}//p' "$D2K_ROOT/scripts/$(basename "$0")"
      exit 0
      ;;
    esac
  done
}

# have PROGRAM: whether it is on PATH.
have() {
  command -v "$1" >/dev/null 2>&1
}

# free_mib FOLDER: free space there (or in the nearest folder that exists).
free_mib() {
  local folder=$1
  while [ ! -e "$folder" ]; do
    folder=$(dirname "$folder")
  done
  df -Pm "$folder" | awk 'NR == 2 { print $4 }'
}

# need_space FOLDER MIB WHAT
need_space() {
  local free
  free=$(free_mib "$1")
  if [ "$free" -lt "$2" ]; then
    die 4 "$1 has $free MiB free, $3 needs $2 MiB" \
      "free some space there and run this again"
  fi
}

# logged NAME COMMAND...: runs with all output in $D2K_LOGS/NAME.log; on
# failure shows the end of it and returns the command's status.
logged() {
  local log=$D2K_LOGS/$1.log status=0
  shift
  mkdir -p "$D2K_LOGS"
  "$@" >"$log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    tail -n 40 "$log" >&2
    printf '(the whole output: %s)\n' "$log" >&2
    if grep -q 'No space left on device' "$log"; then
      printf '%serror:%s the disk is full; free some space and run this again\n' \
        "$red" "$reset" >&2
    fi
  fi
  return "$status"
}

# jobs_for_build: how many compilers may run at once. MLIR's headers cost a compiler up
# to 1.5 GiB.
jobs_for_build() {
  if [ -n "${D2K_JOBS:-}" ]; then
    echo "$D2K_JOBS"
    return
  fi
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  echo $((cores < memory ? cores : memory))
}
