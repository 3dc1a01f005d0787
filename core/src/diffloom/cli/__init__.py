"""Command line ``diffloom``: the core brings ``plugins`` and ``doctor``, plugins bring all other commands."""

from diffloom.cli.start import keep_freed_memory, pause_garbage_collection

__all__ = ["keep_freed_memory", "main", "pause_garbage_collection"]


def main() -> None:
    """Run the command line; expected errors are printed as one message without a traceback."""
    from diffloom.cli.group import diffloom
    from diffloom.cli.start import fast_exit, let_idle_threads_sleep, report_user_errors, shorten_warnings

    let_idle_threads_sleep()
    shorten_warnings()
    with fast_exit(), report_user_errors():
        diffloom.main(prog_name="diffloom")
