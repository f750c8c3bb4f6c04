#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Logits of small GGUF models in float64, written down from what is published about each architecture: as plain as it
can be, whole matrices at a time, nothing in common with the engine. Needs numpy. For developers; no test runs it.

  reference.py MODEL.gguf --ids "1 2 3" [--ctx N] [--out FILE]   logits as float32 [tokens][vocabulary]
  reference.py --check FOLDER      folders with model.gguf, tokens.txt, logits_<i>.f32, meta.json: the largest differences
  reference.py --write MKMODEL     tests/data/golden/<name>.f32 for every model of tests/data/golden/models.txt

A file <name>.f32 begins with a checksum of the model's tensors (8 bytes), then float32 [wanted positions][vocabulary]."""
import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).resolve().parent.parent / "tests/data/golden"


class Gguf:
    """A file of version 3 with float32 tensors: keys without the architecture's name, tensors as numpy has them."""

    FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def __init__(self, path):
        self.data, self.at = Path(path).read_bytes(), 0
        magic, version, n_tensors, n_keys = self.take("<IIQQ")
        assert magic == 0x46554747 and version == 3, path
        keys = {}
        for _ in range(n_keys):
            name = self.string()
            keys[name] = self.value(self.take("<I")[0])
        self.arch = keys["general.architecture"]
        self.keys = {k.removeprefix(self.arch + "."): v for k, v in keys.items()}
        infos = []
        for _ in range(n_tensors):
            name = self.string()
            dims = self.take("<" + "Q" * self.take("<I")[0])
            infos.append((name, dims, *self.take("<IQ")))
        align = keys.get("general.alignment", 32)
        begin = (self.at + align - 1) // align * align
        self.tensors = {}
        for name, dims, kind, offset in infos:
            assert kind == 0, f"{name} is not float32"
            self.tensors[name] = np.frombuffer(self.data, "<f4", int(np.prod(dims)), begin + offset).reshape(dims[::-1])

    def take(self, form):
        out = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return out

    def string(self):
        n = self.take("<Q")[0]
        self.at += n
        return self.data[self.at - n:self.at].decode("utf-8", "replace")

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            kind, n = self.take("<IQ")
            return [self.value(kind) for _ in range(n)]
        return self.take("<" + self.FORMATS[kind])[0]

    def checksum(self):
        """The sum over tensors of FNV-1a (64 bits), of the name's bytes and then the values' words."""
        total, mask = 0, (1 << 64) - 1
        for name, t in self.tensors.items():
            h = 0xcbf29ce484222325
            for word in list(name.encode()) + t.reshape(-1).view("<u4").tolist():
                h = (h ^ word) * 0x100000001b3 & mask
            total += h
        return total & mask


# What an architecture is, beyond llama: pre-norm, rotation of adjacent pairs, a SiLU gate, everything by keys.
#   halves: pairs are (i, i + n/2). layer_norm: centred, with bias. ffn: gelu_gate | gelu | erf | oai.
#   qk_norm: head | row. post_norm: norms behind attention and feed-forward. bare: none before them.
#   parallel: attention and feed-forward read the same. period: of layers that see everything, where there is a window.
#   nope: period of layers without rotation. root: embeddings times sqrt(width). raw: weights of experts as of all.
HALVES, NORMED = {"halves": True}, {"halves": True, "layer_norm": True, "ffn": "gelu"}
FACTS = {
    "llama": {}, "granite": {}, "granitemoe": {}, "smollm3": {"nope": 4},
    "qwen2": HALVES, "phi3": HALVES, "seed_oss": HALVES | {"second": "post_attention_norm"}, "qwen2moe": HALVES | {"raw": True},
    "qwen3": HALVES | {"qk_norm": "head"}, "qwen3moe": HALVES | {"qk_norm": "head"},
    "gemma": HALVES | {"root": True, "ffn": "gelu_gate"},
    "gemma2": HALVES | {"root": True, "ffn": "gelu_gate", "post_norm": True, "period": 2, "caps": (50, 30), "wide": 46},
    "gemma3": HALVES | {"root": True, "ffn": "gelu_gate", "post_norm": True, "period": 6, "qk_norm": "head", "local": 10000,
                        "wide": 62},
    "olmo2": HALVES | {"post_norm": True, "bare": True, "qk_norm": "row", "period": 4, "local": None},
    "phi2": NORMED | {"parallel": True}, "starcoder2": NORMED, "gpt2": {"layer_norm": True, "ffn": "gelu", "nope": 1},
    "gptneox": NORMED | {"ffn": "erf", "parallel": True},
    "gpt-oss": HALVES | {"ffn": "oai", "period": 2, "second": "post_attention_norm", "exact_yarn": True},
}


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


def gelu_erf(x):
    from math import erf
    return 0.5 * x * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


ACTS = {
    "silu": lambda g, u: g * sigmoid(g) * u,
    "gelu_gate": lambda g, u: gelu(g) * u,
    "gelu": lambda g, u: gelu(u),
    "erf": lambda g, u: gelu_erf(u),
    "oai": lambda g, u: (np.clip(u, -7, 7) + 1) * np.minimum(g, 7) * sigmoid(1.702 * np.minimum(g, 7)),
}


class Model:
    def __init__(self, path):
        f = Gguf(path)
        self.checksum, self.facts, key = f.checksum, FACTS[f.arch], f.keys.get
        self.t = {name: t.astype(np.float64) for name, t in f.tensors.items()}
        self.key, facts = key, self.facts
        self.n_layers, self.d = key("block_count"), key("embedding_length")
        heads = key("attention.head_count")
        kv = key("attention.head_count_kv", heads)
        listed = lambda v: v if isinstance(v, list) else [v] * self.n_layers
        self.heads, self.kv = listed(heads), listed(kv)
        self.hd = key("attention.key_length", self.d // self.heads[0])
        self.eps = key("attention.layer_norm_epsilon" if facts.get("layer_norm") else "attention.layer_norm_rms_epsilon")
        self.n_rot = key("rope.dimension_count", self.hd)
        self.window = key("attention.sliding_window", 0)
        self.scale = key("attention.scale", 0) or 1 / np.sqrt(self.d / self.heads[0] if self.n_layers == facts.get("wide") else self.hd)
        caps = facts.get("caps", (0, 0))
        self.cap, self.logit_cap = key("attn_logit_softcapping", caps[0]), key("final_logit_softcapping", caps[1])
        self.parallel = key("use_parallel_residual", facts.get("parallel", False))

    def get(self, name, layer=None):
        return self.t.get(name if layer is None else f"blk.{layer}.{name}")

    # -- small parts

    def linear(self, x, name, layer=None):
        w, b = self.get(name + ".weight", layer), self.get(name + ".bias", layer)
        return x @ w.T + (0 if b is None else b)

    def rms(self, x, w):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * w

    def norm(self, x, name, layer=None):
        w = self.get(name + ".weight", layer)
        if not self.facts.get("layer_norm"):
            return self.rms(x, w)
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * w + self.get(name + ".bias", layer)

    # -- attention

    def sees_window(self, layer):
        pattern = self.key("attention.sliding_window_pattern", self.facts.get("period", 0))
        if not self.window:
            return False
        return bool(pattern[layer]) if isinstance(pattern, list) else not (pattern and (layer + 1) % pattern == 0)

    def angles(self, pos, layer, n_ctx):
        """cos and sin [positions][pairs]."""
        pair, local = np.arange(self.n_rot // 2), self.sees_window(layer)
        base, own = self.key("rope.freq_base", 10000.0), self.key("rope.freq_base_swa")
        plain = local and "local" in self.facts    # layers with a window do not stretch their angles
        if local:
            base = own or self.facts.get("local") or base
        freq = base ** (-2 * pair / self.n_rot)
        if plain:
            return np.cos(np.outer(pos, freq)), np.sin(np.outer(pos, freq))
        kind, factor = self.key("rope.scaling.type", "linear"), self.key("rope.scaling.factor", self.key("rope.scale_linear", 1.0))
        original = self.key("rope.scaling.original_context_length", self.key("context_length"))
        strength = self.key("rope.scaling.attn_factor", 1.0)
        if kind == "linear":
            freq = freq / factor
        elif kind == "yarn":
            def turning(turns):
                return self.n_rot * np.log(original / (turns * 2 * np.pi)) / (2 * np.log(base))
            low, high = turning(self.key("rope.scaling.yarn_beta_fast", 32.0)), turning(self.key("rope.scaling.yarn_beta_slow", 1.0))
            if not self.facts.get("exact_yarn"):
                low, high = np.floor(low), np.ceil(high)
            low, high = max(low, 0), min(high, self.n_rot - 1)
            ramp = np.clip((pair - low) / max(high - low, 0.001), 0, 1)
            freq = freq / factor * ramp + freq * (1 - ramp)
            strength *= 1 + 0.1 * np.log(factor)
        divisors = self.get("rope_freqs.weight")
        if divisors is None:
            divisors = self.get("rope_factors_long.weight" if n_ctx > original else "rope_factors_short.weight")
        if divisors is not None:
            freq = freq / divisors
        return np.cos(np.outer(pos, freq)) * strength, np.sin(np.outer(pos, freq)) * strength

    def rotate(self, x, cos, sin):
        """x [tokens][heads][head_dim]"""
        n, half, y = self.n_rot, self.n_rot // 2, x.copy()
        at, to = (slice(0, half), slice(half, n)) if self.facts.get("halves") else (slice(0, n, 2), slice(1, n, 2))
        a, b = x[..., at], x[..., to]
        cos, sin = cos[:, None], sin[:, None]
        y[..., at], y[..., to] = a * cos - b * sin, a * sin + b * cos
        return y

    def qkv(self, x, layer):
        q, kv = self.heads[layer] * self.hd, self.kv[layer] * self.hd
        if self.get("attn_qkv.weight", layer) is not None:
            return np.split(self.linear(x, "attn_qkv", layer), [q, q + kv], -1)
        return [self.linear(x, name, layer) for name in ("attn_q", "attn_k", "attn_v")]

    def attention(self, x, layer, n_ctx):
        n, kind = len(x), self.facts.get("qk_norm")
        q, k, v = self.qkv(x, layer)
        weights = self.get("attn_q_norm.weight", layer), self.get("attn_k_norm.weight", layer)
        if kind == "row":
            q, k = self.rms(q, weights[0]), self.rms(k, weights[1])
        q, k, v = (y.reshape(n, -1, self.hd) for y in (q, k, v))
        if kind == "head":
            q, k = self.rms(q, weights[0]), self.rms(k, weights[1])
        nope = self.facts.get("nope")
        if not nope or (layer + 1) % nope:
            cos, sin = self.angles(np.arange(n), layer, n_ctx)
            q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        group = self.heads[layer] // self.kv[layer]
        k, v = k.repeat(group, 1), v.repeat(group, 1)
        score = np.einsum("qhd,khd->hqk", q, k) * self.scale
        if self.cap:
            score = self.cap * np.tanh(score / self.cap)
        back = np.arange(n)[:, None] - np.arange(n)[None, :]    # how far a key lies behind its query
        seen = (back >= 0) & ((back < self.window) if self.sees_window(layer) else True)
        score = np.where(seen, score, -np.inf)
        sinks = self.get("attn_sinks.weight", layer)
        if sinks is not None:
            score = np.concatenate([score, np.broadcast_to(sinks[:, None, None], (len(sinks), n, 1))], -1)
        out = np.einsum("hqk,khd->qhd", softmax(score)[..., :n], v)
        return self.linear(out.reshape(n, -1), "attn_output", layer)

    # -- feed-forward

    def dense(self, x, layer):
        up = self.linear(x, "ffn_up", layer)
        act = ACTS[self.facts.get("ffn", "silu")]
        if self.get("ffn_gate.weight", layer) is not None:
            gate = self.linear(x, "ffn_gate", layer)
        else:
            width = self.get("ffn_down.weight", layer).shape[1]
            gate, up = (up[:, :width], up[:, width:]) if up.shape[1] == 2 * width else (None, up)
        return self.linear(act(gate, up), "ffn_down", layer)

    def experts(self, x, layer):
        act, used = ACTS[self.facts.get("ffn", "silu")], self.key("expert_used_count")
        def part(name, e, y):
            b = self.get(name + ".bias", layer)
            return self.get(name + ".weight", layer)[e] @ y + (0 if b is None else b[e])
        out = np.zeros_like(x)
        for i, p in enumerate(softmax(self.linear(x, "ffn_gate_inp", layer))):
            chosen = np.argsort(-p, kind="stable")[:used]
            share = p[chosen] if self.facts.get("raw") else p[chosen] / p[chosen].sum()
            for e, s in zip(chosen, share):
                inside = act(part("ffn_gate_exps", e, x[i]), part("ffn_up_exps", e, x[i]))
                out[i] += s * part("ffn_down_exps", e, inside)
        if self.get("ffn_up_shexp.weight", layer) is not None:
            inside = act(self.linear(x, "ffn_gate_shexp", layer), self.linear(x, "ffn_up_shexp", layer))
            w = self.get("ffn_gate_inp_shexp.weight", layer)
            out += self.linear(inside, "ffn_down_shexp", layer) * (1 if w is None else sigmoid(x @ w.reshape(-1))[:, None])
        return out

    # -- the whole

    def logits(self, ids, n_ctx):
        facts, strength = self.facts, self.key("residual_scale", 0) or 1
        x = self.get("token_embd.weight")[ids] * (self.key("embedding_scale", 0) or (np.sqrt(self.d) if facts.get("root") else 1))
        if self.get("position_embd.weight") is not None:
            x = x + self.get("position_embd.weight")[:len(ids)]
        for i in range(self.n_layers):
            second = facts.get("second", "ffn_norm")
            if self.get(second + ".weight", i) is None:
                second = "attn_norm"
            before = (lambda y, name: y) if facts.get("bare") else (lambda y, name: self.norm(y, name, i))
            behind = (lambda y, name: self.norm(y, name, i)) if facts.get("post_norm") else (lambda y, name: y)
            ffn = self.experts if self.get("ffn_gate_inp.weight", i) is not None else self.dense
            after = x + strength * behind(self.attention(before(x, "attn_norm"), i, n_ctx), "post_attention_norm")
            read = x if self.parallel else after
            x = after + strength * behind(ffn(before(read, second), i), "post_ffw_norm")
        x = self.norm(x, "output_norm")
        head = self.get("output.weight")
        y = x @ (self.get("token_embd.weight") if head is None else head).T / (self.key("logit_scale", 0) or 1)
        if self.get("output.bias") is not None:
            y = y + self.get("output.bias")
        return self.logit_cap * np.tanh(y / self.logit_cap) if self.logit_cap else y


# Models whose own logits are of another formula than their architecture's: rounded YaRN, the tanh form of GELU.
OTHERWISE = {"gptoss": None, "gptneox_seq": 0.005}


def check(root):
    bad = 0
    for meta in sorted(root.glob("*/meta.json")):
        m, folder = json.loads(meta.read_text()), meta.parent
        limit = OTHERWISE.get(folder.name, m["tolerance"]["max_abs_f32"])
        if limit is None:
            continue
        for line in (folder / "tokens.txt").read_text().splitlines():
            index, n, *rest = map(int, line.split())
            model = Model(folder / m.get("model", "model.gguf"))
            got = model.logits(rest[:n], 128)
            want = np.fromfile(folder / f"logits_{index}.f32", "<f4").reshape(got.shape)
            error = np.abs(got - want).max()
            bad += error > limit
            print(f"{folder.name:22s} {index} {error:.1e} of {limit:.1e}{'' if error <= limit else ' FAILED'}")
    return bad


def write(mkmodel):
    ids, want = [], []
    for words in (line.split() for line in (GOLDEN / "models.txt").read_text().splitlines()):
        if not words or words[0].startswith("#"):
            continue
        if words[0] in ("ids", "want"):
            {"ids": ids, "want": want}[words[0]].extend(map(int, words[1:]))
            continue
        name, n_ctx, *options = words
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.gguf"
            subprocess.run([mkmodel, path, *options], check=True)
            model = Model(path)
        y = model.logits(ids, int(n_ctx))[want]
        assert np.isfinite(y).all(), name
        (GOLDEN / f"{name}.f32").write_bytes(struct.pack("<Q", model.checksum()) + y.astype("<f4").tobytes())
        print(f"{name:22s} {y.std():7.2f} deviation {np.abs(y).max():7.2f} largest")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("model", nargs="?")
    a.add_argument("--ids", default="")
    a.add_argument("--ctx", type=int, default=128)
    a.add_argument("--out")
    a.add_argument("--check", type=Path)
    a.add_argument("--write", metavar="MKMODEL")
    o = a.parse_args()
    if o.check:
        return check(o.check) > 0
    if o.write:
        return write(o.write)
    y = Model(o.model).logits(list(map(int, o.ids.split())), o.ctx)
    if o.out:
        y.astype("<f4").tofile(o.out)
    else:
        np.savetxt(sys.stdout, y, "%.6g")


if __name__ == "__main__":
    sys.exit(main())
