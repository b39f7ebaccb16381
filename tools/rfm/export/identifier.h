/* Names for C: what an exported header may call its array. */
#ifndef IDENTIFIER_H
#define IDENTIFIER_H

/* For --name: wrong usage if it is no identifier, or one that C, C++, their libraries or rfm.h have. To be freed. */
char *identifier_given(const char *name);

/* From the file's name, with model_ before it where that would be such a name. To be freed. */
char *identifier_of_file(const char *file);

#endif
