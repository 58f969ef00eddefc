/* compare.c - how alike two pictures are to the tower: compare MODEL PICTURE PICTURE
 *
 * Prints the cosine of the two mean visual rows: a picture has 1 with itself. */
#include <ocelli.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Mean of a picture's visual rows, [*width], to be freed; NULL after a message. */
static double *mean_row(ocelli_model *model, const char *path, size_t *width)
{
    ocelli_error err;
    ocelli_image *image = NULL;
    ocelli_visual *visual = NULL;
    double *mean = NULL;
    if (ocelli_image_load(&image, path, NULL, &err) != OCELLI_OK ||
        ocelli_encode_image(&visual, model, image, NULL, &err) != OCELLI_OK) {
        fprintf(stderr, "compare: %s\n", err.message);
    } else {
        size_t tokens;
        const float *rows = ocelli_visual_rows(visual, &tokens, width); /* [tokens, width] */
        mean = calloc(*width, sizeof *mean);
        for (size_t i = 0; mean != NULL && i < tokens * *width; i++) {
            mean[i % *width] += (double)rows[i] / (double)tokens;
        }
    }
    ocelli_visual_free(visual);
    ocelli_image_free(image);
    return mean;
}

int main(int count, char **arguments)
{
    if (count != 4) {
        fprintf(stderr, "usage: compare MODEL PICTURE PICTURE\n");
        return 2;
    }
    ocelli_error err;
    ocelli_model *model;
    if (ocelli_model_open(&model, arguments[1], NULL, &err) != OCELLI_OK) {
        fprintf(stderr, "compare: %s\n", err.message);
        return 1;
    }
    size_t width = 0;
    double *a = mean_row(model, arguments[2], &width);
    double *b = mean_row(model, arguments[3], &width);
    int failed = a == NULL || b == NULL;
    if (!failed) {
        double ab = 0.0, aa = 0.0, bb = 0.0;
        for (size_t i = 0; i < width; i++) {
            ab += a[i] * b[i];
            aa += a[i] * a[i];
            bb += b[i] * b[i];
        }
        printf("%.4f\n", ab / sqrt(aa * bb));
    }
    free(a);
    free(b);
    ocelli_model_close(model);
    return failed;
}
