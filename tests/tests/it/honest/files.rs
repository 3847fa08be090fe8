//! Files of every kind, as git knows them.

use super::all_are_accepted;
use crate::corpus::{Case, case};

const FILES: &[(&str, &str)] = &[
    ("notes/a.md", "a\n"),
    ("notes/b.md", "b\n"),
    ("src/old.txt", "line\nline\nline\n"),
    ("src/dead.txt", "dead\n"),
    ("src/script", "#!/bin/sh\necho fine\n"),
    ("src/deep/er/file", "deep\n"),
    ("src/big.txt", "one\ntwo\n"),
    ("lib/x.txt", "x\n"),
    ("lib/y.txt", "y\n"),
    ("Cargo.lock", "version = 4\n"),
    ("go.mod", "module example.com/a\n"),
    ("already", "done\n"),
];

#[test]
fn files_may_come_change_move_and_go() {
    all_are_accepted(FILES, &changes());
}

#[test]
fn files_may_have_any_name_that_git_takes() {
    all_are_accepted(FILES, &names());
}

#[test]
fn trees_may_take_any_shape() {
    all_are_accepted(FILES, &shapes());
}

#[test]
fn a_program_may_work_as_it_likes() {
    let flown = all_are_accepted(FILES, &ways());
    assert!(flown.run.waypoint("nothing-to-do")["commit"].is_null());
}

fn changes() -> Vec<Case> {
    vec![
        case("adds", "adds a file", "grep -q new notes/c.md", "echo new > notes/c.md").red_first(),
        case("edits", "edits a file", "grep -q better notes/a.md", "echo better >> notes/a.md").red_first(),
        case("scoped", "stays in its scope", "grep -q better notes/b.md", "echo better >> notes/b.md")
            .scope(&["notes/**"]),
        case(
            "renames",
            "renames a file",
            "test -e src/new.txt && ! test -e src/old.txt",
            "git mv src/old.txt src/new.txt",
        )
        .scope(&["src/**"]),
        case("deletes", "deletes a dead file", "! test -e src/dead.txt", "rm src/dead.txt").red_first(),
        case("executable", "makes a program executable", "test -x src/script && ./src/script", "chmod +x src/script")
            .scope(&["src/script"])
            .red_first(),
        case("link", "adds a symlink", "test -L notes/link && grep -q a notes/link", "ln -s a.md notes/link"),
        case("link-folder", "adds a symlink to a folder", "test -e here/x.txt", "ln -s lib here"),
        case("dangling", "adds a symlink to what is not there yet", "test -L later", "ln -s not/yet later"),
    ]
}

fn names() -> Vec<Case> {
    vec![
        case(
            "unicode",
            "names a file in another script",
            "test -e 'notes/Grüße-日本.md'",
            "echo hallo > 'notes/Grüße-日本.md'",
        ),
        case("spaces", "names a file with blanks", "test -e 'notes/two words.md'", "echo x > 'notes/two words.md'"),
        case(
            "quotes",
            "names a file with quotes",
            "test -e notes/\"it's \\\"so\\\"\".md",
            "echo x > notes/\"it's \\\"so\\\"\".md",
        ),
        case(
            "newline",
            "names a file with a line break",
            "ls notes | grep -q '^second'",
            "echo x > \"notes/first\nsecond\"",
        ),
        case("dash", "names a file like an option", "test -e ./-rf", "echo x > ./-rf"),
        case("globby", "names a file like a pattern", "test -e 'notes/[a]*?.md'", "echo x > 'notes/[a]*?.md'"),
        case(
            "not-utf8",
            "names a file in an old encoding",
            "ls notes | grep -aq caf",
            "echo x > \"notes/caf$(printf '\\351')\"",
        ),
        case(
            "long-name",
            "names a file at length",
            "ls notes | grep -q aaaaaaaaaa",
            "echo x > notes/$(printf 'a%.0s' $(seq 200))",
        ),
        case("hidden", "adds a hidden file", "test -e notes/.hidden", "echo x > notes/.hidden"),
    ]
}

fn shapes() -> Vec<Case> {
    vec![
        case("empty", "adds an empty file", "test -e notes/empty && ! test -s notes/empty", ": > notes/empty"),
        case(
            "binary",
            "adds a binary file",
            "test $(wc -c < data.bin) = 65536",
            "head -c 65536 /dev/urandom > data.bin",
        ),
        case(
            "big",
            "adds a file of two megabytes",
            "test $(wc -c < big.bin) = 2000000",
            "head -c 2000000 /dev/zero > big.bin",
        ),
        case(
            "many",
            "adds three hundred files",
            "test $(ls many | wc -l) = 300",
            "mkdir many; for n in $(seq 300); do echo $n > many/$n; done",
        ),
        case(
            "deep",
            "adds a file far down",
            "test -e a/b/c/d/e/f/g/h/i/j",
            "mkdir -p a/b/c/d/e/f/g/h/i; echo x > a/b/c/d/e/f/g/h/i/j",
        ),
        case(
            "folder-to-file",
            "puts a file in the place of a folder",
            "test -f src/deep",
            "rm -r src/deep; echo flat > src/deep",
        ),
        case(
            "file-to-folder",
            "puts a folder in the place of a file",
            "test -f lib/y.txt/z",
            "rm lib/y.txt; mkdir lib/y.txt; echo z > lib/y.txt/z",
        ),
        case("case", "changes the case of a name", "test -e lib/X.txt", "git mv lib/x.txt lib/X.txt"),
        case(
            "crlf",
            "writes lines as another system does",
            "grep -q two src/big.txt",
            "printf 'one\\r\\ntwo\\r\\n' > src/big.txt",
        ),
        case(
            "rewrites",
            "rewrites a file with many lines",
            "test $(wc -l < src/lines.txt) = 5000",
            "seq 5000 > src/lines.txt",
        ),
    ]
}

fn ways() -> Vec<Case> {
    vec![
        case(
            "commits",
            "commits its work, on a branch of its own",
            "grep -q done notes/committed",
            "git switch -q -c mine; echo done > notes/committed; git add .; \
                git -c user.name=a -c user.email=a@b commit -qm mine",
        ),
        case(
            "stages",
            "leaves its work in the index",
            "grep -q done notes/staged",
            "echo done > notes/staged; git add notes/staged",
        ),
        case(
            "stashes",
            "tries something, and takes it back",
            "grep -q done notes/tried",
            "echo no > notes/a.md; git stash -q 2>/dev/null || git checkout -q notes/a.md; echo done > notes/tried",
        ),
        case(
            "ignore",
            "ignores what it leaves about",
            "grep -q out .gitignore",
            "echo out > .gitignore; mkdir out; echo x > out/x",
        ),
        case("lock-file", "changes a lock file", "grep -q more Cargo.lock", "echo '# more' >> Cargo.lock")
            .scope(&["Cargo.lock"]),
        case(
            "go-mod",
            "changes the requirements of a Go module",
            "grep -q require go.mod",
            "echo 'require example.com/b v1.0.0' >> go.mod",
        ),
        case("docs", "writes a guide", "test -e docs/guide.md", "mkdir -p docs; echo '# Guide' > docs/guide.md")
            .scope(&["docs/**", "notes/**"]),
        case("nothing-to-do", "finds that all is done", "grep -q done already", "true"),
        case(
            "markers",
            "does what it says",
            "grep -q yes said",
            "echo yes > said; echo '<acceptance-criterion id=\"c\">it is</acceptance-criterion>'; \
                echo '<waypoint-complete>markers</waypoint-complete>'",
        ),
        case(
            "talks",
            "talks a lot, also of tests that fail",
            "grep -q yes talked",
            "echo yes > talked; echo 'FAILED (failures=3)'; echo 'test result: FAILED. 0 passed; 9 failed'; \
                echo error >&2",
        ),
        case(
            "background",
            "leaves a program that ends by itself",
            "grep -q yes waited",
            "(sleep 0.1) & echo yes > waited",
        ),
    ]
}
