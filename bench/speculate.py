#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares texts with and without drafts, and how long they take: python3 bench/speculate.py MODEL... [options].
Prompts are made of this repository's own files: quotes, summaries, changes of code, and tasks that quote nothing. Every text
must be the same. The table shows how much sooner it came: decoded tokens per second with drafts over those without, the
median over pairs of texts that were made one right after the other, and that of all texts together. The library is
libtinyllm.so, or what the environment variable TINYLLM_LIBRARY names."""
import argparse, ctypes, glob, os, statistics, sys, time
from ctypes import byref, c_char, c_char_p, c_float, c_int, c_int32, c_int64, c_double, c_size_t, c_void_p

SETTINGS = {"greedy": {"temp": 0}, "default": {}, "hot": {"temp": 1.3, "repeat_penalty": 1.2, "frequency_penalty": 0.3}}
TASKS = {   # what is asked, and whether it is asked about code, prose, or nothing
    "quote": ("Repeat this text word for word:\n\n", "docs/*.md"),
    "summary": ("Summarise this text in a few sentences:\n\n", "docs/*.md"),
    "code": ("Rename one variable in this code and print the whole code again:\n\n", "src/*/*.c"),
    "free": ("Write a short story about: ", None),
}
TOPICS = "a lighthouse;a lost key;the first snow;two rivers;a clock;an old bridge;bread;a night train".split(";")

class Error(ctypes.Structure):   # keeps the first fault
    _fields_ = [("code", c_int), ("text", c_char * 500)]
class Message(ctypes.Structure):
    _fields_ = [("role", c_char_p), ("content", c_char_p), ("n", c_size_t)]
class ChatOptions(ctypes.Structure):
    _fields_ = [("messages", c_void_p), ("n_messages", c_int), ("messages_json", c_char_p), ("tools_json", c_char_p),
                ("variables_json", c_char_p), ("chat_template", c_char_p), ("no_bos", c_int), ("no_generation_prompt", c_int)]
class SessionOptions(ctypes.Structure):
    _fields_ = [("n_ctx", c_int), ("n_seq", c_int), ("n_batch", c_int), ("n_threads", c_int), ("kv_type", c_int), ("n_positions", c_int64)]
class SamplerOptions(ctypes.Structure):
    _fields_ = [("temp", c_float), ("top_k", c_int), ("top_p", c_float), ("min_p", c_float), ("repeat_penalty", c_float),
                ("presence_penalty", c_float), ("frequency_penalty", c_float), ("repeat_last_n", c_int), ("seed", c_int64),
                ("rest", c_char * 160)]   # more than there is, which only the library's own default fills
class DraftOptions(ctypes.Structure):
    _fields_ = [("source", c_char_p), ("model", c_void_p), ("session", SessionOptions), ("max", c_int)]
class GeneratorOptions(ctypes.Structure):
    _fields_ = [("max_tokens", c_int), ("stop", c_void_p), ("n_stop", c_int), ("stop_tokens", c_void_p), ("n_stop_tokens", c_int),
                ("show_special", c_int), ("grammar", c_void_p), ("picked", c_void_p), ("picked_user", c_void_p), ("draft", c_void_p)]
class Stats(ctypes.Structure):
    _fields_ = [("n_tokens", c_int), ("n_computed", c_int), ("finish", c_int), ("first_seconds", c_double), ("seconds", c_double),
                ("n_passes", c_int), ("n_drafted", c_int), ("n_accepted", c_int)]
Show = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)

os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
tl = ctypes.CDLL(os.environ.get("TINYLLM_LIBRARY", "./libtinyllm.so"))
for name in "model_open session_new sampler_new generator_new chat_render chat_ids draft_new".split():
    getattr(tl, "tl_" + name).restype = c_void_p
tl.tl_sampler_options_default.restype, tl.tl_generator_get_stats.restype = SamplerOptions, Stats
err = Error()

def done(result):
    if err.code: sys.exit(err.text.decode())
    return c_void_p(result)

def pieces(pattern, n):
    """n pieces of about 1200 bytes, spread over the files in turn."""
    texts = [open(f, encoding="utf-8").read() for f in sorted(glob.glob(pattern))]
    return [texts[i % len(texts)][1200 * (i // len(texts)) % max(1, len(texts[i % len(texts)]) - 1200):][:1200] for i in range(n)]

def prompts(n):
    for i, (task, (words, pattern)) in enumerate(TASKS.items()):
        count = n // len(TASKS) + (i < n % len(TASKS))
        for text in pieces(pattern, count) if pattern else [TOPICS[j % len(TOPICS)] + f", part {j}" for j in range(count)]:
            yield task, (words + text).encode()

class Engine:
    def __init__(self, path, args):
        def open_model(p): return done(tl.tl_model_open(os.fsencode(p), None, byref(err)))
        options = SessionOptions(n_ctx=2048, n_threads=args.t)
        self.args, self.model = args, open_model(path)
        self.session = done(tl.tl_session_new(self.model, byref(options), byref(err)))
        self.draft_options = DraftOptions(session=options)
        if args.draft: self.draft_options.source, self.draft_options.model = b"model", open_model(args.draft)

    def tokens(self, prompt):
        if self.args.raw:
            ids = (c_int32 * (len(prompt) + 8))()
            return ids, tl.tl_tokenize(self.model, prompt, c_size_t(len(prompt)), 1, ids, len(ids), byref(err))
        n, message = c_int(), Message(b"user", prompt, len(prompt))
        chat = done(tl.tl_chat_render(self.model, byref(ChatOptions(messages=ctypes.addressof(message), n_messages=1)), byref(err)))
        at = tl.tl_chat_ids(chat, byref(n))
        ids = (c_int32 * n.value).from_buffer_copy(ctypes.string_at(at, 4 * n.value))
        tl.tl_chat_free(chat)
        return ids, n.value

    def text(self, ids, n, seed, setting, drafts):
        """The text, how it ended and its length, and the figures."""
        o, text = tl.tl_sampler_options_default(), []
        o.seed = seed
        for key, value in setting.items(): setattr(o, key, value)
        sampler = done(tl.tl_sampler_new(self.model, byref(o), byref(err)))
        for i in range(n): tl.tl_sampler_accept(sampler, ids[i])
        draft = done(tl.tl_draft_new(self.model, byref(self.draft_options), byref(err))) if drafts else None
        g = done(tl.tl_generator_new(self.model, sampler, byref(GeneratorOptions(max_tokens=self.args.n, draft=draft)), byref(err)))
        done(tl.tl_session_prompt(self.session, 0, ids, n, byref(err)))   # computed once for all texts of a prompt
        done(tl.tl_generate(self.session, 0, g, Show(lambda _, p, size: text.append(ctypes.string_at(p, size)) or 0), None, byref(err)))
        stats = tl.tl_generator_get_stats(g)
        tl.tl_generator_free(g), tl.tl_draft_free(draft), tl.tl_sampler_free(sampler)
        return (b"".join(text), stats.finish, stats.n_tokens), stats

def row(model, task, setting, pairs):
    bad = sum(a != b for (a, _), (b, _) in pairs)
    timed = [(a, b) for (_, a), (_, b) in pairs if a.n_computed and a.seconds and b.seconds]
    total = sum(a.seconds for a, _ in timed) / (sum(b.seconds for _, b in timed) or 1)
    print(f"| {model} | {task} | {setting} | {len(pairs)} | {bad} | {sum(b.n_drafted for _, (_, b) in pairs)} | "
          f"{sum(b.n_accepted for _, (_, b) in pairs)} | {statistics.median([a.seconds / b.seconds for a, b in timed] or [0]):.2f} | "
          f"{total:.2f} |", flush=True)
    return bad

def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--raw", action="store_true", help="no chat template, for models that have none")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("-n", type=int, default=128, help="tokens of a text")
    parser.add_argument("-t", type=int, default=0, help="threads")
    parser.add_argument("--draft", metavar="FILE", help="guess by this model instead of by looking up")
    args = parser.parse_args()
    different = 0
    print("| model | task | setting | pairs | different | drafted | right | faster | all together |\n|---|---|---|---|---|---|---|---|---|")
    for path in args.models:
        engine, rows, last, begun = Engine(path, args), {}, 0, time.time()
        for i, (task, prompt) in enumerate(prompts(args.prompts)):
            ids, n = engine.tokens(prompt)
            for seed in range(args.seeds):
                for name, setting in SETTINGS.items():
                    order = (False, True) if (i + seed) % 2 else (True, False)   # neither always comes second
                    made = {drafts: engine.text(ids, n, seed, setting, drafts) for drafts in order}
                    rows.setdefault((task, name), []).append((made[False], made[True]))
            if sys.stderr.isatty() and time.time() - last > 1:
                last = time.time()
                print(f"\r{i + 1} of {args.prompts} prompts, {(last - begun) / (i + 1) * (args.prompts - i - 1):.0f} s left ", end="", file=sys.stderr)
        different += sum(row(os.path.basename(path), *key, pairs) for key, pairs in rows.items())
    sys.exit(different > 0)

main()
