/* caption.c - the shortest useful program: caption MODEL PICTURE. */
#include <ocelli.h>

#include <stdio.h>

static int print_piece(void *user, const char *text, size_t length)
{
    return fwrite(text, 1, length, user) == length ? 0 : -1;
}

int main(int count, char **arguments)
{
    if (count != 3) {
        fprintf(stderr, "usage: caption MODEL PICTURE\n");
        return 2;
    }
    ocelli_error err;
    ocelli_model *model = NULL;
    ocelli_status status = ocelli_model_open(&model, arguments[1], NULL, &err);
    if (status == OCELLI_OK) {
        status = ocelli_ask_file(model, arguments[2], "Describe this image.", NULL, print_piece,
                                 stdout, NULL, &err);
    }
    ocelli_model_close(model);
    if (status != OCELLI_OK) {
        fprintf(stderr, "caption: %s\n", err.message);
        return 1;
    }
    printf("\n");
    return 0;
}
