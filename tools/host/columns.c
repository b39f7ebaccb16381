#include "columns.h"

#include "progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const column_words[] = {"numbers",
                                    "numbers, other texts are missing",
                                    "numbers with decimal commas",
                                    "numbers with commas between thousands",
                                    "true and false as 1 and 0",
                                    "dates as days since 1970",
                                    "dates, month before day, as days since 1970",
                                    "times of day as hours",
                                    "texts",
                                    "no value"};

const char *column_wanted(int kind) {
    static const char *const wanted[] = {"a number",
                                         "a number",
                                         "a number with a decimal comma",
                                         "a number, perhaps with commas between thousands",
                                         "true or false",
                                         "a date",
                                         "a date",
                                         "a time",
                                         "a text",
                                         "a value"};
    return wanted[kind];
}

int is_date_kind(int kind) { return kind == COLUMN_DATE || kind == COLUMN_DATE_MONTH; }

/* ---- numbers -------------------------------------------------------------------------------- */

static size_t digits(const char *p) { return strspn(p, "0123456789"); }

/* 1.234,5: groups of three with `group` between them, or none, then perhaps a fraction behind `point`. */
static int read_grouped(const char *cell, char group, char point, double *value) {
    char room[64];
    const char *p = cell;
    size_t n = 0, run;
    if (*p == '-' || *p == '+') room[n++] = *p++;
    run = digits(p);
    if (run == 0 || run > 40) return 0;
    memcpy(room + n, p, run), n += run, p += run;
    while (*p == group && run <= 3 && digits(p + 1) == 3 && n < 50) {
        memcpy(room + n, p + 1, 3);
        n += 3, p += 4;
    }
    if (*p == point) {
        size_t fraction = digits(p + 1);
        if (fraction == 0 || n + fraction > 60) return 0;
        room[n++] = '.';
        memcpy(room + n, p + 1, fraction), n += fraction, p += 1 + fraction;
    }
    room[n] = 0;
    return *p == 0 && csv_number(room, value) != NULL && isfinite((rfm_real)*value);
}

static int read_comma(const char *cell, double *value) { return read_grouped(cell, '.', ',', value); }

static int read_thousands(const char *cell, double *value) { return read_grouped(cell, ',', '.', value); }

static int read_boolean(const char *cell, double *value) {
    *value = strcasecmp(cell, "true") == 0;
    return *value == 1 || strcasecmp(cell, "false") == 0;
}

/* ---- dates ------------------------------------------------------------------------------------
 *
 * Days since 1970 in the Gregorian calendar, forwards and back; years begin in March here, so that a leap day is the
 * last of its year. */

static double days_of(int year, int month, int day) {
    int y = year - (month <= 2), era = y / 400, of_era = y - 400 * era;
    int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return 146097.0 * era + 365 * of_era + of_era / 4 - of_era / 100 + of_year - 719468;
}

double date_month(double days) {
    double era = floor((floor(days) + 719468) / 146097);
    int of_era = isnan(days) ? 0 : (int)(floor(days) + 719468 - 146097 * era);
    int year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
    if (isnan(days)) return days; /* missing, and so is its month */
    return month < 10 ? month + 3 : month - 9;
}

double date_weekday(double days) { return fmod(fmod(floor(days) + 3, 7) + 7, 7); }
double date_hour(double days) { return 24 * (days - floor(days)); }

static int month_days(int year, int month) {
    static const int of[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return of[month - 1] + (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

/* 1 to 12 for Jan, January, ..., and *p behind it; else 0. */
static int month_name(const char **p) {
    static const char *const names[] = {"january", "february", "march",     "april",   "may",      "june",
                                        "july",    "august",   "september", "october", "november", "december"};
    size_t n = 0;
    int i;
    while (((*p)[n] | 32) >= 'a' && ((*p)[n] | 32) <= 'z') n++;
    for (i = 0; n >= 3 && i < 12; i++)
        if (strncasecmp(*p, names[i], n) == 0 && (n == 3 || n == strlen(names[i]))) {
            *p += n;
            return i + 1;
        }
    return 0;
}

/* Up to `most` digits. */
static int read_int(const char **p, size_t most, int *value) {
    size_t n = digits(*p), i;
    if (n == 0 || n > most) return 0;
    for (i = 0, *value = 0; i < n; i++) *value = 10 * *value + (*(*p)++ - '0');
    return 1;
}

#define NO_FORM 0    /* not written as one */
#define NO_SUCH (-1) /* written as one, and there is none */
#define READ    1

/* 12:30, 12:30:05.5, 12:30 pm, with Z or an offset behind it; hours. */
static int read_clock(const char *p, double *hours) {
    int hour, minute, second = 0, shift_hours = 0, shift_minutes = 0;
    double part = 0, scale = 1, shift = 0;
    if (!read_int(&p, 2, &hour) || *p++ != ':' || digits(p) != 2 || !read_int(&p, 2, &minute)) return NO_FORM;
    if (*p == ':') {
        p++;
        if (digits(p) != 2 || !read_int(&p, 2, &second)) return NO_FORM;
        if (*p == '.' || *p == ',')
            for (p++; *p >= '0' && *p <= '9'; p++) part += (*p - '0') * (scale /= 10);
    }
    while (*p == ' ') p++;
    if ((*p | 32) == 'a' || (*p | 32) == 'p') {
        int afternoon = (*p | 32) == 'p';
        if ((p[1] | 32) != 'm') return NO_FORM;
        if (hour < 1 || hour > 12) return NO_SUCH;
        hour = hour % 12 + 12 * afternoon, p += 2;
    }
    while (*p == ' ') p++;
    if (*p == 'Z' || strcmp(p, "UTC") == 0 || strcmp(p, "GMT") == 0)
        p += strlen(p);
    else if (*p == '+' || *p == '-') {
        shift = *p++ == '-' ? 1 : -1;
        if (!read_int(&p, 2, &shift_hours)) return NO_FORM;
        if (*p == ':') p++;
        if (*p != 0 && (digits(p) != 2 || !read_int(&p, 2, &shift_minutes))) return NO_FORM;
    }
    if (*p != 0) return NO_FORM;
    if (hour > 24 || minute > 59 || second > 60 || (hour == 24 && minute + second > 0)) return NO_SUCH;
    *hours = hour + minute / 60.0 + (second + part) / 3600 + shift * (shift_hours + shift_minutes / 60.0);
    return READ;
}

/* 2024-01-31, 31.1.2024, 1/31/2024, 31 Jan 2024, Jan 31, 2024; a time may follow. */
static int read_date(const char *p, int month_first, int *ordered, double *days) {
    int a = 0, b = 0, year = 0, month, day, first;
    double hours = 0;
    *ordered = 0;
    if ((month = month_name(&p)) > 0) {
        if (*p == '.') p++;
        if (*p != ' ' && *p != '-') return NO_FORM;
        p += strspn(p, " -");
        if (!read_int(&p, 2, &day)) return NO_FORM;
        p += strspn(p, ", -");
        if (digits(p) != 4 || !read_int(&p, 4, &year)) return NO_FORM;
    } else {
        char between;
        first = digits(p) == 4;
        if (!read_int(&p, 4, &a)) return NO_FORM;
        if (!first && a > 99) return NO_FORM;
        between = *p;
        if (between == '.' && p[1] == ' ') p++; /* 31. Jan 2024 */
        if (between == 0 || strchr("-/. ", between) == NULL) return NO_FORM;
        p++;
        if (!first && (month = month_name(&p)) > 0) {
            day = a;
            p += strspn(p, ". -,");
            if (digits(p) != 4 || !read_int(&p, 4, &year)) return NO_FORM;
        } else {
            if (between == ' ' || !read_int(&p, 2, &b) || *p++ != between) return NO_FORM;
            if (first) {
                year = a, month = b;
                if (!read_int(&p, 2, &day)) return NO_FORM;
            } else {
                if (digits(p) != 4 || !read_int(&p, 4, &year)) return NO_FORM;
                month = month_first ? a : b, day = month_first ? b : a;
                *ordered = 1;
            }
        }
    }
    if (*p == 'T' || *p == ' ') {
        int clock;
        p += *p == 'T' ? 1 : strspn(p, " ");
        clock = read_clock(p, &hours);
        if (clock != READ) return clock;
    } else if (*p != 0)
        return NO_FORM;
    if (month < 1 || month > 12 || day < 1 || day > month_days(year, month) || year < 1) return NO_SUCH;
    *days = days_of(year, month, day) + hours / 24;
    return READ;
}

/* ---- columns -------------------------------------------------------------------------------- */

/* How many texts can be read in each way. */
typedef struct {
    size_t numbers, texts, missing, booleans, commas, thousands, times, dates, ordered, day_first, month_first;
} census;

static void count_text(csv *c, size_t row, size_t column, census *n) {
    const char *cell = csv_text(c, row, column);
    double value;
    int ordered, other;
    n->booleans += (size_t)read_boolean(cell, &value);
    n->commas += (size_t)read_comma(cell, &value);
    n->thousands += (size_t)read_thousands(cell, &value);
    n->times += read_clock(cell, &value) != NO_FORM;
    n->dates += read_date(cell, 0, &ordered, &value) != NO_FORM;
    n->ordered += (size_t)ordered;
    n->day_first += ordered && read_date(cell, 0, &other, &value) == READ;
    n->month_first += ordered && read_date(cell, 1, &other, &value) == READ;
}

/* What was decided about a column, from a place in its text on. */
static void say_from(const csv *c, size_t column, size_t at) {
    const text *t = &c->said[column];
    for (; at < t->size; at += strlen(t->at + at) + 1) decided(c->file, "%s", t->at + at);
}

int column_kind(csv *c, size_t column, row_list rows) {
    census n;
    size_t i, said = c->said[column].size;
    if (c->kinds[column] > 0) { /* decoded before, perhaps where nothing is said */
        say_from(c, column, 0);
        return c->kinds[column] - 1;
    }
    memset(&n, 0, sizeof n);
    for (i = 0; i < rows.count; i++) {
        int kind = csv_kind(csv_value(c, rows.at[i], column));
        n.numbers += kind == CSV_NUMBER || kind == CSV_HUGE, n.texts += kind == CSV_TEXT;
        n.missing += kind == CSV_MISSING;
        if (kind == CSV_TEXT) count_text(c, rows.at[i], column, &n);
    }
    if (n.texts == 0) return n.numbers > 0 ? COLUMN_NUMBER : COLUMN_EMPTY;
    if (n.numbers == 0 && n.booleans == n.texts) return COLUMN_BOOLEAN;
    if (n.numbers == 0 && n.times == n.texts) return COLUMN_TIME;
    if (n.numbers == 0 && n.dates == n.texts) {
        int month = n.month_first > n.day_first || (n.month_first == n.day_first && n.ordered > 0 &&
                                                    strchr(csv_text(c, rows.at[0], column), '/') != NULL);
        if (n.ordered > 0 && n.month_first == n.day_first)
            text_add(&c->said[column], "column %zu (%s): dates like %s are taken as %s; write 2024-01-31 to be sure%c",
                     column + 1, c->names[column], csv_text(c, rows.at[0], column),
                     month ? "month/day/year" : "day/month/year", 0);
        say_from(c, column, said);
        return month ? COLUMN_DATE_MONTH : COLUMN_DATE;
    }
    if (n.thousands == n.texts && (c->delimiter == ',' || n.commas < n.texts)) return COLUMN_THOUSANDS;
    if (n.commas == n.texts) return COLUMN_COMMA;
    return n.numbers > n.texts ? COLUMN_LOOSE : COLUMN_TEXT;
}

static int decode(const char *cell, int kind, double *value) {
    int ordered;
    switch (kind) {
    case COLUMN_COMMA: return read_comma(cell, value);
    case COLUMN_THOUSANDS: return read_thousands(cell, value);
    case COLUMN_BOOLEAN: return read_boolean(cell, value);
    case COLUMN_DATE:
    case COLUMN_DATE_MONTH: return read_date(cell, kind == COLUMN_DATE_MONTH, &ordered, value) == READ;
    case COLUMN_TIME: return read_clock(cell, value) == READ;
    default: return 0;
    }
}

void column_decode(csv *c, size_t column, int kind) {
    size_t i, lost = 0, first = 0, said = c->said[column].size;
    int dates = is_date_kind(kind) || kind == COLUMN_TIME;
    if (kind == COLUMN_NUMBER || kind == COLUMN_TEXT || kind == COLUMN_EMPTY || c->kinds[column] > 0) return;
    c->kinds[column] = (unsigned char)(kind + 1);
    for (i = 0; i < c->rows; i++) {
        double *value = &c->values[i * c->columns + column], read;
        int cell = csv_kind(*value);
        if (cell == CSV_MISSING || (cell != CSV_TEXT && !dates && kind != COLUMN_COMMA)) continue;
        if (decode(csv_text(c, i, column), kind, &read))
            *value = read;
        else if (cell == CSV_TEXT && (dates || kind == COLUMN_LOOSE)) {
            *value = (double)NAN;
            if (lost++ == 0) first = i;
        } else if (dates)
            *value = (double)INFINITY; /* a bare number is no date */
    }
    if (lost > 0) {
        const char *cell = csv_text(c, first, column);
        text_add(&c->said[column], "line %zu, column %zu (%s): \"%.*s\" is %s; %zu such cell%s count%s as missing%c",
                 csv_line(c, first), column + 1, c->names[column], utf8_fit(cell, 60), cell,
                 kind == COLUMN_LOOSE  ? "no number, as most cells of the column are"
                 : kind == COLUMN_TIME ? "no time that exists"
                                       : "no date that exists",
                 lost, lost == 1 ? "" : "s", lost == 1 ? "s" : "", 0);
        say_from(c, column, said);
    }
}
