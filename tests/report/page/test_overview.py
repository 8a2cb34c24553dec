from holdfast.report.page.overview import claims_of, contents_of, facts_of


def claim(verdict, text="It holds.", **more):
    return {
        "id": "c",
        "text": text,
        "verdict": verdict,
        "numbers": "",
        "task": "digits",
        "source": "§4",
    } | more


def test_verdicts_are_counted():
    text = claims_of([claim("holds"), claim("holds"), claim("not measured")])
    assert "<b>2</b> holds" in text
    assert "<b>0</b> does not hold" in text
    assert "<b>1</b> not measured" in text


def test_the_same_claim_on_several_tasks_is_written_once_and_what_was_measured_comes_first():
    text = claims_of(
        [claim("not measured", "Later."), claim("holds", task="phishing"), claim("does not hold")]
    )
    assert text.count("It holds.") == 1
    assert text.index("on phishing") < text.index("on digits") < text.index("Later.")


def test_every_section_is_linked_with_a_short_name_first():
    text = contents_of({"experiments": [{"title": "Table 1: all <defences>"}]})
    assert 'href="#experiment-0">Table 1<span class="rest">: all &lt;defences&gt;</span>' in text


def test_the_facts_say_version_and_scale(measured):
    assert "scale “smoke” · 1 experiment · 6 runs" in facts_of(measured)
