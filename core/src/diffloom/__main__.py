"""``python -m diffloom`` is ``diffloom``."""

from diffloom.cli import main

if __name__ == "__main__":
    main()
