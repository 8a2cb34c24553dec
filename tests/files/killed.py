"""A process that aggregates slowly, to be killed in the middle of writing. Says when it writes."""

import os
import sys
import time
from pathlib import Path

from holdfast import median
from holdfast.files import aggregate_files, output

moved = output.moved


def slowly(*given):
    os.write(1, b"writing\n")
    time.sleep(0.2)
    return moved(*given)


def main(folder, is_sharded):
    output.moved = slowly
    clients = sorted((folder / "clients").iterdir())
    base, out = ("base", "next") if is_sharded else ("base.safetensors", "next.safetensors")
    aggregate_files(clients, median, base=folder / base, out=folder / out)
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] == "folder")
