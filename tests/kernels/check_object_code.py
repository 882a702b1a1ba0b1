#!/usr/bin/env python3
"""The object code of the stream loops: no library copy, and real non-temporal stores.

Usage: check_object_code.py OBJDUMP OBJECT...
Compilers like to turn a copy loop into memcpy and an initialisation into memset, whose
stores depend on the size; and a non-temporal loop is one only if the instruction is there.
"""
import re
import subprocess
import sys

# Functions whose stores go past the caches, and the instruction for it, by object file.
NONTEMPORAL = ("copy", "scale", "add", "triad", "init", "striad")
ORDINARY = NONTEMPORAL + ("update", "daxpy", "nstream", "sum", "dot")
PATTERNS = {
    "stream_avx512": r"\bvmovntp[sd]\s+%zmm",
    "stream_avx2": r"\bvmovntp[sd]\s+%ymm",
    "stream_plain": r"\bmovntp[sd]\s+%xmm|\bstnp\b",
}
ANY_NONTEMPORAL = r"\bv?movnt|\bstnp\b"
LIBRARY = r"\bmem(cpy|move|set)\b|\b(call|jmp|bl)\b.*<(?!\w+_(ordinary|nontemporal))"


def functions(objdump, path):
    """Name -> disassembly of every function of an object file."""
    text = subprocess.run([objdump, "-d", "-r", "--no-show-raw-insn", path],
                          capture_output=True, text=True, check=True).stdout
    parts = re.split(r"^[0-9a-f]+ <([^>]+)>:$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def check(objdump, path):
    pattern = next((p for name, p in PATTERNS.items() if name in path), None)
    found = functions(objdump, path)
    if pattern is None or not found:
        return []
    faults = []
    for kernel in ORDINARY:
        code = found.get(f"{kernel}_ordinary")
        if code is None:
            faults.append(f"{path}: no function {kernel}_ordinary")
        elif re.search(LIBRARY, code):
            faults.append(f"{path}: {kernel}_ordinary calls {re.search(LIBRARY, code).group()}")
        elif re.search(ANY_NONTEMPORAL, code):
            faults.append(f"{path}: {kernel}_ordinary has non-temporal stores")
    for kernel in NONTEMPORAL:
        code = found.get(f"{kernel}_nontemporal")
        if code is None:
            faults.append(f"{path}: no function {kernel}_nontemporal")
        elif re.search(LIBRARY, code):
            faults.append(f"{path}: {kernel}_nontemporal calls {re.search(LIBRARY, code).group()}")
        elif not re.search(pattern, code):
            faults.append(f"{path}: {kernel}_nontemporal lacks {pattern}")
        elif not re.search(r"\bsfence\b|\bdmb\s+ishst", code):
            faults.append(f"{path}: {kernel}_nontemporal does not fence")
    return faults


def main():
    objdump, objects = sys.argv[1], sys.argv[2:]
    faults = [fault for path in objects for fault in check(objdump, path)]
    print("\n".join(faults) or f"{len(objects)} object files: as they should be")
    return 1 if faults or not objects else 0


if __name__ == "__main__":
    sys.exit(main())
