"""`python3 -m uvmpolicy ...` runs the uvmsim of this package."""

import sys

from .simulator import main

sys.exit(main())
