use proptest::prelude::*;

use super::*;

const FILES: [MapFile<'static>; 7] = [
    MapFile { path: "Cargo.toml", bytes: 40 },
    MapFile { path: "README.md", bytes: 100 },
    MapFile { path: "app/web/index.ts", bytes: 300 },
    MapFile { path: "core/src/gates.rs", bytes: 2_000 },
    MapFile { path: "core/src/lib.rs", bytes: 1_000 },
    MapFile { path: "core/tests/it.rs", bytes: 500 },
    MapFile { path: "data/big.rs", bytes: OUTLINE_BYTES_MAX },
];

fn words(items: &[&str]) -> Vec<String> {
    items.iter().map(|&item| item.to_owned()).collect()
}

#[test]
fn the_focus_is_the_scope_and_what_was_changed_already() {
    let paths = |focus: Vec<usize>| focus.into_iter().map(|at| FILES[at].path).collect::<Vec<_>>();
    let in_scope = focus(&FILES, &words(&["core/src/**"]), &words(&["README.md", "gone.rs"]));
    assert_eq!(paths(in_scope), ["README.md", "core/src/gates.rs", "core/src/lib.rs"]);
    assert_eq!(focus(&FILES, &[], &[]).len(), FILES.len(), "no scope is everything");
}

#[test]
fn files_in_focus_are_outlined_first_and_none_that_is_too_long_or_no_program() {
    let focus = focus(&FILES, &words(&["core/src/**", "README.md"]), &[]);
    let outlined: Vec<&str> = to_outline(&FILES, &focus).into_iter().map(|at| FILES[at].path).collect();
    assert_eq!(outlined, ["core/src/gates.rs", "core/src/lib.rs", "app/web/index.ts", "core/tests/it.rs"]);
}

#[test]
fn a_map_names_languages_folders_files_in_scope_their_symbols_and_their_history() {
    let focus = focus(&FILES, &words(&["core/src/**"]), &[]);
    let symbols = vec![MapSymbol { line: 12, kind: "function".to_owned(), name: "leave\u{1b}[2J".to_owned() }];
    let outlines = [
        Outline { path: "core/src/gates.rs".to_owned(), symbols },
        Outline { path: "core/src/lib.rs".to_owned(), symbols: Vec::new() },
    ];
    let log =
        [LogLine { commit: "abc".to_owned(), day: "2026-11-01".to_owned(), subject: "gates: move\nout".to_owned() }];
    let map = map("0123", &FILES, &focus, &outlines, &log);
    for said in [
        "Commit 0123: 7 files, ",
        "Languages (files): Rust 4, Markdown 1, TOML 1, TypeScript 1\n",
        "\n  app/web/ 1 file, mostly TypeScript\n",
        "\n  core/ 3 files, mostly Rust\n  core/src/ 2 files, mostly Rust\n  core/tests/ 1 file, mostly Rust\n",
        "Files in scope:\n  core/src/gates.rs (2000 bytes)\n  core/src/lib.rs (1000 bytes)\n",
        "  2026-11-01 abc gates: move",
        "Defined in core/src/gates.rs:\n  12 function leave",
    ] {
        assert!(map.contains(said), "{said:?} in {map}");
    }
    assert!(!map.contains('\u{1b}') && !map.contains("core/src/lib.rs:"), "{map}");
    let lines = map.lines().filter(|line| line.contains("gates: move")).count();
    assert_eq!(lines, 1, "a subject stays on its line: {map}");
}

#[test]
fn a_repository_of_many_folders_is_named_as_deep_as_all_fit() {
    let paths: Vec<String> = (0..5_000).map(|n| format!("top{}/mid{}/leaf{n}/f.rs", n % 7, n % 70)).collect();
    let files: Vec<MapFile<'_>> = paths.iter().map(|path| MapFile { path, bytes: 10 }).collect();
    let map = map("0", &files, &[], &[], &[]);
    assert!(map.contains("top6/mid69/ 71 files") && !map.contains("leaf"), "{map}");
    let wide: Vec<String> = (0..200).map(|n| format!("d{n:03}/f")).collect();
    let files: Vec<MapFile<'_>> = wide.iter().map(|path| MapFile { path, bytes: 10 }).collect();
    let all: Vec<usize> = (0..files.len()).collect();
    let map = super::map("0", &files, &all, &[], &[]);
    assert!(map.contains("and 80 more folders") && !map.contains("Files in scope"), "{map}");
}

proptest! {
    #[test]
    fn a_map_is_bounded_and_each_of_its_lines_is_shown_whatever_a_repository_has(
        paths in prop::collection::vec("[a-c/.\\PC]{1,40}", 0..60),
        name in "\\PC{0,300}",
    ) {
        let files: Vec<MapFile<'_>> = paths.iter().map(|path| MapFile { path, bytes: 7 }).collect();
        let focus = focus(&files, &[], &[]);
        let symbols = vec![MapSymbol { line: 1, kind: "class".to_owned(), name }; 40];
        let outlines: Vec<Outline> = (0..10).map(|n| Outline { path: n.to_string(), symbols: symbols.clone() }).collect();
        let map = map("0", &files, &focus[..focus.len() / 2], &outlines, &[]);
        prop_assert!(map.len() <= MAP_BYTES_MAX);
        prop_assert!(map.lines().all(|line| line.chars().count() <= LINE_CHARS_MAX));
        prop_assert_eq!(holdpoint_text::shown::first_hidden(&map.replace('\n', "")), None);
    }
}
