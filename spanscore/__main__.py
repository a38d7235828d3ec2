"""``python -m spanscore`` is the command ``spanscore``."""

import sys

from spanscore.cli import main

sys.exit(main())
