"""The rows of the export, a file for each family of operations. Importing it fills `table.EXPORTS`."""

from . import elementwise, movement, products, reductions

__all__ = ["elementwise", "movement", "products", "reductions"]
