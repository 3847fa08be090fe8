; Ways in which tests in Java can change the other tests, and what silences a test or a tool anywhere.

; --- shadows-test-library

; The class path has the classes of the project first.
((package_declaration [(identifier) (scoped_identifier)] @name) @at
  (#match? @name "^(org\\.(junit|opentest4j|apiguardian|testng|assertj|hamcrest|mockito|easymock|powermock|apache\\.maven\\.surefire)|junit\\.(framework|runner|extensions|textui)|com\\.google\\.common\\.truth)(\\.|$)")
  (#set! rule "shadows-test-library") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The file belongs to a test library by its name; the tests may get it in the place of the library."))

; So has the package of a test, before what a test imports with a star. A class of asserts is ordinary in tests.
((program [(class_declaration name: (identifier) @name) (interface_declaration name: (identifier) @name) (enum_declaration name: (identifier) @name) (record_declaration name: (identifier) @name)] @at)
  (#any-of? @name "Assertions" "Assumptions" "MatcherAssert" "Mockito" "DynamicTest" "ArgumentMatchers" "BDDAssertions" "BDDMockito")
  (#set! rule "shadows-test-library") (#set! where "product")
  (#set! not-path "(^|/)[^/]*([tT]est(s|ing|kit|lib|util|utils|support)?|[tT]estFixtures|testutil|test-support|junit[0-9]*|jmh)/"))
((program [(class_declaration name: (identifier) @name body: (class_body (method_declaration name: (identifier) @method)))
    (interface_declaration name: (identifier) @name body: (interface_body (method_declaration name: (identifier) @method)))] @at)
  (#any-of? @name "Assert" "Assume" "Matchers" "Truth" "TestCase" "CoreMatchers") (#match? @method "^(assert[A-Z]\\w*|fail|assum\\w+|equalTo|any|is)$")
  (#set! rule "shadows-test-library") (#set! where "product")
  (#set! not-path "(^|/)[^/]*([tT]est(s|ing|kit|lib|util|utils|support)?|[tT]estFixtures|testutil|test-support|junit[0-9]*|jmh)/"))
((program (annotation_type_declaration name: (identifier) @name) @at)
  (#match? @name "^(Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Disabled\\w*|Ignore|BeforeEach|BeforeAll|AfterEach|AfterAll|Nested|ExtendWith|RunWith)$")
  (#set! rule "shadows-test-library") (#set! where "any")
  (#set! not-path "(^|/)([tT]est(ing|kit|lib|util|utils|support)|[tT]estFixtures|testutil|test-support|junit[0-9]*|jmh)/"))

; --- steers-collection

((class_declaration [(super_interfaces (type_list [(type_identifier) (scoped_type_identifier) (generic_type)] @type)) (superclass [(type_identifier) (scoped_type_identifier)] @type)]) @at
  (#match? @type "^([\\w.]+\\.)?(ExecutionCondition|InvocationInterceptor|TestExecutionExceptionHandler|LifecycleMethodExecutionExceptionHandler|TestExecutionListener|LauncherSessionListener|LauncherDiscoveryListener|LauncherInterceptor|PostDiscoveryFilter|TestEngine|RunListener|BlockJUnit4ClassRunner|MethodRule|TestRule|IInvokedMethodListener|ITestListener|IHookable|IAnnotationTransformer|IMethodInterceptor)$")
  (#set! rule "steers-collection") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The class decides which tests run or what they report, for all tests that use it."))

; --- ends-tests

((method_invocation object: (_) @object name: (identifier) @function arguments: (argument_list) @arguments) @at
  (#match? @object "(^|\\.)System$|Runtime\\.getRuntime\\(\\)$|^(r|rt|runtime|jvm)$") (#any-of? @function "exit" "halt")
  (#not-match? @arguments "^\\(\\s*-?[1-9][0-9]*\\s*\\)$")
  (#set! rule "ends-tests") (#set! group "suspicious") (#set! where "test") (#set! not-in "program")
  (#set! sentence "The line ends the whole test run, or acts when it ends; failures before it are hidden."))
((method_invocation name: (identifier) @function) @at
  (#eq? @function "addShutdownHook")
  (#set! rule "ends-tests"))

; --- skips-test

([(marker_annotation name: (_) @name) (annotation name: (_) @name)] @at
  (#match? @name "^([\\w.]+\\.)?(Disabled(If|On|For|In|Unless)?\\w*|Ignore|Enabled(If|On|For|In)\\w*)$")
  (#set! rule "skips-test") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The line skips a test, or runs it only somewhere."))
((annotation name: (identifier) @name arguments: (annotation_argument_list (element_value_pair key: (identifier) @key value: (false)))) @at
  (#eq? @name "Test") (#eq? @key "enabled")
  (#set! rule "skips-test"))
((method_invocation name: (identifier) @function) @at
  (#match? @function "^assum(e(True|False|That|NoException|NotNull|NoErrors)|ingThat)$")
  (#set! rule "skips-test"))
((object_creation_expression type: (_) @type) @at
  (#match? @type "^([\\w.]+\\.)?(TestAbortedException|AssumptionViolatedException|SkipException|TestSkippedException)$")
  (#set! rule "skips-test"))

; --- asserts-nothing

((method_declaration (modifiers [(marker_annotation name: (_) @test) (annotation name: (_) @test)]) name: (identifier) @at body: (block) @body)
  (#match? @test "^([\\w.]+\\.)?(Test|ParameterizedTest|RepeatedTest|Property)$") (#not-eq? @at "contextLoads")
  (#match? @body "^\\{(\\s|//[^\\n]*|/\\*([^*]|\\*+[^*/])*\\*+/|return;|assert true;|((org\\.[\\w.]+\\.)?(Assertions|Assert)\\.)?(assertTrue\\(\\s*(\"[^\"]*\"\\s*,\\s*)?true\\s*(,\\s*\"[^\"]*\"\\s*)?\\)|assertFalse\\(\\s*(\"[^\"]*\"\\s*,\\s*)?false\\s*\\)|assertNull\\(null\\)|assertEquals\\(\\s*(true|false|[\\d.]+L?|\"[^\"]*\")\\s*,\\s*(true|false|[\\d.]+L?|\"[^\"]*\")\\s*\\)|assertThat\\((true|[\\d.]+L?|\"[^\"]*\")\\)\\.(isTrue\\(\\)|isNotNull\\(\\)|isEqualTo\\((true|[\\d.]+L?|\"[^\"]*\")\\)));)*\\}$")
  (#set! rule "asserts-nothing") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The test asserts nothing; it passes whatever the product does."))
; As JUnit 3 names them.
((method_declaration type: (void_type) name: (identifier) @at parameters: (formal_parameters . ")") body: (block) @body)
  (#match? @at "^test([A-Z_0-9]|$)") (#match? @body "^\\{(\\s|//[^\\n]*|/\\*([^*]|\\*+[^*/])*\\*+/|return;|assertTrue\\(true\\);)*\\}$")
  (#set! rule "asserts-nothing") (#set! where "test"))

; Calls that may assert something: by their name, or since they are the class's own.
((method_invocation name: (identifier) @function) @region
  (#match? @function "(?i)assert|expect|should|verif|check|requir|must|throw|reject|fail|raise|snapshot|match|ensure|valid|equal|test|compare|await|until|^(then|statusCode|body|run)$")
  (#set! region "asserting"))
((method_invocation !object) @region (#set! region "asserting"))
((method_invocation object: [(this) (super)]) @region (#set! region "asserting"))
((method_invocation object: (identifier) @object) @region
  (#match? @object "(?i)assert|test|check|verif|harness|fixture|robot|rule") (#set! region "asserting"))
((object_creation_expression type: (_) @type) @region
  (#match? @type "(?i)assert|expect|verif|test|check") (#set! region "asserting"))
([(throw_statement) (assert_statement) (ERROR)] @region (#set! region "asserting"))
((method_declaration (modifiers [(marker_annotation name: (_) @test) (annotation name: (_) @test)]) @modifiers name: (identifier) @at body: (block) @body)
  (#match? @test "^([\\w.]+\\.)?(Test|ParameterizedTest|RepeatedTest|Property)$") (#not-match? @modifiers "expected|Expect|Disabled|Ignore|Timeout|timeout")
  (#match? @body "\\w\\(")
  (#set! rule "asserts-nothing") (#set! where "any") (#set! without "asserting")
  (#set! sentence "The test runs the product and asserts nothing of what comes out."))

; --- compares-with-itself

((method_invocation name: (identifier) @function arguments: (argument_list (_) @left . (_) @right)) @at
  (#match? @function "^assert(Array|Iterable|Lines|Json|Object)?(Equals|Same|Match)$") (#eq? @left @right)
  (#set! rule "compares-with-itself") (#set! group "suppression") (#set! where "test")
  (#set! sentence "The assertion compares an expression with itself; it passes whatever the product does."))
((method_invocation object: (method_invocation name: (identifier) @that arguments: (argument_list . (_) @left .)) name: (identifier) @function arguments: (argument_list . (_) @right .)) @at
  (#any-of? @that "assertThat" "then" "expectThat") (#any-of? @function "isEqualTo" "isSameAs" "containsExactlyElementsOf" "hasSameElementsAs" "isSameInstanceAs") (#eq? @left @right)
  (#set! rule "compares-with-itself"))

; --- silences-tool

([(marker_annotation name: (_) @name) (annotation name: (_) @name)] @at
  (#match? @name "^([\\w.]+\\.)?Suppress(Warnings|FBWarnings|Lint|Checks)$")
  (#set! rule "silences-tool") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The annotation or the comment silences warnings of the compiler or a linter."))
([(line_comment) (block_comment)] @at
  (#match? @at "\\bNOSONAR\\b|CHECKSTYLE[: ]*OFF|\\bNOPMD\\b|\\bnoinspection\\b")
  (#set! rule "silences-tool"))
([(marker_annotation name: (_) @name) (annotation name: (_) @name)] @at
  (#match? @name "^([\\w.]+\\.)?(ExcludeFrom\\w*(Coverage|Report)\\w*|CoverageIgnore|DoNotMutate)$")
  (#set! rule "hides-from-coverage") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The annotation hides code from the measurement of coverage or of mutants."))

; --- swallows-errors

((catch_clause (catch_formal_parameter (catch_type) @type) body: (block) @body) @at
  (#match? @type "^([\\w.]+\\.)?(Exception|Throwable|RuntimeException|Error|AssertionError)$|\\b(Error|Throwable)\\b") (#match? @body "^\\{(\\s|//[^\\n]*|/\\*([^*]|\\*+[^*/])*\\*+/)*\\}$")
  (#set! rule "swallows-errors") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The handler drops every error."))
((catch_clause (catch_formal_parameter (catch_type) @type) body: (block) @body) @at
  (#match? @type "\\b(Throwable|Error|AssertionError|AssertionFailedError|ComparisonFailure|MultipleFailuresError)\\b")
  (#not-match? @body "throw|fail|assert|[vV]erify|[^=!<>]=[^=]|\\.(add|set|offer|put|complete\\w*|onError|onFailure|accept|addSuppressed|countDown|compareAndSet)\\(|return|continue|break|\\+\\+") (#not-match? @body "^\\{\\s*\\}$")
  (#set! rule "swallows-errors") (#set! where "test")
  (#set! sentence "The handler takes the failure of an assertion, and the test goes on."))
