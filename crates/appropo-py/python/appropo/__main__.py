"""The command line: ``appropo`` or ``python -m appropo``."""

import signal
import sys

from . import _appropo


def main() -> int:
    """Does what the command line says."""
    # The program has a handler of its own; Python's would only wake up once everything is over.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _appropo.main(["appropo", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
