# Checks what d2k-run list --json wrote against the files of a checkout.
# usage: check_list.py FILE ROOT

import json
import os
import sys

with open(sys.argv[1]) as stream:
    document = json.load(stream)
root = sys.argv[2]
assert document["schema"] == "d2k.list/1"
tasks = {task["name"]: task for task in document["tasks"]}
folders = os.listdir(os.path.join(root, "tasks"))
assert sorted(tasks) == sorted(n for n in folders if "." not in n)
for name, task in tasks.items():
    for member, file in (
        ("guidance", "guidance/%s.md" % name),
        ("rubric", "rubrics/%s.json" % name),
    ):
        assert task[member] == os.path.exists(os.path.join(root, file)), name
    with open(os.path.join(root, "tasks", name, "task.json")) as stream:
        source = json.load(stream)
    ids = [workload["id"] for workload in source["workloads"]]
    assert [workload["id"] for workload in task["workloads"]] == ids
assert tasks["gemm_bf16"]["gpus"] == [1]
assert tasks["gemm_reduce_scatter"]["gpus"] == [2, 4, 8]
measured = tasks["rmsnorm_residual_fp8"]["workloads"][0]["measured"]
assert measured[0]["device"] == "NVIDIA H200"
assert 0 < measured[0]["bound_us"] < measured[0]["baseline_us"]
