"""Writes rounds and decisions into a ledger until it is killed, and says which round is in."""

import sys

from holdfast.ledger import open_ledger

from .made import round_entry


def main():
    with open_ledger(sys.argv[1]) as ledger:
        number = 1 + max([one["round"] for one in ledger.rounds()], default=0)
        while True:
            ledger.write(round_entry(number))
            print(number, flush=True)
            if number % 3 == 0:
                ledger.decide("ban", "eve")
            number += 1


if __name__ == "__main__":
    main()
