"""An .npz file of weights alone: which program wrote it is told by the names in it."""

from pathlib import Path

from regard.errors import UserError
from regard.hub.package import Facts, Package
from regard.hub.reading.npz import Npz, is_npz

FAMILIES = {"g2p": {"enc_emb", "enc_w_ih", "enc_w_hh", "dec_emb", "dec_w_ih", "dec_w_hh", "fc_w", "fc_b"}}


def can_read(path: Path) -> bool:
    return path.is_file() and is_npz(path)


def read(path: Path) -> Package:
    """What the file holds."""
    arrays = Npz(path)
    family = next((name for name, known in FAMILIES.items() if known <= {*arrays.names()}), None)
    if family is None:
        raise UserError(f"{path} holds arrays of no model that is known here; docs/hub.md lists them")
    return Package(str(path), "npz", family, Facts({}), arrays, (path,))
