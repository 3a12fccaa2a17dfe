"""`python -m qizero` is `qizero`."""

import sys

from qizero.cli import main

if __name__ == "__main__":
    sys.exit(main())
