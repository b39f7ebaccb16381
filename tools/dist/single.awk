# Makes rfm-single.h: the public headers, and behind RFM_IMPLEMENTATION the sources.
#
#   awk -v version=0.1.0 -v public="HEADERS" -v private="HEADERS" -v sources="FILES" -v loops="FILES" -f single.awk
#
# All sources become one translation unit, and that of the user may be in it, too. So every name that a source keeps to
# itself (static, typedef, tag, enum, macro) gets that source's name in front: `dot` of rfm_small.c becomes
# rfm_in_small_dot. Members of structs keep their names. In C a member may be called like its type; after this it may
# in C++ as well.

function base(file) { sub(/.*\//, "", file); return file }

# rfm/rfm_small.c -> rfm_in_small_, rfm/rfm.c -> rfm_in_core_
function prefix(file) {
    file = base(file)
    sub(/\.[ch]$/, "", file)
    if (file == "rfm") return "rfm_in_core_"
    sub(/^rfm_/, "", file)
    return "rfm_in_" file "_"
}

# ---- tokens: text[1..n], kind[] is i identifier, n number, q quoted, c comment, s space, d a new line that goes on a
# ---- directive, l a new line, p any other character; in_directive[] is 1 behind a #

function token(what, length_of) {
    text[++n] = substr(rest, 1, length_of)
    kind[n] = what
    in_directive[n] = directive
    rest = substr(rest, length_of + 1)
}

function tokens(file,    line, comment, directive_goes_on) {
    n = 0
    comment = directive = 0
    while ((getline line < file) > 0) {
        rest = line
        while (rest != "") {
            if (comment) {
                if (match(rest, /\*\//)) { token("c", RSTART + 1); comment = 0 } else token("c", length(rest))
            } else if (match(rest, /^\/\*/)) {
                comment = 1
                text[++n] = "/*"; kind[n] = "c"; in_directive[n] = directive
                rest = substr(rest, 3)
            } else if (match(rest, /^[ \t]+/)) token("s", RLENGTH)
            else if (match(rest, /^[A-Za-z_][A-Za-z_0-9]*/)) token("i", RLENGTH)
            else if (match(rest, /^\.?[0-9]([eEpP][-+]|[A-Za-z_0-9.])*/)) token("n", RLENGTH)
            else if (match(rest, /^"([^"\\]|\\.)*"/)) token("q", RLENGTH)
            else if (match(rest, /^'([^'\\]|\\.)*'/)) token("q", RLENGTH)
            else if (match(rest, /^(->|\.\.\.|##)/)) token("p", RLENGTH)
            else {
                if (rest ~ /^#/ && line ~ /^[ \t]*#/) directive = 1
                token("p", 1)
            }
        }
        directive_goes_on = directive && line ~ /\\$/
        text[++n] = "\n"; kind[n] = "l"; in_directive[n] = directive
        if (!directive_goes_on && !comment) directive = 0
    }
    close(file)
}

function meaningful(i) { return kind[i] != "s" && kind[i] != "c" && kind[i] != "l" }
function before(i) { do i--; while (i > 0 && !meaningful(i)); return i > 0 ? text[i] : "" }
function behind(i) { do i++; while (i <= n && !meaningful(i)); return i <= n ? text[i] : "" }
function at_word(i) { return text[i - 1] == "(" ? text[i - 2] : "" } # f of "f(" before token i

# ---- names of file scope: own[name] is what it becomes -----------------------------------------------------------

function keep(name) {
    if (name !~ /^(rfm_|RFM_|__)/) own[name] = prefix(current) name
}

function collect(file,    i, t, depth, parens, is_static, is_typedef, is_enum, named, last, body, tag) {
    current = file
    depth = parens = 0
    is_static = is_typedef = is_enum = named = tag = 0
    for (i = 1; i <= n; i++) {
        if (!meaningful(i)) continue
        t = text[i]
        if (in_directive[i]) {
            if (t == "define" && before(i) == "#") keep(behind(i))
            if (t == "member" && at_word(i) != "") of_members[at_word(i)] = 1 # #define AT(member): its argument is the name of a member
            continue
        }
        if (kind[i] == "i") {
            if (depth == 1 && is_enum && (before(i) == "{" || before(i) == ",")) keep(t)
            if (depth > 0) continue
            if (parens == 0) {
                if (tag && behind(i) == "{") keep(t)
                tag = t == "struct" || t == "union" || t == "enum"
                if (t == "static") is_static = 1
                else if (t == "typedef") is_typedef = 1
                else if (t == "enum") is_enum = 1
                else last = t
            } else if (is_typedef && !named && before(i) == "*" && parens == 1) { keep(t); named = 1 }
            continue
        }
        if (depth == 0 && parens == 0 && !named && (is_static || is_typedef) && last != "__attribute__" &&
            (t == "[" || t == "=" || t == ";" || t == "," || (t == "(" && is_static))) {
            keep(last)
            named = 1
        }
        if (t == "(") parens++
        else if (t == ")") parens--
        else if (t == "{") {
            tag = 0
            if (depth++ == 0) body = before(i) == ")"
        }
        else if (t == "}") {
            if (--depth == 0 && body) is_static = is_typedef = is_enum = named = 0
        } else if (depth == 0 && parens == 0) {
            if (t == ";") is_static = is_typedef = is_enum = named = 0
            else if (t == ",") named = 0
        }
    }
}

# ---- printing ----------------------------------------------------------------------------------------------------

# A source asks rfm_private.h for a part of it by such a line; here the header comes once, before all of them.
function asks(line) { return line ~ /^#define RFM_[A-Z]+$/ }

function print_asked(file,    line) {
    while ((getline line < file) > 0)
        if (asks(line) && !(line in asked)) {
            asked[line] = 1
            print line
        }
    close(file)
}

# The source with its names and those of the private headers; what it includes of ours is there already.
function print_source(file,    i, t, level, in_struct, out, member, line) {
    tokens(file)
    split("", own)
    split("", of_members)
    collect(file)
    print ""
    print "/* ==== " base(file) " " substr("=====================================================================", 1, 60) " */"
    level = 0
    line = ""
    for (i = 1; i <= n; i++) {
        t = text[i]
        if (kind[i] == "l") {
            if (line !~ /^#include "/ && !asks(line)) print line
            line = ""
            continue
        }
        if (kind[i] == "i") {
            member = before(i) == "." || before(i) == "->" || at_word(i) in of_members
            if (in_struct[level] && (behind(i) ~ /^(;|,|\[|:)$/ || (before(i) == "*" && behind(i) == ")"))) member = 1
            if (t == "restrict") t = "RFM_RESTRICT"
            else if (!member && t in own) t = own[t]
            else if (!member && t in shared) t = shared[t]
        } else if (kind[i] == "p" && !in_directive[i]) {
            if (t == "{") {
                level++
                in_struct[level] = opens_struct(i)
            } else if (t == "}") level--
        }
        line = line t
    }
}

function opens_struct(i,    word) {
    do i--; while (i > 0 && !meaningful(i))
    if (text[i] == "struct" || text[i] == "union") return 1
    word = before(i)
    return kind[i] == "i" && (word == "struct" || word == "union")
}

# A public header, after those that it includes.
function print_header(file,    line, other) {
    if (file in printed) return
    printed[file] = 1
    while ((getline line < file) > 0)
        if (line ~ /^#include "/) {
            other = line
            gsub(/^#include "|".*$/, "", other)
            if (!(other in path)) { print "single.awk: " file " includes " other ", which is no header of ours" >"/dev/stderr"; exit 1 }
            print_header(path[other])
        }
    close(file)
    print ""
    print "/* ==== " base(file) " " substr("=====================================================================", 1, 60) " */"
    while ((getline line < file) > 0) if (line !~ /^#include "/) print line
    close(file)
}

BEGIN {
    headers = split(public, header, " ")
    hidden = split(private, hidden_header, " ")
    for (h = 1; h <= headers; h++) path[base(header[h])] = header[h]

    print "/* rfm " version " in one file. Made by `make dist` from rfm/ and port/; the sources there are easier to read."
    print " *"
    print " *   #include \"rfm-single.h\"        wherever its functions are called, from C or C++"
    print " *   #define RFM_IMPLEMENTATION      before that, in exactly one file: C99 or later, or C++ with hexadecimal"
    print " *                                   floats (C++17, or g++ -std=gnu++11)"
    print " *   #define RFM_FAST                beside it: the inner loops of port/, too"
    print " *"
    print " * The switches below, RFM_NO_TRAIN and others, have to be the same in every file: give them to the compiler. So that"
    print " * numbers are the same bits everywhere, give it -ffp-contract=off as well."
    print " *"
    while ((getline line < licence) > 0) print line == "" ? " *" : " * " line
    close(licence)
    print " */"
    print "#ifndef RFM_SINGLE_H"
    print "#define RFM_SINGLE_H"
    for (h = 1; h <= headers; h++) print_header(header[h])
    print ""
    print "#endif /* RFM_SINGLE_H */"
    print ""
    print "#if defined(RFM_IMPLEMENTATION) && !defined(RFM_IMPLEMENTED)"
    print "#define RFM_IMPLEMENTED"
    print ""
    print "#if defined(__GNUC__)"
    print "#define RFM_RESTRICT __restrict__"
    print "#elif defined(_MSC_VER)"
    print "#define RFM_RESTRICT __restrict"
    print "#else"
    print "#define RFM_RESTRICT"
    print "#endif"
    count = split(sources, source, " ")
    for (s = 1; s <= count; s++) print_asked(source[s])
    for (h = 1; h <= hidden; h++) {
        print_source(hidden_header[h])
        for (name in own) found[name] = own[name]
    }
    for (name in found) shared[name] = found[name]
    for (s = 1; s <= count; s++) print_source(source[s])
    print ""
    print "#ifdef RFM_FAST"
    count = split(loops, source, " ")
    for (s = 1; s <= count; s++) print_source(source[s])
    print "#endif /* RFM_FAST */"
    print ""
    print "#endif /* RFM_IMPLEMENTATION */"
}
