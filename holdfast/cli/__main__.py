"""The command line where its script is not on the path: `python -m holdfast.cli`."""

from . import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
