"""Published architectures: one small file for each, which says what its names are called here."""

from collections.abc import Callable

from regard.errors import UserError
from regard.hub.families import first_gpt, g2p, gpt2, marian_native, neox, t5, torch_rnn
from regard.hub.families.bart import blenderbot, marian
from regard.hub.families.bert import bert, distilbert, roberta
from regard.hub.families.llama import llama, mistral, qwen2
from regard.hub.opened import Opened
from regard.hub.package import Package

FAMILIES: dict[str, Callable[[Package], Opened]] = {
    "bert": bert,
    "blenderbot": blenderbot,
    "distilbert": distilbert,
    "g2p": g2p.opened,
    "gpt2": gpt2.opened,
    "gpt_neox": neox.opened,
    "llama": llama,
    "marian": marian,
    "marian-native": marian_native.opened,
    "mistral": mistral,
    "openai-gpt": first_gpt.opened,
    "qwen2": qwen2,
    "roberta": roberta,
    "t5": t5.opened,
    "torch-rnn": torch_rnn.opened,
}
"""By what Hugging Face calls them, model_type, or else by the package that publishes them."""


def open_package(package: Package) -> Opened:
    """The model that another program's files hold, as one of ours."""
    if package.family not in FAMILIES:
        raise UserError(
            f"{package.where}: model_type is {package.family!r}, which does not open here; what does is "
            f"{', '.join(FAMILIES)}: take a model of one of these"
        )
    try:
        return FAMILIES[package.family](package)
    except UserError as error:
        raise UserError(f"{package.where}: {error}") from None
