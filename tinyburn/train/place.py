"""Where a training stands in its data, so that an interrupted epoch is finished with the batches that are left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any


class Place:
    """A place in an epoch.

    A loader with ``state`` and ``load_state`` goes back to its place by itself. Of any other batches those that are
    done are passed over.

    Attributes:
        position: how many batches of the epoch are done.
    """

    def __init__(self, position: int = 0, loader_state: Any = None) -> None:
        self.position = position
        self._loader: Any = None
        self._state = loader_state

    def __repr__(self) -> str:
        return f"Place({self.position})"

    def use(self, batches: Any) -> None:
        """From now on the batches come from here."""
        self._loader = batches
        if not hasattr(batches, "load_state"):
            self._state = None

    def state(self) -> Any:
        """That of the loader; None if it has none."""
        return self._loader.state() if hasattr(self._loader, "state") else self._state

    def leave(self) -> None:
        """Nothing reads on for now. In the middle of an epoch the loader has to come back to this place later."""
        if self.position:
            self._state = self.state()

    def rest(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The batches of this epoch that are not done yet.

        Each counts once it is handed out, as loaders count: one whose step failed is passed over by the next fit.
        """
        left = self._left(batches)
        self._state = None
        for batch in left:
            self.position += 1
            yield batch
            del batch  # before the next one is made, so that the two are never alive together

    def _left(self, batches: Iterable[Any]) -> Iterator[Any]:
        if self._state is None:
            return islice(batches, self.position, None)
        self._loader.load_state(self._state)
        if self.position == 0 or self.position != length(batches):
            return iter(batches)
        _find_end(self._loader, self._state)
        return iter(())


def _find_end(loader: Any, state: Any) -> None:
    """A loader that has handed out the last batch of an epoch goes on to the next epoch. Some find the end only when
    they are asked once more; others have found it, and a batch of the next epoch that they give comes again."""
    if next(iter(loader), None) is not None:
        loader.load_state(state)


def length(batches: Any) -> int | None:
    """How many batches there are; None if they cannot tell."""
    return len(batches) if hasattr(batches, "__len__") else None
