/* What the programs of rfm-papers are called with: argv without the program and the sub-command, NULL at its end. */
#ifndef PAPERS_H
#define PAPERS_H

int low_rank(char **argv);
int table1(char **argv);
int bars(char **argv);
int noisy_digits(char **argv);
int layers(char **argv);
int vibration(char **argv);

#endif
