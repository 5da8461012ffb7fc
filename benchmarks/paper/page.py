"""placeholder"""


def write(out, tables, rows, result, settings, figures, *, complete):
    out.write_text("")
