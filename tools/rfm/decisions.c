#include "decisions.h"

#include <stdlib.h>
#include <string.h>

void name_show(text *t, const char *name) {
    const char *quote = *name == 0 || strpbrk(name, " ,") != NULL ? "\"" : "";
    text_add(t, "%s", quote);
    text_name(t, name);
    text_add(t, "%s", quote);
}

#define LIST_WIDTH 118 /* and a comma */

void list_item(text *t, size_t *columns, text *item) {
    size_t wide = 0, i;
    for (i = 0; i < item->size; i++) wide += (item->at[i] & 0xc0) != 0x80; /* characters of UTF-8 */
    if (*columns > LIST_INDENT && *columns + 2 + wide > LIST_WIDTH) {
        text_add(t, ",\n%*s", LIST_INDENT, "");
        *columns = LIST_INDENT;
    } else if (*columns > LIST_INDENT) {
        text_add(t, ", ");
        *columns += 2;
    }
    text_bytes(t, item->at, item->size);
    *columns += wide, item->size = 0;
}

void decisions_show(text *t, const any_model *any) {
    const model_record *r = &any->record;
    size_t i;
    for (i = 0; r->recipe != NULL && i < any->numbers.d; i++) {
        text how = {NULL, 0, 0};
        recipe_show(&how, r->recipe, r->knots, i);
        if (how.size > 0) {
            text_add(t, "input         ");
            if (any->numbers.input_names != NULL) name_show(t, rfm_name(any->numbers.input_names, i));
            text_add(t, ": ");
            text_bytes(t, how.at, how.size);
            text_add(t, "\n");
        }
        free(how.at);
    }
    for (i = 0; i < r->left_count; i++) {
        text_add(t, "left out      ");
        name_show(t, rfm_name(r->left, 2 * i));
        text_add(t, ": %s\n", rfm_name(r->left, 2 * i + 1));
    }
    for (i = 0; i < r->absent_count; i++) {
        text_add(t, i == 0 ? "missing       also " : ", ");
        name_show(t, rfm_name(r->absent, i));
    }
    if (r->absent_count > 0) text_add(t, "\n");
    for (i = 0; i < r->note_count; i++) {
        text_add(t, "decided       ");
        text_name(t, rfm_name(r->notes, i));
        text_add(t, "\n");
    }
}

void decisions_json(text *t, const model_record *record) {
    if (record->note_count > 0) json_names(t, "decisions", record->notes, record->note_count);
}
