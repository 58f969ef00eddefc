/* consumer.c - somebody else's program: asks a model about a picture.
 * Usage: consumer MODEL PICTURE QUESTION */
#include <ocelli.h>

#include <stdio.h>

static int print_piece(void *user, const char *text, size_t length)
{
    (void)user;
    return fwrite(text, 1, length, stdout) != length;
}

int main(int count, char **arguments)
{
    ocelli_model *model;
    ocelli_error err;
    ocelli_result result = {sizeof result, OCELLI_STOP_END, 0, 0, 0, 0, 0};
    if (count != 4) {
        return 2;
    }
    if (ocelli_model_open(&model, arguments[1], NULL, &err) != OCELLI_OK ||
        ocelli_ask_file(model, arguments[2], arguments[3], NULL, print_piece, NULL, &result,
                        &err) != OCELLI_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    printf("\n%s %s\n", ocelli_version(), ocelli_stop_name(result.stop));
    ocelli_model_close(model);
    return 0;
}
