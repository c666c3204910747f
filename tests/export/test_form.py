"""A form's page: one file without external parts, safe with hostile texts, in plain words."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest
from conftest import rule
from typer.testing import CliRunner

import modicum as md
from modicum.cli.main import app
from modicum.export import web_form
from modicum.export.web_form import content_security_policy, form_page, languages, page_strings

PARTS = Path(web_form.__file__).parent / "form_page"
NAMES = ["</script><script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "😀 ‮ عمر", "__proto__", "a{count}"]
WORDS = ["</script>", "<!--<script>", "'\";alert(1)//", "شارع", "💣", "constructor", "\u2028", "${alert(1)}", "", "]]>"]


class ParsedPage(HTMLParser):
    """Every element with its attributes, and the text in each kind of element."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.texts, self.within = [], {}, []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link"):
            self.within.append(tag)

    def handle_endtag(self, tag):
        assert self.within.pop() == tag

    def handle_data(self, data):
        if self.within:
            self.texts[self.within[-1]] = self.texts.get(self.within[-1], "") + data

    def tags(self):
        return [tag for tag, _ in self.elements]


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    return X[:3000], y[:3000]


@pytest.fixture(scope="module")
def pat(adult):
    return md.PrivacyTree(max_leaves=10).fit(*adult).generalization_


@pytest.fixture(scope="module")
def cells(adult):
    numbers = adult[0][["age", "hours-per-week", "capital-gain"]]
    return md.ModelGuided(rule, random_state=0).fit(numbers).cells_


def kinds(pat, cells):
    return [pat, cells, md.Questionnaire(cells)]


def hostile():
    frame = pd.DataFrame({name: (WORDS * 3)[i : i + 20] for i, name in enumerate(NAMES)})
    frame["many"] = [f"place {i}" for i in range(20)]
    return md.Uniform(buckets=30).fit(frame).generalization_


@pytest.mark.parametrize("endpoint", [None, "/records", "https://forms.example.org/records"])
def test_the_page_is_one_file_that_names_only_its_endpoint(pat, cells, endpoint):
    for artifact in kinds(pat, cells):
        page = form_page(artifact, endpoint=endpoint)
        read = ParsedPage(page)
        assert read.tags().count("script") == read.tags().count("style") == 1
        addresses = [value for _, attrs in read.elements for key, value in attrs.items() if key in ("src", "href")]
        assert addresses == ["data:,"]
        found = set(re.findall(r"https?://[^\s\"';]*", page))
        assert found <= ({"https://forms.example.org", endpoint} if endpoint else set())
        assert "@import" not in page
        assert "url(" not in read.texts["style"]


def test_policy_and_header_admit_only_the_pages_script_and_style(pat, cells):
    for endpoint, connect in [(None, "'none'"), ("/records", "'self'"), ("http://localhost:8/r", "http://localhost:8")]:
        for artifact in kinds(pat, cells):
            page = form_page(artifact, endpoint=endpoint)
            read = ParsedPage(page)
            policy = next(attrs["content"] for _, attrs in read.elements if "http-equiv" in attrs)
            rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
            for kind in ("script", "style"):
                digest = base64.b64encode(hashlib.sha256(read.texts[kind].encode()).digest()).decode()
                assert rules[f"{kind}-src"] == f"'sha256-{digest}'"
            assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
            assert rules["connect-src"] == connect
            assert content_security_policy(page, endpoint) == f"{policy}; frame-ancestors 'none'"


def test_elements_have_no_handler_or_style_and_scripts_neither_write_html_nor_store(pat):
    page = form_page(pat)
    for _, attrs in ParsedPage(page).elements:
        assert not [key for key in attrs if key.startswith("on") or key == "style"]
    text = "".join(path.read_text(encoding="utf-8") for path in PARTS.glob("*.js"))
    writes = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|\.style\b|cssText"
    assert not re.search(writes, text)
    assert not re.search(
        r"localStorage|sessionStorage|indexedDB|cookie|document\.title|location\b|sendBeacon|XMLHttp", text
    )
    assert text.count("fetch(") == 1


def test_hostile_names_and_categories_do_not_break_out_of_the_page():
    g = hostile()
    texts = {name: {"question": f"{name}?", "help": "</style><svg onload=alert(1)>"} for name in NAMES}
    schema = g.schema
    for name, changes in texts.items():
        schema = schema.replace(name, **changes)
    g = md.Generalization.from_dict(g.to_dict() | {"schema": schema.to_dict()})
    title = "</title><script>alert(1)</script>"
    page = form_page(g, title=title, strings=page_strings("en") | {"needsScript": "<b onclick=x>&amp;"})
    read = ParsedPage(page)
    assert read.tags() == ParsedPage(form_page(hostile())).tags()
    assert read.texts["title"] == title
    assert read.within == []
    assert page.count("</script") == page.count("<script") == page.count("</style") == 1
    assert "<!--" not in page


def test_ten_thousand_categories_stay_one_page():
    frame = pd.DataFrame({"place": [f"<place {i}>" for i in range(10_000)]})
    g = md.Uniform(buckets=10_000).fit(frame).generalization_
    page = form_page(g)
    assert ParsedPage(page).tags().count("script") == 1
    assert len(page) < 1_000_000


def test_the_same_artifact_gives_the_same_page(pat):
    assert form_page(pat) == form_page(pat)


def test_every_language_has_the_same_keys_and_every_text_is_used():
    keys = [list(json.loads((PARTS / "strings" / f"{language}.json").read_text("utf-8"))) for language in languages()]
    assert keys[0] == keys[1]
    code = "".join(p.read_text("utf-8") for p in PARTS.glob("*.js")) + Path(web_form.__file__).read_text("utf-8")
    assert [key for key in keys[0] if not re.search(rf"[\"'.]{key}\b", code)] == []
    for language in languages():
        assert page_strings(page_strings(language)) == page_strings(language)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"send": None}, r"lack 'send'\.$"),
        ({"sned": "Send"}, r"have an unknown key 'sned'\.$"),
        ({"send": 3}, r"must have a text for 'send'\.$"),
        ({"send": " "}, r"must have a text for 'send'\.$"),
        ({"progress": "{answered} so far"}, r"must use \{answered\}, \{count\} in 'progress'"),
        ({"send": "Send {it}"}, r"must use no \{placeholder\} in 'send'"),
        ({"language": '"><script>'}, r"must have a 'language'"),
        ({"direction": "up"}, r"a 'direction' ltr or rtl"),
    ],
)
def test_missing_and_unknown_texts_are_refused_by_their_key(pat, change, message):
    words = {key: text for key, text in (page_strings("en") | change).items() if text is not None}
    with pytest.raises(md.errors.ParameterError, match=message):
        form_page(pat, strings=words)


@pytest.mark.parametrize(
    "endpoint",
    [
        "records",
        "//evil.example/records",
        "http://forms.example.org/records",
        "https://user:pass@forms.example.org/",
        "https://forms.example.org;script-src *",
        "https://forms.example.org/a b",
        "https://forms.example.org/#part",
        "https://forms.example.org:99999/",
        "javascript:alert(1)",
        "/records; script-src *",
        "/records\n",
        "https://",
        "",
        7,
    ],
)
def test_an_unsafe_endpoint_is_refused(pat, endpoint):
    with pytest.raises(md.errors.ParameterError, match="'endpoint'"):
        form_page(pat, endpoint=endpoint)
    with pytest.raises(md.errors.ParameterError, match="'endpoint'"):
        content_security_policy("", endpoint)


def test_invalid_artifacts_and_parameters_are_refused(pat, cells):
    for wrong in ({}, None, cells.tree):
        with pytest.raises(md.errors.ParameterError, match=r"a Generalization, CellPartition or Questionnaire\. Got"):
            form_page(wrong)
    with pytest.raises(md.errors.ParameterError, match="'exact'"):
        form_page(pat, exact="yes")
    with pytest.raises(md.errors.ParameterError, match="'title'"):
        form_page(pat, title=3)
    with pytest.raises(md.errors.ParameterError, match="'strings'"):
        form_page(pat, strings="fr")
    with pytest.raises(md.errors.ParameterError, match="a page made by form_page"):
        content_security_policy("<p>")


# Words


def partition(name, kind, storage, buckets, **more):
    attribute = md.Attribute(name=name, kind=kind, storage=storage, **more)
    content = {"modicum": "generalization", "version": 1, "schema": {"attributes": [attribute.model_dump(mode="json")]}}
    return md.Generalization.from_dict(content | {"attributes": [{"name": name, "buckets": buckets}]})


def words_of(g, language="en"):
    """The page's words for each bucket, by its own code in Node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not there; install the program node")
    script = ParsedPage(form_page(g, strings=language)).texts["script"]
    head = script[: script.index("// The choices of a question")]  # words and answers come before the drawing code
    document = "globalThis.document = { createElement: () => ({ setAttribute() {}, append() {} }) };\n"
    output = "console.log(JSON.stringify(allChoices(subjects[0]).map((choice) => choice.words)));\n}\n"
    code = document + head + output
    done = subprocess.run([node, "--input-type=module"], input=code, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def texts_of(g, language="en"):
    return [words["text"] for words in words_of(g, language)]


@pytest.mark.parametrize(
    ("storage", "edges", "english", "german"),
    [
        ("integer", [19.5, 63.5], ["less than 20", "20 to 63", "64 or more"], "20 bis 63"),
        ("integer", [0, 1, 12000], ["0 or less", "1", "2 to 12,000", "12,001 or more"], "2 bis 12.000"),
        ("float", [0.25, 1.5], ["0.25 or less", "more than 0.25, up to 1.5", "more than 1.5"], "mehr als 1,5"),
        ("float", [1e-9], ["1e-9 or less", "more than 1e-9"], "mehr als 1e-9"),
    ],
)
def test_numbers_are_ranges_in_plain_words(storage, edges, english, german):
    g = partition("n", "number", storage, [{"up_to": edge} for edge in edges] + [{}])
    assert texts_of(g) == [*english, "I would rather not say"]
    assert german in texts_of(g, "de")


def test_dates_are_ranges_in_plain_words():
    g = partition("d", "date", "date", [{"up_to": "1999-12-31"}, {"up_to": "2020-06-30"}, {}])
    expected = ["before January 1, 2000", "January 1, 2000 to June 30, 2020", "July 1, 2020 or later"]
    assert texts_of(g)[:3] == expected
    assert texts_of(g, "de")[1] == "1. Januar 2000 bis 30. Juni 2020"


def test_groups_show_their_members_or_their_label():
    buckets = [
        {"values": ["nurse"]},
        {"values": ["clerk", "smith", "cook"]},
        {"values": [f"job {i}" for i in range(30)]},
        {"values": ["judge", "lawyer"], "label": "the law"},
    ]
    words = words_of(partition("job", "category", "text", buckets))
    assert [each["text"] for each in words] == [
        "nurse",
        "clerk, smith, or cook",
        "job 0, job 1, job 2 and 27 more",
        "the law",
        "Something else",
        "I would rather not say",
    ]
    assert words[3]["members"] == ["judge", "lawyer"]
    assert len(words[2]["members"]) == 30


def test_neighbours_of_an_order_are_a_range_and_truth_values_are_yes_and_no():
    order = ["none", "basic", "middle", "higher"]
    ordered = partition("s", "ordered", "text", [{"values": order[:3]}, {"values": order[3:]}], domain=order)
    assert texts_of(ordered)[:2] == ["none to middle", "higher"]
    truth = partition("t", "category", "boolean", [{"values": ["false"]}, {"values": ["true"]}])
    assert texts_of(truth) == ["No", "Yes", "I would rather not say"]  # and nothing else
    assert texts_of(truth, "de")[:2] == ["Nein", "Ja"]
    named = partition("t", "category", "boolean", [{"values": ["false"]}, {"values": ["true"], "label": "I smoke"}])
    assert texts_of(named) == ["No", "I smoke", "I would rather not say"]
    only = partition("t", "category", "boolean", [{"values": ["true"]}])
    assert texts_of(only) == ["Yes", "No", "I would rather not say"]
    text = partition("t", "category", "text", [{"values": ["false"]}, {"values": ["true"]}])
    assert texts_of(text) == ["false", "true", "Something else", "I would rather not say"]


def test_a_missing_answer_names_the_bucket_that_it_counts_as():
    g = partition("n", "number", "integer", [{"up_to": 20}, {"takes": ["missing"]}])
    assert texts_of(g) == ["less than 21", "21 or more", "I would rather not say (counted as: 21 or more)"]


# The command


@pytest.fixture
def files(tmp_path, pat, cells):
    pat.save(tmp_path / "g.json")
    cells.save(tmp_path / "cells.json")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "lacking.json").write_text(json.dumps({"language": "fr"}))
    (tmp_path / "words.json").write_text(json.dumps(page_strings("en") | {"send": "Off it goes"}))
    return tmp_path


def run_form(*arguments):
    return CliRunner().invoke(app, ["form", *map(str, arguments)])


def test_the_command_writes_a_page_of_every_kind(files, cells):
    page = files / "form.html"
    assert (
        run_form(
            files / "g.json", "-o", page, "--language", "de", "--endpoint", "/records", "--title", "Über Sie"
        ).exit_code
        == 0
    )
    assert '<html lang="de" dir="ltr">' in page.read_text("utf-8")
    assert "<title>Über Sie</title>" in page.read_text("utf-8")
    assert run_form(files / "cells.json", "-o", page, "--strings", files / "words.json", "--no-exact").exit_code == 0
    assert "Off it goes" in page.read_text("utf-8")
    assert run_form(files / "cells.json", "-o", page, "--questionnaire").exit_code == 0
    assert page.read_text("utf-8") == form_page(md.Questionnaire(cells))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.json"], "nowhere.json"),
        (["broken.json"], "broken.json"),
        (["words.json"], "words.json"),
        (["g.json", "--questionnaire"], "leave out --questionnaire"),
        (["g.json", "--endpoint", "http://example.org/"], "must use https"),
        (["g.json", "--endpoint", "records"], "'endpoint'"),
        (["g.json", "--language", "fr"], "--language must be 'de' or 'en'"),
        (["g.json", "--strings", "lacking.json"], "lack 'direction'"),
        (["g.json", "--strings", "nowhere.json"], "cannot be read"),
        (["g.json", "--strings", "words.json", "--language", "de"], "Give --language or --strings, not both"),
    ],
)
def test_bad_input_is_refused_in_one_sentence_and_leaves_the_old_page(files, monkeypatch, arguments, message):
    monkeypatch.chdir(files)
    Path("form.html").write_text("as before")
    before = sorted(files.iterdir())
    result = run_form(*arguments, "-o", "form.html")
    assert result.exit_code != 0
    assert isinstance(result.exception, md.errors.ModicumError)
    sentence = str(result.exception)
    assert message in sentence
    assert "\n" not in sentence
    assert Path("form.html").read_text() == "as before"
    assert sorted(files.iterdir()) == before


@pytest.mark.parametrize("output", ["form.txt", "g.json", "nowhere/form.html", "."])
def test_an_output_that_cannot_be_written_is_refused_before_any_work(files, monkeypatch, output):
    monkeypatch.chdir(files)
    before = sorted(files.iterdir())
    assert isinstance(run_form("g.json", "-o", output).exception, md.errors.ModicumError)
    assert sorted(files.iterdir()) == before
