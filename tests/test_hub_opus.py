"""OPUS-MT: Marian with two lists of pieces, one for each language, and ids that both share."""

import json
import struct
from pathlib import Path

import pytest
import torch
from torch import nn

from regard import Search
from regard.errors import UserError
from regard.hub.importing import import_run
from regard.hub.reading.sentencepiece import NEVER, read_unigram
from regard.runs import load_run
from regard.text.files import load, save

transformers = pytest.importorskip("transformers", reason="transformers, our reference, is not installed")
ENGLISH = ["we are eating bread", "the cat sat on the mat", "she eats the bread", "bread and water", "a big dog runs"]
FRENCH = ["nous mangeons du pain", "le chat est assis", "elle mange le pain", "du pain et de l'eau", "un grand chien"]
CONTROL, UNKNOWN = 3, 2


def as_spm(pieces: list[tuple[str, float, int]], trained: bytes = b"") -> bytes:
    """A SentencePiece model of these pieces, each with its score and its type."""
    rows = [
        field(1, field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + b"\x18" + bytes([kind]))
        for text, score, kind in pieces
    ]
    return b"".join(rows) + field(2, trained) + field(3, b"")


def field(number: int, content: bytes) -> bytes:
    """Of a protocol buffer: its key, its length, what it holds."""
    length, size = b"", len(content)
    while size >= 128:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def by_hand(words: list[str]) -> bytes:
    """Letters and whole words of some lines."""
    letters = sorted({letter for line in words for letter in line.replace(" ", "▁")})
    whole = sorted({f"▁{word}" for line in words for word in line.split()} - {*letters})
    special = [("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
    return as_spm([*special, *((one, -8.0, 1) for one in letters), *((one, -3.0, 1) for one in whole)])


def learnt(words: list[str], folder: Path) -> bytes:
    """What the library itself learns of them."""
    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece, our reference, is not installed")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(words * 3), model_prefix=str(folder / "made"), vocab_size=48, minloglevel=2,
        hard_vocab_limit=False, num_threads=1,
    )  # fmt: skip
    return (folder / "made.model").read_bytes()


def save_opus(folder: Path, sides: tuple[bytes, bytes], own_target: bool = False) -> nn.Module:
    """A small model of random weights with these pieces, as transformers saves it."""
    folder.mkdir(parents=True, exist_ok=True)
    lists = []
    for name, content in zip(("source", "target"), sides, strict=True):
        (folder / f"{name}.spm").write_bytes(content)
        vocab = read_unigram(folder / f"{name}.spm")["model"]["vocab"]
        lists.append([piece for piece, _ in vocab if not piece.startswith(NEVER)])
    source, target = ([*dict.fromkeys([*one, *(() if own_target else other)])] for one, other in (lists, lists[::-1]))
    numbers = numbered(source[:-2])  # two pieces are in no list: unknown, though they can be cut
    (folder / "vocab.json").write_text(json.dumps(numbers))
    own = numbered(target) if own_target else numbers
    if own_target:
        (folder / "target_vocab.json").write_text(json.dumps(own))
    (folder / "tokenizer_config.json").write_text(json.dumps({"separate_vocabs": own_target}))
    config = transformers.MarianConfig(
        vocab_size=len(numbers), decoder_vocab_size=len(own), d_model=24, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=40, decoder_ffn_dim=40,
        max_position_embeddings=64, share_encoder_decoder_embeddings=not own_target,
        tie_word_embeddings=not own_target, pad_token_id=own["<pad>"], decoder_start_token_id=own["<pad>"],
        eos_token_id=0, forced_eos_token_id=None, bad_words_ids=None,
    )  # fmt: skip
    torch.manual_seed(3)
    model = transformers.MarianMTModel(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.add_(torch.randn_like(parameter) * 0.3)
        model.final_logits_bias[:, [own["<unk>"], own["<pad>"]]] = -1e4
    model.save_pretrained(folder)
    return model.eval()


def numbered(pieces: list[str]) -> dict[str, int]:
    """As OPUS-MT numbers them, but for padding, which stands last there: stop and unknown first."""
    return {name: number for number, name in enumerate(["</s>", "<unk>", "<pad>", ">>fra<<", *pieces])}


TEXTS = [
    *ENGLISH, "", "  the  cat ", "The cat", "du pain, le chat!", "naïve 漢字 bread", ">>fra<< the cat", ">>xyz<<we",
    "x >>fra<< y", "bread\tand\nwater", "it's 1992: ﬁne", "▁we ▁", "zzz",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")  # what it would do is not asked for
@pytest.mark.parametrize("own_target", [False, True], ids=["one-list", "two-lists"])
@torch.no_grad()
def test_text_goes_in_and_comes_out_as_theirs(own_target, tmp_path):
    sides = learnt(ENGLISH, tmp_path), learnt(FRENCH, tmp_path)
    theirs = save_opus(tmp_path / "hf", sides, own_target)
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "hf")
    import_run(tmp_path / "hf", tmp_path / "run")
    run = load_run(tmp_path / "run")
    for text in TEXTS:
        ours = [run.source_tokenizer.order[token] for token in run.source_tokenizer.encode(text)]
        assert [*ours, 0] == tokenizer(text).input_ids, text
        ours = [run.tokenizer.order[token] for token in run.tokenizer.encode(text)]
        assert [*ours, 0] == tokenizer(text_target=text).input_ids, text
    read = tokenizer(TEXTS, padding=True, return_tensors="pt")
    said = theirs.generate(**read, max_new_tokens=12, num_beams=1, do_sample=False)
    wanted = tokenizer.batch_decode(said, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    assert sum(map(bool, wanted)) > len(TEXTS) / 2
    found = [best.text for best, *_ in run.translations(TEXTS, Search(beam=1, max_length=12))]
    for text, ours, line in zip(TEXTS, found, wanted, strict=True):
        assert ours.rstrip() == (line if text else "")  # nothing is translated to nothing


def test_it_is_kept_and_read_again_as_it_was(tmp_path):
    save_opus(tmp_path / "hf", (by_hand(ENGLISH), by_hand(FRENCH)))
    import_run(tmp_path / "hf", tmp_path / "run")
    run = load_run(tmp_path / "run")
    save(run.source_tokenizer, tmp_path / "again.json")
    again = load(tmp_path / "again.json")
    assert again.encode_all(TEXTS) == run.source_tokenizer.encode_all(TEXTS)
    assert run.source_tokenizer.decode(run.source_tokenizer.encode("we are eating bread")) == "we are eating bread"
    assert run.source_tokenizer.faces("we zz")[0] == "␣we"
    spelled = run.source_tokenizer.encode("</s><pad><unk>")
    assert not {0, 1, 2} & {*spelled}  # letters, no special token


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("vocab.json", b'{"</s>": 0, "<unk>": 1, "a": -1}', "is no list of tokens and their numbers; fetch it again"),
        ("vocab.json", b'{"</s>": 0, "<unk>": 1, "a": 100000}', "the tokenizer does not fit: token 100000 is beyond"),
        ("vocab.json", b'{"</s>": 0}', "a list of pieces wants an unknown one among them, found none"),
        ("source.spm", b"\x0a\xff\xff\xff\xff\x0f", "source.spm is no SentencePiece model"),
        ("target.spm", as_spm([("a", 0.0, 1)], b"\x18\x02"), "SentencePiece model of another kind than unigram"),
        ("target.spm", as_spm([("a", 0.0, 1)], b"\x98\x02\x01"), "byte_fallback is set, which cannot be had exactly"),
    ],
)
def test_lists_that_do_not_fit_are_refused(name, content, said, tmp_path):
    save_opus(tmp_path / "hf", (by_hand(ENGLISH), by_hand(FRENCH)))
    (tmp_path / "hf" / name).write_bytes(content)
    with pytest.raises(UserError, match=said) as error:
        import_run(tmp_path / "hf", tmp_path / "run")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()
