"""`docred_names`: facts by name match as many as possible, and the work grows no faster than facts times gold facts."""

import itertools
import json
import random
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanscore.metrics.docred_metric import DocredMetric
from spanscore.metrics.docred_names import GroupMatching, choose_groups, fold
from test_docred_metric import closest, document, most, score

from spanscore.analysis import analyse
from spanscore.benchmarks import BENCHMARKS
from spanscore.metrics import docred_names
from spanscore.pages import report_page
from spanscore.scoring import score_files
from spanscore.tables import result_tables

EDGES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 4)), max_size=25, unique=True)


@given(
    EDGES, st.lists(st.sampled_from([0.1, 0.2, 0.3]), min_size=8, max_size=8), st.lists(st.integers(1, 3), min_size=5)
)
def test_as_many_facts_as_possible_at_every_threshold(edges, scores, capacity):
    edges, capacity = sorted(edges), capacity[:5]
    fact, group = np.array(edges, np.int64).reshape(-1, 2).T
    chosen = choose_groups(fact, group, np.array(scores), np.array(capacity)).tolist()
    assert all(to == -1 or (at, to) in edges for at, to in enumerate(chosen))
    assert all(chosen.count(at) <= most_places for at, most_places in enumerate(capacity))
    places = [(at, copy) for at, n in enumerate(capacity) for copy in range(n)]
    for threshold in (0.0, 0.1, 0.2):
        taken = [at for at in range(8) if scores[at] > threshold]
        among = [{j for j, (to, _) in enumerate(places) if (at, to) in edges} for at in taken]
        assert sum(chosen[at] >= 0 for at in taken) == most(among, len(places))


class Counted(dict):
    """The groups of each fact, which counts how many are looked at."""

    def __init__(self, edges):
        super().__init__()
        self.looks = 0
        for fact, group in edges:
            self.setdefault(fact, []).append(group)

    def __getitem__(self, fact):
        owner, groups = self, super().__getitem__(fact)

        class Groups:
            def __len__(self):
                return len(groups)

            def __getitem__(self, at):
                owner.looks += 1
                return groups[at]

        return Groups()


def chain(n):
    """A group for each fact, but the first fact comes last, so that all others have to move."""
    return [(fact, group) for fact in range(n) for group in ((fact, fact + 1) if fact + 1 < n else (fact,))]


def scattered(n):
    rng = random.Random(n)
    return sorted({(fact, rng.randrange(n)) for fact in range(n) for _ in range(8)})


@pytest.mark.parametrize("made", [chain, scattered])
def test_the_work_of_matching_grows_with_the_edges(made):
    for n in (200, 400, 800):
        edges = made(n)
        neighbours = Counted(edges)
        matching = GroupMatching(neighbours, dict.fromkeys(range(n), 1))
        matching.fill(list(range(n))[::-1])
        assert sum(map(len, matching.held.values())) == most([{g for f, g in edges if f == at} for at in range(n)], n)
        assert neighbours.looks <= 20 * len(edges)


def shared(n_entities, n_facts, seed=1):
    """Entities of one name, each with a name of its own; facts with either."""
    rng = random.Random(seed)
    names = [["Shared", f"own {at}"] for at in range(n_entities)]
    vertex_set = [[{"name": name, "sent_id": rng.randrange(30)} for name in pair] for pair in names]
    pairs = rng.sample(list(itertools.permutations(range(n_entities), 2)), n_facts)
    labels = [{"h": h, "t": t, "r": f"P{rng.randrange(4)}"} for h, t in pairs]
    facts = [
        {
            "title": "d",
            "head": rng.choice(names[g["h"]]),
            "tail": rng.choice(names[g["t"]]),
            "r": rng.choice([g["r"], "P9"]),
        }
        for g in labels
    ]
    return facts, [{"title": "d", "vertexSet": vertex_set, "labels": labels}]


def test_the_work_of_names_that_many_entities_share(monkeypatch):
    work = []
    elements = docred_names.elements

    def counted(starts, sizes):
        work.append(int(np.sum(sizes)))
        return elements(starts, sizes)

    monkeypatch.setattr(docred_names, "elements", counted)
    for n_entities, n_facts in ((50, 250), (100, 500), (200, 1000)):
        work.clear()
        facts, documents = shared(n_entities, n_facts)
        DocredMetric().compute(predictions=facts, references=documents, match="names")
        # Pairs of entities would be facts times entities squared: 40 million in the last case.
        assert sum(work) <= 4 * n_facts * n_entities + 4 * n_entities


@given(st.data())
def test_distances_of_names(data):
    mention = st.builds(lambda name, at: {"name": name, "sent_id": at}, st.sampled_from("abc"), st.integers(0, 12))
    vertex_set = data.draw(st.lists(st.lists(mention, min_size=1, max_size=3), min_size=2, max_size=5))
    documents = [{"title": "d", "vertexSet": vertex_set, "labels": []}]
    head, tail = data.draw(st.sampled_from("abcd")), data.draw(st.sampled_from("abc"))
    result = score(DocredMetric(), [{"title": "d", "head": head, "tail": tail, "r": "P1"}], documents, match="names")
    called = {
        name: [at for at, mentions in enumerate(vertex_set) if any(m["name"] == name for m in mentions)]
        for name in "abcd"
    }
    pairs = [(h, t) for h in called[head] for t in called[tail] if h != t]
    distance = min((closest(vertex_set, h, t) for h, t in pairs), default=-1)
    found = [result[name]["predicted"] for name in ("intra", "inter", "inter_long")]
    assert found == [distance == 0, distance >= 1, distance > 5]


def test_names_compare_after_normalisation():
    decomposed = unicodedata.normalize("NFD", "Chloé Åström")
    assert decomposed != "Chloé Åström" and fold(decomposed) == fold("  CHLOÉ\tÅström ")
    documents = [document(n=2, labels=[(0, 1, "P1")])]
    documents[0]["vertexSet"][0][0]["name"] = "Chloé Åström"
    facts = [{"title": "d", "head": decomposed, "tail": "d e1", "r": "P1"}]
    assert score(DocredMetric(), facts, documents, match="names")["f1"] == 100


# --- names of relations -----------------------------------------------------------------------------------------------

INFO = {"P27": "country of citizenship", "P17": "country", "P131": "located in"}


def named(*relations, pairs=((0, 1), (1, 2), (2, 0), (0, 2))):
    return [
        {"title": "d", "head": f"d e{h}", "tail": f"d e{t}", "r": relation}
        for (h, t), relation in zip(pairs, relations, strict=False)
    ]


def test_a_model_may_write_the_relation_or_its_name(tmp_path):
    metric = DocredMetric()
    documents = [document(labels=[(0, 1, "P27"), (1, 2, "P17"), (2, 0, "P131")])]
    facts = named("Country  of Citizenship ", "P17", "p131", "capital")
    path = tmp_path / "rel_info.json"
    path.write_text('{"P27": "country of citizenship", "P17": "country", "P131": "located in"}')
    for info in (INFO, str(path), path):
        result = score(metric, facts, documents, match="names", relation_info=info, return_errors=True)
        assert (result["true_positives"], result["predicted"]) == (3, 4)
        assert result["signature"].endswith("|relation_info:yes")
        assert result["label_texts"] == INFO and set(result["per_relation"]) == {*INFO, "capital"}
        assert result["matched"][0]["prediction"] == {
            "head": "d e0",
            "tail": "d e1",
            "r": "P27",
            "relation_text": "country of citizenship",
        }
        assert result["matched"][0]["reference"]["relation_text"] == "country of citizenship"
        assert result["errors"][0]["prediction"] == {"head": "d e0", "tail": "d e2", "r": "capital"}
    both = named("P27", "country of citizenship", pairs=[(0, 1)] * 2)
    result = score(metric, both, documents, match="names", relation_info=INFO)
    assert (result["predicted"], result["duplicate_predictions"]) == (1, 1)
    # With all relations given, a readable name is one of them.
    names = ["Na", *INFO]
    result = score(metric, facts[:3], documents, match="names", relation_info=INFO, relation_names=names)
    assert result["f1"] == 100
    with pytest.raises(ValueError, match=r"^predictions\[3\]\.r: 'capital' is not one of relation_names$"):
        metric.compute(predictions=facts, references=documents, match="names", relation_info=INFO, relation_names=names)
    # By index, relations are what they are, and names are shown.
    by_index = [{"title": "d", "h_idx": 0, "t_idx": 1, "r": "country"}]
    result = score(metric, by_index, documents, relation_info=INFO, return_errors=True)
    assert result["f1"] == 0 and "relation_info" not in result["signature"]
    assert result["errors"][-1]["reference"]["relation_text"] in INFO.values()


@pytest.mark.parametrize(
    ("info", "words"),
    [
        ({"P1": "sibling", "P2": "Sibling "}, "relation_info: 'Sibling ' stands for 'P1' and 'P2'"),
        ({"P1": "p2", "P2": "x"}, "relation_info: 'p2' stands for 'P2' and 'P1'"),
        ({"country": "P27"}, "relation_info: 'P27' is given as a readable name, but is a relation of the references"),
        ({"P1": 3}, "relation_info['P1']: 3 is not a readable name"),
        ({3: "x"}, "relation_info[3]: 3 is not a relation"),
        ({"P1": " "}, "relation_info['P1']: ' ' is blank"),
        (["P1"], "relation_info: ['P1'] is not a dict from relation to its readable name, or a path"),
        ("no such file", "relation_info: 'no such file' cannot be read"),
    ],
)
def test_wrong_relation_info(info, words):
    documents = [document(labels=[(0, 1, "P27")])]
    with pytest.raises(ValueError) as error:
        DocredMetric().compute(predictions=named("P27"), references=documents, match="names", relation_info=info)
    assert str(error.value).startswith(words), error.value


def test_no_relation_by_name():
    documents = [document(labels=[(0, 1, "P27"), (1, 2, "Na")])]
    facts = named("P27", "Na", "no_relation", "NA")
    for options in ({}, {"relation_info": INFO}, {"relation_names": ["P27"]}):
        result = score(DocredMetric(), facts, documents, match="names", **options)
        assert (result["f1"], result["predicted"], result["no_relation_predictions"]) == (100, 1, 3)


def test_reports_show_relations_with_their_names(tmp_path, capsys):
    labels = [(0, 1, "P27"), (1, 2, "P17"), (2, 0, "P17")]
    files = {
        "gold": [document(labels=labels)],
        "predicted": named("Country of citizenship", "located in", pairs=((0, 1), (1, 2))),
        "info": INFO,
    }
    for name, value in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    options = {"match": "names", "relation_info": str(tmp_path / "info.json")}
    options |= {"per_document": True, "return_errors": True}
    paths = [str(tmp_path / f"{name}.json") for name in ("predicted", "gold")]
    scored = score_files(BENCHMARKS["docred"], *paths, {}, options)
    capsys.readouterr()
    (table,) = (table for table in result_tables(scored.result, scored.benchmark) if table.name == "per_relation")
    assert sorted(name for name, _ in table.rows) == ["P131 located in", "P17 country", "P27 country of citizenship"]
    analysed = analyse(scored)
    (confusion,) = analysed.confusions
    assert confusion.counts["P17 country", "P131 located in"] == 1
    labels = [side.labels["relation"] for item in analysed.documents[0].items for side in item[3:5] if side]
    assert set(labels) == {f"{relation} {name}" for relation, name in INFO.items()}
    assert "P27 country of citizenship" in report_page(scored, analysed)
