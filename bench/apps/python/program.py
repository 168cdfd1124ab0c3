"""What the programs in Python share for the measurement: arguments, the clock, files. It is not counted."""

import json
import sys
import time

import numpy as np

n, steps, repeats = (int(a) for a in sys.argv[1:4])
_in, _out = sys.argv[4:6]
device = sys.argv[6]


def say(name):
    print(json.dumps({"device": name}), flush=True)


def read():
    return np.fromfile(_in, np.float32)


def write(*arrays):
    with open(_out, "wb") as f:
        for a in arrays:
            np.asarray(a).tofile(f)


def sample(case, start):
    print(json.dumps({"case": case, "ns": time.perf_counter_ns() - start}), flush=True)


def timed(run):
    """Calls run once, and then so often as is to be measured. Returns what it returned last."""
    for i in range(repeats + 1):
        start = time.perf_counter_ns()
        result = run()
        if i > 0:
            sample("run", start)
    return result
