"""The progress display of a run."""

import contextlib
from collections.abc import Iterator

from rich.live import Live
from rich.markup import escape
from rich.table import Table

from blocks.records import Phase
from flows.commands.output import coloured, console
from flows.failure_page import headline
from flows.progress import Event, listener


class Board:
    """The progress display: one row per candidate, one column per phase."""

    def __init__(self) -> None:
        self.cells: dict[str, dict[Phase, str]] = {}
        self.notes: list[str] = []

    def hear(self, event: Event) -> None:
        """Take an event in; without a terminal it is printed as a line."""
        row = self.cells.setdefault(event.label, {})
        if event.outcome is None:
            row[event.phase] = "[dim]running[/dim]"
        else:
            mark = " [dim](reused)[/dim]" if event.reused else f" [dim]{event.seconds:.0f} s[/dim]"
            row[event.phase] = coloured(event.outcome) + mark
            if not event.reused and event.outcome != "passed":
                code = f" {event.reason_code}" if event.reason_code else ""
                self.notes.append(f"{event.label} {event.phase}: {event.outcome}{code}: {headline(event.message)}")
                if event.outcome == "failed":
                    self.notes.append(f"    the whole log: envmill show {event.candidate_id} --log {event.phase}")
        if not console.is_terminal:
            said = row[event.phase]
            console.print(f"{escape(event.label)}  {event.phase}  {said}", soft_wrap=True)

    def __rich__(self) -> Table:
        """The table as it stands."""
        table = Table(header_style="bold")
        table.add_column("candidate")
        for phase in list(Phase)[:-1]:
            table.add_column(phase)
        for label, cells in self.cells.items():
            table.add_row(escape(label), *(cells.get(phase, "") for phase in list(Phase)[:-1]))
        return table


@contextlib.contextmanager
def shown(quiet: bool) -> Iterator[None]:
    """Show the progress of what runs within; at the end, why candidates fell out. Quiet: nothing."""
    if quiet:
        yield
        return
    board = Board()
    mark = listener.set(board.hear)
    try:
        if console.is_terminal:
            with Live(board, console=console, refresh_per_second=4):
                yield
        else:
            yield
    finally:
        listener.reset(mark)
        for note in board.notes:
            console.print(escape(note), soft_wrap=True)
