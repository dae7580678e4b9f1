"""`python -m chatproof`: the command `chatproof`."""

from __future__ import annotations

from chatproof import main

if __name__ == "__main__":
    main()
