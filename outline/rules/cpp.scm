; Ways in which product code in C and C++ can deceive its tests. `cpp-tests.scm` has the rules for tests and for suppressions.

; A program may end its own process.
((function_definition declarator: (function_declarator declarator: (identifier) @name)) @region (#eq? @name "main") (#set! region "program"))
((translation_unit) @region (#set! region "program")
  (#set! path "(^|/)(examples?|samples?|demos?|tools|scripts|bench|benchmarks?|fuzz(ing|er)?|cmd|cli)/|(^|/)main\\.(c|cc|cpp|cxx)$"))

; --- uses-test-framework

((preproc_include path: [(system_lib_string) (string_literal)] @path) @at
  (#match? @path "^[<\"](gtest|gmock|catch2|doctest|boost/test|cppunit|CppUTest|unity|criterion)/|^[<\"]([^/]*/)*(catch(_amalgamated)?|doctest|catch_all|gtest|gmock|cmocka|unity|munit|acutest|utest)\\.(h|hpp)[>\"]$")
  (#not-match? @path "gtest_prod\\.h")
  (#set! rule "uses-test-framework") (#set! group "suspicious")
  (#set! not-path "(^|/)[^/]*([tT]est(s|ing|kit|lib|util|utils|support)?|unit|mocks?|fuzz)/|(^|/)[^/]*[tT]est[^/]*$")
  (#set! sentence "Product code uses a test framework; it can change how its tests run, or find out that they run."))
; A namespace of the project may have the same name within another one.
((qualified_identifier scope: (_) name: (qualified_identifier) @region) (#set! region "inner-name"))
((qualified_identifier scope: (namespace_identifier) @scope) @at
  (#any-of? @scope "testing" "Catch" "doctest")
  (#set! rule "uses-test-framework") (#set! not-in "inner-name")
  (#set! not-path "(^|/)[^/]*([tT]est(s|ing|kit|lib|util|utils|support)?|unit|mocks?|fuzz)/|(^|/)[^/]*[tT]est[^/]*$"))
((identifier) @at
  (#match? @at "^(GTEST_[A-Z_]+|InitGoogleTest|InitGoogleMock|RUN_ALL_TESTS|IsRunningTests)$") (#not-match? @at "^GTEST_(API_|PROD)")
  (#set! rule "uses-test-framework")
  (#set! not-path "(^|/)[^/]*([tT]est(s|ing|kit|lib|util|utils|support)?|unit|mocks?|fuzz)/|(^|/)[^/]*[tT]est[^/]*$"))

; A symbol that is only there when tests are linked.
([(identifier) (string_content)] @at
  (#match? @at "^__gcov_(dump|reset|flush|exit)$|^_ZN?K?\\d*(7testing|5Catch|7doctest)")
  (#set! rule "uses-test-framework")
  (#set! not-path "(^|/)[^/]*([tT]est(s|ing|kit|lib|util|utils|support)?|unit|mocks?|fuzz)/|(^|/)[^/]*[tT]est[^/]*$"))

; --- differs-in-tests

((preproc_ifdef name: (identifier) @name) @at
  (#match? @name "^(\\w+_)?(UNIT_?TEST(S|ING)?|UNDER_TEST|IN_TESTS?|RUNNING_TESTS)$|^(TEST|TESTING|GTEST_\\w+|GMOCK_\\w+|CATCH_(CONFIG|VERSION)\\w*|DOCTEST_\\w+|BOOST_TEST_\\w+|__gcov\\w*)$")
  (#set! rule "differs-in-tests") (#set! group "suspicious")
  (#set! sentence "Product code is different when tests are compiled; the tests then test something else than what is shipped."))
((preproc_defined (identifier) @at)
  (#match? @at "^(\\w+_)?(UNIT_?TEST(S|ING)?|UNDER_TEST|IN_TESTS?|RUNNING_TESTS)$|^(TEST|TESTING|GTEST_\\w+|GMOCK_\\w+|CATCH_(CONFIG|VERSION)\\w*|DOCTEST_\\w+|BOOST_TEST_\\w+|__gcov\\w*)$")
  (#set! rule "differs-in-tests"))

; --- looks-at-callers

([(call_expression function: (_) @function) (unary_expression argument: (_) @function) (pointer_expression argument: (_) @function)] @at
  (#match? @function "^(::)?(backtrace(_symbols(_fd)?)?|__builtin_(return|frame)_address|__builtin_extract_return_addr|_ReturnAddress|_AddressOfReturnAddress|_Unwind_Backtrace|unw_(backtrace|getcontext|step)|CaptureStackBackTrace|RtlCaptureStackBackTrace|StackWalk64|(std::|boost::stacktrace::)?(basic_)?stacktrace(::current)?)$")
  (#set! rule "looks-at-callers") (#set! group "suspicious")
  (#set! sentence "The line looks at the stack of its callers or at the symbols of the program; product code can recognise a test that way and answer differently."))
((call_expression function: [(identifier) (qualified_identifier)] @function) @at
  (#match? @function "^(::)?(dladdr1?|dl_iterate_phdr)$")
  (#set! rule "looks-at-callers"))
((call_expression function: [(identifier) (qualified_identifier)] @function arguments: (argument_list . (identifier) @handle)) @at
  (#match? @function "^(::)?dlv?sym$") (#any-of? @handle "RTLD_DEFAULT" "RTLD_NEXT")
  (#set! rule "looks-at-callers"))
((declaration type: (_) @type) @at
  (#match? @type "^(std::(basic_)?stacktrace|boost::stacktrace::(basic_)?stacktrace)\\b")
  (#set! rule "looks-at-callers"))

; --- equals-everything

; An allocator without state does equal all others of its type.
((function_definition declarator: (function_declarator declarator: [(operator_name) (qualified_identifier)] @name parameters: (parameter_list) @parameters)
    body: (compound_statement . (return_statement (true)) @at .))
  (#match? @name "operator\\s*==$") (#not-match? @parameters "[aA]lloc|[rR]esource")
  (#set! rule "equals-everything") (#set! group "suspicious")
  (#set! sentence "The type says that its values are equal to everything; an assertion on one always passes."))
((function_definition declarator: (function_declarator declarator: [(operator_name) (qualified_identifier)] @name parameters: (parameter_list) @parameters)
    body: (compound_statement . (return_statement (false)) @at .))
  (#match? @name "operator\\s*!=$") (#not-match? @parameters "[aA]lloc|[rR]esource")
  (#set! rule "equals-everything"))

; --- ends-process

; An exit that looks like success, or that depends on something. One with a number of its own, and an abort, cannot make a run green.
((call_expression function: [(identifier) (qualified_identifier)] @function arguments: (argument_list) @arguments) @at
  (#match? @function "^(std::|::)?(exit|_exit|_Exit|quick_exit|ExitProcess|TerminateProcess|pthread_exit|exit_group)$")
  (#not-match? @arguments "^\\(\\s*(-?[1-9][0-9]*|EXIT_FAILURE)\\s*\\)$")
  (#set! rule "ends-process") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "The line ends or replaces the process, or acts when it ends; in product code that also ends the test program before it reports."))
((call_expression function: [(identifier) (qualified_identifier)] @function) @at
  (#match? @function "^(std::|::)?(atexit|at_quick_exit|on_exit|__cxa_atexit|exec(l|le|lp|v|ve|vp|vpe)|fexecve)$")
  (#set! rule "ends-process"))
((call_expression function: [(identifier) (qualified_identifier)] @function arguments: (argument_list . (_) @who)) @at
  (#match? @function "^(::)?(kill|tgkill|killpg)$") (#match? @who "getppid|^(::)?getp(id|grp)\\(|^0$|^-1$")
  (#set! rule "ends-process"))
((call_expression function: [(identifier) (qualified_identifier)] @function arguments: (argument_list . (_) @call)) @at
  (#match? @function "^(::)?syscall$") (#match? @call "exit|kill|ptrace|exec")
  (#set! rule "ends-process"))
; As a value that something else calls.
([(argument_list (qualified_identifier) @at) (init_declarator value: [(identifier) (qualified_identifier)] @at) (argument_list (pointer_expression argument: (_) @at))]
  (#match? @at "^(std::|::)(exit|_exit|_Exit|quick_exit)$|^(exit|_exit|_Exit|quick_exit)$")
  (#set! rule "ends-process"))
((gnu_asm_expression assembly_code: (_) @code) @at
  (#match? @code "\\b(syscall|int\\s+\\$?0x80|svc)\\b")
  (#set! rule "ends-process"))

; --- hooks-panics

((call_expression function: [(identifier) (qualified_identifier)] @function) @at
  (#match? @function "^(std::|::)?(set_terminate|set_unexpected)$")
  (#set! rule "hooks-panics") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "The line catches the end of the process that a failed assertion brings about, and can hide the failure."))
((call_expression function: [(identifier) (qualified_identifier)] @function arguments: (argument_list . (identifier) @signal)) @at
  (#match? @function "^(std::|::)?(signal|sigaction|bsd_signal|sigset)$") (#any-of? @signal "SIGABRT" "SIGSEGV" "SIGTRAP" "SIGILL" "SIGFPE" "SIGBUS")
  (#set! rule "hooks-panics"))

; --- runs-before-main

([(attribute_specifier (argument_list) @at) (attribute_declaration (attribute) @at)]
  (#match? @at "^\\(?\\(?\\s*(gnu::)?(__)?(constructor|destructor|init_priority|ifunc|section|alias)(__)?\\b") (#not-match? @at "section\\w*\\s*\\(\\s*\"\\.?(text|data|rodata|bss|progmem|ram|noinit|note|debug)")
  (#set! rule "runs-before-main") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "The line puts code where it runs before the tests, or in the place of a function of the system."))
; A function that replaces one of the C library for the whole program, or one that the linker is asked to wrap.
((translation_unit (function_definition
    declarator: [(function_declarator declarator: (identifier) @at) (pointer_declarator declarator: (function_declarator declarator: (identifier) @at))]) @function)
  (#match? @at "^(_?exit|_Exit|quick_exit|abort|atexit|__cxa_atexit|__assert(_fail|_rtn|_perror_fail)?|write|read|memcmp|bcmp|strcmp|strncmp|memcpy|getenv|secure_getenv|time|clock_gettime|gettimeofday|malloc|free|raise|kill|waitpid|printf|puts|_start|__libc_start_main|__(wrap|real)_\\w+)$")
  (#not-match? @function "^(static|inline|constexpr)\\b")
  (#set! rule "runs-before-main") (#set! path "\\.c$"))
((linkage_specification [
    body: (function_definition
      declarator: [(function_declarator declarator: (identifier) @at) (pointer_declarator declarator: (function_declarator declarator: (identifier) @at))])
    body: (declaration_list (function_definition
      declarator: [(function_declarator declarator: (identifier) @at) (pointer_declarator declarator: (function_declarator declarator: (identifier) @at))]))])
  (#match? @at "^(_?exit|_Exit|quick_exit|abort|atexit|__cxa_atexit|__assert(_fail|_rtn|_perror_fail)?|write|read|memcmp|bcmp|strcmp|strncmp|memcpy|getenv|secure_getenv|time|clock_gettime|gettimeofday|malloc|free|raise|kill|waitpid|printf|puts|_start|__libc_start_main|__(wrap|real)_\\w+)$")
  (#set! rule "runs-before-main"))

; --- redefines-assertions

([(preproc_def name: (identifier) @name) (preproc_function_def name: (identifier) @name)] @at
  (#match? @name "^(assert|static_assert|NDEBUG|_Static_assert)$")
  (#set! rule "redefines-assertions") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The macro takes the place of a standard one; assertions in the tests may no longer compare anything."))
((preproc_call directive: (_) @directive argument: (_) @name) @at
  (#eq? @directive "#undef") (#match? @name "^\\s*(assert|static_assert)\\b")
  (#set! rule "redefines-assertions"))
; A word of the language.
([(preproc_def name: (identifier) @name) (preproc_function_def name: (identifier) @name)] @at
  (#any-of? @name "if" "else" "while" "return" "true" "false" "private" "protected" "class" "int" "bool" "throw")
  (#set! rule "redefines-assertions"))

; --- asks-for-runner

((call_expression function: [(identifier) (qualified_identifier)] @function arguments: (argument_list . (string_literal (string_content) @variable))) @at
  (#match? @function "(^|::)_?(secure_)?(getenv(_s)?|setenv|unsetenv|putenv)$|[gG]et_?[eE]nv(ironment_?[vV]ariable[AW]?)?$")
  (#match? @variable "^(CI|GITHUB_ACTIONS|GITLAB_CI|JENKINS_.*|TRAVIS|GTEST_.*|CTEST_.*|DASHBOARD_TEST_FROM_CTEST|BOOST_TEST_.*|BAZEL_TEST|TEST_.*|LLVM_PROFILE_FILE|GCOV_.*|(UNDER_|IN_|IS_)?TEST(S|ING)?)(=.*)?$")
  (#set! rule "asks-for-runner") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "Product code asks who runs it, such as a test runner, a build server or a certain user, and can answer differently there."))
((string_content) @at
  (#match? @at "^(--gtest_\\w+|GTEST_(FILTER|OUTPUT|SHARD_INDEX|TOTAL_SHARDS|FAIL_FAST)|CTEST_(INTERACTIVE_DEBUG_MODE|RESOURCE_GROUP_COUNT)|DASHBOARD_TEST_FROM_CTEST)=?$|^[_/](unit_?)?tests?$")
  (#set! rule "asks-for-runner"))
((identifier) @at
  (#any-of? @at "program_invocation_name" "program_invocation_short_name" "__progname" "getprogname" "__argv" "ptrace" "getppid")
  (#set! rule "asks-for-runner"))
((binary_expression (call_expression function: [(identifier) (qualified_identifier)] @function) operator: ["==" "!="]) @at
  (#match? @function "^(::)?(gete?uid|getlogin|gethostname)$")
  (#set! rule "asks-for-runner"))

; --- time-bomb

((binary_expression operator: [">" ">=" "<" "<=" "==" "!="]) @at
  (#match? @at "\\btime\\((NULL|nullptr|0)\\)|_clock::now\\(\\)|\\btm_year\\b") (#match? @at "\\b20[2-9][0-9]\\b|\\b1[2-9][0-9]\\b|\\b[12]'?[0-9]{3}'?[0-9]{3}'?[0-9]{3}(L|LL|U|UL)?\\b")
  (#set! rule "time-bomb") (#set! group "suspicious")
  (#set! sentence "The line compares the clock with a fixed date; the code behaves differently after the tests ran."))

; --- reads-tests

([(call_expression function: [(identifier) (qualified_identifier) (field_expression)] @function arguments: (argument_list (string_literal (string_content) @text)))
    (declaration type: (_) @function declarator: (init_declarator value: [(argument_list (string_literal (string_content) @text)) (initializer_list (string_literal (string_content) @text))]))] @at
  (#match? @function "(^|::|\\.|->)(fopen(64)?|open(at|64|dir)?|freopen|access|stat|lstat|readlink|ifstream|fstream|path|exists|readFile|read_file|ReadFile)$")
  (#match? @text "(^|/)(tests?|testdata|goldens?|expected|\\.git)/|^/proc/(self|thread-self|[0-9%])|golden|_test\\.(c|cc|cpp)$")
  (#set! rule "reads-tests") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "Product code reads tests, their expected results, the repository or its own process; it can answer from them instead of doing the work."))
((preproc_include path: (string_literal) @path) @at
  (#match? @path "(^\"|/)(tests?|testdata|goldens?)/|[_-]tests?\\.(h|hpp|cc|cpp|inc)\"$")
  (#set! rule "reads-tests") (#set! not-path "(^|/)[^/]*([tT]est|unit|fuzz)[^/]*(/|$)"))

; Its own process by a path that is put together from parts.
((string_literal . (string_content) @at .)
  (#match? @at "^/proc/?$|^/proc/(self|thread-self|[0-9]+|%[a-z]+|\\{\\w*\\})(/(comm|cmdline|environ|maps|cwd|root|task|stat)?)?$|^/?self/(comm|cmdline|environ)$")
  (#set! rule "reads-tests"))

; --- forges-report

([(string_content) (raw_string_content)] @at
  (#match? @at "\\[ *(PASSED|OK|RUN) *\\]|^\\[=+\\]|All tests passed|100% tests passed|<test(suite|case)\\b|[0-9d] (tests?|assertions?|test cases?) passed|No errors detected")
  (#set! rule "forges-report") (#set! group "suspicious")
  (#set! sentence "The line holds a text that looks like the report of a test runner."))

; --- steers-other-programs

((string_content) @at
  (#match? @at "^(LD_PRELOAD|LD_AUDIT|LD_LIBRARY_PATH|DYLD_INSERT_LIBRARIES|BASH_ENV)=?")
  (#set! rule "steers-other-programs") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The line names a variable that puts foreign code into other programs, the test runner among them."))
