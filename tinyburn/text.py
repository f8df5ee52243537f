"""Plain text in columns, under the name by which notebooks ask for it; see `tinyburn.base.text`."""

from .base.text import amount, table, thousands

__all__ = ["amount", "table", "thousands"]
