#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether the tests see what they claim to see: makes the mistakes of tools/mutations.tsv one by one in copies of the
tree, builds, and runs the golden test without the shared folder. A mistake that no test sees has survived.

  mutate.py [--build DIR] [--jobs N] [--every N] [PART...]     PART: only mistakes whose line holds one of these
  mutate.py --check      whether each line of the table fits the code; builds nothing

A line of the table: file, old text, new text, why that is wrong, separated by tabs. \\n in a text is a line break. The old
text has to stand in the file exactly once: a line that no longer fits is an error, so that the table follows the code.
DIR is a finished build (default build), whose objects are taken along. Ends with "N passed, N failed"; exit 1 unless
every mistake was seen. Needs nothing but Python, make and the compiler."""
import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEST_SECONDS, BUILD_SECONDS = 120, 900


def read_table(parts):
    """Mistakes as [(line number, file, old, new, why)], and how many lines do not fit the code."""
    out, bad = [], 0
    for i, line in enumerate((ROOT / "tools/mutations.tsv").read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        try:
            file, old, new, why = line.split("\t")
        except ValueError:
            print(f"FAIL mutations.tsv:{i}: not four fields")
            bad += 1
            continue
        old, new = old.replace("\\n", "\n"), new.replace("\\n", "\n")
        path = ROOT / file
        n = path.read_text().count(old) if path.exists() else 0
        if n != 1:
            print(f"FAIL mutations.tsv:{i}: {file} has this {n} times, not once: {old!r}")
            bad += 1
        elif not parts or any(p in line for p in parts):
            out.append((i, file, old, new, why))
    return out, bad


class Tree:
    """A copy of the tree with its objects, in which one file at a time is changed."""

    def __init__(self, folder, build):
        self.folder, self.build = folder, build
        shutil.rmtree(folder, ignore_errors=True)
        for name in subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE,
                                   check=True).stdout.decode().split("\0"):
            if name and (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)   # with its time: objects stay current
        for part in ("src", "kernels"):
            shutil.copytree(ROOT / build / part, folder / build / part)
        if build == "build":
            shutil.copy2(ROOT / "libtinyllm.a", folder)
        else:
            shutil.copy2(ROOT / build / "libtinyllm.a", folder / build)
        self.test = f"{build}/tests/unit/golden_test"

    def run(self, seconds, *command):
        env = os.environ | {"TINYLLM_SHARED": "/nonexistent"}
        return subprocess.run(command, cwd=self.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=seconds)

    def outcome(self):
        """'seen', 'survived' or an error; and what the test says."""
        made = self.run(BUILD_SECONDS, "make", f"BUILD={self.build}", *([f"CC={os.environ['CC']}"] if "CC" in os.environ else []), "CFLAGS=-g", self.test)
        if made.returncode:
            return "does not build", made.stdout.strip().splitlines()[-1]
        try:
            got = self.run(TEST_SECONDS, self.test, "values")
        except subprocess.TimeoutExpired:
            return "seen", "does not end"
        if got.returncode < 0:
            return "seen", f"ends with signal {-got.returncode}"
        failed = re.findall(r"^FAIL (?:made/)?(\S+)", got.stdout, re.M)
        far = max(map(float, re.findall(r"^difference (\S+)$", got.stdout, re.M)), default=0)
        if got.returncode == 0:
            return "survived", f"largest difference {far:g}"
        return "seen", f"{len(failed)} models, {failed[0] if failed else '?'} first; largest difference {far:.2g}"

    def mutate(self, file, old, new):
        path = self.folder / file
        text = path.read_text()
        path.write_text(text.replace(old, new))
        try:
            return self.outcome()
        finally:
            path.write_text(text)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--build", default="build")
    a.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    a.add_argument("--every", type=int, default=1, help="only each N-th mistake")
    a.add_argument("--check", action="store_true", help="build nothing")
    a.add_argument("parts", nargs="*")
    o = a.parse_args()
    table, bad = read_table(o.parts)
    if o.check:
        print(f"{len(table)} passed, {bad} failed")
        return bad > 0
    table = table[::o.every]
    began, scratch = time.time(), ROOT / "build/mutate"
    jobs = max(1, min(o.jobs, len(table)))
    trees = queue.Queue()
    for i in range(jobs):
        trees.put(Tree(scratch / str(i), o.build))
    tree = trees.get()
    what, said = tree.outcome()
    trees.put(tree)
    if what != "survived":
        print(f"FAIL without any mistake: {what}: {said}")
        return 1

    def one(row):
        mine = trees.get()
        try:
            return row, *mine.mutate(*row[1:4])
        finally:
            trees.put(mine)

    seen = 0
    with ThreadPoolExecutor(jobs) as pool:
        for (i, file, _, _, why), what, said in pool.map(one, table):
            seen += what == "seen"
            bad += what != "seen"
            print(f"{'ok  ' if what == 'seen' else 'FAIL'} {file}: {why}: {what} ({said})", flush=True)
    shutil.rmtree(scratch, ignore_errors=True)
    print(f"{time.time() - began:.0f} s", flush=True)
    print(f"{seen} passed, {bad} failed")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
