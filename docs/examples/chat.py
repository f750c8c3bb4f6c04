"""A chat of as many turns as there are questions: python3 chat.py MODEL QUESTION...
The library is libtinyllm.so, or what the environment variable TINYLLM_LIBRARY names."""
import ctypes, json, os, sys
from ctypes import byref, c_char, c_char_p, c_int, c_size_t, c_void_p

class Error(ctypes.Structure):   # keeps the first fault
    _fields_ = [("code", c_int), ("text", c_char * 500)]
class ChatOptions(ctypes.Structure):
    _fields_ = [("messages", c_void_p), ("n_messages", c_int), ("messages_json", c_char_p), ("tools_json", c_char_p),
                ("variables_json", c_char_p), ("chat_template", c_char_p), ("no_bos", c_int), ("no_generation_prompt", c_int)]
Show = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)

tl = ctypes.CDLL(os.environ.get("TINYLLM_LIBRARY", "libtinyllm.so"))
for name in "model_open session_new sampler_new generator_new chat_render chat_ids".split():
    getattr(tl, "tl_" + name).restype = c_void_p
err = Error()

def done(result):
    if err.code: sys.exit(err.text.decode())
    return c_void_p(result)

model = done(tl.tl_model_open(os.fsencode(sys.argv[1]), None, byref(err)))
session = done(tl.tl_session_new(model, None, byref(err)))
sampler = done(tl.tl_sampler_new(model, None, byref(err)))
talk, n = [], c_int()
for question in sys.argv[2:]:
    talk.append({"role": "user", "content": question})
    options = ChatOptions(messages_json=json.dumps(talk).encode())
    chat = done(tl.tl_chat_render(model, byref(options), byref(err)))
    answer = []
    def show(user, text, size):
        answer.append(ctypes.string_at(text, size).decode())
        print(answer[-1], end="", flush=True)
        return len(answer) > 200   # ends the answer
    generator = done(tl.tl_generator_new(model, sampler, None, byref(err)))
    ids = c_void_p(tl.tl_chat_ids(chat, byref(n)))   # the whole conversation; only what is new is computed
    done(tl.tl_session_prompt(session, 0, ids, n, byref(err)))
    done(tl.tl_generate(session, 0, generator, Show(show), None, byref(err)))
    talk.append({"role": "assistant", "content": "".join(answer)})
    tl.tl_generator_free(generator), tl.tl_chat_free(chat), print()
