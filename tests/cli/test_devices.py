"""`tinyburn devices`: one row for what works, one reason and one way out for what does not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import BASES
from tinyburn import BackendUnavailable, Device, Meta, NdArray
from tinyburn.cli import main
from tinyburn.cli.devices import report
from tinyburn.module.run import BACKENDS


def test_every_backend_is_listed_and_every_no_has_a_reason(capsys: pytest.CaptureFixture[str]):
    assert main(["devices"]) == 0
    table, *notes = capsys.readouterr().out.split("\n\n")
    rows = [line.split() for line in table.splitlines()[1:]]
    assert {row[0] for row in rows} == set(BACKENDS)
    for base in BASES:
        name = base.name.lower()
        mine = [row[1:3] for row in rows if row[0] == name]
        if base.why_not is None:
            assert mine == [[device, "yes"] for device in base.backend.devices()]
        else:
            assert mine == [["none", "no"]]
            assert any(note.startswith(f"{name}: ") for note in notes)


class Broken(Meta):
    """A real backend in a place where it cannot run."""

    @classmethod
    def why_unavailable(cls) -> str | None:
        return "no adapter found; install a driver"


class Stuck(Meta):
    """A backend whose driver lists a device, and cannot open it."""

    @classmethod
    def device(cls, *_: object, **__: object) -> Device[Any]:
        raise BackendUnavailable("Meta.device\n  because the driver of meta does not open")


def test_a_device_that_is_listed_and_does_not_open_is_a_no_with_its_reason():
    shown = report({"ndarray": NdArray, "wgpu": Stuck})
    assert "wgpu     meta    no\n" in shown
    assert "wgpu: Meta.device\n  because the driver of meta does not open" in shown


def test_an_unavailable_backend_gives_its_own_reason_and_is_not_asked_for_devices():
    shown = report({"ndarray": NdArray, "wgpu": Broken})
    assert ["wgpu", "none", "no"] in [line.split() for line in shown.splitlines()]
    assert shown.count("wgpu: ") == 1
    assert "wgpu: no adapter found; install a driver" in shown
