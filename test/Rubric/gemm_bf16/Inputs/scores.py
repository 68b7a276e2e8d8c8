# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Reads reports of d2k-analyze in the order given and prints the proved
# combined score of each; fails unless every score is above the one before.
import json
import sys

scores = []
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        scores.append(json.load(file)["score"]["combined"])
    print(f"{scores[-1]:.1f} {path}")
if len(scores) < 2 or any(a >= b for a, b in zip(scores, scores[1:])):
    sys.exit("error: the scores do not rise")
