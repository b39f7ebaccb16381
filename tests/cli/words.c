/* Words that people read, which no command can be made to print at will: spans of time, guesses of what was meant. */
#include "host/host.h"

#include <string.h>

static int failed;

static void expect(const char *what, const char *is, const char *shall) {
    if (strcmp(is, shall) == 0) return;
    printf("%s: %s, expected %s\n", what, is, shall);
    failed = 1;
}

static const char *guessed(const char *word) {
    static const char *const list[] = {"train",     "predict", "--kernel", "--iterations", "--bandwidth", "Temperature",
                                       "channel13", "a",       NULL};
    guess g = guess_of(word, strlen(word));
    size_t i;
    for (i = 0; i < sizeof list / sizeof *list; i++) guess_try(&g, list[i]);
    return g.best != NULL ? g.best : "none";
}

int main(void) {
    static const struct {
        double seconds;
        const char *text;
    } times[] = {{0.04, "0.04 s"},      {0.4, "0.4 s"},          {1, "1 s"},         {12.4, "12 s"},
                 {99, "99 s"},          {2400, "40 min"},        {5400, "90 min"},   {6.6 * 3600, "6.6 h"},
                 {30 * 3600.0, "30 h"}, {80 * 3600.0, "3 days"}, {1e9, "11574 days"}};
    static const char *const words[][2] = {{"trian", "train"},
                                           {"TRAIN", "train"},
                                           {"tran", "train"},
                                           {"ttrain", "train"},
                                           {"prdict", "predict"},
                                           {"--iter", "--iterations"},
                                           {"-kernel", "--kernel"},
                                           {"--kernl", "--kernel"},
                                           {"--it", "none"},
                                           {"", "none"},
                                           {"channel12", "none"},
                                           {"chanel13", "channel13"},
                                           {"temprature", "Temperature"},
                                           {"tremble", "none"},
                                           {"b", "none"},
                                           {"--seed", "none"}};
    char room[TIME_ROOM], text[GUESS_ROOM], lengthy[400];
    guess g = guess_of("trian", 5);
    size_t i;
    for (i = 0; i < sizeof times / sizeof *times; i++) expect("time", time_text(times[i].seconds, room), times[i].text);
    for (i = 0; i < sizeof words / sizeof *words; i++) expect(words[i][0], guessed(words[i][0]), words[i][1]);
    expect("no guess", guess_text(&g, text), "");
    guess_try(&g, "train");
    expect("a guess", guess_text(&g, text), "; did you mean train?");
    memset(lengthy, 'x', sizeof lengthy - 1), lengthy[sizeof lengthy - 1] = 0;
    expect("a long word", guessed(lengthy), "none");
    g = guess_of("x", 1), guess_try(&g, lengthy);
    expect("a long candidate", guess_text(&g, text), "");
    return failed;
}
