"""``python -m ddeq.cli`` is the command ``ddeq``."""

import sys

from ddeq.cli import main

sys.exit(main())
