# Checks what d2k-run doctor --json wrote.
# usage: check_doctor.py FILE 0|some (how many devices there are)

import json
import sys

with open(sys.argv[1]) as stream:
    document = json.load(stream)
assert document["schema"] == "d2k.doctor/1"
assert document["self_test"] is None
names = [program["name"] for program in document["programs"]]
assert names[:3] == ["nvcc", "d2k-worker", "d2k-analyze"], names
for program in document["programs"]:
    # Either it is there or its lack costs something.
    assert (program["path"] is None) != (program["cost"] is None), program
assert document["isolation"]["method"]
if sys.argv[2] == "0":
    assert document["devices"] == []
    assert "cannot load the CUDA driver" in document["devices_problem"]
else:
    assert document["devices"][0]["name"] == "Fake GPU"
    assert document["devices"][0]["arch"] == "sm_90a"
    assert document["devices_problem"] is None
