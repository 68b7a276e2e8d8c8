# usage: real_server.py FOLDER COMMAND...
# A run of COMMAND, `d2k-run agent TASK` with options, against llama.cpp's
# server, which answers with the model of tiny_model.py: what it is sent and what
# it streams are then nobody's idea of the interface but its own. Prints
# `N passed, N failed`.

import json
import os
import shutil
import subprocess
import sys

import tiny_model
import xllamacpp

TURNS = 3

folder = sys.argv[1]
command = sys.argv[2:]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
model = os.path.join(folder, "tiny.gguf")
tiny_model.writeModel(model)

parameters = xllamacpp.CommonParams()
parameters.model.path = model
parameters.n_ctx = tiny_model.CONTEXT
parameters.n_parallel = 1
parameters.n_gpu_layers = 0
parameters.use_jinja = True
parameters.warmup = False
parameters.port = 0
parameters.verbosity = 0
server = xllamacpp.Server(parameters)

environment = dict(os.environ)
for variable in ("OPENAI_API_KEY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
    environment.pop(variable, None)
out = os.path.join(folder, "run")
done = subprocess.run(
    command
    + ["--out", out, "--model", "openai:tiny", "--quiet"]
    + ["--base-url", server.listening_address + "/v1", "--turns", str(TURNS)],
    capture_output=True,
    text=True,
    env=environment,
)

counts = [0, 0]


def check(text, found, wanted):
    passed = found == wanted
    print("%s %s" % ("ok  " if passed else "FAIL", text), end="")
    print("" if passed else ": %r, not %r" % (found, wanted))
    counts[0 if passed else 1] += 1


def getEvents(kind):
    return [event["data"] for event in events if event["type"] == kind]


events = []
if os.path.exists(os.path.join(out, "transcript.jsonl")):
    with open(os.path.join(out, "transcript.jsonl")) as stream:
        events = [json.loads(line) for line in stream]
responses, tools = getEvents("response"), getEvents("tool")
# 1: the model submits nothing, so no submission is correct.
check("the run ends as one without a submission", done.returncode, 1)
check("turns", len(responses), TURNS)
check("no attempt failed", getEvents("problem"), [])
check("each turn calls the tool", [tool["name"] for tool in tools], TURNS * ["list_files"])
check("no call is at fault", [tool["is_error"] for tool in tools], TURNS * [False])
answered = len(tiny_model.ANSWER)
usage = [response["usage"] for response in responses]
check("tokens written", [use["output"] for use in usage], TURNS * [answered])
# What the server kept of the prompt before is counted apart.
read = [use["input"] + use["cached"] for use in usage]
check("prompts get longer", read == sorted(set(read)), True)
check("prompts are kept", [use["cached"] > 0 for use in usage], [False, True, True])
if counts[1]:
    sys.stderr.write(done.stderr)
print("%d passed, %d failed" % tuple(counts))
sys.exit(1 if counts[1] else 0)
