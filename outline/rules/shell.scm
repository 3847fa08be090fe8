; Ways in which a shell script can deceive the checks that it runs. Scripts run tests, so the rules hold for all of them; an exit is
; normal.

; --- ignores-failures

; `pytest || true`: the list is green whatever the runner says.
((list (_) @runner "||" (command name: (command_name) @name) @command) @at
  (#match? @runner "(^|[^\\w-])(pytest|py\\.test|unittest|nosetests|tox|nox|cargo\\s+(\\+\\S+\\s+)?(test|nextest|clippy|check)|go\\s+(test|vet)|(npm|pnpm|yarn|bun)\\s+(run\\s+)?test|(npx\\s+)?(jest|vitest|mocha|ava)|node\\s+--test|make\\s+(\\S+\\s+)*(check|test)|ctest|rspec|mypy|ruff|eslint|tsc)($|[^\\w-])")
  (#any-of? @name "true" ":" "exit" "echo" "return" "printf") (#not-match? @command "^(exit|return)(\\s+([1-9]|\\$|\"\\$)|$)")
  (#set! rule "ignores-failures") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The script goes on as if nothing happened when a check or a test runner fails."))
((command name: (command_name) @name argument: (word) @option) @at
  (#eq? @name "set") (#match? @option "^\\+[a-z]*e[a-z]*$")
  (#set! rule "ignores-failures"))
((command name: (command_name) @name argument: (word) @sign argument: (word) @option) @at
  (#eq? @name "set") (#eq? @sign "+o") (#any-of? @option "errexit" "pipefail")
  (#set! rule "ignores-failures"))
((command name: (command_name) @name argument: [(string) (raw_string)] @action argument: (word) @event) @at
  (#eq? @name "trap") (#any-of? @event "EXIT" "ERR" "0") (#match? @action "(^|\\W)(exit\\s*(0|['\";]|$)|kill|exec)")
  (#set! rule "ignores-failures"))
; `pytest; exit 0`: the same in two commands.
((_ (command) @runner . (command) @at)
  (#match? @runner "^(pytest|python3?\\s+-m\\s+(pytest|unittest)|cargo\\s+(test|nextest)|go\\s+test|(npm|pnpm|yarn)\\s+(run\\s+)?test|(npx\\s+)?(jest|vitest|mocha)|node\\s+--test|make\\s+(check|test)|ctest|tox)\\b")
  (#match? @at "^(exit\\s+0|true|:)$")
  (#set! rule "ignores-failures"))
; `! pytest` turns a failure into success.
((negated_command (command) @command) @at
  (#match? @command "^(pytest|python3?\\s+-m\\s+(pytest|unittest)|cargo\\s+(test|nextest)|go\\s+test|(npm|pnpm|yarn)\\s+(run\\s+)?test|(npx\\s+)?(jest|vitest|mocha))\\b")
  (#set! rule "ignores-failures"))

; --- hides-output

((redirected_statement body: (_) @runner redirect: (file_redirect destination: (word) @target)) @at
  (#match? @runner "^(\\w+=\\S*\\s+)*(pytest|python3?\\s+-m\\s+(pytest|unittest)|cargo\\s+(test|nextest)|go\\s+test|(npm|pnpm|yarn)\\s+(run\\s+)?test|(npx\\s+)?(jest|vitest|mocha)|node\\s+--test|make\\s+(check|test)|ctest|tox)\\b")
  (#eq? @target "/dev/null")
  (#set! rule "hides-output") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The script throws the output of a test runner away; nobody sees which tests failed."))

; --- shadows-programs

; A folder of the work in front: its programs run in the place of those that the check means.
((variable_assignment name: (variable_name) @name value: (_) @value) @at
  (#eq? @name "PATH") (#match? @value "^[\"']?(\\.|[a-zA-Z0-9_-]+[/:]|\\$\\(pwd\\)|\\$\\{?PWD|`pwd`|/tmp|/dev/shm|\\$\\{?TMP|\\$\\(mktemp)")
  (#set! rule "shadows-programs") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The script puts other programs in the place of those that a check means to run."))
((function_definition name: (word) @at)
  (#any-of? @at "pytest" "python" "python3" "cargo" "go" "npm" "npx" "node" "jest" "vitest" "mocha" "make" "test" "[" "grep" "diff" "cmp" "exit" "git" "set" "trap")
  (#set! rule "shadows-programs"))
((command name: (command_name) @name argument: [(word) (concatenation) (string) (raw_string)] @argument) @at
  (#eq? @name "alias") (#match? @argument "^['\"]?(pytest|python3?|cargo|go|npm|npx|node|jest|make|test|grep|diff|cmp|exit)=")
  (#set! rule "shadows-programs"))

; --- steers-other-programs

((variable_assignment name: (variable_name) @name) @at
  (#match? @name "^(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|PYTEST_ADDOPTS|PYTEST_PLUGINS|PYTHONSTARTUP|PYTHONINSPECT|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER|CARGO_TARGET_\\w*_RUNNER|GOFLAGS)$")
  (#set! rule "steers-other-programs") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The line sets a variable that puts foreign code or options into other programs, the test runner among them."))
((variable_assignment name: (variable_name) @name value: (_) @value) @at
  (#eq? @name "NODE_OPTIONS") (#match? @value "--(require|import|loader|experimental-loader|test-)|-r ")
  (#set! rule "steers-other-programs"))

; --- signals-others

((command name: (command_name) @name argument: (_) @argument) @at
  (#eq? @name "kill") (#match? @argument "PPID|^0$|^-1$|^\"?\\$\\$\"?$")
  (#set! rule "signals-others") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The script signals the program that runs it, or all programs at once."))
((command name: (command_name) @name) @at
  (#any-of? @name "pkill" "killall")
  (#set! rule "signals-others"))

; --- silences-tool

((comment) @at (#match? @at "#\\s*shellcheck\\s+disable")
  (#set! rule "silences-tool") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The comment silences a linter."))
