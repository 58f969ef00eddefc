/* turns.c - several turns about one picture: turns MODEL PICTURE QUESTION...
 *
 * The picture is encoded once. Each turn runs only what the cache does not hold: the counts of
 * reused tokens on stderr show it. */
#include <ocelli.h>

#include <stdio.h>

static int print_piece(void *user, const char *text, size_t length)
{
    return fwrite(text, 1, length, user) == length ? 0 : -1;
}

static ocelli_status ask(ocelli_session *session, const ocelli_visual *picture,
                         const char *question, ocelli_error *err)
{
    ocelli_part parts[2] = {{.visual = picture}, {.text = question}};
    size_t skip = picture == NULL ? 1 : 0; /* the picture goes with the first question */
    ocelli_result result = {.struct_size = sizeof result};
    ocelli_status status = ocelli_session_add(session, OCELLI_USER, parts + skip, 2 - skip, err);
    if (status == OCELLI_OK) {
        status = ocelli_session_generate(session, NULL, print_piece, stdout, &result, err);
    }
    if (status == OCELLI_OK) {
        printf("\n");
        fflush(stdout); /* before what stderr says of it */
        fprintf(stderr, "%llu of %llu prompt tokens came from the cache\n",
                (unsigned long long)result.reused_tokens, (unsigned long long)result.prompt_tokens);
    }
    return status;
}

int main(int count, char **arguments)
{
    if (count < 4) {
        fprintf(stderr, "usage: turns MODEL PICTURE QUESTION...\n");
        return 2;
    }
    ocelli_error err;
    ocelli_model *model = NULL;
    ocelli_image *image = NULL;
    ocelli_visual *picture = NULL;
    ocelli_session *session = NULL;
    ocelli_status status = ocelli_model_open(&model, arguments[1], NULL, &err);
    if (status == OCELLI_OK) {
        status = ocelli_image_load(&image, arguments[2], NULL, &err);
    }
    if (status == OCELLI_OK) {
        status = ocelli_encode_image(&picture, model, image, NULL, &err);
    }
    if (status == OCELLI_OK) {
        status = ocelli_session_open(&session, model, NULL, &err);
    }
    for (int i = 3; i < count && status == OCELLI_OK; i++) {
        status = ask(session, i == 3 ? picture : NULL, arguments[i], &err);
    }
    ocelli_session_close(session);
    ocelli_visual_free(picture);
    ocelli_image_free(image);
    ocelli_model_close(model);
    if (status != OCELLI_OK) {
        fprintf(stderr, "turns: %s\n", err.message);
        return 1;
    }
    return 0;
}
