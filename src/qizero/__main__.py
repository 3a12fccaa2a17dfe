"""`python -m qizero` is `qizero`."""

import sys

from qizero.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
