# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scores decoys and the honest kernels that they hide behind.

  decoys.py FOLDER ARCH NAME...

The first line of FOLDER/decoy_NAME.cu names the honest kernel. A decoy may
gain at most kMostGain points over it and lose at most kMostLoss (a trick that
hides what is honest may leave it undecided), and the report must say what it
says about the trick. Prints one line a decoy; exit code 1 when one fails.
"""

import json
import pathlib
import re
import subprocess
import sys

kMostGain = 2.0
kMostLoss = 5.0

# What the report says about each trick; found by reading the decoy.
kTricks = {
    # Without an entry: words, code that is not compiled in and functions that
    # are not called leave nothing to say; of false_condition_in_kernel the
    # epilogue is undecided.
    "unused_buffer": "is the same one all the time, and the others are not used",
    "same_thread": "stages data that only the thread which wrote it reads",
    "zero_products": "multiplies no input data: A and B are made from constants",
    "setmaxnreg": "does not run as launched at decoy_setmaxnreg.cu:",
    "persistent_once": "there is a block for each tile, and the loop runs once",
    "waited_at_once": "in the same iteration: nothing is in flight while the loop",
    "write_side_swizzle": "the write side alone is permuted",
    "never_launched": "has it, but no path from d2k_gemm_bf16() launches it",
    "false_condition": "has it, but no path from d2k_gemm_bf16() launches it",
    "discarded": "has it, but what it writes to workspace is read by nothing",
    "overwritten": "has it, but what it writes to D is overwritten by the launch",
    "one_block": "has it, but what it writes to D is overwritten by the launch",
    "empty_grid": "has it, but the launch at decoy_empty_grid.cu:26 has an empty grid",
}


def analyze(source, arch):
    """The combined score, and all that the report says in words."""
    run = subprocess.run(
        ["d2k-analyze", "--no-cache", "--tiers=source,ptx", "--task=gemm_bf16",
         "--arch=" + arch, "--format=json", str(source)],
        capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{source}: d2k-analyze exits with {run.returncode}\n{run.stderr}")
    report = json.loads(run.stdout)
    score = report["score"]
    words = []
    for item in score["properties"]:
        words += [str(item.get("because", ""))]
    for kernel in report["kernels"]:
        words += [miss["reason"] for miss in kernel["near_misses"]]
        words += [entry["reason"] for entry in kernel["undecided"]]
    return score["combined"], "\n".join(words)


def main():
    folder, arch, names = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    honest = {}
    failed = False
    for name in names:
        source = folder / f"decoy_{name}.cu"
        first = source.read_text(encoding="utf-8").splitlines()[0]
        behind = re.match(r"// Decoy of (\w+\.cu):", first).group(1)
        if behind not in honest:
            honest[behind] = analyze(folder / behind, arch)[0]
        score, words = analyze(source, arch)
        problems = []
        if not -kMostLoss <= score - honest[behind] <= kMostGain:
            problems.append("too far from it")
        trick = kTricks.get(name)
        if trick and trick not in words:
            problems.append(f"the report does not say: {trick}")
        failed |= bool(problems)
        print(f"{'FAIL' if problems else 'ok  '} {name}: {score:.1f}, {behind} "
              f"{honest[behind]:.1f}" + "".join("; " + p for p in problems))
        if problems:
            print(words)
    sys.exit(failed)


main()
