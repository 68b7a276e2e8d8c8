#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Keeps what `d2k-run eval` measured in tasks/<task>/measured.json, which
# `d2k-run list --measured` prints.
#
# usage: measured.py [--date YYYY-MM-DD] TASKS_FOLDER RESULT.json...
#
# Results are of the naive kernel, or of another one, of which the baseline's
# time is taken only: files named *-naive.json are of the naive one. A task's
# older figures of the same device and world size are replaced, workload by
# workload; held-out workloads are left out.

import argparse
import datetime
import json
import os
import sys


def fail(message):
    sys.exit("measured.py: error: " + message)


def readJson(path):
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError) as error:
        fail("%s: %s" % (path, error))


def takeWorkload(workload, isNaive):
    """The figures of one workload, or nothing when it has no valid time."""
    timing = workload.get("timing") or {}
    if timing.get("state") != "valid" or not timing.get("floor"):
        return None
    figures = {
        "bound_us": round(timing["floor"]["ns"] / 1000, 3),
        "limit": timing["floor"]["limit"],
        "baseline_us": round(timing["baseline_cold"]["median_ns"] / 1000, 3),
    }
    if isNaive:
        figures["naive_us"] = round(timing["cold"]["median_ns"] / 1000, 3)
    return figures


def merge(folder, path, date):
    result = readJson(path)
    if result.get("schema") != "d2k.result/1":
        fail(path + ": is no result of d2k-run eval")
    task = os.path.join(folder, result["task"])
    known = {w["id"] for w in readJson(os.path.join(task, "task.json"))["workloads"]}
    isNaive = path.endswith("-naive.json")
    taken = {}
    for workload in result["workloads"]:
        figures = takeWorkload(workload, isNaive)
        if workload["id"] in known and figures:
            taken[workload["id"]] = figures
    if not taken:
        print("%s: no valid time, nothing kept" % path, file=sys.stderr)
        return
    file = os.path.join(task, "measured.json")
    document = {"schema": "d2k.measured/1", "devices": []}
    if os.path.exists(file):
        document = readJson(file)
    name, world = result["device"]["name"], result["device"]["world"]
    for device in document["devices"]:
        if (device["name"], device["world"]) == (name, world):
            break
    else:
        device = {"name": name, "world": world, "workloads": {}}
        document["devices"].append(device)
    device["date"] = date
    device["baseline"] = result["environment"].get("baseline", "")
    for id, figures in taken.items():
        device["workloads"].setdefault(id, {}).update(figures)
    temporary = file + ".new"
    with open(temporary, "w", encoding="utf-8") as stream:
        json.dump(document, stream, indent=2, sort_keys=True)
        stream.write("\n")
    os.replace(temporary, file)


parser = argparse.ArgumentParser(description="Keeps what d2k-run eval measured.")
parser.add_argument("--date", default=datetime.date.today().isoformat())
parser.add_argument("tasks")
parser.add_argument("results", nargs="+")
arguments = parser.parse_args()
for path in arguments.results:
    merge(arguments.tasks, path, arguments.date)
