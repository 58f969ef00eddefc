// consumer.cc - the same from C++.
#include <ocelli.h>

#include <cstdio>
#include <string>

int main(int count, char **arguments)
{
    ocelli_model *model = nullptr;
    ocelli_error err;
    std::string answer;
    if (count != 4) {
        return 2;
    }
    auto keep = [](void *user, const char *text, size_t length) {
        static_cast<std::string *>(user)->append(text, length);
        return 0;
    };
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.threads = 1;
    if (ocelli_model_open(&model, arguments[1], &options, &err) != OCELLI_OK ||
        ocelli_ask_file(model, arguments[2], arguments[3], nullptr, keep, &answer, nullptr, &err) !=
            OCELLI_OK) {
        std::fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    std::printf("%s\n%s stop\n", answer.c_str(), ocelli_version());
    ocelli_model_close(model);
    return 0;
}
