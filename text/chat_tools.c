/* chat_tools.c - the parts of Qwen's chat template that only speak of tools. See chat.h. */
#include "text/chat.h"

#include "text/python_json.h"

#include <string.h>

static ocelli_status append_template(oc_chat_items *out, const char *text, ocelli_error *err)
{
    return oc_chat_items_text(out, text, strlen(text), true, err);
}

static ocelli_status append_json(oc_chat_items *out, const char *what, const char *json,
                                 size_t length, bool special, ocelli_error *err)
{
    oc_buffer text = {0};
    ocelli_status status = oc_python_json_append(&text, what, json, length, err);
    if (status == OCELLI_OK) {
        status = oc_chat_items_text(out, text.data, text.length, special, err);
    }
    oc_buffer_close(&text);
    return status;
}

ocelli_status oc_chat_append_tools(oc_chat_items *out, const oc_chat_options *options,
                                   ocelli_error *err)
{
    OC_TRY(append_template(out,
                           "# Tools\n\nYou may call one or more functions to assist with the user "
                           "query.\n\nYou are provided with function signatures within "
                           "<tools></tools> XML tags:\n<tools>",
                           err));
    for (size_t i = 0; i < options->tool_count; i++) {
        OC_TRY(append_template(out, "\n", err));
        OC_TRY(append_json(out, "tool", options->tools[i].json, options->tools[i].length,
                           options->special_in_text, err));
    }
    return append_template(
        out,
        "\n</tools>\n\nFor each function call, return a json object with function name and "
        "arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": "
        "<function-name>, \"arguments\": <args-json-object>}\n</tool_call>",
        err);
}

ocelli_status oc_chat_append_calls(oc_chat_items *out, const oc_chat_message *message,
                                   bool after_text, const oc_chat_options *options,
                                   ocelli_error *err)
{
    bool special = options->special_in_text;
    for (size_t i = 0; i < message->call_count; i++) {
        const oc_chat_call *call = &message->calls[i];
        if (i > 0 || after_text) {
            OC_TRY(append_template(out, "\n", err));
        }
        OC_TRY(append_template(out, "<tool_call>\n{\"name\": \"", err));
        OC_TRY(oc_chat_items_text(out, call->name, strlen(call->name), special, err));
        OC_TRY(append_template(out, "\", \"arguments\": ", err));
        OC_TRY(call->verbatim
                   ? oc_chat_items_text(out, call->arguments, call->arguments_length, special, err)
                   : append_json(out, "arguments of a tool call", call->arguments,
                                 call->arguments_length, special, err));
        OC_TRY(append_template(out, "}\n</tool_call>", err));
    }
    return OCELLI_OK;
}
