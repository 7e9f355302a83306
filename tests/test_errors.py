"""Every mistake a user can make in building and calling a model: the text that they read."""

from functools import partial

import pytest
import torch
from asserting import text_of

import regard
from regard import LanguageModel, Recurrent, Seq2Seq, Source, Transformer, Vision, build
from regard.config import Classifier, Data, Recipe, Tagger, Train, Transducer
from regard.errors import few_digits
from regard.layers.attention import attend_to_inputs

MISTAKES = {
    "width not divisible by heads": (
        lambda: Transformer(width=128, heads=3),
        "width (128) must be divisible by heads (3), or set key_width and value_width",
    ),
    "odd rotary": (
        lambda: Transformer(width=9, heads=3),
        "rotary positions turn pairs: the key width of a head must be even, found 3",
    ),
    "odd sinusoid": (
        lambda: Transformer(width=9, heads=3, positions="sinusoid"),
        "sinusoid positions are pairs: their width must be even, found 9; "
        "change width, or position_width with join 'concatenate'",
    ),
    "concatenating nothing": (
        lambda: Transformer(positions="rotary", join="concatenate"),
        "join 'concatenate' wants positions 'learned' or 'sinusoid', found 'rotary', "
        "which adds no numbers to a token; use join 'add'",
    ),
    "keys that heads cannot share": (
        lambda: Transformer(heads=4, key_value_heads=3),
        "heads (4) must be divisible by key_value_heads (3)",
    ),
    "a base for what does not turn": (
        lambda: Transformer(positions="sinusoid", rotary_base=500.0),
        "rotary_base and rotary_share are for positions 'rotary' and source_positions 'none', found 'sinusoid' and "
        "'none'; leave them out",
    ),
    "a share turned by two": (
        lambda: Transformer(source_positions="rotary", rotary_share=0.5),
        "rotary_base and rotary_share are for positions 'rotary' and source_positions 'none', found 'rotary' and "
        "'rotary'; leave them out",
    ),
    "nothing left to turn": (
        lambda: Transformer(width=16, heads=4, rotary_share=0.4),
        "rotary_share (0.4) leaves no pair of 4 numbers to turn",
    ),
    "parallel and after": (
        lambda: Transformer(residual="parallel", norm_place="after"),
        "residual 'parallel' wants norm_place 'before', found 'after'; change one of them",
    ),
    "a bias of a head that has one": (
        lambda: LanguageModel(tied_bias=True),
        "tied_bias is for a tied head, found tied = false, whose matrix has a bias; leave it out",
    ),
    "a source turned, but not the target": (
        lambda: Transformer(positions="sinusoid", source_positions="rotary"),
        "source_positions 'rotary' wants positions 'rotary', found 'sinusoid': the queries are turned once for both; "
        "set both, or leave source_positions at 'none'",
    ),
    "a picture has no order": (
        lambda: Seq2Seq(Vision(), Transformer(source_positions="rotary")),
        "source_positions 'rotary' wants a source in the order of its target, found a picture, "
        "whose regions have none; use source_positions 'none'",
    ),
    **{
        f"source positions in {who}": (
            partial(make, Transformer(source_positions="rotary")),
            f"source_positions 'rotary' is for a decoder that attends to a source, found {who}; leave it out here",
        )
        for who, make in {
            "a language model": LanguageModel,
            "an encoder": lambda layer: Seq2Seq(layer, Transformer()),
            "a classifier": Classifier,
            "a tagger": Tagger,
            "a transducer": lambda layer: Transducer(history=layer),
        }.items()
    },
    "a width of positions that are added": (
        lambda: Transformer(positions="learned", position_width=16),
        "position_width (16) is for join 'concatenate', found 'add', by which positions are as wide as a token; "
        "set both, or leave position_width out",
    ),
    "a similarity that a Transformer does not ask for": (
        lambda: Seq2Seq(Transformer(), Transformer(), similarity="dot"),
        "similarity 'dot' of a whole model is for attention by a recurrent decoder, "
        "found a transformer, which has its own; leave it out",
    ),
    "a similarity without attention": (
        lambda: Seq2Seq(context="fixed", similarity="dot"),
        "similarity 'dot' of a whole model is for attention by a recurrent decoder, "
        "found context 'fixed'; leave it out",
    ),
    "the best of one look": (
        lambda: Train(average_of="best"),
        "average_of 'best' wants average above 1, the number of looks to take, found 1; set both",
    ),
    "scheduled sampling where nothing said is fed again": (
        lambda: Recipe(Data("a"), Tagger(), train=Train(student=0.5)),
        "train.student is for models that are fed what they said before, found a tagger, which answers at once; "
        "leave it out",
    ),
    "positions wider than the model": (
        lambda: Transformer(width=16, positions="learned", join="concatenate", position_width=16),
        "position_width (16) must be below width (16)",
    ),
    "odd bidirectional": (
        lambda: Recurrent(width=7, bidirectional=True),
        "width (7) must be even when bidirectional: each direction has half of it",
    ),
    "a similarity whose sizes cannot match": (
        lambda: Seq2Seq(Recurrent(width=8), Recurrent(width=12), similarity="dot"),
        "similarity 'dot' wants encoder.width and decoder.width to be the same, found 8 and 12; "
        "use 'bilinear' or 'additive'",
    ),
    "an unknown cell": (lambda: Recurrent("lstmm"), "kind 'lstmm' does not exist; did you mean 'lstm'?"),
    "an unknown similarity": (
        lambda: Seq2Seq(similarity="cosine"),
        "similarity 'cosine' does not exist; choose one of additive, dot, scaled, bilinear",
    ),
    "an unknown similarity, in a layer": (
        lambda: attend_to_inputs(8, 8, "aditive"),
        "similarity 'aditive' does not exist; did you mean 'additive'?",
    ),
    "no layers": (lambda: Recurrent(layers=0), "layers must be a whole number from 1 up, found 0"),
    "half a layer": (lambda: Recurrent(layers=1.5), "layers must be a whole number from 1 up, found 1.5"),
    "all dropped": (lambda: Transformer(dropout=1.0), "dropout must be at least 0 and below 1, found 1.0"),
    "dropout as text": (lambda: Transformer(dropout="high"), "dropout must be at least 0 and below 1, found high"),
    "neither true nor false": (lambda: LanguageModel(tied="yes"), "tied must be true or false, found yes"),
    "a bidirectional language model": (
        lambda: LanguageModel(Recurrent(bidirectional=True)),
        "a language model makes one token after the other, so it cannot be bidirectional; only an encoder can",
    ),
    "a bidirectional decoder": (
        lambda: Seq2Seq(decoder=Recurrent(bidirectional=True)),
        "a decoder makes one token after the other, so it cannot be bidirectional; only an encoder can",
    ),
    "s_0 = h_T between unlike layers": (
        lambda: Seq2Seq(Recurrent("gru"), Recurrent("lstm"), context="none"),
        "context 'none' sets s_0 = h_T, so encoder and decoder must be recurrent, of one kind, width and "
        "number of layers, and the encoder not bidirectional; make them alike, or use context 'fixed'",
    ),
    "a fixed context for a Transformer": (
        lambda: Seq2Seq(Transformer(), Transformer(), context="fixed"),
        "context 'fixed' wants a recurrent decoder, found a transformer, which knows its source by attention; "
        "use context 'attention'",
    ),
    "no vocabulary": (lambda: build(LanguageModel(), 0), "vocabulary must be at least 1, found 0"),
    "a source vocabulary where none belongs": (
        lambda: build(LanguageModel(), 5, 5),
        "a language model reads no source, found a source_vocabulary; leave it out",
    ),
    "a source where none belongs": (
        lambda: build(LanguageModel(), 5).start(Source(torch.zeros(1, 2, dtype=torch.long))),
        "a language model reads no source, found one; feed it as first tokens, or build a Seq2Seq",
    ),
    "no source where one belongs": (
        lambda: build(Seq2Seq(), 5).start(),
        "an encoder–decoder wants a source, found none; call start(Source(tokens))",
    ),
    "a layer by its name": (
        lambda: LanguageModel("lstm"),
        "layer must be Recurrent or Transformer settings, found 'lstm'",
    ),
    "nothing to feed": (
        lambda: (model := build(LanguageModel(), 5))(torch.zeros(1, 0, dtype=torch.long), model.start()),
        "tokens must have at least one position to compute, found none; feed the start token first",
    ),
    "more rows than the state has": (
        lambda: (model := build(LanguageModel(), 5))(torch.zeros(2, 3, dtype=torch.long), model.start()),
        "tokens have 2 rows, the state has 1; start with batch=2",
    ),
    "an empty source": (
        lambda: build(Seq2Seq(), 5).start(Source(torch.zeros(1, 0, dtype=torch.long))),
        "a source must have at least one token, found none; end every source with the stop token",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake(mistake):
    call, expected = MISTAKES[mistake]
    assert text_of(call) == expected


@pytest.mark.parametrize("token", [7, -1, 1000])
def test_a_token_out_of_the_vocabulary(token):
    model = build(LanguageModel(Recurrent(width=4)), 7)
    fed = torch.tensor([[0, 6, token]])
    assert text_of(lambda: model(fed, model.start())) == (
        f"token {token} is not in the vocabulary, which has 0 to 6; "
        "encode the text with the tokenizer that the model was built for"
    )


@pytest.mark.parametrize("join", ["add", "concatenate"])
def test_past_the_end_of_a_learned_table(join):
    model = build(LanguageModel(Transformer(width=8, positions="learned", longest=4, join=join)), 7)
    expected = (
        "position 5 is past the end of the learned position table (longest = 4); "
        "use a shorter text, train with a larger 'longest', or positions = 'rotary'"
    )
    fed = torch.zeros(1, 5, dtype=torch.long)
    assert text_of(lambda: model(fed, model.start())) == expected
    _, state = model(fed[:, :4], model.start())
    assert text_of(lambda: model.step(fed[:, 0], state)) == expected


def test_padding_does_not_use_up_a_learned_table():
    model = build(LanguageModel(Transformer(width=8, positions="learned", longest=4)), 7)
    fed, keep = torch.zeros(1, 9, dtype=torch.long), torch.tensor([[0, 0, 1, 1, 0, 1, 1, 0, 0]], dtype=torch.bool)
    scores, _ = model(fed, model.start(), keep)
    assert scores.isfinite().all()


def test_version():
    assert regard.__version__.count(".") == 2


@pytest.mark.parametrize(
    ("number", "said"),
    [(6.3e-5, "under 0.01"), (0, "0"), (0.0312, "0.0312"), (1.0, "1"), (99.96, "100"), (1440.4, "1,440")],
)
def test_a_number_in_few_digits(number, said):
    assert few_digits(number) == said
