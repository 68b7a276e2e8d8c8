# usage: client_runs.py PROVIDER SCRIPT FOLDER COMMAND...
# Runs of an agent against a server that speaks PROVIDER's language and has
# many faults.

import json
import os
import shutil
import subprocess
import sys

import model_server
from runs import outline, readEvents, require

provider, script, folder = sys.argv[1:4]
command = sys.argv[4:]
KEY = "sk-test-0123456789-never-to-be-seen"
SUFFIX = "" if provider == "anthropic" else "/v1"
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
with open(script) as stream:
    responses = json.load(stream)["responses"]



# The script submits nothing: each run is "evaluated and not correct".
def run(name, faults, *options, answers=responses, wanted=1):
    server, url = model_server.start(
        answers, os.path.dirname(script), faults, KEY
    )
    out = os.path.join(folder, name)
    environment = dict(os.environ)
    environment["%s_API_KEY" % provider.upper()] = KEY
    # Proxies of the machine are not for the test.
    for variable in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        environment.pop(variable, None)
    done = subprocess.run(
        command
        + ["--out", out, "--model", provider + ":test-model"]
        + ["--base-url", url + SUFFIX, "--retry-seconds", "0.01"]
        + list(options),
        capture_output=True,
        text=True,
        env=environment,
    )
    server.shutdown()
    require(
        done.returncode == wanted,
        "%s: exit %d\n%s" % (name, done.returncode, done.stderr),
    )
    require(not server.faults_found, "\n".join(server.faults_found))
    for place, _, names in os.walk(out):
        for file in names:
            with open(os.path.join(place, file), "rb") as stream:
                require(KEY.encode() not in stream.read(), "the key in " + file)
    for text in (done.stdout, done.stderr):
        require(KEY not in text, "the key is printed")
    return server, out, done


# Whatever can be tried again is, and the run comes to what it comes to without.
server, calm, _ = run("calm", {})
require(len(server.requests) == len(responses) + 3, "one request a turn")
faults = {
    (1, 1): "429",
    (1, 2): "500",
    (2, 1): "cut",
    (2, 2): "close",
    (2, 3): "529",
    (3, 1): "error event" if provider == "anthropic" else "500",
}
server, out, done = run("faulty", faults)
require(outline(readEvents(out)) == outline(readEvents(calm)), "faults show")
require(len(server.requests) == len(responses) + 3 + len(faults), "retries")
problems = [e for e in readEvents(out) if e["type"] == "problem"]
require(len(problems) == len(faults), "each fault is recorded")
require("[redacted]" in json.dumps(problems), "the key is redacted")
usage = json.load(open(os.path.join(out, "result.json")))["usage"]
require(usage["output"] == sum(r["usage"]["output"] for r in responses), "output")
require(usage["input"] == sum(r["usage"]["input"] for r in responses), "input")
require(usage["cached"] == 3 * (len(responses) + 3), "cached")

# A server that never gets well: give up, say why, and go on later.
server, out, done = run(
    "down", {(2, n): "500" for n in range(1, 4)}, "--attempts", "3", wanted=4
)
require("HTTP 500" in done.stderr, done.stderr)
server, out, done = run("down", {})
require(outline(readEvents(out)) == outline(readEvents(calm)), "it went on")

# A request that is too long for the model is made shorter.
server, out, done = run("long", {(4, 1): "too long"})
types = [e["type"] for e in readEvents(out)]
require(types.count("compaction") == 1, "compacted")
sent = server.requests[4]["body"]["messages"]
require("left out here" in json.dumps(sent), "the note")

# A request that is refused for another reason costs nothing of it.
server, out, done = run("refused", {(3, 1): "400"}, wanted=4)
require("unknown parameter" in done.stderr, done.stderr)
types = [e["type"] for e in readEvents(out)]
require("compaction" not in types, "compacted in vain")

# Endless output is cut, and the next turn is as usual.
server, out, done = run(
    "endless",
    {(1, 1): "endless"},
    "--max-output-tokens",
    "50",
    "--turns",
    "2",
    answers=[{"text": "word " * 20}, {"text": "ok"}],
)
events = [e["data"] for e in readEvents(out) if e["type"] == "response"]
require([e["stop"] for e in events] == ["max_tokens", "end_turn"], str(events)[:500])

# Names of tools that do not exist, and arguments that are no JSON.
server, out, done = run(
    "odd",
    {(1, 1): "calls nothing known"},
    "--turns",
    "3",
    answers=[
        {},
        {"calls": [{"name": "write_file", "arguments": '{"path": "a'}]},
        {"calls": [{"name": "write_file", "arguments": '{"path": 3}'}]},
    ],
)
texts = [e["data"]["text"] for e in readEvents(out) if e["type"] == "tool"]
require("there is no tool \"rm -rf\"" in texts[0], texts[0])
require("no JSON" in texts[1], texts[1])
require("wrong arguments" in texts[2], texts[2])
print("ok")
