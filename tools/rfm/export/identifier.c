/* The header shall compile in C and C++, whatever else is included. */
#include "identifier.h"

#include "host/progress.h"
#include "host/table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Keywords of C up to C23 and of C++ up to C++23, and words that GNU compilers take for macros. */
static const char keywords[] =
    " alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break case"
    " catch char char8_t char16_t char32_t class co_await co_return co_yield compl complex concept const const_cast"
    " consteval constexpr constinit continue decltype default delete do double dynamic_cast else enum explicit"
    " export extern false float for friend goto i386 if imaginary inline int linux long mutable namespace new"
    " noexcept noreturn not not_eq nullptr operator or or_eq private protected public reflexpr register"
    " reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch"
    " synchronized template this thread_local throw true try typedef typeid typename typeof typeof_unqual union unix"
    " unsigned using virtual void volatile wchar_t while xor xor_eq ";

/* What the headers of C declare for every program, and main. */
static const char library[] =
    " EOF NULL abort abs acos acosh asctime asin asinh assert atan atan2 atanh atexit atof atoi atol atoll bsearch"
    " calloc cbrt ceil clearerr clock copysign cos cosh ctime difftime div environ erf erfc errno exit exp exp2"
    " expm1 fabs fclose fdim feof ferror fflush fgetc fgetpos fgets floor fma fmax fmin fmod fopen fprintf fputc"
    " fputs fread free freopen frexp fscanf fseek fsetpos ftell fwrite gamma getc getchar getenv gets gmtime hypot"
    " ilogb index isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper"
    " isxdigit j0 j1 jn labs ldexp ldiv lgamma llabs lldiv llrint llround localtime log log10 log1p log2 logb"
    " longjmp lrint lround main malloc memchr memcmp memcpy memmove memset mktime modf nan nearbyint nextafter"
    " nexttoward offsetof perror pow printf putc putchar puts qsort raise rand realloc remainder remove remquo"
    " rename rewind rindex rint round scalbln scalbn scanf setbuf setjmp setlocale setvbuf signal sin sinh snprintf"
    " sprintf sqrt srand sscanf stderr stdin stdout strcat strchr strcmp strcoll strcpy strcspn strerror strftime"
    " strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtod strtof strtok strtol strtold strtoll"
    " strtoul strtoull strxfrm system tan tanh tgamma time tmpfile tmpnam tolower toupper trunc ungetc vfprintf"
    " vprintf vsnprintf vsprintf y0 y1 yn ";

/* What the example in the header calls its own. */
static const char example[] = " m x scores scratch ";

static int listed(const char *list, const char *word) {
    size_t length = strlen(word);
    const char *at = list;
    while ((at = strstr(at, word)) != NULL) {
        if (at[-1] == ' ' && at[length] == ' ') return 1; /* all lists begin with a space */
        at++;
    }
    return 0;
}

static int begins_with(const char *name, const char *head) { return strncmp(name, head, strlen(head)) == 0; }

static int ends_in(const char *name, const char *tail) {
    size_t length = strlen(name), end = strlen(tail);
    return length >= end && strcmp(name + length - end, tail) == 0;
}

/* One that <stdint.h> and <stddef.h> have, or may have. */
static int is_integer_macro(const char *name) {
    static const char *const heads[] = {"INT", "UINT", "SIZE_", "PTRDIFF_", "WCHAR_", "WINT_", "SIG_ATOMIC_"};
    static const char *const tails[] = {"_MIN", "_MAX", "_C", "_WIDTH"};
    size_t i, k;
    for (i = 0; i < sizeof heads / sizeof *heads; i++)
        for (k = 0; k < sizeof tails / sizeof *tails; k++)
            if (begins_with(name, heads[i]) && ends_in(name, tails[k])) return 1;
    return 0;
}

/* Why a C identifier is not to be used; NULL: it may be. */
static const char *refused(const char *id) {
    if (listed(keywords, id)) return "a word of C or C++ (or a macro of its compilers)";
    if (listed(library, id) || is_integer_macro(id)) return "a name of the C library";
    if (listed(example, id)) return "a name in the example of the header";
    if (id[0] == '_' || ends_in(id, "_") || strstr(id, "__") != NULL)
        return "reserved in C or C++: an underscore at the start or the end, or two";
    if (ends_in(id, "_t")) return "reserved for types: _t at the end";
    if (strncasecmp(id, "rfm", 3) == 0 && (id[3] == 0 || id[3] == '_')) return "a name of rfm.h";
    return NULL;
}

char *identifier_given(const char *name) {
    size_t i = 0;
    while (isalnum((unsigned char)name[i]) || name[i] == '_') i++;
    if (i == 0 || name[i] != 0 || isdigit((unsigned char)*name))
        usage("--name: expected a C identifier, found \"%s\"", name);
    if (refused(name) != NULL) usage("--name: \"%s\" is %s; expected another name", name, refused(name));
    return copy_text(name, i);
}

char *identifier_of_file(const char *file) {
    const char *slash = strrchr(file, '/'), *base = slash != NULL ? slash + 1 : file, *dot = strchr(base, '.');
    size_t length = dot != NULL ? (size_t)(dot - base) : strlen(base), i;
    text id = {NULL, 0, 0};
    char *name;
    for (i = 0; i < length; i++) { /* what is no letter or digit becomes an underscore between what is */
        if (isalnum((unsigned char)base[i]))
            text_bytes(&id, base + i, 1);
        else if (id.size > 0 && id.at[id.size - 1] != '_')
            text_bytes(&id, "_", 1);
    }
    if (id.size > 0 && id.at[id.size - 1] == '_') id.size--;
    text_bytes(&id, "", 1);
    if (*id.at == 0)
        name = copy_text("model", 5);
    else if (isdigit((unsigned char)*id.at) || refused(id.at) != NULL) {
        text other = {NULL, 0, 0};
        text_add(&other, "model_%s%s%c", id.at, ends_in(id.at, "_t") ? "_0" : "", 0);
        name = other.at;
    } else
        return id.at;
    free(id.at);
    return name;
}

void c_string(text *t, const char *value) {
    text_bytes(t, "\"", 1);
    for (; *value != 0; value++) {
        unsigned char ch = (unsigned char)*value;
        if (ch == '"' || ch == '\\' || ch == '?' || ch == '*' || ch < 32 || ch > 126)
            text_add(t, "\\%03o", ch);
        else
            text_bytes(t, value, 1);
    }
    text_bytes(t, "\"", 1);
}

/* 1 if input i is 0 or 1 where the cell is missing, as another input of the column says that it is. */
static int says_missing(const char *recipe, size_t i, size_t count) {
    const char *at = recipe, *of = recipe_at(recipe, i);
    size_t j;
    if (of[0] == INPUT_MISSING) return 1;
    for (j = 0; (of[0] == INPUT_LEVEL || of[0] == INPUT_OTHER) && j < count; j++, at = recipe_at(at, 1))
        if (at[0] == INPUT_MISSING && strcmp(at + 2, of + 2) == 0) return 1;
    return 0;
}

static void fills_comment(text *t, const char *names, size_t count, const model_record *record) {
    size_t i, shown = 0;
    for (i = 0; record->fill != NULL && i < count; i++) {
        if (record->recipe != NULL && says_missing(record->recipe, i, count)) continue;
        if (shown == 0) text_add(t, " *\n * Inputs where cells are missing:");
        text_add(t, shown++ % 6 == 0 ? "\n *     " : ", ");
        c_string(t, rfm_name(names, i));
        text_add(t, " %.9g", record_number(record->fill, i));
    }
    if (shown > 0) text_add(t, "\n");
}

void inputs_comment(text *t, const char *names, size_t count, const model_record *record) {
    const char *recipe = record->recipe;
    const unsigned char *knots = record->knots;
    size_t i, made = 0;
    if (names == NULL) return;
    text_add(t, " *\n * Inputs, in this order:");
    for (i = 0; i < count; i++) {
        text_add(t, i % 8 == 0 ? "\n *     " : " ");
        c_string(t, rfm_name(names, i));
    }
    text_add(t, "\n");
    for (i = 0; recipe != NULL && i < count; i++) {
        text how = {NULL, 0, 0};
        recipe_show(&how, recipe, knots, i);
        if (how.size > 0) {
            text_bytes(&how, "", 1);
            if (made++ == 0)
                text_add(t, " *\n * To be made of the columns of the table, as rfm predict does it%s:\n",
                         knots != NULL ? "; of numbers the function ..._inputs\n * at the end of this file does it"
                                       : "");
            text_add(t, " *     ");
            c_string(t, rfm_name(names, i));
            text_add(t, ": ");
            c_string(t, how.at);
            text_add(t, "\n");
        }
        free(how.at);
    }
    fills_comment(t, names, count, record);
}
