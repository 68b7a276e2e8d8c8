# usage: isolation.py FOLDER COMMAND...
# An agent that tries to reach what is outside of its directory: by names, by
# includes and by the assembler. Nothing of it may work, and the secret beside
# its directory may stand in no answer.

import json
import os
import shutil
import subprocess
import sys

from runs import readEvents, require

folder = sys.argv[1]
command = sys.argv[2:]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
secret = os.path.join(folder, "secret.h")
SECRET = "int theSecretOfThisTest;"
with open(secret, "w") as stream:
    stream.write("#error %s\n" % SECRET)

HONEST = '#include "d2k_toy_scale.h"\n'
# What is written, and whether the tool may say so.
NAMES = [
    "../outside.cu",
    secret,
    "-Xcompiler=-include.cu",
    "-o.cu",
    "a b.cu",
    "a;touch pwned;.cu",
    "$(touch pwned).cu",
    "a`id`.cu",
    "@response.cu",
    "a.cu\n-include /etc/passwd",
]
SOURCES = {
    "an absolute include": '#include "%s"\n' % secret,
    "an include that climbs": '#include "../../secret.h"\n',
    "an include by a macro": '#define F "%s"\n#include F\n' % secret,
    "a digraph": '%%:include "%s"\n' % secret,
    "a spliced directive": '#inc\\\nlude "%s"\n' % secret,
    "an embed": 'const char x[] = {\n#embed "%s"\n};\n' % secret,
    "incbin": 'asm(".incbin \\"%s\\"");\n' % secret,
    # The scanner does not join literals; the walls have to hold.
    "incbin in two pieces": 'asm(".inc" "bin \\"%s\\"");\n' % secret,
    "include of the assembler": 'asm(".incl" "ude \\"%s\\"");\n' % secret,
    "a probe": HONEST + '#if __has_include("%s")\n#error %s\n#else\n'
    "#error nothing there\n#endif\n" % (secret, SECRET),
    "the environment": '#include "/proc/self/environ"\n',
}
calls = [
    {"name": "write_file", "arguments": {"path": name, "content": HONEST}}
    for name in NAMES
]
calls.append({"name": "list_files", "arguments": {}})
responses = [{"calls": calls}]
for source in SOURCES.values():
    responses.append(
        {
            "calls": [
                {
                    "name": "write_file",
                    "arguments": {"path": "kernel.cu", "content": source},
                },
                {"name": "compile", "arguments": {}},
            ]
        }
    )
script = os.path.join(folder, "script.json")
with open(script, "w") as stream:
    json.dump({"responses": responses}, stream)
run = os.path.join(folder, "run")
done = subprocess.run(
    command + ["--model", "scripted:" + script, "--out", run, "--quiet"],
    capture_output=True,
    text=True,
    cwd=folder,
)
require(done.returncode == 1, done.stderr)
tools = [e["data"] for e in readEvents(run) if e["type"] == "tool"]
for name, answer in zip(NAMES, tools):
    require(answer["is_error"], "the name %r is taken" % name)
require(tools[len(NAMES)]["text"] == "no files", "files were written")
answers = [tool for tool in tools if tool["name"] == "compile"]
require(len(answers) == len(SOURCES), "each source was compiled")
for name, answer in zip(SOURCES, answers):
    require(answer["is_error"], "%s compiles" % name)
    require(SECRET not in answer["text"], "%s: %s" % (name, answer["text"]))
require(not os.path.exists(os.path.join(folder, "pwned")), "a shell ran")
require(not os.path.exists(os.path.join(run, "outside.cu")), "it got out")
print("ok, %d names, %d sources" % (len(NAMES), len(SOURCES)))
