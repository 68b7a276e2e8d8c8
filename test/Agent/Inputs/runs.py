# What the tests of runs have in common: reading transcripts, and the options
# of an evaluation that costs little.

import json
import os
import random
import signal
import subprocess
import sys
import time

OPTIONS = ["--gpu-seconds", "0.02", "--clock-tolerance", "100000", "--repeats", "1"]


def readEvents(folder):
    with open(os.path.join(folder, "transcript.jsonl")) as stream:
        return [json.loads(line) for line in stream]


def require(condition, message):
    if not condition:
        print("FAILED: " + message)
        sys.exit(1)


def outline(events):
    """What must be the same in two runs of one script."""
    lines = []
    for event in events:
        data = event["data"]
        if event["type"] == "response":
            lines.append(("response", data["turn"], data["message"]))
        elif event["type"] == "tool":
            submission = data.get("submission") or {}
            lines.append(
                (
                    "tool",
                    data["turn"],
                    data["call"],
                    data["name"],
                    data["is_error"],
                    submission.get("verdict"),
                    submission.get("sha256"),
                )
            )
        elif event["type"] in ("message", "end"):
            lines.append((event["type"], data))
    return lines
