; Ways in which tests in Python can change the other tests, and comments that silence a tool anywhere.

; --- ends-tests

((attribute object: (identifier) @module attribute: (identifier) @attribute) @at
  (#any-of? @module "os" "_os" "pytest")
  (#any-of? @attribute "_exit" "abort" "exit")
  (#set! rule "ends-tests") (#set! group "suspicious") (#set! where "test") (#set! not-in "program")
  (#set! sentence "The line ends the whole test run; the tests after it do not run, and a hard exit hides the failures before it."))
((import_from_statement module_name: (dotted_name) @module name: (dotted_name) @at)
  (#any-of? @module "os" "pytest") (#any-of? @at "_exit" "exit")
  (#set! rule "ends-tests"))
((call function: (attribute object: (identifier) @module attribute: (identifier) @function)
    arguments: (argument_list . (call function: (attribute attribute: (identifier) @who)))) @at
  (#eq? @module "os") (#any-of? @function "kill" "killpg") (#any-of? @who "getpid" "getppid")
  (#set! rule "ends-tests"))
; At the level of the module it ends the collection.
((module (expression_statement (call function: [(identifier) (attribute)] @function))  @at)
  (#any-of? @function "sys.exit" "exit" "quit" "atexit.register")
  (#set! rule "ends-tests"))
((module (expression_statement (call function: (attribute object: (identifier) @module attribute: (identifier) @function)) @at))
  (#eq? @module "atexit") (#eq? @function "register")
  (#set! rule "ends-tests"))

; --- patches-at-import

((module (expression_statement (assignment left: (attribute object: (identifier) @name attribute: (identifier) @attribute) @at)))
  (#not-any-of? @attribute "maxDiff" "longMessage" "pytestmark")
  (#set! named "imported") (#set! rule "patches-at-import") (#set! group "suspicious") (#set! where "test")
  (#set! sentence "A file of tests replaces an attribute of a module or class while it is loaded; all tests that follow get the replacement."))
((module (expression_statement (assignment left: (attribute object: (attribute object: (identifier) @name)) @at)))
  (#set! named "imported") (#set! rule "patches-at-import"))
((module (expression_statement (call function: (identifier) @function arguments: (argument_list . (identifier) @name)) @at))
  (#any-of? @function "setattr" "delattr")
  (#set! named "imported") (#set! rule "patches-at-import"))

; --- steers-collection

((function_definition name: (identifier) @at)
  (#match? @at "^(pytest_(collection_modifyitems|collection_finish|itemcollected|deselected|ignore_collect|collect_file|pycollect_.*|pyfunc_call|runtest_.*|runtestloop|report_teststatus|sessionfinish|exception_interact|assertrepr_compare|terminal_summary)|load_tests)$")
  (#set! rule "steers-collection") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The hook decides which tests run or what they report, for all tests at once."))
((module (expression_statement (assignment left: (identifier) @name)) @at)
  (#any-of? @name "collect_ignore" "collect_ignore_glob")
  (#set! rule "steers-collection"))
((assignment left: (identifier) @name right: (false)) @at (#eq? @name "__test__") (#set! rule "steers-collection"))

; --- skips-test

((attribute object: (_) @object attribute: (identifier) @attribute) @at
  (#match? @object "(^|\\.)(pytest|mark|unittest)$|^self$")
  (#any-of? @attribute "skip" "skipif" "xfail" "skipIf" "skipUnless" "expectedFailure" "SkipTest" "skipTest" "importorskip")
  (#set! rule "skips-test") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The line skips a test, or expects it to fail."))
((decorator [(identifier) @function (call function: (identifier) @function)]) @at
  (#any-of? @function "skip" "skipif" "skipIf" "skipUnless" "xfail" "expectedFailure")
  (#set! rule "skips-test"))

; --- silences-tool

((comment) @at
  (#match? @at "#\\s*(noqa|ruff: *noqa|type: *ignore|pyright: *(ignore|basic)|mypy: *(ignore|disable)|pylint: *(disable|skip)|nosec|pytype: *disable|flake8: *noqa)")
  (#set! rule "silences-tool") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The comment silences a linter or a type checker."))
((comment) @at (#match? @at "pragma: *no *(cover|branch)")
  (#set! rule "hides-from-coverage") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The comment hides code from the measurement of coverage."))

; --- swallows-errors

((except_clause (block . (pass_statement) .)) @at
  (#match? @at "^except(\\s+(Base)?Exception(\\s+as\\s+\\w+)?)?\\s*:")
  (#set! rule "swallows-errors") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The handler drops every error."))

((try_statement body: (block) @tried (except_clause (block) @body) @at)
  (#match? @at "^except(\\s+\\(?[^:]*\\b(AssertionError|Exception|BaseException)\\b[^:]*)?\\s*:") (#match? @tried "\\bassert|\\.fail\\(|\\.raises\\(")
  (#not-match? @body "raise|fail|assert|[^=!<>]=[^=]|\\.(append|add|put|set)\\(|return|skip|exit|break|continue")
  (#set! rule "swallows-errors") (#set! where "test")
  (#set! sentence "The handler takes the failure of an assertion, and the test goes on."))

; --- asserts-nothing

; Its decorators may assert something.
((decorated_definition (decorator) @decorator) @region
  (#match? @decorator "usefixtures|patch|raises|warns|xfail|expectedFailure|given|skip") (#set! region "decorated"))
((function_definition name: (identifier) @at parameters: (parameters) @parameters body: (block) @body)
  (#match? @at "^test") (#match? @parameters "^\\(\\s*(self)?\\s*\\)$")
  (#match? @body "^(\\s|;|#[^\\n]*|pass\\b|\\.\\.\\.|return\\b( None\\b)?|[rR]?\"\"\"([^\"]|\"[^\"]|\"\"[^\"])*\"\"\"|[rR]?'''([^']|'[^']|''[^'])*'''|\"[^\"\\n]*\"|'[^'\\n]*'|assert (not False|True|1|([\\d.]+|True|False|None|\"[^\"\\n]*\"|'[^'\\n]*')\\s*(==|is)\\s*([\\d.]+|True|False|None|\"[^\"\\n]*\"|'[^'\\n]*'))(,\\s*\"[^\"\\n]*\")?\\s*(\\n|$)|self\\.(assertTrue\\(True|assertFalse\\(False|assertIsNone\\(None|assertEqual\\(([\\d.]+|True|False|None|\"[^\"\\n]*\"|'[^'\\n]*'),\\s*([\\d.]+|True|False|None|\"[^\"\\n]*\"|'[^'\\n]*'))\\))*$")
  (#set! rule "asserts-nothing") (#set! group "suppression") (#set! where "test") (#set! not-in "decorated")
  (#set! sentence "The test asserts nothing; it passes whatever the product does."))
; Calls and statements that may assert something.
((call function: [(identifier) @function (attribute attribute: (identifier) @function)]) @region
  (#match? @function "(?i)assert|expect|should|verif|check|requir|must|throw|reject|fail|raise|warn|snapshot|match|ensure|valid|equal|test|skip|exit|compare|benchmark|^(run|eq_|ok_)$")
  (#set! region "asserting"))
((call function: (attribute object: (identifier) @object)) @region (#any-of? @object "self" "cls") (#set! region "asserting"))
([(assert_statement) (raise_statement) (ERROR)] @region (#set! region "asserting"))
((function_definition name: (identifier) @name) (#set! names "defined-here"))
((call function: (identifier) @name) @region (#set! named "defined-here") (#set! region "asserting"))
((function_definition name: (identifier) @at parameters: (parameters) @parameters body: (block) @body)
  (#match? @at "^test(_|$)") (#not-match? @parameters "benchmark|snapshot|regression|mock|assert|check|tester|verif")
  (#match? @body "\\w\\(")
  (#set! rule "asserts-nothing") (#set! where "test") (#set! not-in "decorated") (#set! without "asserting")
  (#set! sentence "The test runs the product and asserts nothing of what comes out."))

; --- compares-with-itself

((assert_statement . (comparison_operator . (_) @left operators: ["==" "is"] (_) @right .)) @at
  (#eq? @left @right)
  (#set! rule "compares-with-itself") (#set! group "suppression") (#set! where "test")
  (#set! sentence "The assertion compares an expression with itself; it passes whatever the product does."))
((call function: (attribute attribute: (identifier) @function) arguments: (argument_list . (_) @left . (_) @right)) @at
  (#match? @function "^assert(Is|(Almost|List|Dict|Set|Tuple|Sequence|Count|MultiLine|XML)?Equals?|_\\w*(equal|allclose))$") (#eq? @left @right)
  (#set! rule "compares-with-itself"))
