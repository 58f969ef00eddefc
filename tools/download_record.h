/* download_record.h - what 'ocelli pull' keeps in a folder about the files it has put there.
 *
 * The record says which files the model needs, and of those that are whole what they were when
 * their hash was found right. It serves three: a rerun need not read gigabytes to know that they
 * are good, a folder whose download is not finished is not opened, and 'ocelli models' can tell how
 *
 * much is there. */
#ifndef OCELLI_TOOLS_DOWNLOAD_RECORD_H
#define OCELLI_TOOLS_DOWNLOAD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Its file in the model's folder, and what a file that is being written ends in. */
#define DOWNLOAD_RECORD ".ocelli-pull.json"
#define DOWNLOAD_PARTIAL ".partial"

/* 64 hexadecimal digits for SHA-256, 40 for git's SHA-1, and the NUL. */
#define DOWNLOAD_HASH_SIZE 65
/* "1700000000.000000001" */
#define DOWNLOAD_TIME_SIZE 40

typedef struct recorded_file {
    char *path; /* in the folder */
    uint64_t bytes;
    char hash[DOWNLOAD_HASH_SIZE]; /* that it must have */
    /* Its modification time when the hash was found right; "": it is not whole. */
    char time[DOWNLOAD_TIME_SIZE];
} recorded_file;

typedef struct download_record {
    char *repository, *revision;
    recorded_file *files; /* [count], owned */
    size_t count;
} download_record;

/* Reads the folder's record; false and *out zero if there is none, or none that can be used. */
bool download_record_read(const char *folder, download_record *out);
/* Writes it anew in one step: a killed run leaves the old one or the new one. False after a
 * message. */
bool download_record_write(const char *folder, const download_record *record);
void download_record_free(download_record *record);

/* NULL if it is not recorded. */
recorded_file *download_record_find(const download_record *record, const char *path);
/* Adds a file that is not there yet. False after a message. */
bool download_record_add(download_record *record, const char *path, uint64_t bytes,
                         const char *hash, const char *time);

void download_time_format(const struct stat *about, char out[DOWNLOAD_TIME_SIZE]);
/* The file in the folder is as it was when its hash was found right. */
bool download_file_is_whole(const char *folder, const recorded_file *file);

/* Adds up what is there, partial files included, and what is needed. True if all is whole. */
bool download_is_complete(const char *folder, const download_record *record, uint64_t *there,
                          uint64_t *needed);

#endif
