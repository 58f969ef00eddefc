# code.awk - prints FILE:LINE:TEXT of C files with comments taken out; strings become "" unless
# keep_strings is set. What the lints look at, so that prose may say what code may not.
FNR == 1 { inside = 0 }
{
    line = $0
    out = ""
    while (line != "") {
        if (inside) {
            at = index(line, "*/")
            if (at == 0) { line = ""; break }
            line = substr(line, at + 2)
            inside = 0
            continue
        }
        c = substr(line, 1, 1)
        two = substr(line, 1, 2)
        if (two == "/*") { inside = 1; line = substr(line, 3); continue }
        if (two == "//") { break }
        if (c == "\"" || c == "'") {
            n = 2
            while (n <= length(line) && substr(line, n, 1) != c) {
                n += substr(line, n, 1) == "\\" ? 2 : 1
            }
            out = out (keep_strings ? substr(line, 1, n) : c c)
            line = substr(line, n + 1)
            continue
        }
        out = out c
        line = substr(line, 2)
    }
    if (out !~ /^[ \t]*$/) { print FILENAME ":" FNR ":" out }
}
