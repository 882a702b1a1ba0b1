# How the batch scripts start the program; sourced, not run. Everything a site may have to
# change is one variable of the environment:
#
#   SEATRIAL                 the program (default: build/seatrial of this repository, or PATH)
#   SEATRIAL_LAUNCH          pmix (default), pmi2: srun --mpi=…; mpirun: mpirun inside the allocation
#   SEATRIAL_RANKS_PER_NODE  ranks on each node (default: one per physical core of the batch host)
#   SEATRIAL_SRUN            further options of srun or mpirun
#
# The program binds its ranks itself and proves it, so srun is asked to bind nothing.
# shellcheck shell=bash

seatrial_program() {
  local here
  here=$(dirname "${BASH_SOURCE[0]}")
  if [[ -n ${SEATRIAL:-} ]]; then
    printf '%s\n' "$SEATRIAL"
  elif [[ -x $here/../build/seatrial ]]; then
    printf '%s\n' "$here/../build/seatrial"
  elif command -v seatrial; then
    return
  else
    printf 'seatrial: no program: build it (./quickstart.sh run) or set SEATRIAL\n' >&2
    return 3
  fi
}

# Physical cores of this host: distinct (core, socket).
seatrial_cores() {
  lscpu -p=Core,Socket | grep -v '^#' | sort -u | wc -l
}

# Options of this repository's launchers, one word a line.
seatrial_launcher() {
  local ranks=${SEATRIAL_RANKS_PER_NODE:-$(seatrial_cores)}
  case ${SEATRIAL_LAUNCH:-pmix} in
  pmix | pmi2)
    printf '%s\n' srun "--mpi=${SEATRIAL_LAUNCH:-pmix}" "--ntasks-per-node=$ranks" \
      "--ntasks=$((ranks * SLURM_JOB_NUM_NODES))" --cpu-bind=none --kill-on-bad-exit=0
    ;;
  mpirun)
    printf '%s\n' mpirun --map-by "ppr:$ranks:node" --bind-to none
    ;;
  *)
    printf 'seatrial: SEATRIAL_LAUNCH is pmix, pmi2 or mpirun, not %s\n' "$SEATRIAL_LAUNCH" >&2
    return 3
    ;;
  esac
}

# seatrial_run CONFIG FILE: measure, or go on with FILE if it is there (a requeued job).
# mpirun hands on SIGTERM to its ranks as srun does; the shell must not end before them.
seatrial_run() {
  local program launcher extra output
  program=$(seatrial_program) || return
  mapfile -t launcher < <(seatrial_launcher)
  ((${#launcher[@]} > 0)) || return 3
  read -r -a extra <<<"${SEATRIAL_SRUN:-}"
  output=(-o "$2")
  if [[ -e $2 ]]; then
    output=(--resume "$2")
  fi
  printf 'seatrial: %s %s run %s %s\n' "${launcher[*]} ${extra[*]}" "$program" "$1" "${output[*]}"
  "${launcher[@]}" "${extra[@]}" "$program" run "$1" "${output[@]}"
}
