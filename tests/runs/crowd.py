"""Processes that work in one folder at the same time: python -m tests.runs.crowd.

It reads one line per crowd, a JSON list of a folder and jobs, forks a process per job, and answers with what
each of them said. torch is imported once for all. A job is the name of a function here, with what it takes.
"""

import json
import os
import signal
import sys
from pathlib import Path

from holdfast.lab.simulation import simulate
from holdfast.runs.recording import find_current, run_and_record
from holdfast.runs.results import list_results, pack_results
from holdfast.runs.store import files_of

from .tiny import tiny_run

N_ROUNDS = 12


def run_of(seed):
    return tiny_run("factions+sparsefed", "edge-case+adaptive", n_rounds=N_ROUNDS, kept=0.1, seed=seed)


def make(folder, seed):
    """Make a run; say how long its rounds took, which is never the same twice."""
    *_, result = run_and_record(run_of(seed), folder, every=1)
    return result.series("seconds")


def follow(folder, seed, resume, sign):
    """Make a run that somebody else is making, and give a sign when there is news."""
    results = run_and_record(run_of(seed), folder, resume=resume)
    next(results)
    Path(sign).touch()
    *_, result = results
    return result.series("seconds")


def make_and_die(folder, seed):
    """Make some rounds of a run, and be killed."""
    for result in run_and_record(run_of(seed), folder, every=1):
        if result.n_done == N_ROUNDS // 2:
            os.kill(os.getpid(), signal.SIGKILL)


def take_over(folder, seed):
    """Make a run that somebody else has begun."""
    while not files_of(run_of(seed).key, folder).making.exists():
        pass
    return make(folder, seed)


def pack(folder, n_packed):
    """Pack until so many results were packed, by anybody."""
    while sum(len(path.read_bytes().splitlines()) for path in folder.glob("*.jsonl")) < n_packed:
        pack_results(folder)
    return "packed"


def look(folder, n_wanted):
    """List and look for results until so many are finished; say what was wrong meanwhile."""
    wrong, seen, finished = [], set(), set()
    runs = [run_of(seed) for seed in range(n_wanted)]
    while len(finished) < n_wanted:
        results, unusable = list_results(folder)
        looks = [
            ("listed", {one.key for one in results}, {one.key for one in results if one.finished}, unusable)
        ]
        found = [find_current(run, folder) for run in runs]
        known = [one for one, _ in found if one is not None]
        reasons = [reason for _, why in found for reason in why]
        looks += [("found", {one.key for one in known}, {one.key for one in known if one.finished}, reasons)]
        for how, now, done, why in looks:
            if why or seen - now or finished - done:
                wrong.append(f"{how}: {why}, gone: {seen - now}, unfinished again: {finished - done}")
            seen, finished = seen | now, finished | done
    return wrong


def forked(job, folder):
    """Return the pipe from a new process that does a job."""
    from_child, to_us = os.pipe()
    if os.fork() == 0:
        name, *words = job
        answer = globals()[name](folder, *words)
        with open(to_us, "w") as file:
            json.dump(answer, file)
        os._exit(0)
    os.close(to_us)
    return from_child


def said(pipe):
    """Return what came through a pipe."""
    with open(pipe) as file:
        return file.read()


if __name__ == "__main__":
    os.environ["HOLDFAST_THREADS"] = "1"
    next(simulate(run_of(0)))  # loads what the first round loads
    for line in sys.stdin:
        folder, *jobs = json.loads(line)
        pipes = [forked(job, Path(folder)) for job in jobs]
        answers = [said(pipe) for pipe in pipes]
        for _ in pipes:
            os.wait()
        print(json.dumps([json.loads(answer) if answer else None for answer in answers]), flush=True)
