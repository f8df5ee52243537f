"""`tinyburn devices`: one row for what works, one reason and one way out for what does not."""

from __future__ import annotations

import pytest

from tinyburn import Meta, NdArray
from tinyburn.cli import main
from tinyburn.cli.devices import LATER, report
from tinyburn.module.run import BACKENDS


def test_every_backend_is_listed_once_and_every_no_has_a_reason(capsys: pytest.CaptureFixture[str]):
    assert main(["devices"]) == 0
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.split("\n\n")[0].splitlines()[1:]]
    assert ["ndarray", "cpu", "yes"] in rows
    assert {row[0] for row in rows} == {*BACKENDS, *LATER}
    for name in (row[0] for row in rows if row[-1] == "no"):
        assert f"\n{name}: " in shown


class Broken(Meta):
    """A real backend in a place where it cannot run."""

    @classmethod
    def why_unavailable(cls) -> str | None:
        return "no adapter found; install a driver"


def test_an_unavailable_backend_gives_its_own_reason_and_is_not_asked_for_devices():
    shown = report({"ndarray": NdArray, "wgpu": Broken})
    assert "wgpu     none    no\n" in shown
    assert shown.count("wgpu: ") == 1
    assert "wgpu: no adapter found; install a driver" in shown
