"""What shares a name is told apart by what differs."""

from holdfast.paper.labels import differences, labels

CALM = {"name": "calm", "aggregate": "calm(share=0.5)#276abaf1", "train": None}


def test_a_name_that_one_alone_has_is_its_label():
    assert labels({"a": CALM, "b": {**CALM, "name": "strict"}}) == {"a": "calm", "b": "strict"}


def test_settings_and_code_tell_apart_what_shares_a_name():
    changed = {
        "settings": {**CALM, "aggregate": "calm(share=0.2)#276abaf1"},
        "code": {**CALM, "aggregate": "calm(share=0.5)#0c5ecaf7"},
    }
    assert labels({"a": CALM, "b": changed["settings"]}) == {"a": "calm (share=0.5)", "b": "calm (share=0.2)"}
    assert labels({"a": CALM, "b": changed["code"]}) == {"a": "calm (#276abaf1)", "b": "calm (#0c5ecaf7)"}
    all_of_them = labels({"a": CALM, **changed})
    assert all_of_them["code"] == "calm (share=0.5, #0c5ecaf7)"
    assert len(set(all_of_them.values())) == 3


def test_parts_that_only_some_have_are_named():
    attack = {"name": "corner", "n_malicious": 3, "crafts": ["boost(factor=2.0)#a69ececa"], "backdoor": None}
    edited = {**attack, "crafts": ["boost(factor=2.0)#ffffffff"], "sleeps": 4}
    assert differences([attack, edited]) == [["boost#a69ececa"], ["boost#ffffffff", "sleeps=4"]]
    other = {**attack, "backdoor": "stamp(at=(1, 'a'), of=f(x=1)#12345678)#abcdef01"}
    assert differences([attack, other])[0] == ["no backdoor"]
    assert differences([attack, other])[1] == ["stamp", "at=(1, 'a')", "of=f(x=1)", "stamp#12345678#abcdef01"]


def test_what_is_no_python_is_shown_as_it_is():
    texts = [{"model": f"net(of=<{letter}>)"} for letter in "ab"]
    assert differences(texts) == [["settings=of=<a>"], ["settings=of=<b>"]]
