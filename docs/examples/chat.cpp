// A chat of as many turns as there are questions: chat MODEL QUESTION...
// c++ -std=c++17 chat.cpp -o chat $(pkg-config --cflags --libs tinyllm)
#include <iostream>
#include <list>
#include <memory>
#include <string>
#include <vector>
#include <tinyllm.h>

template <auto fn> struct calls { template <class T> void operator()(T *p) const { fn(p); } };
template <class T, auto fn> using owned = std::unique_ptr<T, calls<fn>>;

static int show(void *answer, const char *text, size_t n) {
    static_cast<std::string *>(answer)->append(text, n);
    return !std::cout.write(text, static_cast<std::streamsize>(n)).flush();
}

int main(int argc, char **argv) {
    tl_error err{};   // keeps the first fault; what follows it does nothing
    owned<tl_model, tl_model_free> m(tl_model_open(argc > 1 ? argv[1] : nullptr, nullptr, &err));
    owned<tl_session, tl_session_free> s(tl_session_new(m.get(), nullptr, &err));
    owned<tl_sampler, tl_sampler_free> sampler(tl_sampler_new(m.get(), nullptr, &err));
    std::list<std::string> answers;   // stay where they are
    std::vector<tl_chat_message> talk;
    for (int i = 2; i < argc && !err.code; i++) {
        talk.push_back({"user", argv[i], 0});
        tl_chat_options options{};
        options.messages = talk.data(), options.n_messages = static_cast<int>(talk.size());
        owned<tl_chat, tl_chat_free> chat(tl_chat_render(m.get(), &options, &err));
        tl_generator_options limits = tl_generator_options_default();
        limits.max_tokens = 200;
        owned<tl_generator, tl_generator_free> g(tl_generator_new(m.get(), sampler.get(), &limits, &err));
        int n = 0;
        const int32_t *ids = tl_chat_ids(chat.get(), &n);   // the whole conversation; only what is new is computed
        std::string &answer = answers.emplace_back();
        if (!err.code && tl_session_prompt(s.get(), 0, ids, n, &err) >= 0) tl_generate(s.get(), 0, g.get(), show, &answer, &err);
        talk.push_back({"assistant", answer.c_str(), answer.size()});
        std::cout << '\n';
    }
    if (err.code) std::cerr << err.text << '\n';
    return err.code != 0;
}
