"""SENTiVENT's scores by slow, plain code, one document after the other, written from the definitions."""

from collections import Counter
from fractions import Fraction

SUPPORTS = {
    "event_trigger": 5256,
    "event_argument": 11492,
    "sentiment_expression": 3341,
    "sentiment_target": 3933,
    "event_sentiment_link": 77,
    "event_scoped_polarity": 5256,
    "event_realis": 5256,
    "event_modality": 5256,
    "event_negated": 5256,
    "sentiment_scoped_polarity": 3341,
    "sentiment_uncertain": 3341,
    "sentiment_negated": 3341,
}
FIVE = list(SUPPORTS)[:5]
SEVEN = list(SUPPORTS)[5:]
SETS = ("target", "target_polarity")


def items(document):
    """All items of a document by component, as (spans, labels); and what was left out."""
    annotations = {a["id"]: a for a in document["annotations"]}
    relations = document.get("relations") or {}

    def tokens(a):
        return frozenset(a["span"]["tokens"])

    def pointed(pointer):
        return tokens(annotations[pointer["id"]]) if pointer.get("id") is not None else tokens(pointer)

    found = {name: [] for name in FIVE}
    more = ("trigger_identification", "event_type", "event_polarity", "argument_identification")
    more += ("expression_identification", "target_identification", "link_identification", *SETS)
    found |= {name: [] for name in more}
    left_out = Counter()
    for a in document["annotations"]:
        if a["kind"] == "event":
            if a.get("type") is None:
                left_out["event"] += 1
                left_out["argument"] += len(a.get("arguments") or [])
                continue
            here = (tokens(a),)
            found["event_trigger"].append((here, (a["type"], a.get("subtype"))))
            found["trigger_identification"].append((here, ()))
            found["event_type"].append((here, (a["type"],)))
            found["event_polarity"].append((here, (a.get("polarity"),)))
            for argument in a.get("arguments") or []:
                both = (*here, pointed(argument))
                found["event_argument"].append((both, (a["type"], argument["role"])))
                found["argument_identification"].append((both, ()))
        if a["kind"] == "sentiment_expression":
            here, polarity = (tokens(a),), (a.get("polarity"),)
            found["sentiment_expression"].append((here, polarity))
            found["expression_identification"].append((here, ()))
            for target in a.get("targets") or []:
                there = pointed(target)
                found["sentiment_target"].append(((*here, there), polarity))
                found["target_identification"].append(((*here, there), ()))
                found["target"].append(((there,), ()))
                found["target_polarity"].append(((there,), polarity))
    for link in relations.get("event_sentiment") or []:
        event, expression = annotations[link["from"]], annotations[link["to"]]
        if event.get("type") is None:
            left_out["link"] += 1
            continue
        both = (tokens(event), tokens(expression))
        found["event_sentiment_link"].append((both, (expression.get("polarity"),)))
        found["link_identification"].append((both, ()))
    for name in SETS:
        found[name] = list(dict.fromkeys(found[name]))
    return found, left_out


def most_pairs(left, right, fits):
    """The largest number of pairs, by augmenting paths (Berge 1957)."""
    partner = {}

    def augment(i, seen):
        for j in range(len(right)):
            if j not in seen and fits(left[i], right[j]):
                seen.add(j)
                if j not in partner or augment(partner[j], seen):
                    partner[j] = i
                    return True
        return False

    return sum(augment(i, set()) for i in range(len(left)))


def overlap(p, g):
    return p[1] == g[1] and all(a & b for a, b in zip(p[0], g[0], strict=True))


def rates(counts):
    tp, predicted, gold = counts
    precision = 100 * tp / predicted if predicted else 0.0
    recall = 100 * tp / gold if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "true_positives": tp,
        "predicted": predicted,
        "gold": gold,
    }


def best_alignment(left, right, weight):
    """Pairs of largest total weight; weights are tuples that add up place by place, None for no edge.

    One augmenting path after the other, each the best by Bellman and Ford, as long as the total grows.
    """
    partner_of_left, partner_of_right = {}, {}
    edges = {(i, j): w for i, p in enumerate(left) for j, g in enumerate(right) if (w := weight(p, g)) is not None}
    if not edges:
        return []
    zero = tuple(0 for _ in next(iter(edges.values())))
    while True:
        best = {i: (zero, None) for i in range(len(left)) if i not in partner_of_left}
        reached = {}
        changed = True
        while changed:
            changed = False
            for (i, j), w in edges.items():
                if i in best and partner_of_left.get(i) != j:
                    total = tuple(a + b for a, b in zip(best[i][0], w, strict=True))
                    if j not in reached or total > reached[j][0]:
                        reached[j] = (total, i)
                        changed = True
            for j, (total, _) in reached.items():
                if j in partner_of_right:
                    i = partner_of_right[j]
                    back = tuple(a - b for a, b in zip(total, edges[i, j], strict=True))
                    if i not in best or back > best[i][0]:
                        best[i] = (back, j)
                        changed = True
        ends = [(reached[j][0], j) for j in reached if j not in partner_of_right]
        if not ends or max(ends)[0] <= zero:
            return list(partner_of_left.items())
        j = max(ends)[1]
        while j is not None:
            i = reached[j][1]
            before = best[i][1]
            partner_of_left[i], partner_of_right[j] = j, i
            j = before


def factuality(predictions, references, relaxed):
    """By component: correct, accuracy_support, gold labels, and F1, which depends on ties."""
    fields = {
        "event": ("scoped_polarity", "realis", "modality", "negated"),
        "sentiment": ("scoped_polarity", "uncertain", "negated"),
    }
    result = {}
    for kind, names in fields.items():
        for field in names:
            tp, fp, fn = Counter(), Counter(), Counter()
            correct = support = 0
            active = False
            for prediction, reference in zip(predictions, references, strict=True):
                sides = [
                    [
                        (frozenset(a["span"]["tokens"]), a.get("type") if kind == "event" else None, a.get(field))
                        for a in document["annotations"]
                        if a["kind"] == ("event" if kind == "event" else "sentiment_expression")
                        and (kind != "event" or a.get("type") is not None)
                    ]
                    for document in (prediction, reference)
                ]
                active |= any(label is not None for side in sides for _, _, label in side)

                def weight(p, g):
                    if p[1] != g[1] or not (p[0] & g[0] if relaxed else p[0] == g[0]):
                        return None
                    dice = Fraction(2 * len(p[0] & g[0]), len(p[0]) + len(g[0]))
                    return (1, dice, int(p[2] == g[2] and g[2] is not None), int(g[2] is not None))

                chosen = best_alignment(*sides, weight)
                left_used, right_used = {i for i, _ in chosen}, {j for _, j in chosen}
                for i, j in chosen:
                    predicted, gold = sides[0][i][2], sides[1][j][2]
                    if gold is None:
                        continue
                    support += 1
                    if predicted == gold:
                        correct += 1
                        tp[gold] += 1
                        continue
                    fn[gold] += 1
                    if predicted is not None:
                        fp[predicted] += 1
                for used, side, wrong in ((left_used, sides[0], fp), (right_used, sides[1], fn)):
                    wrong.update(x[2] for at, x in enumerate(side) if at not in used and x[2] is not None)
            labels = sorted(tp.keys() | fp.keys() | fn.keys(), key=str)
            f1 = [200 * tp[x] / (2 * tp[x] + fp[x] + fn[x]) for x in labels]
            result[f"{kind}_{field}"] = {
                "f1": sum(f1) / len(f1) if f1 else 0.0,
                "accuracy": 100 * correct / support if support else 0.0,
                "accuracy_support": support,
                "correct": correct,
                "active": active,
                "gold": {str(x).lower(): tp[x] + fn[x] for x in labels if tp[x] + fn[x]},
            }
    return result


def scores(predictions, references):
    """All tables and scores of documents that are paired by position."""
    counts = {profile: Counter() for profile in ("strict", "relaxed")}
    tables = {profile: {} for profile in counts}
    left_out = [Counter(), Counter()]
    labels = {}
    for prediction, reference in zip(predictions, references, strict=True):
        (predicted, p_out), (gold, g_out) = items(prediction), items(reference)
        left_out[0].update(p_out)
        left_out[1].update(g_out)
        for name in predicted:
            p, g = predicted[name], gold[name]
            shared = Counter(p) & Counter(g)
            for profile, tp in (("strict", shared.total()), ("relaxed", most_pairs(p, g, overlap))):
                row = tables[profile].setdefault(name, [0, 0, 0])
                for at, n in enumerate((tp, len(p), len(g))):
                    row[at] += n
            if name in FIVE:
                for at, side in enumerate((list(shared.elements()), p, g)):
                    for _, values in side:
                        if name == "event_trigger":
                            label = ".".join(v for v in values if v is not None)
                        else:
                            label = values[-1]
                        labels.setdefault(name, {}).setdefault(label, [0, 0, 0])[at] += 1
    result = {profile: {name: rates(row) for name, row in table.items()} for profile, table in tables.items()}
    result["labels"] = {name: {label: rates(row) for label, row in table.items()} for name, table in labels.items()}
    result["left_out"] = left_out
    del counts
    active = [name for name in FIVE if any(tables["strict"][name][1:])]
    result["active"] = active
    for profile in ("strict", "relaxed"):
        rows = result[profile]
        result[f"{profile}_factuality"] = factuality(predictions, references, profile == "relaxed")
        result[f"{profile}_score"] = weighted({name: rows[name]["f1"] for name in active})
        seven = {name: row["f1"] for name, row in result[f"{profile}_factuality"].items() if row["active"]}
        result[f"{profile}_score_with_factuality"] = weighted({name: rows[name]["f1"] for name in active} | seven)
    return result


def weighted(f1):
    total = sum(SUPPORTS[name] for name in f1)
    if not total:
        return None, None
    return sum(SUPPORTS[name] * value for name, value in f1.items()) / total, sum(f1.values()) / len(f1)


# --- coreference ------------------------------------------------------------------------------------------------------


def coreference(predicted, gold):
    """MUC, B³ and CEAFe of documents, each a pair of lists of chains (sets of mentions), mention by mention."""
    from itertools import permutations

    result = {}

    def f(numbers):
        p = 100 * numbers[0] / numbers[1] if numbers[1] else 0.0
        r = 100 * numbers[2] / numbers[3] if numbers[3] else 0.0
        return {"precision": p, "recall": r, "f1": 2 * p * r / (p + r) if p + r else 0.0}

    def muc(chains, others):
        top = 0
        for chain in chains:
            parts = {next((k for k, other in enumerate(others) if m in other), ("alone", m)) for m in chain}
            top += len(chain) - len(parts)
        return top, sum(len(chain) - 1 for chain in chains)

    def b_cubed(chains, others):
        of = {m: other for other in others for m in other}
        mentions = [(m, chain) for chain in chains for m in chain]
        return sum(len(chain & of.get(m, set())) / len(chain) for m, chain in mentions), len(mentions)

    def ceaf(chains, others):
        few, many = sorted((chains, others), key=len)
        return max(
            sum(2 * len(a & b) / (len(a) + len(b)) for a, b in zip(few, some, strict=True))
            for some in permutations(many, len(few))
        )

    totals = {"muc": [0] * 4, "b_cubed": [0] * 4, "ceaf_e": [0] * 4}
    for p, g in zip(predicted, gold, strict=True):
        best = ceaf(p, g)
        for name, four in (
            ("muc", (*muc(p, g), *muc(g, p))),
            ("b_cubed", (*b_cubed(p, g), *b_cubed(g, p))),
            ("ceaf_e", (best, len(p), best, len(g))),
        ):
            totals[name] = [a + b for a, b in zip(totals[name], four, strict=True)]
    result = {name: f(four) for name, four in totals.items()}
    result["conll_f1"] = sum(row["f1"] for row in result.values()) / 3
    return result
