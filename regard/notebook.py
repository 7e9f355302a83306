"""Whether this code runs in a notebook."""

import sys


def in_notebook() -> bool:
    """Whether a kernel of IPython runs it; that one is installed, or imported by somebody, does not make a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")
