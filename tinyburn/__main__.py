"""``python -m tinyburn`` is the command ``tinyburn``."""

from tinyburn.cli.main import main

raise SystemExit(main())
