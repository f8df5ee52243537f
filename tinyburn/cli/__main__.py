"""`python -m tinyburn.cli`, for a shell that does not find the `tinyburn` command."""

import sys

from .main import main

sys.exit(main())
