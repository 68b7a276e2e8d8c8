# usage: check_scripted.py RUN
# Checks what the run of toy/script.json has to come to.

import json
import os
import sys

from runs import outline, readEvents, require

folder = sys.argv[1]
events = readEvents(folder)
with open(os.path.join(folder, "result.json")) as stream:
    result = json.load(stream)

verdicts = [s["verdict"] for s in result["submissions"]]
require(
    verdicts == ["correct", "incorrect", "correct", "correct"],
    "verdicts %s" % verdicts,
)
require(result["submissions"][3]["same_as"] == 3, "the fourth is the third")
require(result["timed_submissions"] == 2, "two were timed")
require(result["selected"] == 3, "the fast one is selected")
require(result["correct"] and result["speedup"] > 0, "it has a speedup")
require(
    result["submissions"][0]["speedup"] < result["submissions"][2]["speedup"],
    "the fast one is faster than the first",
)
require(len(result["repeats"]) == 1, "it was measured again once")
require(result["held_out"]["verdict"] == "correct", "held-out is correct")
require(result["ended"] == "silence", "it ended in silence")
require(result["turns"] == 11, "three silent turns after the script")
require(result["usage"]["output"] == 710, "tokens add up")

# The same files again are compared with those of the first time.
differences = [
    e["data"]["text"]
    for e in events
    if e["type"] == "tool" and e["data"]["name"] == "diff_files"
]
require(
    differences[-1] == "no difference to submission 4",
    "submission 4 has the files of 3: " + differences[-1],
)

# Turn 4 does five things that are not possible.
refused = [
    e["data"]["is_error"]
    for e in events
    if e["type"] == "tool" and e["data"]["turn"] == 4
]
require(refused == [True] * 5, "all calls of turn 4 are refused")
with open(os.path.join(folder, "transcript.jsonl")) as stream:
    text = stream.read()
for secret in ("held_out", "root:x:0", "toy 1.0", "scaleThrice"):
    require(secret not in text, secret + " stands in the transcript")
# The id is the model's own guess; no answer confirms it.
for event in events:
    if event["type"] == "tool" and event["data"]["turn"] == 4:
        said = event["data"]["text"]
        require("one_row\"; there are square, ragged" in said or
                "one_row" not in said, "the held-out workload is confirmed")
for event in events:
    if event["data"].get("turn") != 4:
        require("one_row" not in json.dumps(event), "a held-out workload")
print("ok, %d events" % len(outline(events)))
