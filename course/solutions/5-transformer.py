"""Solutions of lesson 5."""

import torch
import torch.nn.functional as F


def multi_head(X, W_Q, W_K, W_V, W_O, allowed):
    """Y (N, d). A loop over heads is fine; `@` over a first axis of heads is shorter."""
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V  # (H, N, ·)
    E = Q @ K.transpose(1, 2) / K.shape[-1] ** 0.5  # (H, N, N)
    A = torch.softmax(E.masked_fill(~allowed, -torch.inf), -1)
    return torch.cat(list(A @ V), -1) @ W_O


def weights_of_attention(d, m, l, H):
    """How many numbers multi-head attention learns, biases not counted."""
    return d * (2 * m + l) * H + H * l * d


def cross_attention(Y, Z, W_Q, W_K, W_V, W_O, keep):
    """(T, d) for what is written Y (T, d) and what was read Z (S, d); matrices as above."""
    Q, K, V = Y @ W_Q, Z @ W_K, Z @ W_V
    E = Q @ K.transpose(1, 2) / K.shape[-1] ** 0.5  # (H, T, S)
    A = torch.softmax(E.masked_fill(~keep, -torch.inf), -1)
    return torch.cat(list(A @ V), -1) @ W_O


def block(X, attention, W_1, b_1, W_2, b_2, norms):
    """One Transformer block, norms before: attention and then feed-forward, each added to X (N, d).

    `attention` is a function (N, d) → (N, d); `norms` are the two norms, functions too; W_1 is (F, d), W_2 (d, F).
    """
    X = X + attention(norms[0](X))
    return X + F.gelu(norms[1](X) @ W_1.T + b_1) @ W_2.T + b_2


def transformer(tokens, table, positions, blocks, last_norm, W, b):
    """Scores (N, V) for the token behind each of these."""
    X = table[tokens] * table.shape[1] ** 0.5 + positions
    for one in blocks:
        X = one(X)
    return last_norm(X) @ W.T + b


def sentence_vector(Y, keep):
    """(B, d): of outputs Y (B, N, d) the one at the last real position of each row."""
    return Y[torch.arange(len(Y)), keep.sum(1) - 1]
