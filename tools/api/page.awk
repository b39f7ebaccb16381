# One header as a page of Markdown; the names go to the file `names`: NAME PAGE ANCHOR.

# The text of a comment, without its marks.
function plain(line) {
    sub(/^ *\/\*+ ?/, "", line)
    sub(/ ?\*\/ *$/, "", line)
    sub(/^ \* ?/, "", line)
    return line
}

# What a line of code declares: a function, a type, a macro; "" if nothing.
function declared(line) {
    if (line ~ /^#define [A-Za-z_0-9]+/) { sub(/^#define /, "", line); sub(/[^A-Za-z_0-9].*/, "", line); return line }
    if (line ~ /^} [a-z_0-9]+;/) { gsub(/^} |;.*/, "", line); return line }
    if (line ~ /^typedef .*\(\*[a-z_0-9]+\)/) { sub(/.*\(\*/, "", line); sub(/\).*/, "", line); return line }
    if (line ~ /^typedef .*[ *][a-z_0-9]+;/) { sub(/;.*/, "", line); sub(/.*[ *]/, "", line); return line }
    if (line ~ /^(static inline )?[a-z][a-zA-Z_0-9 ]*[ *]rfm_[a-z_0-9]+\(/) { sub(/\(.*/, "", line); sub(/.*[ *]/, "", line); return line }
    if (line ~ /^extern const /) { sub(/[[;].*/, "", line); sub(/.*[ *]/, "", line); return line }
    return ""
}

# A paragraph: `text` is the comment that it begins with, `code` the rest.
function flush(   i, title, anchor, list, count) {
    if (count_names > 0) {
        title = ""
        for (i = 1; i <= count_names && i <= 4; i++) title = title (i > 1 ? ", " : "") found[i]
        if (count_names > 4) title = title " ..."
        anchor = tolower(title)
        gsub(/[^a-z0-9_ -]/, "", anchor)
        gsub(/ /, "-", anchor)
        print "\n### " title
        for (i = 1; i <= count_names; i++) print found[i], page, anchor >>names
    }
    if (text != "") printf "\n%s", text
    if (code != "") printf "\n```c\n%s```\n", code
    text = code = ""
    count_names = comment = depth = 0
}

BEGIN {
    page = header
    sub(/.*\//, "", page)
    sub(/\.h$/, "", page)
    print "# " page ".h\n\nMade by `make api` from " header "."
}

/^#ifndef RFM_[A-Z_]*_H$/ || /^#define RFM_[A-Z_]*_H$/ || /^#ifdef __cplusplus/ || /^extern "C"/ || /^}$/ || /^#include/ { next }
/^\/\* ---- / { flush(); line = plain($0); gsub(/^-+ | -+$/, "", line); print "\n## " line; next }
/^$/ { if (!comment) flush(); else text = text "\n"; next }
/^#(if|else|endif)/ && code == "" { next }
/^#endif/ && depth == 0 { next }
/^#if/ { depth++ }
/^#endif/ { depth-- }

# Comments at the start of a paragraph are prose; indented parts of them stay as they are.
code == "" && (comment || /^ *\/\*/) {
    line = plain($0)
    comment = $0 !~ /\*\//
    if (line != "" || comment) text = text (line ~ /^  / ? "  " line : line) "\n"
    next
}
{
    code = code $0 "\n"
    name = declared($0)
    if (name != "" && name !~ /_$/) found[++count_names] = name
}
END { flush() }
