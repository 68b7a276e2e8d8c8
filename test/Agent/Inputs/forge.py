# usage: forge.py RUN TYPE NUMBER KEY VALUE
# Changes a member of the data of the NUMBERth event of TYPE in a transcript
# (KEY "a.b" is b in a, VALUE is JSON), and makes the hashes right again, as
# somebody can who wants to.

import hashlib
import json
import os
import sys

path = os.path.join(sys.argv[1], "transcript.jsonl")
kind, number, key, value = sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
with open(path) as stream:
    events = [json.loads(line) for line in stream]
place = [event for event in events if event["type"] == kind][number]["data"]
names = key.split(".")
for name in names[:-1]:
    place = place[int(name) if isinstance(place, list) else name]
place[int(names[-1]) if isinstance(place, list) else names[-1]] = json.loads(value)
previous = ""
with open(path, "w") as stream:
    for event in events:
        del event["sha256"]
        event["previous"] = previous
        text = json.dumps(event)
        previous = hashlib.sha256(text.encode()).hexdigest()
        stream.write(text[:-1] + ',"sha256":"' + previous + '"}\n')
