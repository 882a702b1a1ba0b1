#!/usr/bin/env python3
"""Checks of the text: include direction, banned calls, sizes, formatting of C and shell.

What docs/DESIGN.md and the style rules say about the source is decided here. Every finding
is one line FILE:LINE: TEXT; the exit status is 1 if there is any.
"""
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])

# Folder -> folders whose headers it may include (besides its own), and libraries it may use.
MAY_INCLUDE = {
    "src/base": (),
    "src/stats": ("src/base",),
    "kernels": (),
    "mpi": ("src/base",),
    "src/plan": ("src/base",),
    "src/machine": ("src/base", "mpi", "src/plan"),
    "src/measure": ("src/base", "src/stats", "mpi", "src/plan", "src/machine"),
    "src/record": ("src/base", "src/stats", "src/plan", "src/machine", "src/measure"),
    "src/judge": ("src/base", "src/stats", "src/plan", "src/record"),
    "src/show": ("src/base", "src/plan", "src/record", "src/judge"),
    "src/graph": ("src/base", "mpi"),
    "src/mesh": ("src/base", "mpi", "src/graph"),
    "src/flow": ("src/base", "kernels", "mpi", "src/graph", "src/mesh"),
    "src/benchmarks": ("src/base", "src/stats", "kernels", "mpi", "src/graph", "src/mesh", "src/flow", "src/machine",
                       "src/measure"),
}
LIBRARIES = {  # header pattern -> folders that may use it directly
    r"<mpi\.h>": ("mpi",),
    r"<hwloc": ("src/machine",),
    r"<hdf5|<H5": ("src/record",),
    r"<yaml\.h>": ("src/plan",),
    r"<zlib\.h>": ("src/base",),
    r"<omp\.h>": ("kernels", "src/machine", "src/benchmarks"),
}
BANNED = re.compile(r"\b(sprintf|vsprintf|strcpy|strcat|strtok|atoi|atol|atof|rand|srand|gets|alloca)\s*\(")
ALLOCATORS = re.compile(r"\b(malloc|calloc|realloc|free|posix_memalign|aligned_alloc|strdup)\s*\(")
ENDS = re.compile(r"\b(exit|abort|_exit|quick_exit)\s*\(")
# The harness ends a process itself: after a start-up limit, a deadline, an MPI failure.
MAY_END = ("src/machine/launch.c", "src/measure/deadline.c")
PROMISES = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
# Lines. Tests hold long tables and one fixture for many cases: they get more room.
MAX_FUNCTION, MAX_FILE = {False: 80, True: 100}, {False: 700, True: 1100}
MAX_README = 60

findings = []


def found(path, line, text):
    findings.append(f"{path.relative_to(ROOT)}:{line}: {text}")


def strip_code(text):
    """Blank out comments and literals, keeping the lines."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


def folder_of(path):
    relative = path.relative_to(ROOT).as_posix()
    return next((f for f in MAY_INCLUDE if relative.startswith(f + "/")), None)


def check_includes(path, text):
    folder = folder_of(path)
    if folder is None:
        return
    allowed = MAY_INCLUDE[folder] + (folder,)
    for number, line in enumerate(text.splitlines(), 1):
        quoted = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if quoted and not any(quoted[1].startswith(a + "/") for a in allowed):
            found(path, number, f'{folder} may not include "{quoted[1]}"')
        for pattern, folders in LIBRARIES.items():
            if re.match(r"\s*#\s*include\s+" + pattern, line) and folder not in folders:
                found(path, number, f"{folder} may not use {line.strip()}")


def check_words(path, text, code):
    relative = path.relative_to(ROOT).as_posix()
    for number, line in enumerate(code.splitlines(), 1):
        if BANNED.search(line):
            found(path, number, f"banned call: {BANNED.search(line)[1]}")
        if relative.startswith(("src/", "mpi/", "kernels/")):
            if relative != "src/base/mem.c" and ALLOCATORS.search(line):
                found(path, number, f"{ALLOCATORS.search(line)[1]} outside src/base/mem.c")
            if relative not in MAY_END and ENDS.search(line):
                found(path, number, f"{ENDS.search(line)[1]}() outside the harness")
    for number, line in enumerate(text.splitlines(), 1):
        if PROMISES.search(line):
            found(path, number, "a promise for later")


def is_test(path):
    return path.relative_to(ROOT).as_posix().startswith("tests/")


def check_functions(path, code):
    most = MAX_FUNCTION[is_test(path)]
    start = None
    for number, line in enumerate(code.splitlines(), 1):
        if line.rstrip() == "{":
            start = number
        elif line.startswith("}") and start is not None:
            if number - start - 1 > most:
                found(path, start, f"function of {number - start - 1} lines (at most {most})")
            start = None


def check_c(path):
    text = path.read_text(encoding="utf-8")
    code = strip_code(text)
    check_includes(path, text)
    check_words(path, text, code)
    check_functions(path, code)
    n_lines = text.count("\n")
    if n_lines > MAX_FILE[is_test(path)]:
        found(path, n_lines, f"file of {n_lines} lines (at most {MAX_FILE[is_test(path)]})")
    if path.suffix == ".h" and path.name != "bench_list.h":
        guard = re.search(r"#ifndef (\w+)\n#define \1\n", text)
        if not guard:
            found(path, 1, "no include guard")


def run_tool(command, files, what):
    if shutil.which(command[0]) is None:
        print(f"note: {command[0]} is not installed, {what} not checked")
        return
    done = subprocess.run(command + [str(f) for f in files], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        findings.extend(line for line in (done.stdout + done.stderr).splitlines()[:40] if line.strip())


def main():
    sources = sorted(p for d in ("src", "kernels", "mpi", "tests") for p in (ROOT / d).rglob("*.[ch]"))
    for path in sources:
        check_c(path)
    for folder in list(MAY_INCLUDE) + ["src/command"]:
        readme = ROOT / folder / "README.md"
        if not readme.exists():
            findings.append(f"{folder}: no README.md")
        elif readme.read_text(encoding="utf-8").count("\n") > MAX_README:
            found(readme, MAX_README, f"more than {MAX_README} lines")
    run_tool(["clang-format", "--dry-run", "-Werror", "--style=file"], sources, "formatting of C")
    scripts = [p for p in [ROOT / "quickstart.sh", ROOT / ".ci/run"] if p.exists()]
    scripts += sorted((ROOT / "tests").rglob("*.sh")) + sorted((ROOT / "slurm").rglob("*.s*"))
    run_tool(["shellcheck", "-x", "-P", str(ROOT)], scripts, "shell scripts")
    print("\n".join(findings) or f"{len(sources)} C files: nothing to say")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
