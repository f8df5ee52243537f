"""``python -m tinyburn`` is the command ``tinyburn``."""

from tinyburn.cli.main import main

if __name__ == "__main__":  # a process of ours imports this file again
    raise SystemExit(main())
