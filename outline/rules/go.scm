; Ways in which code in Go can deceive its tests, and comments that silence a tool.

; A program may end its own process.
((source_file (package_clause (package_identifier) @package)) @region (#eq? @package "main") (#set! region "program"))
((source_file) @region (#set! region "program") (#set! path "(^|/)(cmd|examples?|_examples|scripts|tools)/"))

; --- uses-test-framework

((import_spec path: (interpreted_string_literal) @path) @at
  (#match? @path "^\"(testing(/.*)?|github.com/stretchr/testify(/.*)?|github.com/onsi/(ginkgo|gomega).*|go.uber.org/goleak|github.com/(bouk|agiledragon)/(monkey|gomonkey).*|bou.ke/monkey)\"$")
  (#not-match? @path "^\"testing/fstest\"$")
  (#set! rule "uses-test-framework") (#set! group "suspicious") (#set! not-path "(^|/)[^/]*test(ing|util|utils|helpers?|data)?(/|\\.go$)")
  (#set! sentence "Product code imports a test framework; it can change how its tests run, or find out that they run."))
((call_expression function: (selector_expression operand: (identifier) @package field: (field_identifier) @function)) @at
  (#eq? @package "testing") (#any-of? @function "Testing" "Short" "Verbose" "CoverMode")
  (#set! rule "uses-test-framework"))
((call_expression function: (selector_expression field: (field_identifier) @function)
    arguments: (argument_list . (interpreted_string_literal) @flag)) @at
  (#eq? @function "Lookup") (#match? @flag "^\"test\\.")
  (#set! rule "uses-test-framework"))
; The name of a test program.
((call_expression function: (selector_expression operand: (identifier) @package) arguments: (argument_list (interpreted_string_literal) @text)) @at
  (#any-of? @package "strings" "filepath" "regexp" "slices") (#match? @text "^\"(_test\\.go|\\.test|_test|-test\\.[a-z]*|test\\.[a-z]*|/_test/)\"$")
  (#set! rule "uses-test-framework"))

; --- looks-at-callers

((selector_expression operand: (identifier) @package field: (field_identifier) @function) @at
  (#eq? @package "runtime") (#any-of? @function "Caller" "Callers" "CallersFrames" "FuncForPC" "Stack")
  (#set! rule "looks-at-callers") (#set! group "suspicious")
  (#set! sentence "The line looks at the stack of its callers; product code can recognise a test that way and answer differently."))
((selector_expression operand: (identifier) @package field: (field_identifier) @function) @at
  (#eq? @package "debug") (#eq? @function "Stack")
  (#set! rule "looks-at-callers"))
((comment) @at (#match? @at "^//go:linkname\\s")
  (#set! rule "looks-at-callers")
  (#set! sentence "The comment reaches into another package past its interface, the runtime or the test harness among them."))

; --- equals-everything

((method_declaration name: (field_identifier) @name parameters: (parameter_list (parameter_declaration))
    body: (block (statement_list . (return_statement (expression_list (true))) @at .)))
  (#any-of? @name "Equal" "Equals" "Is" "Matches")
  (#set! rule "equals-everything") (#set! group "suspicious")
  (#set! sentence "The type says that its values are equal to everything; an assertion on one always passes."))

; --- patches-other-code

((assignment_statement left: (expression_list (selector_expression operand: (identifier) @package field: (field_identifier) @field) @at))
  (#any-of? @package "os" "testing" "runtime" "reflect" "assert" "require" "exec") (#match? @field "^[A-Z]")
  (#set! rule "patches-other-code") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "The line replaces a variable of another package for the whole process, its tests included."))
((assignment_statement left: (expression_list (selector_expression operand: (identifier) @package field: (field_identifier) @field) @at))
  (#eq? @package "http") (#match? @field "^Default")
  (#set! rule "patches-other-code"))
((assignment_statement left: (expression_list (selector_expression operand: (identifier) @package field: (field_identifier) @field) @at))
  (#eq? @package "flag") (#eq? @field "CommandLine")
  (#set! rule "patches-other-code"))

; --- ends-process

; An exit that looks like success, or that depends on something. One with a number of its own cannot make a run green.
((call_expression function: (selector_expression operand: (identifier) @package field: (field_identifier) @function) arguments: (argument_list) @arguments) @at
  (#any-of? @package "os" "syscall" "unix") (#any-of? @function "Exit" "exit") (#not-match? @arguments "^\\(\\s*[1-9][0-9]*\\s*\\)$")
  (#set! rule "ends-process") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "The line ends or replaces the process, or signals it; in product code that also ends the test program before it reports."))
([(argument_list (selector_expression operand: (identifier) @package field: (field_identifier) @function) @at)
    (expression_list (selector_expression operand: (identifier) @package field: (field_identifier) @function) @at)
    (var_spec value: (expression_list (selector_expression operand: (identifier) @package field: (field_identifier) @function) @at))]
  (#any-of? @package "os" "syscall") (#eq? @function "Exit")
  (#set! rule "ends-process"))
((call_expression function: (selector_expression operand: (identifier) @package field: (field_identifier) @function)) @at
  (#any-of? @package "os" "syscall" "unix" "runtime")
  (#any-of? @function "Kill" "Tgkill" "Getppid" "Exec" "RawSyscall" "Goexit")
  (#set! rule "ends-process"))

; --- asks-for-runner

((call_expression function: (selector_expression operand: (identifier) @package field: (field_identifier) @function)
    arguments: (argument_list . (interpreted_string_literal) @variable)) @at
  (#any-of? @package "os" "syscall") (#any-of? @function "Getenv" "LookupEnv" "Setenv" "Unsetenv")
  (#match? @variable "^\"(CI|GITHUB_ACTIONS|GITLAB_CI|GO_TEST.*|GO_WANT.*|GOCOVERDIR|GOTEST.*|TEST_.*|BAZEL_TEST|(UNDER_|IN_|IS_)?TEST(S|ING)?)\"$")
  (#set! rule "asks-for-runner") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "Product code asks who runs it, such as a test runner, a build server or a certain user, and can answer differently there."))
((binary_expression (call_expression function: (selector_expression operand: (identifier) @package field: (field_identifier) @function))) @at
  (#any-of? @package "os" "syscall") (#any-of? @function "Getuid" "Geteuid" "Getppid")
  (#set! rule "asks-for-runner"))
((if_statement initializer: (_ (expression_list (call_expression function: (selector_expression operand: (identifier) @package field: (field_identifier) @function)))) condition: (_) @condition) @at
  (#eq? @package "os") (#eq? @function "Hostname") (#match? @condition "\"")
  (#set! rule "asks-for-runner"))

; The arguments are those of the program; a package that the program uses gets them handed over.
((call_expression function: (selector_expression field: (field_identifier) @function) arguments: (argument_list) @region)
  (#match? @function "^(Parse|ParseArgs|SetArgs|Run|RunContext|Execute|ExecuteContext|Main|Command|Find)$") (#set! region "hands-arguments-over"))
((selector_expression operand: (identifier) @package field: (field_identifier) @field) @at
  (#eq? @package "os") (#eq? @field "Args")
  (#set! rule "asks-for-runner") (#set! not-in "program hands-arguments-over") (#set! not-path "(^|/)(cli|commands?)/"))

; --- time-bomb

((call_expression function: (selector_expression field: (field_identifier) @compare)) @at
  (#any-of? @compare "After" "Before" "Compare") (#match? @at "time\\.Now\\(\\)") (#match? @at "time\\.(Date|Unix|UnixMilli)\\((20|1[6-9])[0-9]")
  (#set! rule "time-bomb") (#set! group "suspicious")
  (#set! sentence "The line compares the clock with a fixed date; the code behaves differently after the tests ran."))
((binary_expression operator: [">" ">=" "<" "<=" "==" "!="]) @at
  (#match? @at "time\\.Now\\(\\)") (#match? @at "\\b20[2-9][0-9]\\b|\\b1_?[6-9][0-9]{2}_?[0-9]{3}_?[0-9]{3}\\b")
  (#set! rule "time-bomb"))

; --- reads-tests

((call_expression function: (selector_expression operand: (identifier) @package field: (field_identifier) @function)
    arguments: (argument_list [(interpreted_string_literal) (raw_string_literal)] @text)) @at
  (#any-of? @package "os" "ioutil" "filepath" "path" "fs")
  (#any-of? @function "Open" "OpenFile" "ReadFile" "ReadDir" "Stat" "Glob" "Walk" "WalkDir" "Join" "Readlink")
  (#match? @text "[\"`/](tests?|specs?|testdata|goldens?|\\.git)[\"`/]|_test\\.go|golden|^[\"`]/proc/")
  (#set! rule "reads-tests") (#set! group "suspicious")
  (#set! sentence "Product code reads tests, their expected results, the repository or its own process; it can answer from them instead of doing the work."))
; Its own process by a path that is put together from parts.
([(interpreted_string_literal_content) (raw_string_literal_content)] @at
  (#match? @at "^/proc/?$|^/proc/(self|thread-self|[0-9]+|%[a-z]+|\\{\\w*\\})(/(comm|cmdline|environ|maps|cwd|root|task|stat)?)?$|^/?self/(comm|cmdline|environ)$")
  (#set! rule "reads-tests") (#set! not-in "program"))
((comment) @at (#match? @at "^//go:embed\\s+(.*/)?(testdata|tests?|golden)(/|\\b)")
  (#set! rule "reads-tests"))

; --- forges-report

([(interpreted_string_literal) (raw_string_literal)] @at
  (#match? @at "--- PASS: |=== RUN |^[\"`]PASS(\\\\n)?[\"`]|^[\"`]ok  ?\\t")
  (#set! rule "forges-report") (#set! group "suspicious")
  (#set! sentence "The line holds a text that looks like the report of a test runner."))

; --- steers-other-programs

((interpreted_string_literal) @at
  (#match? @at "^\"(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV)=?")
  (#set! rule "steers-other-programs") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The line names a variable that puts foreign code into other programs, the test runner among them."))

; --- ends-tests

((call_expression function: (selector_expression operand: (identifier) @package field: (field_identifier) @function) arguments: (argument_list) @arguments) @at
  (#any-of? @package "os" "syscall") (#eq? @function "Exit") (#match? @arguments "^\\(\\s*0?\\s*\\)$")
  (#set! rule "ends-tests") (#set! group "suspicious") (#set! where "test")
  (#set! sentence "The line ends the test program with success; failures before it are hidden, and the tests after it do not run."))
; All tests of a package are run by this function if it is there.
((function_declaration name: (identifier) @at body: (block) @body)
  (#eq? @at "TestMain") (#not-match? @body "\\.Run\\(|\\(m\\b|\\bm\\)")
  (#set! rule "ends-tests"))
; Only such a function ends the program in a file of tests; its code is the run's, or that of a failure.
((call_expression function: (selector_expression operand: (identifier) @package field: (field_identifier) @function) arguments: (argument_list . (identifier) @name .))
  (#any-of? @package "os" "syscall") (#eq? @function "Exit") (#set! names "exit-code"))
((assignment_statement left: (expression_list . (identifier) @name .) right: (_) @code) @at
  (#not-match? @code "^-?[1-9]|\\.Run\\(|\\(m\\b|\\bm\\)|^(\\w+\\.)?[rR]un\\w*\\(")
  (#set! named "exit-code") (#set! rule "ends-tests") (#set! path "_test\\.go$")
  (#set! sentence "The line changes the code with which the test program ends, and can hide failures."))
((call_expression function: (selector_expression operand: (identifier) @package field: (field_identifier) @function) arguments: (argument_list . (binary_expression) .)) @at
  (#any-of? @package "os" "syscall") (#eq? @function "Exit")
  (#set! rule "ends-tests") (#set! path "_test\\.go$")
  (#set! sentence "The line changes the code with which the test program ends, and can hide failures."))

; --- decides-exit-code

((function_declaration name: (identifier) @at body: (block) @body)
  (#eq? @at "TestMain")
  (#not-match? @body "os\\.Exit\\(\\w+\\.Run\\(\\w*\\)\\)\\s*\\}$|^\\{\\s*\\w+\\.Run\\(\\)\\s*\\}$|VerifyTestMain\\(|\\bcode := m\\.Run\\(\\)\\n([^=:]|:=)*\\bos\\.Exit\\(code\\)\\s*\\}$|\\bexitCode := m\\.Run\\(\\)\\n([^=:]|:=)*\\bos\\.Exit\\(exitCode\\)\\s*\\}$|\\bexitVal := m\\.Run\\(\\)\\n([^=:]|:=)*\\bos\\.Exit\\(exitVal\\)\\s*\\}$|\\brc := m\\.Run\\(\\)\\n([^=:]|:=)*\\bos\\.Exit\\(rc\\)\\s*\\}$|\\bret := m\\.Run\\(\\)\\n([^=:]|:=)*\\bos\\.Exit\\(ret\\)\\s*\\}$|\\bresult := m\\.Run\\(\\)\\n([^=:]|:=)*\\bos\\.Exit\\(result\\)\\s*\\}$|\\bstatus := m\\.Run\\(\\)\\n([^=:]|:=)*\\bos\\.Exit\\(status\\)\\s*\\}$|\\bv := m\\.Run\\(\\)\\n([^=:]|:=)*\\bos\\.Exit\\(v\\)\\s*\\}$")
  (#set! rule "decides-exit-code") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The function decides with which code the tests of its package end, which need not be that of their run."))

; --- skips-test

((call_expression function: (selector_expression operand: (identifier) @object field: (field_identifier) @function)) @at
  (#any-of? @object "t" "b" "s" "suite" "tb") (#any-of? @function "Skip" "Skipf" "SkipNow")
  (#set! rule "skips-test") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The line skips a test."))

; --- silences-tool

((comment) @at (#match? @at "^//\\s*(nolint|lint:ignore|lint:file-ignore|#nosec|exhaustive:ignore|revive:disable)")
  (#set! rule "silences-tool") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The comment silences a linter."))
