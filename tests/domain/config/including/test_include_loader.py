"""Missing, unreadable and too many files: whatever is wrong is told with the file it is in."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.config.context import Context
from domain.config.including.includes import Loaded, expand
from domain.config.including.integrity import integrity_of
from domain.config.reading.budget import Budget
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from domain.config.sources import Absent, Answer, LocalFile, Request, Sources, Wanted
from domain.errors import ConfigInvalid
from tests.domain.config.including.include_world import JOB, World
from tests.growth import cost

NESTED = "Maximum of 150 nested includes are allowed!"


class TestRefusals:
    @pytest.mark.parametrize(
        ("item", "said"),
        [
            ("/ci/a.txt", "Included file `ci/a.txt` does not have YAML extension!"),
            (".yml", "Included file `.yml` does not have YAML extension!"),
            ("{project: g/p, file: a}", "Included file `a` does not have YAML extension!"),
            ("{remote: 'https://x.org/'}", "Included file `https://x.org/` does not have YAML extension!"),
            ("no.yml", "Local file `no.yml` does not exist!"),
            ("../up.yml", "Local file `../up.yml` does not exist!"),
            ("empty.yml", "Local file `empty.yml` is empty!"),
            ("{project: g/p, file: no.yml}", "Project `g/p` not found or access denied!"),
            ("{project: g/p, file: empty.yml}", "Project `g/p` file `empty.yml` is empty!"),
            ("{remote: a.yml}", "Remote file `a.yml` does not have a valid address!"),
            ("{remote: 'ftp://x.org/a.yml'}", "Remote file `ftp://x.org/a.yml` does not have a valid address!"),
            ("{remote: 'https://[/a.yml'}", "Remote file `https://[/a.yml` does not have a valid address!"),
            ("https://x.org/no.yml", "Remote file `https://x.org/no.yml` could not be fetched!"),
            ("{template: A.yml}", "Template file `A.yml` is not a valid location!"),
            ("{template: A.gitlab-ci.yml}", "Template file `A.gitlab-ci.yml` does not exist!"),
            ("{component: g/p@1}", "Component `g/p@1`: the address must be"),
            ("{component: h/g/p}", "Component `h/g/p`: the address must be"),
            ("{component: h/g/p@1}", "Component `h/g/p@1` not found or access denied!"),
            (
                "{artifact: a.yml, job: j}",
                "Including configs from artifacts is only allowed when triggering child pipelines",
            ),
        ],
    )
    def test_what_is_said(self, item: str, said: str) -> None:
        world = World({"empty.yml": " \n", "g/p:empty.yml": "", "up.yml": JOB})
        (issue,) = world.issues(f"{JOB}\ninclude:\n- {item}")
        assert issue.message.startswith(said)
        assert (issue.file, issue.line, issue.path) == (".gitlab-ci.yml", 3, "include")

    def test_the_answers_own_words_come_first(self) -> None:
        class Closed(World):
            def answer(self, request: Request) -> Answer:
                return Absent("Project `g/p` reference `v9` does not exist!")

        (message,) = Closed({}).messages("include: {project: g/p, ref: v9, file: a.yml}")
        assert message == "Project `g/p` reference `v9` does not exist! (included by .gitlab-ci.yml:1)"

    def test_a_missing_file_says_who_wanted_it(self) -> None:
        world = World({"a.yml": "x: 1\ninclude: b.yml", "b.yml": "include:\n- c.yml"})
        (issue,) = world.issues("include: [a.yml]")
        assert (issue.file, issue.line) == ("b.yml", 2)
        assert issue.message == "Local file `c.yml` does not exist! (included by b.yml:2, a.yml:2, .gitlab-ci.yml:1)"

    def test_an_unreadable_file_is_told_there_and_where_it_is_included(self) -> None:
        world = World({"a.yml": "include: b.yml", "b.yml": "x: 1\ny: ]"})
        inner, outer = sorted(world.issues("include: [a.yml]"), key=lambda issue: issue.file, reverse=True)
        assert (inner.file, inner.line) == ("b.yml", 2)
        assert (outer.file, outer.line) == ("a.yml", 1)
        assert outer.message == (
            "Included file `b.yml` does not have valid YAML syntax! (included by a.yml:1, .gitlab-ci.yml:1)"
        )

    def test_the_mistakes_of_all_files_are_told_together(self) -> None:
        world = World({"a.yml": "- no", "b.yml": "x: 2024-01-31", "c.yml": "include: [no.yml]", "d.yml": JOB})
        files = [issue.file for issue in world.issues("include: [a.yml, b.yml, c.yml, gone.yml, d.yml, {local: 1}]")]
        assert set(files) == {"a.yml", "b.yml", "c.yml", ".gitlab-ci.yml"}

    def test_an_unreadable_file_that_comes_twice_is_read_once(self) -> None:
        found = World({"a.yml": "- no"}).issues("include: [a.yml, a.yml]")
        assert sorted(issue.file for issue in found) == [".gitlab-ci.yml", ".gitlab-ci.yml", "a.yml"]

    def test_integrity(self) -> None:
        url = "https://x.org/a.yml"
        world, right, wrong = World({url: JOB}), integrity_of(JOB), integrity_of("else")
        assert world.keys(f"include: {{remote: '{url}', integrity: {right}}}") == ["a"]
        (message,) = world.messages(f"include: {{remote: '{url}', integrity: {wrong}}}")
        assert message.startswith(f"Remote file `{url}` failed integrity check!")
        assert right in message


class TestLimits:
    def test_a_chain_of_150_is_followed(self) -> None:
        files = {f"{at}.yml": f"include: {at + 1}.yml\nj{at}: x" for at in range(1, 150)} | {"150.yml": JOB}
        loaded = self.at_once(files)
        assert isinstance(loaded, Loaded)
        assert len(loaded.root) == 150

    def test_a_chain_of_151_is_not(self) -> None:
        with pytest.raises(ConfigInvalid) as caught:
            self.at_once({f"{at}.yml": f"include: {at + 1}.yml" for at in range(1, 152)})
        assert [(issue.message, issue.file) for issue in caught.value.issues] == [(NESTED, "150.yml")]

    def at_once(self, files: Mapping[str, str]) -> Loaded | Wanted:
        """What `1.yml` includes, with every file known from the start."""
        world = World(files)
        return world.round("include: 1.yml", {request: world.answer(request) for request in map(LocalFile, files)})

    def test_repeated_files_count(self) -> None:
        world = World({"a.yml": "include: [b.yml, b.yml]", "b.yml": JOB})
        assert len(world.load(f"include: [{', '.join(['a.yml'] * 50)}]").includes) == 150
        assert world.messages(f"include: [{', '.join(['a.yml'] * 51)}]") == [NESTED]

    def test_a_thousand_end_at_once_before_anything_is_fetched(self) -> None:
        world, allowed = World({}), World({f"{at}.yml": JOB for at in range(150)})
        listed = ["include:\n" + "\n".join(f"- {at}.yml" for at in range(count)) for count in (150, 1_000)]
        assert world.messages(listed[1]) == [NESTED]
        assert cost(lambda: world.messages(listed[1])) < 10 * cost(lambda: allowed.load(listed[0]))
        assert world.asked == []

    @pytest.mark.parametrize(
        ("files", "said"),
        [
            ({"a.yml": "include: a.yml"}, "`a.yml` includes itself: a.yml -> a.yml"),
            ({"a.yml": "include: b.yml", "b.yml": "include: a.yml"}, "includes itself: a.yml -> b.yml -> a.yml"),
            ({"a.yml": "spec: {inputs: {n: {default: x}}}\n---\ninclude: a.yml"}, "includes itself: a.yml -> a.yml"),
        ],
    )
    def test_circles(self, files: dict[str, str], said: str) -> None:
        (message,) = World(files).messages("include: a.yml")
        assert said in message

    def test_a_circle_with_other_inputs_ends_at_the_limit(self) -> None:
        text = "spec: {inputs: {n: null}}\n---\ninclude: {local: a.yml, inputs: {n: '$[[ inputs.n ]]x'}}"
        assert World({"a.yml": text}).messages("include: {local: a.yml, inputs: {n: x}}") == [NESTED]

    def test_a_file_may_include_itself_with_other_inputs(self) -> None:
        text = """\
            spec: {inputs: {n: {default: last}}}
            ---
            include: {local: a.yml, rules: [{if: "'$[[ inputs.n ]]' == 'first'"}]}
            j-$[[ inputs.n ]]: x
            """
        assert World({"a.yml": text}).keys("include: {local: a.yml, inputs: {n: first}}") == ["j-first", "j-last"]

    def test_values_of_all_files_are_limited_together(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("domain.config.including.include_loader.MAX_VALUES", 12)
        world = World({"a.yml": "a: [1, 2, 3, 4]", "b.yml": "b: [1, 2, 3, 4, 5, 6, 7]"})
        assert world.keys("include: [a.yml, a.yml, a.yml]") == ["a"]
        assert world.messages("include: [a.yml, b.yml]") == [
            "The included files hold more than 12 values together; include fewer or smaller ones"
        ]

    def test_merging_is_limited(self) -> None:
        issues, request = Issues("ci.yml"), LocalFile("a.yml")
        sources = Sources({request: World({"a.yml": "v: {A: 1, B: 2}"}).answer(request)})
        source = read("include: a.yml\nv: {C: 3}", issues)
        with pytest.raises(ConfigInvalid, match="grows to more than 3 values"):
            expand(source, Context(), sources, issues, Budget(3, issues), set())

    def test_all_texts_together_are_limited(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("domain.config.including.include_loader.TOTAL_BYTES", 30)
        world = World({"a.yml": "a: {script: x}", "b.yml": "b: {script: 'long enough'}"})
        assert world.keys("include: [a.yml, a.yml, a.yml]") == ["a"]
        assert "Total size of combined CI/CD configuration is too big" in world.messages("include: [a.yml, b.yml]")[0]


ADDRESSES = [
    "a.yml",
    "*.yml",
    "$A.yml",
    "%A%",
    "g/p",
    "h/g/p@1",
    "https://x.org/a.yml",
    "A.gitlab-ci.yml",
    "..",
    "/",
    "",
]
VALUES = st.recursive(
    st.sampled_from([None, True, 1, 1.5, *ADDRESSES]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "if", "when"]), inner, max_size=2)
    ),
    max_leaves=4,
)
WORDS = "local project file ref remote template component artifact job inputs rules integrity cache bogus".split()
INCLUDES = st.lists(VALUES | st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=4), max_size=4)


@given(INCLUDES, INCLUDES)
def test_any_include_is_carried_out_or_refused(first: object, second: object) -> None:
    world = World(
        {
            address: f"include: {json.dumps(second)}\n{JOB}"
            for address in ("a.yml", "g/p:a.yml", "h/g/p@1", ADDRESSES[6])
        },
        Context(predefined={"A": "a"}, parent_job_artifacts=True),
    )
    text = f"include: {json.dumps(first)}\n{JOB}"
    try:
        assert set(world.load(text).root) == {"a"}
    except ConfigInvalid:
        assert all(issue.line for issue in world.issues(text))
