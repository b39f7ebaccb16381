#include "html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ----------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character at p, 0 if it is none that a page may have. */
static size_t character(const char *p) {
    uint32_t code;
    size_t n = utf8_read(p, &code);
    return utf8_control(code) || (code & 0xfffe) == 0xfffe ? 0 : n;
}

/* At most `most` characters (wide ones count twice), line ends only if they are wanted; returns how many bytes of the
 * value were left. */
static size_t escape(text *t, const char *value, size_t most, int lines) {
    const char *p = value;
    while (*p != 0 && most > 0) {
        size_t n = character(p), width = n > 2 && most > 1 ? 2 : 1; /* most scripts of three bytes are wide */
        if (*p == '&')
            text_add(t, "&amp;");
        else if (*p == '<')
            text_add(t, "&lt;");
        else if (*p == '>')
            text_add(t, "&gt;");
        else if (*p == '"')
            text_add(t, "&quot;");
        else if (*p == '\'')
            text_add(t, "&#39;");
        else if (*p == '\n' && lines)
            text_bytes(t, "\n", 1);
        else if (*p == '\t' || *p == '\n' || *p == '\r')
            text_bytes(t, " ", 1);
        else if (n == 0)
            text_add(t, "\xef\xbf\xbd");
        else
            text_bytes(t, p, n);
        p += n > 0 ? n : 1;
        most -= width;
    }
    return strlen(p);
}

void html_text(text *t, const char *value) { (void)escape(t, value, SIZE_MAX, 0); }
void html_text_lines(text *t, const char *value) { (void)escape(t, value, SIZE_MAX, 1); }

void html_name(text *t, const char *value, size_t most) {
    text cut = {NULL, 0, 0};
    size_t left = escape(&cut, value, most, 0);
    text_add(t, "<span class=\"name\"");
    if (left > 0) {
        text_add(t, " title=\"");
        html_text(t, value);
        text_add(t, "\"");
    }
    text_add(t, ">");
    if (cut.size > 0) text_bytes(t, cut.at, cut.size);
    text_add(t, left > 0 ? "\xe2\x80\xa6</span>" : "</span>");
    free(cut.at);
}

void html_cut(text *t, const char *value, size_t most) {
    if (escape(t, value, most, 0) > 0) text_add(t, "\xe2\x80\xa6");
}

void html_section(text *t, const char *id, const char *title) {
    text_add(t, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n", id, id, id, title);
}

void html_row(text *t, const char *term) { text_add(t, "<dt>%s</dt><dd>", term); }

/* ---- numbers -------------------------------------------------------------------------------- */

const char *html_number(char room[NUMBER_ROOM], double value) {
    int exponent;
    char *e;
    if (!isfinite(value)) return "not finite";
    snprintf(room, NUMBER_ROOM, "%.4g", value);
    e = strchr(room, 'e');
    if (e != NULL) {
        exponent = atoi(e + 1);
        snprintf(e, NUMBER_ROOM - (size_t)(e - room), "e%d", exponent);
    }
    return room;
}

const char *html_score(char room[NUMBER_ROOM], double value) {
    if (!(fabs(value) < 1000)) return html_number(room, value);
    snprintf(room, NUMBER_ROOM, "%.4f", value);
    return room;
}

const char *html_bytes(char room[NUMBER_ROOM], double bytes) {
    if (bytes < 1024)
        snprintf(room, NUMBER_ROOM, "%.0f bytes", bytes);
    else if (bytes < 1024 * 1024)
        snprintf(room, NUMBER_ROOM, "%.1f KiB", bytes / 1024);
    else
        snprintf(room, NUMBER_ROOM, "%.1f MiB", bytes / (1024 * 1024));
    return room;
}

const char *html_count(char room[NUMBER_ROOM], double count) {
    char digits[NUMBER_ROOM];
    size_t n, i, k = 0;
    snprintf(digits, sizeof digits, "%.0f", count);
    n = strlen(digits);
    for (i = 0; i < n && k < NUMBER_ROOM - 5; i++) {
        if (i > 0 && (n - i) % 3 == 0) room[k++] = '\xe2', room[k++] = '\x80', room[k++] = '\xaf'; /* a narrow space */
        room[k++] = digits[i];
    }
    room[k] = 0;
    return room;
}

const char *html_percent(char room[NUMBER_ROOM], double share) {
    if (share > 0 && share < 0.0005)
        snprintf(room, NUMBER_ROOM,
                 "&lt;\xc2\xa0"
                 "0.1\xc2\xa0%%");
    else
        snprintf(room, NUMBER_ROOM, "%.1f\xc2\xa0%%", 100 * share);
    return room;
}

/* ---- page ----------------------------------------------------------------------------------- */

static const char *const style[] = {
    ":root{color-scheme:light "
    "dark;--page:#f5f6f8;--card:#fff;--ink:#1b2130;--soft:#5a6478;--line:#e2e5eb;--track:#edeff3;"
    "--blue:44 92 200;--orange:196 88 20;--green:20 120 80;--on:#fff}",
    "@media(prefers-color-scheme:dark){:root{--page:#0e1117;--card:#161b24;--ink:#e7eaf0;--soft:#9ea8ba;--line:#29303d;"
    "--track:#222936;"
    "--blue:122 162 255;--orange:255 160 96;--green:96 206 150;--on:#0b0f17}}",
    "*{box-sizing:border-box}",
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,\"Segoe "
    "UI\",Roboto,\"Noto Sans\",sans-serif;"
    "font-variant-numeric:tabular-nums;-webkit-text-size-adjust:100%}",
    "main,header,footer{max-width:1080px;margin:0 auto;padding:0 24px}",
    "header{padding-top:44px}",
    ".over{margin:0;color:var(--soft);font-size:13px;letter-spacing:.08em;text-transform:uppercase}",
    "h1{margin:2px 0 4px;font-size:34px;line-height:1.2;font-weight:650;letter-spacing:-.015em;overflow-wrap:anywhere}",
    "h2{margin:0 0 4px;font-size:21px;line-height:1.3;font-weight:620;letter-spacing:-.01em}",
    "h3{margin:0 0 8px;font-size:15px;font-weight:600}",
    "p{margin:0 0 14px;max-width:72ch}",
    ".lead{font-size:18px;color:var(--soft);margin-bottom:18px}",
    ".say,figcaption,.small{color:var(--soft);font-size:14px}",
    ".say{margin-bottom:18px}",
    "nav{display:flex;flex-wrap:wrap;gap:6px 18px;padding:0 0 22px;font-size:14px}",
    "a{color:rgb(var(--blue));text-decoration:none}",
    "a:hover{text-decoration:underline}",
    "a:focus-visible{outline:2px solid rgb(var(--blue));outline-offset:3px;border-radius:2px}",
    "section{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:26px 28px 28px;margin:0 0 "
    "20px}",
    "section>:last-child,section>:last-child>:last-child{margin-bottom:0}",
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:14px;margin-bottom:20px}",
    ".tile{background:var(--card);border:1px solid var(--line);border-radius:14px;padding:18px 20px 16px}",
    ".tile p{margin:0}",
    ".tile .what{color:var(--soft);font-size:14px}",
    ".tile .big{font-size:32px;line-height:1.25;font-weight:640;letter-spacing:-.02em;overflow-wrap:anywhere}",
    ".two{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:28px 36px;align-items:start}",
    ".three{display:grid;grid-template-columns:repeat(auto-fill,minmax(260px,1fr));gap:24px 32px}",
    ".two>*,.three>*{min-width:0}",
    "dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:0;margin:0;font-size:15px}",
    "dt{color:var(--soft);padding:6px 0;border-top:1px solid var(--line)}",
    "dd{margin:0;padding:6px 0 6px 20px;text-align:right;border-top:1px solid var(--line);overflow-wrap:anywhere}",
    "dt:first-of-type,dd:first-of-type{border-top:0}",
    ".wide{overflow-x:auto}",
    "table{border-collapse:collapse;font-size:14px}",
    ".full{width:100%}",
    "th{font-weight:500;color:var(--soft);text-align:right;padding:5px 8px}",
    "th.l,td.l{text-align:left}",
    ".boards td{white-space:nowrap}",
    "tbody th{text-align:left;color:var(--ink)}",
    "td{padding:5px 8px;text-align:right;border-top:1px solid var(--line)}",
    "tbody th[scope=row]{border-top:1px solid var(--line)}",
    ".confusion td{border:2px solid var(--card);min-width:42px;text-align:center;border-radius:6px;padding:7px 6px}",
    ".confusion tbody th[scope=row]{border:0;text-align:right;max-width:150px}",
    ".confusion thead th{text-align:center;max-width:90px;overflow:hidden;text-overflow:ellipsis}",
    ".confusion.tight td{min-width:26px;padding:3px 2px;font-size:12px}",
    ".confusion.tight th{padding:3px 4px;font-size:12px}",
    "td.r{background:rgb(var(--blue)/calc(.08 + .8*var(--v)))}",
    "td.w{background:rgb(var(--orange)/calc(.12 + .76*var(--v)))}",
    "td.z{color:var(--soft);background:var(--track)}",
    "td.hi{color:var(--on)}",
    ".name{unicode-bidi:isolate;overflow-wrap:anywhere}",
    ".bars{list-style:none;margin:0;padding:0;font-size:14px}",
    ".bars li{display:grid;grid-template-columns:minmax(60px,11em) minmax(0,1fr) "
    "4.2em;gap:12px;align-items:center;padding:3px 0;line-height:1.35}",
    ".bars .n{text-align:right;color:var(--soft)}",
    ".bar{display:block;height:12px;border-radius:3px;background:var(--track);position:relative}",
    ".bar i{position:absolute;top:0;bottom:0;border-radius:3px;background:rgb(var(--blue));min-width:1px}",
    ".bar i.neg{background:rgb(var(--orange))}",
    ".bar.mid::after{content:\"\";position:absolute;left:50%;top:-2px;bottom:-2px;width:1px;background:var(--soft);"
    "opacity:.6}",
    ".rest{color:var(--soft)}",
    ".stack{display:flex;height:20px;border-radius:5px;overflow:hidden;gap:2px;margin:4px 0 12px}",
    ".stack i{display:block;min-width:2px}",
    ".k1{background:rgb(var(--blue))}",
    ".k2{background:rgb(var(--blue)/.55)}",
    ".k3{background:rgb(var(--orange)/.85)}",
    ".k4{background:var(--soft);opacity:.55}",
    ".key{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:8px;vertical-align:-1px}",
    "figure{margin:0}",
    "figcaption{margin-top:8px}",
    "svg{display:block;width:100%;height:auto;overflow:visible}",
    "svg text{fill:var(--soft);font-size:12px}",
    "svg .strong{fill:var(--ink);font-weight:600}",
    ".axis{stroke:var(--soft);stroke-opacity:.55;fill:none}",
    ".grid{stroke:var(--line);fill:none}",
    ".ideal{stroke:var(--soft);stroke-dasharray:4 4;fill:none}",
    ".curve{stroke:rgb(var(--blue));stroke-width:2;fill:none;stroke-linejoin:round}",
    ".dot{fill:rgb(var(--blue))}",
    ".ring{fill:var(--card);stroke:rgb(var(--blue));stroke-width:2}",
    ".cloud{fill:rgb(var(--blue));fill-opacity:.42}",
    ".track{fill:var(--track)}",
    ".band{fill:rgb(var(--blue)/.3)}",
    ".base{stroke:rgb(var(--orange));stroke-width:2}",
    ".cell{fill:var(--track)}",
    ".p{fill:rgb(var(--blue))}",
    ".m{fill:rgb(var(--orange))}",
    "img{display:block;image-rendering:pixelated;background:var(--track);border-radius:6px}",
    ".pixels{width:100%;max-width:380px;height:auto}",
    ".matrix{width:100%;max-width:560px;height:auto}",
    ".gallery{display:grid;grid-template-columns:repeat(auto-fill,minmax(132px,1fr));gap:20px}",
    ".gallery img{width:100%;height:auto}",
    ".gallery figcaption{font-size:13px;line-height:1.4}",
    ".scale{display:flex;align-items:center;gap:8px;color:var(--soft);font-size:13px;margin-top:10px}",
    ".scale "
    "i{width:120px;height:10px;border-radius:3px;background:linear-gradient(90deg,rgb(var(--orange)),var(--track),rgb("
    "var(--blue)))}",
    "pre{margin:0;padding:18px 20px;overflow-x:auto;background:var(--page);border:1px solid "
    "var(--line);border-radius:10px;tab-size:4;"
    "font:13.5px/1.55 ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace}",
    "code{font:.92em ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;overflow-wrap:anywhere}",
    "pre code{font:inherit}",
    ".no{color:rgb(var(--orange))}",
    ".yes{color:rgb(var(--green))}",
    "footer{padding:6px 24px 44px;color:var(--soft);font-size:13px}",
    "@media(max-width:760px){main,header,footer{padding-left:14px;padding-right:14px}header{padding-top:26px}h1{font-"
    "size:27px}"
    "section{padding:20px "
    "16px}.two{grid-template-columns:minmax(0,1fr)}.tiles{grid-template-columns:repeat(2,minmax(0,1fr));gap:10px}"
    ".tile{padding:14px}.tile .big{font-size:25px}.bars li{grid-template-columns:minmax(60px,8em) minmax(0,1fr) "
    "3.6em;gap:8px}"
    ".boards .opt{display:none}th,td{padding:5px 5px}}",
    "@media print{body{background:#fff}section,.tile{break-inside:avoid;border-color:#ccc}nav{display:none}}",
};

void html_page_open(text *t, const char *title) {
    size_t i;
    text_add(t, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    html_text(t, title);
    text_add(t, "</title>\n<style>\n");
    for (i = 0; i < sizeof style / sizeof *style; i++) text_add(t, "%s\n", style[i]);
    text_add(t, "</style>\n</head>\n<body>\n");
}

void html_page_close(text *t) { text_add(t, "</body>\n</html>\n"); }
