"""python -m tests.fuzz: attacks until it gets through, or until the cases or the minutes are over."""

import argparse
import itertools
import os
import sys
import time
import traceback
import warnings
from collections import Counter

from . import ADVERSARIES, adversary_of, attacked, command

SECONDS = 10  # between two lines of progress


def main(arguments=None):
    """Return 0 if nothing was wrong, 1 at the first case that was."""
    chosen = options().parse_args(arguments)
    os.environ.setdefault("HOLDFAST_THREADS", "1")
    warnings.simplefilter("error")
    start = said = time.monotonic()
    done = Counter()
    for case in cases(chosen):
        if chosen.minutes is not None and time.monotonic() - start > 60 * chosen.minutes:
            break
        name = chosen.only or adversary_of(chosen.seed, case)
        try:
            done[f"{name}: {attacked(name, chosen.seed, case)}"] += 1
        except Exception:
            traceback.print_exc()
            print(f"\n{name} got through; this repeats it:\n  {command(name, chosen.seed, case)}", flush=True)
            return 1
        if time.monotonic() - said > SECONDS:
            said = time.monotonic()
            print(f"{done.total()} cases in {said - start:.0f} s, nothing got through", flush=True)
    for what, count in sorted(done.items()):
        print(f"{count:7} {what}")
    print(f"{done.total()} cases in {time.monotonic() - start:.0f} s, nothing got through", flush=True)
    return 0


def options():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, help="Cases to make: 10000, or as many as the minutes allow.")
    parser.add_argument("--minutes", type=float, help="Minutes after which it ends.")
    parser.add_argument("--seed", type=int, default=0, help="Random seed.")
    parser.add_argument("--only", choices=ADVERSARIES, help="The one adversary to run.")
    parser.add_argument("--case", type=int, help="The one case to repeat.")
    return parser


def cases(chosen):
    if chosen.case is not None:
        return [chosen.case]
    if chosen.cases is None and chosen.minutes is not None:
        return itertools.count()
    return range(10_000 if chosen.cases is None else chosen.cases)


if __name__ == "__main__":
    sys.exit(main())
