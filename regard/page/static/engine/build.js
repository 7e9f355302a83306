// From a description to a model: the only place that knows which name means which class.

import {
  Additive,
  Bilinear,
  CrossAttention,
  CrossAttentionByPlace,
  Dot,
  GroupedSelfAttention,
  KeysAreValues,
  KeyValueAttention,
  ScaledDot,
  SelfAttention,
} from './attention.js';
import {
  Dropout,
  GELU,
  Identity,
  LayerNorm,
  Linear,
  ModuleList,
  ReLU,
  RMSNorm,
  Sequential,
  SiLU,
  Tanh,
} from './basic.js';
import {
  Block,
  CausalTransformer,
  FeedForward,
  GatedFeedForward,
  NormAfter,
  NormBefore,
  ParallelBlock,
  Transformer,
} from './block.js';
import { AttendedContext, Copied, FirstState, FixedContext, Readout, Started } from './context.js';
import { BiasedTiedHead, Embedding, Head, PlainEmbedding, Table, TiedHead } from './embedding.js';
import { Classifier, Decoder, Encoder, EncoderDecoder, PictureEncoder, Tagger } from './models.js';
import { AttentionPooling, FirstPooling, MeanPooling, Pooling, StartPooling, UnitLength } from './pooling.js';
import {
  Added,
  Concatenated,
  Learned,
  Normed,
  Positions,
  Relative,
  RelativePast,
  Rotary,
  Sinusoid,
} from './position.js';
import { Bidirectional, GRU, LSTM, RNN, SSRU, Stack } from './recurrent.js';
import { Tap } from './tap.js';
import { Transducer } from './transducer.js';
import { Body, Conv2d, GroupNorm, KnownNorm, MaxPool2d, Regions, Residual } from './vision.js';

/** @import { Model } from './models.js' */
/** @import { Tensor } from './tensor.js' */

/**
 * A part of a model as Python describes it (regard/page/description.py): its class, its numbers, its parts by name, and
 * the names of the weights that are its own.
 * @typedef {{class: string, numbers: {[name: string]: any}, parts: {[name: string]: Description}, tensors: string[]}}
 *   Description
 */

/** @type {{[name: string]: new (given: any) => any}} */
const CLASSES = {
  ...{ Additive, Bilinear, CrossAttention, CrossAttentionByPlace, Dot, GroupedSelfAttention, KeysAreValues },
  ...{ KeyValueAttention, ScaledDot, SelfAttention },
  ...{ Block, CausalTransformer, FeedForward, GatedFeedForward, NormAfter, NormBefore, ParallelBlock, Transformer },
  ...{ AttendedContext, Copied, FirstState, FixedContext, Readout, Started },
  ...{ BiasedTiedHead, Embedding, Head, PlainEmbedding, TiedHead },
  ...{ Classifier, Decoder, Encoder, EncoderDecoder, PictureEncoder, Tagger, Transducer },
  ...{ AttentionPooling, FirstPooling, MeanPooling, Pooling, StartPooling, UnitLength },
  ...{ Added, Concatenated, Learned, Normed, Positions, Relative, RelativePast, Rotary, Sinusoid },
  ...{ Bidirectional, GRU, LSTM, RNN, SSRU, Stack, Tap, Dropout },
  ...{ Body, KnownNorm, Regions, Residual },
  ...{ 'nn.Conv2d': Conv2d, 'nn.GroupNorm': GroupNorm, 'nn.MaxPool2d': MaxPool2d },
  ...{
    'nn.Embedding': Table,
    'nn.GELU': GELU,
    'nn.Identity': Identity,
    'nn.LayerNorm': LayerNorm,
    'nn.Linear': Linear,
  },
  ...{ 'nn.ModuleList': ModuleList, 'nn.RMSNorm': RMSNorm, 'nn.ReLU': ReLU, 'nn.Sequential': Sequential },
  ...{ 'nn.SiLU': SiLU, 'nn.Tanh': Tanh },
};

/**
 * A model, every part of it by its path, and the taps among them.
 * @param {Description} description
 * @param {(path: string) => Tensor} weights
 * @returns {{model: Model, parts: Map<string, any>, taps: Map<string, Tap>}}
 */
export function build(description, weights) {
  /** @type {Map<string, any>} */
  const every = new Map();
  /** @type {(one: Description, path: string) => any} */
  const make = (one, path) => {
    const below = (/** @type {string} */ name) => (path ? `${path}.${name}` : name);
    const parts = Object.entries(one.parts).map(([name, part]) => [name, make(part, below(name))]);
    const tensors = one.tensors.map((name) => [name, weights(below(name))]);
    const Class = CLASSES[one.class];
    if (!Class) throw new Error(`this page does not know the part '${one.class}' of the model; publish it again`);
    const children = parts.map(([, part]) => part);
    const own = Object.fromEntries([...parts, ...tensors]);
    const made = new Class({ bias: null, path, children, ...one.numbers, ...own });
    every.set(path, made);
    return made;
  };
  const model = make(description, '');
  return { model, parts: every, taps: new Map([...every].filter(([, part]) => part instanceof Tap)) };
}
