; Ways in which product code in Python can deceive its tests. `python-tests.scm` has the rules for tests and for suppressions.

; Names that an import brings in: an assignment to an attribute of one changes code that others use.
((import_statement name: (dotted_name . (identifier) @name)) (#set! names "imported"))
((import_statement name: (aliased_import alias: (identifier) @name)) (#set! names "imported"))
((import_from_statement name: (dotted_name (identifier) @name) (#match? @name "^_?[A-Z].*[a-z]"))
  (#set! names "imported"))
((import_from_statement name: (aliased_import alias: (identifier) @name) (#match? @name "^_?[A-Z].*[a-z]"))
  (#set! names "imported"))

; A program may end its own process.
((if_statement condition: (comparison_operator . (identifier) @variable operators: "==" (string (string_content) @main) .)) @region
  (#eq? @variable "__name__") (#eq? @main "__main__") (#set! region "program"))
((function_definition name: (identifier) @function) @region
  (#match? @function "^_?(main|cli|run_cli|run_main|console_main|entry_?point)$") (#set! region "program"))
((decorated_definition (decorator (call function: (attribute attribute: (identifier) @decorator)))) @region
  (#any-of? @decorator "command" "group" "callback") (#set! region "program"))
((module) @region (#set! region "program-file")
  (#set! path "(^|/)(__main__|cli|setup|manage|noxfile|tasks|fabfile)\\.py$|(^|/)(scripts|bin|tools|examples|docs|docs_src|benchmarks)/"))

; --- looks-at-callers

((attribute attribute: (identifier) @at)
  (#any-of? @at "_getframe" "_getframemodulename" "_current_frames" "_current_exceptions" "currentframe" "getouterframes"
    "getinnerframes" "extract_stack" "walk_stack" "walk_tb" "format_stack" "print_stack" "findCaller" "StackSummary" "f_back" "f_code"
    "f_globals" "f_locals" "tb_frame" "gi_frame" "cr_frame" "ag_frame")
  (#set! rule "looks-at-callers") (#set! group "suspicious")
  (#set! sentence "The line looks at the frames of its callers; product code can recognise a test that way and answer differently."))
((call function: (attribute object: (identifier) @module attribute: (identifier) @function)) @at
  (#eq? @module "inspect") (#any-of? @function "stack" "trace")
  (#set! rule "looks-at-callers"))
((import_from_statement module_name: (dotted_name) @module
    name: [(dotted_name) @at (aliased_import name: (dotted_name) @at)])
  (#any-of? @module "inspect" "sys" "traceback")
  (#any-of? @at "stack" "trace" "currentframe" "getouterframes" "getinnerframes" "_getframe" "_current_frames"
    "extract_stack" "walk_stack" "format_stack" "print_stack")
  (#set! rule "looks-at-callers"))
((string (string_content) @at)
  (#any-of? @at "_getframe" "_current_frames" "currentframe" "f_back" "f_code" "tb_frame")
  (#set! rule "looks-at-callers"))

; --- reads-code-objects

((attribute attribute: (identifier) @at)
  (#any-of? @at "__code__" "__globals__" "__closure__" "cell_contents" "co_filename" "co_name" "co_qualname" "co_code"
    "co_consts" "co_names")
  (#set! rule "reads-code-objects") (#set! group "suspicious")
  (#set! sentence "The line reads or replaces the compiled code of a function; product code can recognise or change its tests that way."))
((attribute attribute: (identifier) @at)
  (#any-of? @at "get_objects" "get_referrers" "get_referents")
  (#set! rule "reads-code-objects"))
((import_from_statement module_name: (dotted_name) @module name: [(dotted_name) @at (aliased_import name: (dotted_name) @at)])
  (#eq? @module "gc") (#any-of? @at "get_objects" "get_referrers" "get_referents")
  (#set! rule "reads-code-objects"))
((call function: (attribute object: (identifier) @class attribute: (identifier) @at))
  (#eq? @class "object") (#eq? @at "__subclasses__")
  (#set! rule "reads-code-objects"))

; --- uses-test-framework

((import_statement name: [(dotted_name . (identifier) @module) (aliased_import name: (dotted_name . (identifier) @module))] @at)
  (#any-of? @module "unittest" "pytest" "_pytest" "nose" "nose2" "xdist" "pytest_cov" "doctest" "hypothesis" "mock")
  (#set! rule "uses-test-framework") (#set! group "suspicious")
  (#set! not-path "(^|/)(noxfile|setup|tasks)\\.py$|pytest_plugin|pytest_[^/]*/|(^|/)testing(/|\\.py$)")
  (#set! sentence "Product code imports a test framework; it can change how its tests run, or find out that they run."))
((import_from_statement module_name: (dotted_name . (identifier) @module) @at)
  (#any-of? @module "unittest" "pytest" "_pytest" "nose" "nose2" "xdist" "pytest_cov" "doctest" "hypothesis" "mock")
  (#set! rule "uses-test-framework")
  (#set! not-path "(^|/)(noxfile|setup|tasks)\\.py$|pytest_plugin|pytest_[^/]*/|(^|/)testing(/|\\.py$)"))
; Importing by a text, and asking which modules are there.
((call function: [(identifier) @function (attribute attribute: (identifier) @function)]
    arguments: (argument_list . (string (string_content) @module) @at))
  (#any-of? @function "__import__" "import_module" "find_spec" "get" "pop" "reload")
  (#match? @module "^(_?pytest|unittest|nose2?|xdist|coverage|doctest)(\\.|$)")
  (#set! rule "uses-test-framework"))
((subscript value: (_) @value subscript: (string (string_content) @module)) @at
  (#match? @value "(^|\\.)modules$") (#match? @module "^(_?pytest|unittest|nose2?|xdist|coverage|doctest)(\\.|$)")
  (#set! rule "uses-test-framework"))
((comparison_operator (string (string_content) @module)) @at
  (#match? @module "^((py\\.?|_py)test|unittest|nose2?|xdist)(\\.|$)")
  (#set! rule "uses-test-framework"))
((call function: (attribute attribute: (identifier) @function) arguments: (argument_list (string (string_content) @module))) @at
  (#any-of? @function "startswith" "endswith" "find" "count" "search" "match")
  (#match? @module "^(py\\.?test|unittest|test_?|_test|tests?/|conftest|_test\\.py)$")
  (#set! rule "uses-test-framework"))
; Attributes that only objects of a test framework have.
((attribute attribute: (identifier) @at)
  (#any-of? @at "failureException" "_testMethodName" "_testMethodDoc" "wasSuccessful" "addFailure" "addError" "addSuccess"
    "addSkip" "testsRun" "TestCase" "TestResult" "TextTestRunner" "TextTestResult" "_outcome")
  (#set! rule "uses-test-framework"))

((string (string_content) @at)
  (#any-of? @at "failureException" "_testMethodName" "assertEqual" "_pytestfixturefunction" "__pytest_wrapped__")
  (#set! rule "uses-test-framework"))

; --- patches-builtins

((assignment left: (attribute object: (identifier) @module) @at)
  (#any-of? @module "builtins" "__builtins__" "__builtin__")
  (#set! rule "patches-builtins") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The line replaces a builtin for the whole process, tests included; assertions may no longer compare what they seem to."))
((subscript value: [(identifier) (attribute)] @module) @at
  (#match? @module "^(__builtins__|builtins)(\\.__dict__)?$")
  (#set! rule "patches-builtins"))
((call function: (identifier) @function arguments: (argument_list . (identifier) @module)) @at
  (#any-of? @function "setattr" "delattr" "vars") (#any-of? @module "builtins" "__builtins__")
  (#set! rule "patches-builtins"))
((identifier) @at (#eq? @at "__build_class__") (#set! rule "patches-builtins"))
((string (string_content) @at) (#eq? @at "__build_class__") (#set! rule "patches-builtins"))

; --- patches-other-code

((assignment left: (attribute object: (identifier) @name attribute: (identifier) @attribute) @at)
  (#not-match? @at "^(sys\\.(stdout|stderr|stdin|argv|path|displayhook|dont_write_bytecode|ps[12])|logging\\.raiseExceptions)$")
  (#set! named "imported") (#set! rule "patches-other-code") (#set! group "suspicious")
  (#set! sentence "The line replaces an attribute of a module or class that it imports; the tests and their runner get the replacement too."))
((augmented_assignment left: (attribute object: (identifier) @name) @at)
  (#not-match? @at "^sys\\.path$")
  (#set! named "imported") (#set! rule "patches-other-code"))
((assignment left: (attribute object: (attribute object: (identifier) @name attribute: (identifier) @class)) @at)
  (#match? @class "^[A-Z].*[a-z]")
  (#set! named "imported") (#set! rule "patches-other-code"))
((call function: (identifier) @function arguments: (argument_list . (identifier) @name)) @at
  (#any-of? @function "setattr" "delattr")
  (#set! named "imported") (#set! rule "patches-other-code"))
((delete_statement (attribute object: (identifier) @name) @at) (#set! named "imported") (#set! rule "patches-other-code"))

; --- changes-imports

((assignment left: (subscript value: (attribute object: (identifier) @module attribute: (identifier) @attribute)) @at)
  (#eq? @module "sys") (#eq? @attribute "modules")
  (#set! rule "changes-imports") (#set! group "suspicious")
  (#set! sentence "The line changes which code an import finds; a test may then import something else than the product."))
((attribute object: (identifier) @module attribute: (identifier) @attribute) @at
  (#eq? @module "sys") (#any-of? @attribute "meta_path" "path_hooks" "path_importer_cache")
  (#set! rule "changes-imports"))

; --- traces-execution

((attribute object: (identifier) @module attribute: (identifier) @attribute) @at
  (#any-of? @module "sys" "threading") (#any-of? @attribute "settrace" "setprofile" "gettrace" "getprofile" "monitoring"
    "settrace_all_threads" "setprofile_all_threads")
  (#set! rule "traces-execution") (#set! group "suspicious")
  (#set! sentence "The line watches the execution of all code in the process, or asks whether somebody does; test runners and coverage tools do that."))

; --- reaches-into-interpreter

((attribute attribute: (identifier) @at)
  (#any-of? @at "pythonapi" "PyThreadState_SetAsyncExc")
  (#set! rule "reaches-into-interpreter") (#set! group "suspicious")
  (#set! sentence "The line reaches into the interpreter or its own process by C; no rule can see what it does there."))
((call function: [(identifier) @function (attribute attribute: (identifier) @function)] arguments: (argument_list . (none))) @at
  (#any-of? @function "CDLL" "PyDLL" "LoadLibrary" "dlopen")
  (#set! rule "reaches-into-interpreter"))
((attribute object: (identifier) @module attribute: (identifier) @attribute) @at
  (#any-of? @module "sys" "inspect" "gc" "os" "traceback") (#eq? @attribute "__dict__")
  (#set! rule "reaches-into-interpreter"))
; Another name hides these modules from the rules that know them by name.
((import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @alias) @at)
  (#any-of? @module "os" "sys" "inspect" "gc" "builtins" "ctypes" "traceback" "signal" "atexit") (#not-match? @alias "^_")
  (#set! rule "reaches-into-interpreter"))
; A computed name of an attribute of these modules hides which one is meant.
((call function: (identifier) @function
    arguments: (argument_list . (identifier) @module . [(binary_operator) (call) (subscript) (attribute) (identifier)])) @at
  (#eq? @function "getattr") (#any-of? @module "sys" "inspect" "gc" "builtins" "traceback")
  (#set! rule "reaches-into-interpreter"))

; --- runs-text-as-code

((call function: (identifier) @function) @at
  (#any-of? @function "eval" "exec")
  (#set! rule "runs-text-as-code") (#set! group "suspicious") (#set! not-in "program-file")
  (#set! sentence "The line runs a text as code, which neither a reader nor a rule can look into."))

; --- equals-everything

((function_definition name: (identifier) @function
    body: (block . (expression_statement (string))? . (return_statement [(true) (integer) (boolean_operator operator: "or" right: (true))]) @at .))
  (#any-of? @function "__eq__" "__instancecheck__" "__subclasscheck__" "__contains__")
  (#set! rule "equals-everything") (#set! group "suspicious")
  (#set! sentence "The class says that its objects are equal to everything; an assertion on one always passes."))
((function_definition name: (identifier) @function
    body: (block . (expression_statement (string))? . (return_statement (false)) @at .))
  (#eq? @function "__ne__") (#set! rule "equals-everything"))
; An equality that is put into a class from outside of it.
((assignment left: (attribute attribute: (identifier) @function)) @at
  (#any-of? @function "__eq__" "__ne__") (#set! rule "equals-everything"))
((call function: (identifier) @set arguments: (argument_list (_) . (string (string_content) @function))) @at
  (#eq? @set "setattr") (#any-of? @function "__eq__" "__ne__") (#set! rule "equals-everything"))
((pair key: (string (string_content) @function) value: (lambda)) @at
  (#any-of? @function "__eq__" "__ne__") (#set! rule "equals-everything"))
((assignment left: (identifier) @function right: (lambda body: (true))) @at
  (#any-of? @function "__eq__" "__instancecheck__" "__subclasscheck__" "__contains__")
  (#set! rule "equals-everything"))
; A number or text that compares in its own way.
((class_definition superclasses: (argument_list [(identifier) @base (attribute attribute: (identifier) @base)])
    body: (block (function_definition name: (identifier) @at)))
  (#any-of? @base "int" "float" "complex" "str" "bytes" "tuple" "list" "Decimal") (#any-of? @at "__eq__" "__ne__")
  (#set! rule "equals-everything"))

; --- reads-tests

((call function: [(identifier) @function (attribute attribute: (identifier) @function)]
    arguments: (argument_list (string (string_content) @text))) @at
  (#any-of? @function "open" "Path" "PurePath" "joinpath" "join" "glob" "iglob" "rglob" "listdir" "scandir" "walk" "read_text"
    "read_bytes" "isfile" "isdir" "exists" "fopen" "getlines" "getline")
  (#match? @text "(^|/)(tests?|__tests__|specs?|testdata|goldens?|__snapshots__|\\.git)(/|$)|(^|/)(test_[^/]*|[^/]*_test|conftest)\\.py$|(^|/)test_?\\*|golden|^/proc/")
  (#set! rule "reads-tests") (#set! group "suspicious")
  (#set! sentence "Product code reads tests, their expected results, the repository or its own process; it can answer from them instead of doing the work.")
  (#set! not-path "(^|/)(setup|noxfile|tasks|conf)\\.py$"))
; Its own process by a path that is put together from parts.
((string . (string_start) . (string_content) @at)
  (#match? @at "^/proc/?$|^/proc/(self|thread-self|[0-9]+|%[a-z]+|\\{\\w*\\})(/(comm|cmdline|environ|maps|cwd|root|task|stat)?)?$|^/?self/(comm|cmdline|environ)$")
  (#set! rule "reads-tests"))
((binary_operator operator: "/" right: (string (string_content) @text)) @at
  (#match? @text "(^|/)(tests?|__tests__|testdata|goldens?|__snapshots__|\\.git)(/|$)|(^|/)(test_[^/]*|[^/]*_test|conftest)\\.py$|(^|/)test_?\\*|golden|^/proc/")
  (#set! rule "reads-tests") (#set! not-path "(^|/)(setup|noxfile|tasks|conf)\\.py$"))

; --- asks-for-runner

((subscript value: (_) @environment subscript: (string (string_content) @variable)) @at
  (#match? @environment "(^|\\.)environb?$")
  (#match? @variable "^(PYTEST_.*|CI|CONTINUOUS_INTEGRATION|GITHUB_ACTIONS|GITLAB_CI|TOX_.*|NOX_.*|COVERAGE_.*|COV_CORE_.*|HYPOTHESIS_.*|UNITTEST_.*|(UNDER_|IN_|IS_)?TEST(S|ING)?)$")
  (#set! rule "asks-for-runner") (#set! group "suspicious")
  (#set! not-path "(^|/)(setup|noxfile|tasks|conf)\\.py$")
  (#set! sentence "Product code asks who runs it, such as a test runner, a build server or a certain user, and can answer differently there."))
((call function: [(identifier) (attribute)] @function arguments: (argument_list . (string (string_content) @variable))) @at
  (#match? @function "(^|\\.)(environb?\\.(get|pop|setdefault)|getenv|getenvb)$")
  (#match? @variable "^(PYTEST_.*|CI|CONTINUOUS_INTEGRATION|GITHUB_ACTIONS|GITLAB_CI|TOX_.*|NOX_.*|COVERAGE_.*|COV_CORE_.*|HYPOTHESIS_.*|UNITTEST_.*|(UNDER_|IN_|IS_)?TEST(S|ING)?)$")
  (#set! rule "asks-for-runner") (#set! not-path "(^|/)(setup|noxfile|tasks|conf)\\.py$"))
((comparison_operator (string (string_content) @variable) (_) @environment) @at
  (#match? @environment "(^|\\.)environb?$")
  (#match? @variable "^(PYTEST_.*|CI|CONTINUOUS_INTEGRATION|GITHUB_ACTIONS|GITLAB_CI|TOX_.*|NOX_.*|COVERAGE_.*|COV_CORE_.*|HYPOTHESIS_.*|UNITTEST_.*|(UNDER_|IN_|IS_)?TEST(S|ING)?)$")
  (#set! rule "asks-for-runner") (#set! not-path "(^|/)(setup|noxfile|tasks|conf)\\.py$"))
; A name that nothing but a runner sets, however it is used.
((string (string_content) @at)
  (#any-of? @at "PYTEST_CURRENT_TEST" "PYTEST_XDIST_WORKER" "PYTEST_VERSION" "COV_CORE_SOURCE")
  (#set! rule "asks-for-runner") (#set! not-path "(^|/)(setup|noxfile|tasks|conf)\\.py$"))
; A condition on the machine or the user.
((comparison_operator (call function: [(identifier) @function (attribute attribute: (identifier) @function)])) @at
  (#any-of? @function "getuid" "geteuid" "getgid" "getlogin" "getuser" "gethostname" "getfqdn" "getppid")
  (#set! rule "asks-for-runner"))
((comparison_operator (attribute object: (call function: (attribute attribute: (identifier) @function)) attribute: (identifier) @field)) @at
  (#eq? @function "uname") (#eq? @field "nodename")
  (#set! rule "asks-for-runner"))

; --- time-bomb

((comparison_operator) @at
  (#match? @at "\\b(now|today|utcnow|time|time_ns|localtime|gmtime)\\(")
  (#match? @at "\\b20[2-9][0-9]\\b|\\b1[6-9][0-9]{8}\\b|\\b2[0-9]{9}\\b")
  (#set! rule "time-bomb") (#set! group "suspicious")
  (#set! sentence "The line compares the clock with a fixed date; the code behaves differently after the tests ran."))

; --- ends-process

((attribute object: (identifier) @module attribute: (identifier) @attribute) @at
  (#any-of? @module "os" "_os" "posix")
  (#match? @attribute "^(_exit|abort|getppid|exec[lv]p?e?)$")
  (#set! rule "ends-process") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "The line ends or replaces the process, or signals it; in product code that also ends the test runner before it reports."))
((import_from_statement module_name: (dotted_name) @module name: [(dotted_name) @at (aliased_import name: (dotted_name) @at)])
  (#any-of? @module "os" "posix") (#match? @at "^(_exit|abort|getppid|exec[lv]p?e?)$")
  (#set! rule "ends-process"))
((string (string_content) @at) (#eq? @at "_exit") (#set! rule "ends-process"))
((call function: (attribute object: (identifier) @module attribute: (identifier) @function)
    arguments: (argument_list . (call function: (attribute attribute: (identifier) @who)))) @at
  (#eq? @module "os") (#any-of? @function "kill" "killpg" "tgkill") (#match? @who "^get(p?pid|pgid|pgrp|sid)$")
  (#set! rule "ends-process"))
((call function: (attribute object: (identifier) @module attribute: (identifier) @function)) @at
  (#eq? @module "signal") (#any-of? @function "raise_signal" "pthread_kill")
  (#set! rule "ends-process"))
; An exit that looks like success. One with a number or a message cannot make a run green.
((call function: (attribute object: (identifier) @module attribute: (identifier) @function) arguments: (argument_list) @arguments) @at
  (#eq? @module "sys") (#eq? @function "exit") (#match? @arguments "^\\((0|None|False)?\\)$")
  (#set! rule "ends-process") (#set! not-in "program program-file"))
((call function: (identifier) @function arguments: (argument_list) @arguments) @at
  (#any-of? @function "exit" "quit") (#match? @arguments "^\\((0|None|False)?\\)$")
  (#set! rule "ends-process") (#set! not-in "program program-file"))
((raise_statement [(identifier) @class (call function: (identifier) @class arguments: (argument_list) @arguments)]) @at
  (#eq? @class "SystemExit") (#match? @arguments "^\\((0|None|False)?\\)$")
  (#set! rule "ends-process") (#set! not-in "program program-file"))
; An exit that is handed to somebody who calls it later, such as a thread or `atexit`.
([(argument_list (attribute object: (identifier) @module attribute: (identifier) @function) @at)
    (keyword_argument value: (attribute object: (identifier) @module attribute: (identifier) @function) @at)]
  (#eq? @module "sys") (#eq? @function "exit")
  (#set! rule "ends-process") (#set! not-in "program program-file"))

; --- forges-report

((string (string_content) @at)
  (#match? @at "Ran [0-9]+ tests? in|=+ ([0-9]+|%[ds]) passed|[0-9]+ passed in [0-9]|^\\.+\\\\nRan ")
  (#set! rule "forges-report") (#set! group "suspicious")
  (#set! sentence "The line holds a text that looks like the report of a test runner, or takes the place of its output."))
((call function: (attribute object: (identifier) @module attribute: (identifier) @function) arguments: (argument_list) @arguments) @at
  (#eq? @module "os") (#any-of? @function "dup2" "close" "write") (#match? @arguments "^\\(\\s*[12]\\s*[,)]|,\\s*[12]\\s*[,)]")
  (#set! rule "forges-report"))
((module (expression_statement (assignment left: (attribute object: (identifier) @module attribute: (identifier) @stream)) @at))
  (#eq? @module "sys") (#any-of? @stream "stdout" "stderr" "__stdout__" "__stderr__")
  (#set! rule "forges-report") (#set! not-in "program program-file"))

; --- steers-other-programs

((string (string_content) @at)
  (#match? @at "^(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|PYTEST_ADDOPTS|PYTEST_PLUGINS|PYTHONSTARTUP|BASH_ENV)$")
  (#set! rule "steers-other-programs") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The line names a variable that puts foreign code into other programs, the test runner among them."))
