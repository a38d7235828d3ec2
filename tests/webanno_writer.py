"""WebAnno TSV 3.3 made from WebAnno XMI with regular expressions, as a second opinion on how the two agree.

Only what the tests need: spans of whole tokens and of parts of tokens, slots, relations.
"""

import html
import re

ESCAPED = re.compile(r"->|[\\\[\]|_;*]")


def elements(text):
    """The elements of an XMI file by name, as dicts of attributes, without an XML parser."""
    found = {}
    for name, attributes in re.findall(r"<[\w]+:([\w]+)((?:\s+[\w:]+=\"[^\"]*\")*)\s*/>", text):
        pairs = re.findall(r"([\w:]+)=\"([^\"]*)\"", attributes)
        found.setdefault(name, []).append({key: html.unescape(value) for key, value in pairs})
    return found


def escape(value):
    return ESCAPED.sub(lambda match: "\\" + match[0], value)


def to_tsv(xmi, layers, relations, version="3.3"):
    """Write a document.

    `layers` is a list of (name, features, slots) with slots a dict of feature to target layer; `relations` a dict of
    name to the layer that it joins. Columns without any value are left out.
    """
    found = elements(xmi)
    text = found["Sofa"][0]["sofaString"].encode("utf-16-le")
    by_id = {each["xmi:id"]: each for some in found.values() for each in some if "xmi:id" in each}

    def span(each):
        return int(each["begin"]), int(each["end"])

    def words(begin, end):
        return text[2 * begin : 2 * end].decode("utf-16-le")

    sentences, tokens = sorted(map(span, found["Sentence"])), sorted(map(span, found["Token"]))
    rows = []  # unit, begin, end, is part
    for number, (start, stop) in enumerate(sentences, 1):
        inside = [token for token in tokens if start <= token[0] < stop]
        for at, (begin, end) in enumerate(inside, 1):
            rows.append((f"{number}-{at}", begin, end, False))
            parts = set()
            for name, _, _ in layers:
                for low, high in map(span, found.get(name, [])):
                    if low < end and high > begin and not (low <= begin and end <= high):
                        parts.add((max(low, begin), min(high, end)))
            rows += [(f"{number}-{at}.{n}", *part, True) for n, part in enumerate(sorted(parts), 1)]

    units, stacked = {}, {}
    for name, _, _ in layers:
        for each in found.get(name, []):
            low, high = span(each)
            own = units[each["xmi:id"]] = [
                unit
                for unit, begin, end, is_part in rows
                if (not is_part and low <= begin and end <= high)
                or (is_part and (begin, end) == (max(low, begin), min(high, end)) and not covers(rows, unit, low, high))
            ]
            for unit in own:
                stacked.setdefault((unit, name), []).append(each["xmi:id"])
    ambiguous = {one for one, own in units.items() if len(own) > 1}
    ambiguous |= {one for some in stacked.values() if len(some) > 1 for one in some}
    number = {one: at for at, one in enumerate(sorted(ambiguous, key=int), 1)}

    def tag(one):
        return f"[{number[one]}]" if one in number else ""

    header, columns = [f"#FORMAT=WebAnno TSV {version}"], []
    for name, features, slots in layers:
        own = found.get(name, [])
        if not own:
            continue
        declared = [feature for feature in features if any(each.get(feature) for each in own)]
        line = [f"#T_SP=webanno.custom.{name}", *declared]
        columns += [(name, feature, "value") for feature in declared]
        for slot, target in slots.items():
            if any(each.get(slot) for each in own):
                link = f"webanno.custom.{name}{slot[0].upper()}{slot[1:]}Link"
                line += [f"ROLE_webanno.custom.{name}:{slot}_{link}", f"webanno.custom.{target}"]
                columns += [(name, slot, "role"), (name, slot, "target")]
        if len(line) == 1:
            line.append("")
            columns.append((name, "", "value"))
        header.append("|".join(line))
    for name, base in relations.items():
        if found.get(name):
            header.append(f"#T_RL=webanno.custom.{name}|BT_webanno.custom.{base}")
            columns.append((name, base, "relation"))

    def cell(unit, name, feature, kind):
        if kind == "relation":
            own = [each for each in found[name] if units[each["Dependent"]][0] == unit]
            shown = []
            for each in own:
                ends = [number.get(each[end], 0) for end in ("Governor", "Dependent")]
                shown.append(units[each["Governor"]][0] + ("[{}_{}]".format(*ends) if any(ends) else ""))
            return "|".join(shown) or "_"
        shown = []
        for one in stacked.get((unit, name), []):
            each = by_id[one]
            links = [by_id[link] for link in each.get(feature, "").split()] if kind != "value" else []
            if kind == "value":
                shown.append((escape(each[feature]) if each.get(feature) else "*") + tag(one))
            elif kind == "role":
                shown.append((";".join(escape(link.get("role", "")) or "*" for link in links) or "_") + tag(one))
            else:
                targets = [units[link["target"]][0] + tag(link["target"]) for link in links]
                shown.append(";".join(targets) or "*")
        return "|".join(shown) or "_"

    lines, before = [*header, ""], None
    for unit, begin, end, _ in rows:
        sentence = unit.split("-")[0]
        if sentence != before:
            lines += ["", "#Text=" + words(*sentences[int(sentence) - 1]).replace("\\", "\\\\")]
            before = sentence
        cells = [cell(unit, *column) for column in columns]
        lines.append("\t".join([unit, f"{begin}-{end}", words(begin, end), *cells]) + "\t")
    return "\n".join(lines) + "\n"


def covers(rows, unit, low, high):
    """Whether a span covers the token of a part whole; then the part is of another span."""
    begin, end = next(row[1:3] for row in rows if row[0] == unit.split(".")[0])
    return low <= begin and end <= high
