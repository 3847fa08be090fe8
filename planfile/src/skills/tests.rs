use holdpoint_evidence::paths::PathRules;

use super::*;

fn skill(path: &str, applies: &str) -> Skill {
    read(path, format!("---\ndescription: A line\napplies: {applies}\n---\n\n## Commands\n\n`make it`\n").as_bytes())
        .unwrap()
}

#[test]
fn a_skill_is_found_by_its_name_and_where_a_link_leads() {
    let links = |list: &[(&str, &str)]| Links::new(list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())));
    let files = ["docs/skills/a.md", ".claude/skills/b/SKILL.md", "web/notes.md"];
    let of = |list| among(files, &links(list)).into_iter().collect::<Vec<_>>();
    assert_eq!(of(&[]), [("docs/skills/a.md".to_owned(), files[0])]);
    let linked = of(&[("docs/skills/b", "../../.claude/skills/b"), ("docs/skills/n.md", "../../web/notes.md")]);
    let names: Vec<_> = linked.iter().map(|(name, file)| (name.as_str(), *file)).collect();
    assert_eq!(
        names,
        [("docs/skills/a.md", files[0]), ("docs/skills/b/SKILL.md", files[1]), ("docs/skills/n.md", files[2])]
    );
    assert_eq!(among([files[1]], &links(&[("docs/skills", "../.claude/skills")])).into_values().next(), Some(files[1]));
    assert!(
        among([files[2]], &links(&[("docs/skills/x.md", "/etc/passwd"), ("docs/skills/y.md", "../../../y")]))
            .is_empty()
    );
}

fn problems(text: &str) -> Vec<String> {
    let errors = read("docs/skills/x.md", text.as_bytes()).unwrap_err().errors;
    errors.iter().map(|e| format!("{}:{}: {} | {}", e.line, e.column, e.message, e.hint)).collect()
}

/// What a waypoint is about.
#[derive(Clone, Copy)]
struct About {
    paths: &'static [&'static str],
    words: &'static str,
    reason: Option<ReasonCode>,
}

fn names(skills: &[Skill], about: About) -> Vec<&str> {
    let covered = Covered::by(skills, about.paths);
    relevant(skills, &covered, about.words, about.reason).iter().map(|skill| skill.path.as_str()).collect()
}

const RUST: About = About {
    paths: &["src/net/retry.rs", "Cargo.toml"],
    words: "Retries back-off\nWhen the C++ peer is away",
    reason: None,
};

#[test]
fn files_of_the_folder_are_skills_by_their_names_and_are_all_steering() {
    for path in ["docs/skills/rust.md", "docs/skills/retries/SKILL.md"] {
        assert!(is_skill(path), "{path}");
    }
    for path in [
        "docs/skills/README.md",
        "docs/skills/a/b/SKILL.md",
        "docs/skills/a/notes.md",
        "docs/skills.md",
        "skills/a.md",
        "x/docs/skills/a.md",
        "docs/skills/a.txt",
    ] {
        assert!(!is_skill(path), "{path}");
    }
    for path in ["docs/skills/rust.md", "docs/skills/README.md", "docs/skills/retries/run.sh"] {
        assert!(holdpoint_evidence::paths::is_steering(path), "{path}");
    }
    assert!(!holdpoint_evidence::paths::is_steering("docs/skillset/a.md"));
    assert!(holdpoint_evidence::paths::is_steering("docs/skills"), "a file or link in its place");
    let named =
        |scope: &str| PathRules::new(&[scope.to_owned()], &[]).unwrap().scope_names_steering("docs/skills/a.md");
    assert!(named("docs/skills/**") && named("docs/skills/a.md") && !named("docs/**") && !named("**/*.md"));
}

#[test]
fn a_skill_applies_where_each_of_its_conditions_holds_by_one_of_its_items() {
    let applies = |applies: &str, about: About| !names(&[skill("docs/skills/x.md", applies)], about).is_empty();
    for (one, holds) in [
        ("{stack: [rust]}", true),
        ("{stack: [python, Rust]}", true),
        ("{stack: [python]}", false),
        ("{paths: [src/net]}", true),
        ("{paths: [src/]}", true),
        ("{paths: ['src/net/**']}", true),
        ("{paths: [docs, Cargo.toml]}", true),
        ("{paths: [docs]}", false),
        ("{paths: [src/ne]}", false),
        ("{paths: [net]}", false),
        ("{words: [retries]}", true),
        ("{words: [cache, BACK OFF]}", true),
        ("{words: [retry]}", false),
        ("{words: [C++]}", true),
        ("{words: [c]}", false),
        ("{reasons: [merge_conflict]}", false),
        ("{stack: [rust], words: [peer]}", true),
        ("{stack: [rust], words: [cache]}", false),
        ("{stack: [go], words: [peer]}", false),
    ] {
        assert_eq!(applies(one, RUST), holds, "{one}");
    }
    let after = |reason| About { reason: Some(reason), ..RUST };
    assert!(applies("{reasons: [criteria_failed, merge_conflict]}", after(ReasonCode::MergeConflict)));
    assert!(!applies("{reasons: [merge_conflict]}", after(ReasonCode::CriteriaFailed)));
}

#[test]
fn the_skills_that_ask_for_the_most_come_first_and_there_are_four_at_most() {
    let of = |name: &str, applies| skill(&format!("docs/skills/{name}.md"), applies);
    let mut skills: Vec<Skill> = ["f", "e", "d", "c"].map(|name| of(name, "{stack: [rust]}")).into();
    skills.push(of("z", "{stack: [rust], words: [peer]}"));
    skills.push(of("a", "{stack: [go]}"));
    let paths = ["z", "c", "d", "e"].map(|name| format!("docs/skills/{name}.md"));
    assert_eq!(names(&skills, RUST), paths);
}

#[test]
fn work_is_about_the_files_in_its_scope_and_those_that_it_is_to_make() {
    let files = ["a.rs", "docs/a.md"].map(|path| MapFile { path, bytes: 1 });
    for (scope, about) in [
        (&[][..], &["a.rs", "docs/a.md"][..]),
        (&["docs/**"], &["docs/a.md"]),
        (&["docs/**", "new.py", "a.rs"], &["a.rs", "docs/a.md", "new.py"]),
        (&["new.py"], &["new.py"]),
        (&["new/**"], &["a.rs", "docs/a.md"]),
    ] {
        let scope: Vec<String> = scope.iter().map(|glob| (*glob).to_owned()).collect();
        assert_eq!(paths(&files, &holdpoint_evidence::map::focus(&files, &scope, &[]), &scope), about, "{scope:?}");
    }
}

#[test]
fn a_skill_is_its_text_without_the_front_matter_whatever_else_that_has() {
    let text = "\u{feff}---\r\nname: retries\r\nlicense: MIT\r\nmetadata: {a: {b: 1}}\r\ndescription: How we retry\r\n\
                applies:\r\n  words: [retries]\r\n---\r\n# Retries\r\n\r\n---\r\n\r\nThe end\r\n";
    let skill = read("docs/skills/x.md", text.as_bytes()).unwrap();
    assert_eq!(skill.text, "# Retries\r\n\r\n---\r\n\r\nThe end");
}

#[test]
fn what_is_wrong_with_a_skill_is_found_at_once_and_at_its_place() {
    let of = |applies: &str| problems(&format!("---\napplies: {applies}\n---\ntext\n"));
    for (text, said) in [
        ("# Just a document\n", "1:1: the skill has no front matter"),
        ("", "1:1: the skill has no front matter"),
        ("---\napplies: {stack: [rust]}\n", "1:1: the skill has no front matter"),
        ("---\n---\ntext\n", "1:1: the skill's front matter is empty"),
        ("---\ndescription: x\n---\ntext\n", "2:1: the front matter has no `applies`"),
        ("---\napplies: {stack: [rust]}\n---\n \n", "2:1: the skill says nothing"),
        ("---\na: [\n---\ntext\n", "this is not YAML"),
    ] {
        let found = problems(text);
        assert!(found.len() == 1 && found[0].contains(said), "{text:?}: {found:?}");
    }
    for (applies, said) in [
        ("{}", "2:10: `applies` has no condition | name `stack`"),
        ("{stak: [rust]}", "2:11: unknown key `stak` in `applies` | did you mean `stack`?"),
        ("{stack: []}", "2:18: `stack` is empty"),
        ("{stack: rust}", "2:18: `stack` is a list, not a text"),
        ("{stack: [cobol]}", "2:19: `cobol` is not a language that is known by its files | one of C, C++"),
        ("{paths: ['**/*.rs']}", "2:19: `**/*.rs` is not the path of a file or folder"),
        ("{paths: [/src]}", "2:19: `/src` is not the path of a file or folder"),
        (&format!("{{paths: [{}a]}}", "a/".repeat(16)), "2:19: `a/a/a/"),
        ("{words: ['...']}", "2:19: `...` has no letter and no digit"),
        ("{reasons: [red]}", "2:21: `red` is not a reason code"),
        ("{words:}", "2:11: `words` has no value"),
        (&format!("{{words: [{}]}}", "x".repeat(257)), "2:19: an item of `words` has more than 256 bytes"),
    ] {
        let found = of(applies);
        assert!(found.len() == 1 && found[0].starts_with(said), "{applies}: {found:?}");
    }
    assert_eq!(of("{stack: [cobol], words: ['...'], x: 1}").len(), 3);
    let many = vec!["a"; 17].join(", ");
    assert!(of(&format!("{{words: [{many}]}}"))[0].contains("more than 16 items"));
}

#[test]
fn a_skill_is_bounded_and_text() {
    let long = format!("---\napplies: {{stack: [rust]}}\n---\n{}", "x".repeat(FILE_BYTES_MAX));
    assert!(problems(&long)[0].contains("larger than 24 KiB"));
    assert!(read("docs/skills/x.md", b"---\napplies: {stack: [rust]}\n---\n\xff").is_err());
}
