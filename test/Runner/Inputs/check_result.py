# Checks what d2k-run eval --json wrote for the naive kernel.
# usage: check_result.py RESULT

import json
import math
import sys

with open(sys.argv[1]) as stream:
    result = json.load(stream)
assert result["schema"] == "d2k.result/1"
assert result["verdict"] == "correct" and result["reason"] == ""
assert result["device"]["name"] == "Fake GPU"
assert result["environment"]["baseline"] == "toy 1.0"
assert [w["id"] for w in result["workloads"]] == ["square", "ragged"]
product = 1
for workload in result["workloads"]:
    assert workload["verdict"] == "correct"
    assert workload["trials"] == 5
    assert workload["timed_checks"] >= 1
    assert workload["deterministic"]
    # One rounding: at most half of the two units that are allowed.
    assert 0 < workload["max_error"] <= 0.5, workload["max_error"]
    cold = workload["time_us"]["cold"]
    assert cold["ci"][0] <= cold["median"] <= cold["ci"][1]
    assert workload["kernels"] == [
        {"name": "_Z9scaleRowsPPv", "module": "submission", "count": 1}
    ]
    product *= workload["speedup"]
assert math.isclose(result["speedup"], math.sqrt(product), rel_tol=1e-9)
seconds = result["seconds"]
assert 0 < seconds["compile"] < seconds["total"]
# Both workloads: five trials each, of which one is called twice.
requests = seconds["requests"]
assert requests["oracle.judge"]["count"] >= 10
assert requests["submission.call"]["count"] == 12
assert requests["submission.sample"]["count"] == requests["baseline.sample"]["count"]
assert sorted(seconds["gpu"]) == ["baseline", "oracle", "submission"]
spent = sum(request["seconds"] for request in requests.values())
assert 0 < spent < seconds["total"]
for wall in ("method", "process_namespace", "system_call_filter"):
    assert wall in result["isolation"]
