# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
#
# Brings a machine to the point where the project builds: Debian's packages,
# the CUDA tools, the configured build folder. Every step looks first and does
# nothing when there is nothing to do. Sourced after common.sh.

# as_root COMMAND...: runs it as root, or says what to run.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif have sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    sudo "$@"
  else
    die 4 "packages are missing and neither root nor sudo is at hand" \
      "run this as root, then run this script again:" \
      "  $*"
  fi
}

# setup_packages [PATTERN]: installs the packages of scripts/lib/packages that
# are missing.
setup_packages() {
  local wanted missing
  mapfile -t wanted < <(grep -v '^#' "$D2K_ROOT/scripts/lib/packages")
  if ! have dpkg-query; then
    say "No dpkg here: expecting the counterparts of these packages"
    note "${wanted[*]}"
    return
  fi
  mapfile -t missing < <(
    comm -23 <(printf '%s\n' "${wanted[@]}" | sort) <(
      dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" \
        2>/dev/null | awk '$1 == "installed" { print $2 }' | sort -u
    )
  )
  if [ "${#missing[@]}" -eq 0 ]; then
    say "Packages: all ${#wanted[@]} are installed"
    return
  fi
  say "Packages: installing ${#missing[@]} of ${#wanted[@]} (some minutes)"
  note "${missing[*]}"
  need_space /usr 4096 "installing LLVM, MLIR and Clang"
  as_root true
  logged apt-update as_root apt-get update ||
    die 4 "apt-get update failed" \
      "check the network and /etc/apt/sources.list.d, then run this again"
  local package unknown=()
  for package in "${missing[@]}"; do
    apt-cache show "$package" >/dev/null 2>&1 || unknown+=("$package")
  done
  if [ "${#unknown[@]}" -gt 0 ]; then
    die 4 "apt knows no package ${unknown[*]}" \
      "Debian 12 has LLVM 22 in bookworm-security: add to /etc/apt/sources.list" \
      "  deb http://deb.debian.org/debian-security bookworm-security main"
  fi
  logged apt-install as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}" ||
    die 4 "apt-get install failed" \
      "see the lines above; with a dropped connection run this again"
}

# install_python WHAT FILE: installs the PyPI packages that scripts/lib/FILE
# pins into .venv, unless that has been done.
install_python() {
  local stamp=$D2K_ROOT/.venv/d2k-$2
  local pinned=$D2K_ROOT/scripts/lib/$2
  if cmp -s "$pinned" "$stamp"; then
    return
  fi
  say "CUDA: installing $1 from PyPI into .venv"
  logged venv python3 -m venv "$D2K_ROOT/.venv" || return
  logged pip "$D2K_ROOT/.venv/bin/python" -m pip install \
    --disable-pip-version-check -r "$pinned" || return
  cp "$pinned" "$stamp"
}

# setup_headers: the toolkit's headers and libdevice from PyPI, for Clang.
setup_headers() {
  install_python "the toolkit's headers and libdevice" \
    requirements-no-toolkit.txt ||
    die 4 "the toolkit's headers could not be installed" \
      "check the network and run this again"
}

# setup_cuda: puts the CUDA tools on PATH. The order of the search is that of
# include/d2k/Support/CudaTools.h: D2K_NVCC, PATH, CUDA_HOME, CUDA_PATH,
# /usr/local/cuda, /usr/local/cuda-* with the newest first. nvdisasm and
# cuobjdump, which a minimal toolkit lacks, come from PyPI into .venv.
setup_cuda() {
  local folder nvcc=
  if [ -n "${D2K_NVCC:-}" ]; then
    nvcc=$D2K_NVCC
    [ -x "$nvcc" ] || die 4 "D2K_NVCC names $nvcc, which cannot be executed"
  else
    for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda \
      $(printf '%s\n' /usr/local/cuda-* | sort -rV); do
      if [ -n "$folder" ] && [ -x "$folder/bin/nvcc" ] && ! have nvcc; then
        PATH=$PATH:$folder/bin
      fi
    done
    nvcc=$(command -v nvcc || true)
  fi
  # For the scripts: empty when there is none.
  # shellcheck disable=SC2034
  D2K_HAVE_NVCC=$nvcc
  if [ -n "$nvcc" ]; then
    say "CUDA: nvcc $("$nvcc" --version | sed -n 's/.*, V//p') ($nvcc)"
  else
    say "CUDA: no nvcc on PATH, in CUDA_HOME or in /usr/local/cuda"
    note "kernels cannot be compiled here; PTX files can be analysed"
    note "to change that, install the CUDA Toolkit 13 or set CUDA_HOME"
  fi

  local missing=()
  local tool
  for tool in nvdisasm cuobjdump; do
    have "$tool" || missing+=("$tool")
  done
  if [ "${#missing[@]}" -eq 0 ]; then
    return
  fi
  install_python "${missing[*]}" requirements.txt || {
    note "without them the SASS of a kernel cannot be read; going on"
    note "check the network and run this again to get them"
    return
  }
  for folder in "$D2K_ROOT"/.venv/lib/python3*/site-packages/nvidia/*/bin; do
    [ -d "$folder" ] && PATH=$PATH:$folder
  done
  for tool in "${missing[@]}"; do
    have "$tool" || note "$tool is still missing after the installation"
  done
}

# setup_clients: the Python packages that the tests of d2k-run's interfaces
# need, into .venv. Without them these tests are skipped.
setup_clients() {
  local stamp=$D2K_ROOT/.venv/d2k-requirements-clients.txt
  local pinned=$D2K_ROOT/scripts/lib/requirements-clients.txt
  if cmp -s "$pinned" "$stamp"; then
    return
  fi
  say "Tests: installing the clients of model providers from PyPI into .venv"
  if ! logged venv python3 -m venv "$D2K_ROOT/.venv" ||
    ! logged pip-clients "$D2K_ROOT/.venv/bin/python" -m pip install \
      --disable-pip-version-check -r "$pinned"; then
    note "without them some tests of d2k-run are skipped; going on"
    note "check the network and run this again to get them"
    return
  fi
  cp "$pinned" "$stamp"
}

# ninja_summary LOG: "nothing to do", or how many steps ninja took.
ninja_summary() {
  if grep -q 'ninja: no work to do' "$1"; then
    echo "nothing to do"
  else
    echo "$(grep -o '^\[[0-9]*' "$1" | tail -n 1 | tr -d '[') steps done"
  fi
}

# setup_build PRESET FOLDER TARGET...: configures and builds.
setup_build() {
  local preset=$1 folder=$2
  shift 2
  need_space "$folder" 1024 "the build"
  cd "$D2K_ROOT" || exit
  # Configured at every call: it takes a second and notices new tools.
  logged "configure-$preset" cmake --preset "$preset" ||
    die 4 "configuring failed" \
      "see the lines above; to start over: rm -rf $folder"
  say "Build: ${folder#"$D2K_ROOT"/}, $(jobs_for_build) compilers at a time"
  # All output goes to the log: say where, when it may take long.
  [ -e "$folder/.ninja_log" ] ||
    note "the first time it takes a while; to watch:" \
      "tail -f ${D2K_LOGS#"$D2K_ROOT"/}/build-$preset.log"
  logged "build-$preset" ninja -C "$folder" -j "$(jobs_for_build)" "$@" ||
    die 1 "the build failed" "see the lines above"
  note "$(ninja_summary "$D2K_LOGS/build-$preset.log")"
}
