#!/usr/bin/env python3
"""Open-loop load over HTTP: searches the highest rate that a node of one validator takes without
a refusal, then holds it for a minute.

  usage: bench_http.py BUILD_DIRECTORY [--seconds N] [--from RATE] [--interval MS] [--json]

The client and the node share the machine.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

STEP = 1.25  # Between the rates that are tried.


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("build")
    arguments.add_argument("--seconds", type=int, default=60)
    arguments.add_argument("--probe-seconds", type=int, default=5)
    arguments.add_argument("--from", dest="start", type=int, default=1000)
    arguments.add_argument("--interval", type=int, default=100)
    arguments.add_argument("--json", action="store_true")
    plan = arguments.parse_args()
    cli = os.path.join(plan.build, "bin", "bor-cli")
    with tempfile.TemporaryDirectory() as folder:
        network = os.path.join(folder, "network")
        up = [cli, "--dir", network, "network", "up", "--open",
              "--block-interval", str(plan.interval)]
        subprocess.run(up, check=True, stdout=subprocess.DEVNULL)
        try:
            report = search(cli, network, plan)
        finally:
            down = [cli, "--dir", network, "network", "down"]
            subprocess.run(down, stdout=subprocess.DEVNULL)
    show(report, plan)


def load(cli, network, rate, seconds):
    """What `bor-cli bench load` reports; nothing when the node did not keep up."""
    command = [cli, "-j", "--dir", network, "bench", "load", "--rate", str(rate),
               "--seconds", str(seconds), "--accounts", "100"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 or not done.stdout.strip():
        print(f"{rate}/s: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    report = json.loads(done.stdout)
    kept_up = report["refused"] == 0 and report["seconds"] < seconds * 1.05 + 0.5
    print(f"{rate}/s: {report['accepted_per_second']:.0f} accepted a second, "
          f"{report['refused']} refused", file=sys.stderr)
    return report if kept_up else None


def search(cli, network, plan):
    """The report of the highest rate of the search that also holds for the whole time."""
    held = []
    rate = plan.start
    while load(cli, network, rate, plan.probe_seconds):
        held.append(rate)
        rate = int(rate * STEP)
    for rate in reversed(held):
        report = load(cli, network, rate, plan.seconds)
        if report:
            return {"rate": rate, **report}
    sys.exit(f"bench_http: not even {plan.start} transactions a second are taken")


def show(report, plan):
    commit = subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse",
                             "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    report = {"benchmark": "http", "commit": commit, "load": round(os.getloadavg()[0], 2),
              **report}
    if plan.json:
        print(json.dumps(report))
        return
    print(f"http: commit {commit}, load {report['load']}, blocks of {plan.interval} ms")
    print(f"  {report['accepted_per_second']:.0f} transactions/s for {plan.seconds} s, "
          f"{report['refused']} refused")
    for stage in ("accepted", "in_block", "final"):
        times = report[stage]
        print(f"  {stage:<9} p50 {times['p50_ms']:.1f} ms, p99 {times['p99_ms']:.1f} ms")
    print(f"  {report['node_cpu_seconds_per_1000']:.3f} s of the node's CPU per 1,000 transactions")
    print(f"  {report['node_resident_bytes_max'] / 2**20:.0f} MiB resident at most")


main()
