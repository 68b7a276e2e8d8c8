# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""long_formula.py TASK.json FOLDER: a project whose one task has a constraint
of 10^5 terms that add up to 0."""

import json
import os
import sys

task_path, folder = sys.argv[1:]
with open(task_path, encoding="utf-8") as file:
    task = json.load(file)
task["constraints"] = ["0" + "+0" * 100000]
for name in ("tasks/sample", "guidance", "rubrics"):
    os.makedirs(os.path.join(folder, name), exist_ok=True)
with open(os.path.join(folder, "tasks/sample/task.json"), "w",
          encoding="utf-8") as file:
    json.dump(task, file)
