"""The `tinyburn` command: open the course, see what works on this machine, keep the notebooks up to date."""

from .main import main

__all__ = ["main"]
