"""`python -m research`: the command line."""

import sys

from research.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
