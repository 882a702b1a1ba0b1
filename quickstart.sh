#!/usr/bin/env bash
# From a fresh clone to a first campaign or to the test suite, with one command:
#   ./quickstart.sh run     install what is missing, build, measure configs/quick.yaml
#   ./quickstart.sh test    the same set-up, then the whole test suite (ctest)
# Idempotent; needs no terminal.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() {
  printf 'usage: ./quickstart.sh run | test\n\n'
  printf '  run   set up, build into build/, run configs/quick.yaml on all cores, write quick.h5\n'
  printf '  test  set up, build, run every test through ctest\n'
}

say() { printf 'quickstart: %s\n' "$*"; }

# Debian packages, and for each a probe that says whether it (or a module's twin) is there.
missing_packages() {
  local missing=()
  command -v cmake >/dev/null || missing+=(cmake)
  command -v ninja >/dev/null || missing+=(ninja-build)
  command -v gcc >/dev/null || command -v cc >/dev/null || missing+=(gcc libc6-dev)
  command -v pkg-config >/dev/null || missing+=(pkg-config)
  command -v mpicc >/dev/null || missing+=(libopenmpi-dev)
  command -v mpirun >/dev/null || missing+=(openmpi-bin)
  command -v h5pcc >/dev/null || command -v h5cc >/dev/null || missing+=(libhdf5-openmpi-dev)
  if command -v pkg-config >/dev/null; then
    pkg-config --exists hwloc || missing+=(libhwloc-dev)
    pkg-config --exists yaml-0.1 || missing+=(libyaml-dev)
    pkg-config --exists cmocka || missing+=(libcmocka-dev)
    pkg-config --exists zlib || missing+=(zlib1g-dev)
  else
    missing+=(libhwloc-dev libyaml-dev libcmocka-dev zlib1g-dev)
  fi
  [[ -e /usr/include/scotch/ptscotch.h ]] || missing+=(libscotch-dev libptscotch-dev)
  if [[ $1 == test ]]; then
    command -v h5dump >/dev/null || missing+=(hdf5-tools)
    command -v clang >/dev/null || missing+=(clang)
    compgen -G '/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*' >/dev/null ||
      missing+=(libclang-rt-14-dev)
    command -v clang-format >/dev/null || missing+=(clang-format)
    command -v shellcheck >/dev/null || missing+=(shellcheck)
    command -v strace >/dev/null || missing+=(strace)
    command -v chromium >/dev/null || missing+=(chromium)
    command -v xmllint >/dev/null || missing+=(libxml2-utils)
    if [[ $(id -u) == 0 ]]; then # real jobs on hosts made of network namespaces
      command -v slurmctld >/dev/null || [[ -x /usr/sbin/slurmctld ]] ||
        missing+=(slurm-wlm slurmctld slurmd slurm-client munge)
      command -v ip >/dev/null || [[ -x /sbin/ip ]] || missing+=(iproute2)
    fi
    local module
    for module in h5py scipy numpy xarray h5netcdf matplotlib; do
      /usr/bin/python3 -c "import $module" 2>/dev/null || missing+=("python3-$module")
    done
  fi
  printf '%s\n' "${missing[@]}"
}

install_packages() {
  local packages=("$@") as_root=()
  if ! command -v apt-get >/dev/null; then
    say "these Debian packages (or your site's modules for them) are missing: ${packages[*]}"
    say "load e.g.: module load gcc cmake openmpi hdf5 hwloc libyaml; then start me again"
    exit 3
  fi
  if [[ $(id -u) != 0 ]]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      as_root=(sudo -n)
    else
      say "missing: ${packages[*]}"
      say "install them: sudo apt-get install --no-install-recommends ${packages[*]}"
      exit 3
    fi
  fi
  say "installing ${packages[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local log
  log=$(mktemp)
  if ! "${as_root[@]}" apt-get update -qq >"$log" 2>&1 ||
    ! "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${packages[@]}" >>"$log" 2>&1; then
    tail -n 20 "$log" >&2
    say "apt-get failed; its log is $log"
    exit 4
  fi
  rm -f "$log"
}

set_up() {
  local packages
  mapfile -t packages < <(missing_packages "$1" | sed '/^$/d')
  if ((${#packages[@]} > 0)); then
    install_packages "${packages[@]}"
  fi
}

# Configure once, build always; quiet unless something fails.
build() {
  local preset=$1 folder=$2 log
  log=$(mktemp)
  if ! { { [[ -f $folder/build.ninja ]] || cmake --preset "$preset"; } && cmake --build "$folder"; } >"$log" 2>&1; then
    grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking)' "$log" | tail -n 40 >&2
    say "the $preset build failed; its log is $log"
    exit 4
  fi
  grep -E 'warning:' "$log" >&2 || true
  rm -f "$log"
}

# Open MPI refuses root and more ranks than slots unless told; both are harmless here.
mpi_environment() {
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  export OMPI_MCA_rmaps_base_oversubscribe=1
}

physical_cores() {
  # Cores this process may use: distinct (package, core) among its allowed CPUs.
  local n
  n=$(lscpu -p=CPU,Core,Socket 2>/dev/null | grep -v '^#' |
    awk -F, -v allowed=",$(taskset -cp $$ 2>/dev/null | sed 's/.*: //' | tr ',' '\n' |
      awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) printf "%d,", i }')" \
      'index(allowed, "," $1 ",") { seen[$2 "," $3] = 1 } END { n = 0; for (k in seen) n++; print n }')
  [[ $n =~ ^[1-9][0-9]*$ ]] || n=$(nproc)
  printf '%s\n' "$n"
}

run_quick() {
  local ranks status=0
  ranks=$(physical_cores)
  mpi_environment
  if [[ -e quick.h5 ]]; then
    local kept
    kept="quick-$(date -r quick.h5 +%Y%m%d-%H%M%S).h5"
    mv -n quick.h5 "$kept"
    say "kept the earlier quick.h5 as $kept"
  fi
  say "mpirun -n $ranks build/seatrial run configs/quick.yaml -o quick.h5"
  mpirun -n "$ranks" build/seatrial run configs/quick.yaml -o quick.h5 || status=$?
  cat <<TXT

What to look at next:
  build/seatrial report quick.h5                 the table and verdict again, from the file
  build/seatrial list                            what else can be measured
  build/seatrial check configs/quick.yaml        what a campaign will need, before it runs
  mpirun -n $ranks build/seatrial topology              who sits where
  README.md                                      Slurm, reading the file, adding a benchmark
TXT
  return "$status"
}

case ${1:-} in
run)
  set_up run
  build release build
  run_quick
  ;;
test)
  set_up test
  build release build
  build asan build-asan
  mpi_environment
  failed=0
  say "unit and MPI tests under the sanitizers"
  ctest --preset asan || failed=1
  say "all tests"
  ctest --preset release || failed=1
  exit "$failed"
  ;;
-h | --help | help)
  usage
  ;;
*)
  usage >&2
  exit 3
  ;;
esac
