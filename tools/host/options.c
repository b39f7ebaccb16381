#include "options.h"

#include "guess.h"
#include "progress.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void set(const option *o, const char *value) {
    char *end;
    switch (o->kind) {
    case OPTION_TEXT: *(const char **)o->to = value; break;
    case OPTION_SIZE: {
        unsigned long n;
        errno = 0;
        n = strtoul(value, &end, 10);
        if (!isdigit((unsigned char)*value) || *end != 0 || errno != 0 || n >= SIZE_MAX) /* SIZE_MAX: not given */
            usage("%s: expected a whole number, found \"%s\"", o->name, value);
        *(size_t *)o->to = n;
        break;
    }
    default: {
        double x = strtod(value, &end);
        if (*value == 0 || *end != 0 || !isfinite(x) || x < 0 || strpbrk(value, "xX") != NULL)
            usage("%s: expected a number, not negative, found \"%s\"", o->name, value);
        *(double *)o->to = x;
    }
    }
}

static int is(const char *name, const char *arg, size_t length) {
    return name != NULL && strlen(name) == length && strncmp(name, arg, length) == 0;
}

static void no_option(const command_line *c, const char *arg, size_t length) {
    guess g = guess_of(arg, length);
    const option *o;
    char room[GUESS_ROOM];
    for (o = c->options; o->name != NULL; o++) guess_try(&g, o->name);
    usage("%s: no option %.*s%s", c->name, (int)length, arg, g.best != NULL ? guess_text(&g, room) : c->help);
}

/* 1 if the whole argument is the name of an option; a value that looks like one is given as --option=value. */
static int is_option(const command_line *c, const char *arg) {
    const option *o;
    for (o = c->options; o->name != NULL; o++)
        if (is(o->name, arg, strlen(arg)) || is(o->other, arg, strlen(arg))) return 1;
    return 0;
}

int options_read(const command_line *c, char **argv, const char **operands) {
    size_t found = 0;
    int only_operands = 0;
    for (; *argv != NULL; argv++) {
        const char *arg = *argv, *equals = strchr(arg, '=');
        size_t length = equals != NULL ? (size_t)(equals - arg) : strlen(arg);
        const option *o = c->options;
        if (only_operands || arg[0] != '-' || arg[1] == 0) {
            if (found == c->most) usage("%s: one operand too many: \"%s\"; expected %s", c->name, arg, c->operands);
            operands[found++] = arg;
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            only_operands = 1;
            continue;
        }
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) return 1;
        while (o->name != NULL && !is(o->name, arg, length) && !is(o->other, arg, length)) o++;
        if (o->name == NULL) no_option(c, arg, length);
        if (o->kind == OPTION_FLAG) {
            if (equals != NULL) usage("%s takes no value", o->name);
            *(int *)o->to = 1;
        } else if (equals != NULL)
            set(o, equals + 1);
        else {
            if (argv[1] == NULL) usage("%s: expected a value after it", o->name);
            if (is_option(c, argv[1])) usage("%s: needs a value, found the option %s", o->name, argv[1]);
            set(o, *++argv);
        }
    }
    if (found < c->least) usage("%s: expected %s%s", c->name, c->operands, c->help);
    return 0;
}

int options_word(const char *name, const char *value, const char *const *words) {
    char list[200] = "";
    int i;
    for (i = 0; words[i] != NULL; i++) {
        if (strcmp(value, words[i]) == 0) return i;
        if (i > 0) strncat(list, ", ", sizeof list - strlen(list) - 1);
        strncat(list, words[i], sizeof list - strlen(list) - 1);
    }
    usage("%s: expected one of %s, found \"%s\"", name, list, value);
}
