; Ways in which tests in C and C++ can change the other tests, and what silences a test or a tool anywhere.

; --- shadows-test-library

((namespace_definition name: (_) @name) @at
  (#match? @name "^(testing|Catch|doctest)(::|$)")
  (#set! rule "shadows-test-library") (#set! group "suspicious")
  (#set! sentence "The place declares what belongs to a test library; the tests may get it in the place of the library."))
; The name of a header is no macro of a library, whatever it begins with. The library itself is one finding, by its path.
((preproc_ifdef name: (identifier) @guard . (preproc_def name: (identifier) @name !value) @region)
  (#eq? @guard @name) (#match? @name "_(H|HH|HPP|HXX|INC|INCLUDED|GUARD)_*$") (#set! region "include-guard"))
([(preproc_def name: (identifier) @name) (preproc_function_def name: (identifier) @name)] @at
  (#match? @name "^(TEST_(F|P|CASE|METHOD)|TYPED_TEST\\w*|SUBCASE|(EXPECT|ASSERT)_(EQ|NE|LT|LE|GT|GE|TRUE|FALSE|STREQ|STRNE|STRCASE(EQ|NE)|FLOAT_EQ|DOUBLE_EQ|NEAR|THROW|NO_THROW|ANY_THROW|DEATH(_IF_SUPPORTED)?|DEBUG_DEATH|EXIT|THAT|PRED[1-5]?|PRED_FORMAT[1-5]|(NO_)?(NON)?FATAL_FAILURE\\w*|HRESULT_\\w+|CALL)|REQUIRE(_\\w+)?|CHECK_(FALSE|THAT|THROWS\\w*|NOTHROW)|ADD_FAILURE(_AT)?|ADD_FATAL_FAILURE|INTERNAL_CATCH_\\w+|CATCH_INTERNAL_\\w+|DOCTEST_(ASSERT|CHECK|REQUIRE|TEST_CASE|SUBCASE|WARN)\\w*|GTEST_\\w+|RUN_ALL_TESTS|BOOST_(TEST|CHECK|REQUIRE)\\w*|CU_ASSERT\\w*|assert_(true|false|int_equal|string_equal|memory_equal)|TEST_ASSERT\\w*)$")
  (#not-match? @name "^GTEST_(HAS|DONT|USE|USES|LINKED|CREATE|DISABLE|NO)_")
  (#set! rule "shadows-test-library") (#set! where "any") (#set! not-in "include-guard")
  (#set! not-path "(^|/)(gtest|gmock|catch2|doctest)/|(^|/)(catch|catch_amalgamated|doctest|gtest|gmock|gtest-all|cmocka)\\.(h|hpp|cc)$"))
((preproc_call directive: (_) @directive argument: (_) @name) @at
  (#match? @directive "^#\\s*undef$")
  (#match? @name "^\\s*(TEST_(F|P|CASE|METHOD)|TYPED_TEST\\w*|SUBCASE|(EXPECT|ASSERT)_(EQ|NE|LT|LE|GT|GE|TRUE|FALSE|STREQ|STRNE|STRCASE(EQ|NE)|FLOAT_EQ|DOUBLE_EQ|NEAR|THROW|NO_THROW|ANY_THROW|DEATH(_IF_SUPPORTED)?|DEBUG_DEATH|EXIT|THAT|PRED[1-5]?|PRED_FORMAT[1-5]|(NO_)?(NON)?FATAL_FAILURE\\w*|HRESULT_\\w+|CALL)|REQUIRE(_\\w+)?|CHECK_(FALSE|THAT|THROWS\\w*|NOTHROW)|ADD_FAILURE(_AT)?|ADD_FATAL_FAILURE|INTERNAL_CATCH_\\w+|CATCH_INTERNAL_\\w+|DOCTEST_(ASSERT|CHECK|REQUIRE|TEST_CASE|SUBCASE|WARN)\\w*|GTEST_\\w+|RUN_ALL_TESTS|BOOST_(TEST|CHECK|REQUIRE)\\w*|CU_ASSERT\\w*|assert_(true|false|int_equal|string_equal|memory_equal)|TEST_ASSERT\\w*)\\s*($|/)")
  (#set! rule "shadows-test-library")
  (#set! not-path "(^|/)(gtest|gmock|catch2|doctest)/|(^|/)(catch|catch_amalgamated|doctest|gtest|gmock|gtest-all|cmocka)\\.(h|hpp|cc)$"))
; In a header of the product no macro has a reason to begin like this.
([(preproc_def name: (identifier) @name) (preproc_function_def name: (identifier) @name)] @at
  (#match? @name "^EXPECT_[A-Z]")
  (#set! rule "shadows-test-library") (#set! where "product") (#set! not-in "include-guard")
  (#set! not-path "(^|/)[^/]*([tT]est(s|ing|kit|lib|util|utils|support)?|unit|mocks?|fuzz)/|(^|/)[^/]*[tT]est[^/]*$"))
((preproc_call directive: (_) @directive argument: (_) @name) @at
  (#match? @directive "^#\\s*undef$") (#match? @name "^\\s*EXPECT_[A-Z]")
  (#set! rule "shadows-test-library") (#set! where "product")
  (#set! not-path "(^|/)[^/]*([tT]est(s|ing|kit|lib|util|utils|support)?|unit|mocks?|fuzz)/|(^|/)[^/]*[tT]est[^/]*$"))
; As constants these are ordinary words.
((preproc_function_def name: (identifier) @name) @at
  (#any-of? @name "TEST" "CHECK" "FAIL" "SCENARIO" "SECTION")
  (#set! rule "shadows-test-library"))
((translation_unit . (_)) @at
  (#set! path "(^|/)(gtest|gmock|catch2|doctest)/[^/]+\\.(h|hpp)$|(^|/)(catch|catch_amalgamated|doctest|gtest|gmock|gtest-all|cmocka)\\.(h|hpp|cc)$")
  (#set! rule "shadows-test-library") (#set! where "any"))

; --- runs-only-some

((call_expression function: (identifier) @function arguments: (argument_list . (identifier) @flag)) @at
  (#match? @function "^GTEST_FLAG(_SET)?$") (#any-of? @flag "filter" "shard_index" "total_shards" "list_tests" "repeat" "fail_fast" "output")
  (#set! rule "runs-only-some") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The line decides which tests run or how they report, for all of its program."))
((identifier) @at
  (#any-of? @at "FLAGS_gtest_filter" "FLAGS_gtest_list_tests" "FLAGS_gtest_output")
  (#set! rule "runs-only-some"))

; --- ignores-failures

; The result is the exit code; without it the program is green whatever its tests say.
((expression_statement (call_expression function: (identifier) @function) @at)
  (#eq? @function "RUN_ALL_TESTS")
  (#set! rule "ignores-failures") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The program goes on as if nothing happened when its tests fail."))
((expression_statement (cast_expression value: (call_expression function: (identifier) @function)) @at)
  (#eq? @function "RUN_ALL_TESTS")
  (#set! rule "ignores-failures"))

; --- ends-tests

((function_definition declarator: (function_declarator declarator: (identifier) @macro)
    body: (compound_statement (expression_statement (call_expression function: [(identifier) (qualified_identifier)] @function arguments: (argument_list) @arguments) @at)))
  (#match? @macro "^(TEST(_F|_P)?|TYPED_TEST(_P)?|BOOST_\\w+_TEST_CASE)$")
  (#match? @function "^(std::|::)?(exit|_exit|_Exit|quick_exit)$") (#not-match? @arguments "^\\(\\s*(-?[1-9][0-9]*|EXIT_FAILURE)\\s*\\)$")
  (#set! rule "ends-tests") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The line ends the whole test program; failures before it are hidden, and the tests after it do not run."))
((call_expression function: [(identifier) (qualified_identifier)] @function arguments: (argument_list) @arguments) @at
  (#match? @function "^(std::|::)?(_exit|_Exit|quick_exit)$") (#match? @arguments "^\\(\\s*(0|EXIT_SUCCESS)\\s*\\)$")
  (#set! rule "ends-tests") (#set! where "test"))
((call_expression function: [(identifier) (qualified_identifier)] @function) @at
  (#match? @function "^(std::|::)?(atexit|at_quick_exit|on_exit|set_terminate)$")
  (#set! rule "ends-tests") (#set! where "test") (#set! not-in "program"))

; --- skips-test

((function_definition declarator: (function_declarator declarator: (identifier) @macro parameters: (parameter_list) @at))
  (#match? @macro "^(TEST|TYPED_TEST|INSTANTIATE_TEST)") (#match? @at "\\bDISABLED_")
  (#set! rule "skips-test") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The line skips a test, or expects it to fail."))
((call_expression function: (identifier) @function) @at
  (#any-of? @function "GTEST_SKIP" "GTEST_SKIP_" "TEST_IGNORE" "TEST_IGNORE_MESSAGE")
  (#set! rule "skips-test"))
((call_expression function: (identifier) @function arguments: (argument_list (string_literal (string_content) @tags) .)) @at
  (#any-of? @function "TEST_CASE" "SCENARIO" "TEST_CASE_METHOD") (#match? @tags "\\[(\\.[^\\]]*|!(shouldfail|mayfail|throws))\\]")
  (#set! rule "skips-test"))
((qualified_identifier scope: (namespace_identifier) @scope name: (identifier) @name) @at
  (#eq? @scope "doctest") (#any-of? @name "skip" "may_fail" "should_fail" "expected_failures")
  (#set! rule "skips-test"))

; --- asserts-nothing

((function_definition declarator: (function_declarator declarator: (identifier) @macro parameters: (parameter_list) @at) body: (compound_statement) @body)
  (#match? @macro "^(TEST(_F|_P)?|TYPED_TEST(_P)?|BOOST_(AUTO|FIXTURE)_TEST_CASE)$")
  (#match? @body "^\\{(\\s|//[^\\n]*|/\\*([^*]|\\*+[^*/])*\\*+/|return;|(SUCCEED\\(\\)|((EXPECT|ASSERT)_TRUE|BOOST_(TEST|CHECK|REQUIRE))\\(\\s*true\\s*\\)|(EXPECT|ASSERT)_FALSE\\(\\s*false\\s*\\)|(EXPECT|ASSERT)_EQ\\(\\s*(true|false|[\\d.]+|\"[^\"]*\")\\s*,\\s*(true|false|[\\d.]+|\"[^\"]*\")\\s*\\))(\\s*<<\\s*\"[^\"]*\")?;)*\\}$")
  (#set! rule "asserts-nothing") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The test asserts nothing; it passes whatever the product does."))
; A function that a list names, as in C.
((function_definition type: (primitive_type) @type declarator: (function_declarator declarator: (identifier) @at) body: (compound_statement) @body)
  (#eq? @type "void") (#match? @at "^test_") (#match? @body "^\\{(\\s|//[^\\n]*|/\\*([^*]|\\*+[^*/])*\\*+/|return;|(assert|TEST_ASSERT|assert_true)\\(\\s*(1|true)\\s*\\);)*\\}$")
  (#set! rule "asserts-nothing") (#set! where "test"))
((expression_statement (call_expression function: (identifier) @macro arguments: (argument_list . (string_literal))) @at) . (compound_statement) @body
  (#any-of? @macro "TEST_CASE" "SCENARIO" "SECTION" "SUBCASE")
  (#match? @body "^\\{(\\s|//[^\\n]*|/\\*([^*]|\\*+[^*/])*\\*+/|return;|SUCCEED\\([^()]*\\);|(REQUIRE|CHECK)\\(\\s*true\\s*\\);|(REQUIRE|CHECK)_FALSE\\(\\s*false\\s*\\);|(REQUIRE|CHECK)\\(\\s*([\\d.]+|\"[^\"]*\")\\s*==\\s*([\\d.]+|\"[^\"]*\")\\s*\\);)*\\}$")
  (#set! rule "asserts-nothing") (#set! where "any"))

; Names that may assert something, wherever they stand: macros with types or blocks in them are no calls to the grammar.
([(identifier) (type_identifier)] @region
  (#match? @region "^(EXPECT|ASSERT|CHECK|REQUIRE|GTEST|BOOST|STATIC|ADD_F|CAPTURE|WARN|VERIFY|TEST)|^(FAIL|SUCCEED|BENCHMARK)$") (#set! region "asserting"))
((call_expression function: [(identifier) @function (field_expression field: (field_identifier) @function) (qualified_identifier) @function
    (template_function name: (identifier) @function)]) @region
  (#match? @function "(?i)assert|expect|should|verif|check|requir|must|throw|fail|match|ensure|valid|equal|compare|test|^run$") (#set! region "asserting"))
([(throw_statement) (static_assert_declaration) (ERROR)] @region (#set! region "asserting"))
((function_definition declarator: (function_declarator declarator: [(identifier) (field_identifier)] @name)) (#set! names "defined-here"))
([(preproc_def name: (identifier) @name) (preproc_function_def name: (identifier) @name)] (#set! names "defined-here"))
((call_expression function: [(identifier) @name (template_function name: (identifier) @name)]) @region (#set! named "defined-here") (#set! region "asserting"))
((function_definition declarator: (function_declarator declarator: (identifier) @macro parameters: (parameter_list) @at) body: (compound_statement) @body)
  (#match? @macro "^(TEST(_F|_P)?|TYPED_TEST(_P)?)$") (#match? @body "\\w\\(")
  (#set! rule "asserts-nothing") (#set! where "any") (#set! without "asserting")
  (#set! sentence "The test runs the product and asserts nothing of what comes out."))
((expression_statement (call_expression function: (identifier) @macro arguments: (argument_list . (string_literal))) @at) . (compound_statement) @body
  (#any-of? @macro "TEST_CASE" "SCENARIO") (#match? @body "\\w\\(")
  (#set! rule "asserts-nothing") (#set! where "any") (#set! without "asserting")
  (#set! sentence "The test runs the product and asserts nothing of what comes out."))

; --- compares-with-itself

((call_expression function: (identifier) @macro arguments: (argument_list . (_) @left . (_) @right)) @at
  (#match? @macro "^((EXPECT|ASSERT)_(EQ|STREQ|STRCASEEQ|FLOAT_EQ|DOUBLE_EQ|NEAR)|CHECK_EQ|REQUIRE_EQ|BOOST_(CHECK|REQUIRE)_EQUAL)$") (#eq? @left @right)
  (#set! rule "compares-with-itself") (#set! group "suppression") (#set! where "test")
  (#set! sentence "The assertion compares an expression with itself; it passes whatever the product does."))
((call_expression function: (identifier) @macro arguments: (argument_list . (binary_expression left: (_) @left operator: "==" right: (_) @right) .)) @at
  (#any-of? @macro "CHECK" "REQUIRE" "EXPECT_TRUE" "ASSERT_TRUE" "BOOST_TEST" "assert") (#eq? @left @right)
  (#set! rule "compares-with-itself"))

; --- silences-tool

((comment) @at (#match? @at "\\bNOLINT(NEXTLINE|BEGIN)?\\b|cppcheck-suppress|coverity\\[")
  (#set! rule "silences-tool") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The line silences warnings of the compiler or a linter."))
((preproc_call directive: (_) @directive argument: (_) @argument) @at
  (#match? @directive "^#\\s*pragma$") (#match? @argument "^\\s*((GCC|clang|G\\+\\+) +diagnostic +ignored|warning *\\( *(disable|suppress))")
  (#set! rule "silences-tool"))
((comment) @at (#match? @at "\\b(LCOV|GCOV|GCOVR|GRCOV|NCOV)_EXCL_|\\bno_?coverage\\b")
  (#set! rule "hides-from-coverage") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The comment hides code from the measurement of coverage."))

; --- swallows-errors

((catch_clause parameters: (parameter_list) @type body: (compound_statement) @body) @at
  (#match? @type "^\\(\\s*(\\.\\.\\.|(const +)?(std::)?exception( +const)? *&\\s*\\w*)\\s*\\)$") (#match? @body "^\\{(\\s|//[^\\n]*|/\\*([^*]|\\*+[^*/])*\\*+/)*\\}$")
  (#set! rule "swallows-errors") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The handler drops every error."))
