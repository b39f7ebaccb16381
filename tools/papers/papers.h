/* The experiments of rfm-papers. */
#ifndef PAPERS_H
#define PAPERS_H

#include "host/machine.h"
#include "host/options.h"

/* What every experiment is asked for. */
typedef struct {
    machine *m;
    int quick; /* 1: small, so that it takes seconds; the numbers then say little */
    uint64_t seed;
    const char *data; /* a folder with more sets than tools/data has, or NULL */
} trial;

/* An experiment writes what it found into a sheet (sheet.h). Its name is the sub-command. */
typedef struct {
    const char *name;
    const char *source; /* the paper and its figures */
    const char *title;
    double seconds; /* of the whole experiment on two cores: for the estimate of the time left */
    void (*run)(const trial *t, text *sheet);
    const option *options; /* its own, for those who want other settings than the page has; NULL: none */
    const char *help;      /* about them */
} experiment;

extern const experiment experiments[]; /* the last one has no name */

/* All of them, one after the other, into a page. */
int page(char **argv);

/* Not on the page; argv without the program and the sub-command, NULL at its end. */
int metrics(char **argv);
int vibration(char **argv);

#endif
