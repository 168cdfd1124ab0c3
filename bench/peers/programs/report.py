"""What the Python programs print: one JSON object a line, for bench/peers to read."""
import json
import time


def head(peer, version, device, note="", shared=False):
    print(json.dumps({"peer": peer, "version": version, "device": device, "note": note, "shared": shared}), flush=True)


def sample(case, size, ns):
    print(json.dumps({"case": case, "size": size, "ns": ns}), flush=True)


def timed(case, size, once, calls, samples=5):
    """Prints samples of the mean time of so many calls, after one that does not count."""
    once()
    for _ in range(samples):
        start = time.perf_counter_ns()
        for _ in range(calls):
            once()
        sample(case, size, (time.perf_counter_ns() - start) / calls)
