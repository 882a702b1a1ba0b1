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

# seatrial_launcher [RANKS]: the launcher's words, one a line; RANKS on each node.
seatrial_launcher() {
  local ranks=${1:-${SEATRIAL_RANKS_PER_NODE:-$(seatrial_cores)}}
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

# Hosts of this job by their own names, and hosts that a results file was measured on: one line each.
seatrial_hosts_now() {
  local launcher extra
  mapfile -t launcher < <(seatrial_launcher 1)
  read -r -a extra <<<"${SEATRIAL_SRUN:-}"
  "${launcher[@]}" "${extra[@]}" hostname | sort | paste -s -d ' '
}

seatrial_hosts_of() {
  "$1" report --format json "$2" | grep -o '"host": *"[^"]*"' | cut -d '"' -f 4 | sort | paste -s -d ' '
}

# seatrial_file PROGRAM FILE: where to measure. A file holds one set of nodes, so a job that was
# requeued on other nodes begins anew in FILE-nodes2.h5, FILE-nodes3.h5 …; a file whose nodes
# cannot be told is left to the program, which says what is wrong with it.
seatrial_file() {
  local file=$2 now='' theirs k=2
  if [[ -e $file ]]; then
    now=$(seatrial_hosts_now)
  fi
  while [[ -e $file ]]; do
    theirs=$(seatrial_hosts_of "$1" "$file")
    if [[ -z $now || -z $theirs || $now == "$theirs" ]]; then
      break
    fi
    printf 'seatrial: %s was measured on other nodes (%s; now %s)\n' "$file" "$theirs" "$now" >&2
    file=${2%.h5}-nodes$k.h5
    k=$((k + 1))
  done
  if [[ $file != "$2" ]]; then
    printf 'seatrial: these nodes are measured into %s; one study of both: seatrial merge STUDY.h5 %s %s\n' \
      "$file" "$2" "$file" >&2
  fi
  printf '%s\n' "$file"
}

# seatrial_run CONFIG FILE: measure, or go on with FILE if it is there (a requeued job).
# mpirun hands on SIGTERM to its ranks as srun does; the shell must not end before them.
seatrial_run() {
  local program launcher extra file output
  program=$(seatrial_program) || return
  mapfile -t launcher < <(seatrial_launcher)
  ((${#launcher[@]} > 0)) || return 3
  read -r -a extra <<<"${SEATRIAL_SRUN:-}"
  file=$(seatrial_file "$program" "$2")
  output=(-o "$file")
  if [[ -e $file ]]; then
    output=(--resume "$file")
  fi
  printf 'seatrial: %s %s run %s %s\n' "${launcher[*]} ${extra[*]}" "$program" "$1" "${output[*]}"
  "${launcher[@]}" "${extra[@]}" "$program" run "$1" "${output[@]}"
}
