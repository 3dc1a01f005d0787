"""The command line ``diffloom``: the core brings ``plugins`` and ``doctor``, plugins bring the others."""

from diffloom.cli.start import importing, keep_freed_memory

__all__ = ["importing", "keep_freed_memory", "main"]


def main() -> None:
    """Run the command line; what a user can put right is told in words, not as a traceback."""
    from diffloom.cli.errors import told_in_words
    from diffloom.cli.group import diffloom
    from diffloom.cli.start import ending_at_once, let_idle_threads_sleep

    let_idle_threads_sleep()
    with ending_at_once(), told_in_words():
        diffloom.main(prog_name="diffloom")
