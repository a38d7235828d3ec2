"""Records for reports, and the reports of benchmark files."""

GOLD = {
    "aste": "aste/v2/14lap/test_triplets.txt",
    "docred": "docred/test_revised.json",
    "docred-scores": "docred/dev_revised.json",
    "propsegment": "propsegment/propositions.test.json",
}
HOSTILE = [
    "<script>document.title='owned'</script>",
    "</script><img src=x onerror=\"document.title='owned'\">",
    "<!--",
    "\"quotes\" & 'more'",
    "{{ 7 * 7 }}",
    "שלום",
    "‮مرحبا",
    "👩‍👩‍👧",
    "\u2028",
    "`${1}`",
]


def hostile_records(n_tokens):
    tokens = HOSTILE + [f"word{at}" for at in range(n_tokens - len(HOSTILE))]
    gold = [
        {"aspect": [0, 1], "opinion": [5, 6, 9], "polarity": "POS"},
        {"aspect": [n_tokens - 1], "opinion": [7], "polarity": "NEG"},
    ]
    references = [
        {"id": "<b>'\"&", "tokens": tokens, "triplets": gold},
        *({"id": f"s{at}", "tokens": ["fine", str(at)], "triplets": gold[:0]} for at in range(5000)),
    ]
    predictions = [{"id": r["id"], "triplets": r["triplets"][:1]} for r in references]
    return {"references": references, "predictions": predictions}


def unread_records():
    gold = {"tokens": ["a", "b"], "triplets": [{"aspect": [0], "opinion": [1], "polarity": "POS"}]}
    counts = (0, 1, 3)
    return {"references": [gold] * 3, "predictions": [{**gold, "triplets": [], "unparsed": n} for n in counts]}
