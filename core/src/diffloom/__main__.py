"""Entry point of ``python -m diffloom``, which is the command ``diffloom``."""

from diffloom.cli import main

if __name__ == "__main__":
    main()
