# usage: check_clock.py RUN

import sys

from runs import readEvents, require

events = readEvents(sys.argv[1])
elapsed = [event["elapsed"] for event in events]
require(elapsed == sorted(elapsed), "elapsed goes backwards")
require(0 <= elapsed[-1] < 3600, "elapsed jumped")
years = {event["time"][:4] for event in events}
require(len(years) > 1, "the clock did not jump: %s" % years)
require(events[-1]["data"]["reason"] == "silence", "the budget took the jump")
print("ok")
