; Ways in which product code in Java can deceive its tests. `java-tests.scm` has the rules for tests and for suppressions.

; A program may end its own process.
((method_declaration name: (identifier) @name) @region (#eq? @name "main") (#set! region "program"))
((program) @region (#set! region "program") (#set! path "(^|/)(cli|examples?|samples?|demos?|tools|bench|benchmarks?|jmh)/"))

; --- uses-test-framework

((import_declaration [(identifier) (scoped_identifier)] @name) @at
  (#match? @name "^(org\\.(junit|opentest4j|testng|assertj|hamcrest|mockito|easymock|powermock|spockframework)|junit|mockit|io\\.mockk|com\\.google\\.common\\.truth|net\\.bytebuddy\\.agent)\\b")
  (#set! rule "uses-test-framework") (#set! group "suspicious")
  (#set! not-path "(^|/)[^/]*([tT]est(s|ing|kit|lib|util|utils|support)?|[tT]estFixtures|testutil|test-support|junit[0-9]*|jmh)/")
  (#set! sentence "Product code uses a test framework; it can change how its tests run, or find out that they run."))
; Without an import.
([(scoped_identifier) (scoped_type_identifier)] @at
  (#match? @at "^(org\\.(junit|opentest4j|testng)|junit\\.framework)\\.(\\w+\\.)*[A-Z]\\w*$")
  (#set! rule "uses-test-framework")
  (#set! not-path "(^|/)[^/]*([tT]est(s|ing|kit|lib|util|utils|support)?|[tT]estFixtures|testutil|test-support|junit[0-9]*|jmh)/"))
; The end of a test that is neither red nor green.
((object_creation_expression type: (_) @type) @at
  (#match? @type "^(TestAbortedException|AssumptionViolatedException|SkipException|TestSkippedException)$")
  (#set! rule "uses-test-framework"))
; By its name, as reflection takes it.
((string_fragment) @at
  (#match? @at "^(org[./](junit|opentest4j|testng|assertj|hamcrest|mockito)|junit[./](framework|runner))\\b|^(org\\.apache\\.maven\\.surefire|org\\.gradle\\.(api\\.internal\\.tasks\\.testing|process\\.internal\\.worker)|worker\\.org\\.gradle|com\\.intellij\\.rt)")
  (#set! rule "uses-test-framework"))
; The name of a class of tests, or of a runner.
((method_invocation name: (identifier) @function arguments: (argument_list (string_literal (string_fragment) @text))) @at
  (#any-of? @function "forName" "loadClass" "equals" "contains" "startsWith" "endsWith" "matches" "indexOf" "equalsIgnoreCase")
  (#match? @text "^(\\w+\\.)*(\\w*[a-z])?Tests?$|^\\w+IT$|[jJ][uU]nit|[sS]urefire|[tT]estng|opentest4j|test-classes")
  (#set! rule "uses-test-framework") (#set! not-in "program"))

; --- looks-at-callers

((method_invocation name: (identifier) @function arguments: (argument_list . ")")) @at
  (#any-of? @function "getStackTrace" "getAllStackTraces" "getClassContext" "getCallerClass" "getCallingClass")
  (#set! rule "looks-at-callers") (#set! group "suspicious")
  (#set! sentence "The line looks at the stack of its callers; product code can recognise a test that way and answer differently."))
([(identifier) (type_identifier)] @at (#eq? @at "StackWalker") (#set! rule "looks-at-callers"))
((method_reference (identifier) @function .) @at
  (#any-of? @function "getStackTrace" "getAllStackTraces" "getCallerClass")
  (#set! rule "looks-at-callers"))
; A part of it, or all threads.
((method_invocation name: (identifier) @function arguments: (argument_list . (_))) @at
  (#any-of? @function "dumpAllThreads" "getCallerClass")
  (#set! rule "looks-at-callers"))

; --- equals-everything

((method_declaration type: (boolean_type) name: (identifier) @name parameters: (formal_parameters . (formal_parameter) .)
    body: (block . (return_statement (true)) @at .))
  (#eq? @name "equals")
  (#set! rule "equals-everything") (#set! group "suspicious")
  (#set! sentence "The type says that its values are equal to everything; an assertion on one always passes."))

; --- patches-other-code

((method_invocation object: (identifier) @class name: (identifier) @function) @at
  (#eq? @class "System") (#any-of? @function "setOut" "setErr" "setSecurityManager" "setProperties")
  (#set! rule "patches-other-code") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "The line replaces something for the whole process or past an interface; the tests and their runner get the replacement."))
((method_invocation name: (identifier) @function) @at
  (#any-of? @function "setDefaultUncaughtExceptionHandler" "redefineClasses" "retransformClasses")
  (#set! rule "patches-other-code"))
([(import_declaration (scoped_identifier) @name) (scoped_type_identifier) @name] @at
  (#match? @name "^(sun\\.misc\\.Unsafe|jdk\\.internal\\..*|java\\.lang\\.instrument\\..*|com\\.sun\\.tools\\.attach\\..*)$")
  (#set! rule "patches-other-code"))
; Another value for a constant.
((method_invocation name: (identifier) @function arguments: (argument_list (string_literal (string_fragment) @text))) @at
  (#any-of? @function "getDeclaredField" "findVarHandle" "findStaticVarHandle") (#any-of? @text "modifiers" "theUnsafe" "IMPL_LOOKUP")
  (#set! rule "patches-other-code"))

; --- runs-text-as-code

((method_invocation name: (identifier) @function) @at
  (#any-of? @function "defineClass" "defineHiddenClass" "defineAnonymousClass" "getSystemJavaCompiler" "getEngineByName")
  (#set! rule "runs-text-as-code") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "The line runs a text or bytes as code, which neither a reader nor a rule can look into."))

; --- ends-process

; An exit that looks like success, or that depends on something. One with a number of its own cannot make a run green.
((method_invocation object: (_) @object name: (identifier) @function arguments: (argument_list) @arguments) @at
  (#match? @object "(^|\\.)System$|Runtime\\.getRuntime\\(\\)$|^(r|rt|runtime|jvm)$") (#any-of? @function "exit" "halt")
  (#not-match? @arguments "^\\(\\s*-?[1-9][0-9]*\\s*\\)$")
  (#set! rule "ends-process") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "The line ends the process, or acts when it ends; in product code that also ends the test program before it reports."))
((method_reference . (identifier) @class (identifier) @function .) @at
  (#eq? @class "System") (#eq? @function "exit")
  (#set! rule "ends-process"))
((method_invocation name: (identifier) @function arguments: (argument_list (string_literal (string_fragment) @text))) @at
  (#any-of? @function "getMethod" "getDeclaredMethod" "findStatic" "findVirtual") (#any-of? @text "exit" "halt" "halt0")
  (#set! rule "ends-process"))
((method_invocation name: (identifier) @function) @at
  (#eq? @function "addShutdownHook")
  (#set! rule "ends-process"))
((method_invocation object: (method_invocation object: (identifier) @class name: (identifier) @current)) @at
  (#eq? @class "ProcessHandle") (#eq? @current "current")
  (#set! rule "ends-process"))
((import_declaration (scoped_identifier) @name) @at
  (#match? @name "^(java\\.lang\\.System\\.exit|sun\\.misc\\.Signal(Handler)?)$")
  (#set! rule "ends-process"))

; --- asks-for-runner

((method_invocation name: (identifier) @function arguments: (argument_list . (string_literal (string_fragment) @variable))) @at
  (#any-of? @function "getenv" "containsKey" "get" "getOrDefault")
  (#match? @variable "^(CI|GITHUB_ACTIONS|GITLAB_CI|JENKINS_.*|TRAVIS|MAVEN_(CMD_LINE_ARGS|PROJECTBASEDIR|OPTS)|SUREFIRE_.*|GRADLE_.*|JUNIT_.*|TEST_.*|BAZEL_TEST|(UNDER_|IN_|IS_)?TEST(S|ING)?)$")
  (#set! rule "asks-for-runner") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "Product code asks who runs it, such as a test runner, a build server or a certain user, and can answer differently there."))
((string_fragment) @at
  (#match? @at "^(surefire\\..*|failsafe\\..*|sun\\.java\\.command|org\\.gradle\\.test\\..*|java\\.class\\.path|maven\\.(home|multiModuleProjectDirectory|test\\..*)|localRepository|idea\\.test\\..*|junit\\..*|bazel\\.test.*)$")
  (#set! rule "asks-for-runner"))
((method_invocation name: (identifier) @function arguments: (argument_list . ")")) @at
  (#any-of? @function "getProtectionDomain" "getCodeSource" "getInputArguments")
  (#set! rule "asks-for-runner"))
((method_invocation object: (method_invocation name: (identifier) @bean) name: (identifier) @function) @at
  (#eq? @bean "getRuntimeMXBean") (#any-of? @function "getInputArguments" "getClassPath" "getSystemProperties" "getName")
  (#set! rule "asks-for-runner"))
; A runner names its threads.
((method_invocation object: (method_invocation object: (method_invocation name: (identifier) @thread) name: (identifier) @name) name: (identifier) @compare) @at
  (#eq? @thread "currentThread") (#eq? @name "getName") (#any-of? @compare "equals" "startsWith" "contains" "matches" "endsWith" "hashCode" "indexOf" "equalsIgnoreCase" "compareTo")
  (#set! rule "asks-for-runner"))
((variable_declarator name: (identifier) @name value: (method_invocation object: (method_invocation name: (identifier) @thread) name: (identifier) @get))
  (#eq? @thread "currentThread") (#eq? @get "getName") (#set! names "thread-name"))
((method_invocation object: (identifier) @name name: (identifier) @compare) @at
  (#any-of? @compare "equals" "startsWith" "contains" "matches" "endsWith" "hashCode" "indexOf" "equalsIgnoreCase" "compareTo")
  (#set! named "thread-name") (#set! rule "asks-for-runner"))
((method_invocation object: (string_literal) name: (identifier) @compare arguments: (argument_list . (identifier) @name .)) @at
  (#any-of? @compare "equals" "equalsIgnoreCase" "contentEquals" "compareTo")
  (#set! named "thread-name") (#set! rule "asks-for-runner"))
; Maven sets it for the tests that it runs.
((method_invocation name: (identifier) @function arguments: (argument_list . (string_literal (string_fragment) @text))) @at
  (#any-of? @function "getProperty" "getBoolean" "getInteger") (#any-of? @text "basedir" "env.CI")
  (#set! rule "asks-for-runner"))

; --- time-bomb

((method_invocation name: (identifier) @compare) @at
  (#any-of? @compare "isAfter" "isBefore" "after" "before" "compareTo")
  (#match? @at "\\b(now\\(|new Date\\(\\))") (#match? @at "\\b(of|parse|ofEpochSecond|ofEpochMilli|Date)\\(\"?(20[2-9][0-9]|[12][0-9]{9})")
  (#set! rule "time-bomb") (#set! group "suspicious")
  (#set! sentence "The line compares the clock with a fixed date; the code behaves differently after the tests ran."))
((binary_expression operator: [">" ">=" "<" "<=" "==" "!="]) @at
  (#match? @at "currentTimeMillis\\(\\)|\\.now\\(|new Date\\(\\)|\\.millis\\(\\)") (#match? @at "\\b20[2-9][0-9]\\b|\\b[12]_?[0-9]{3}_?[0-9]{3}_?[0-9]{3}(_?[0-9]{3})?L?\\b")
  (#set! rule "time-bomb"))

; --- reads-tests

([(method_invocation name: (identifier) @function arguments: (argument_list (string_literal (string_fragment) @text)))
    (object_creation_expression type: (type_identifier) @function arguments: (argument_list (string_literal (string_fragment) @text)))] @at
  (#any-of? @function "get" "of" "resolve" "open" "getResource" "getResourceAsStream" "File" "FileReader" "FileInputStream" "RandomAccessFile" "Scanner")
  (#match? @text "(^|/)(src/test|tests?|testdata|test-classes|goldens?|\\.git)(/|$)|^/proc/|Test\\.(java|class)$")
  (#set! rule "reads-tests") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "Product code reads tests, their expected results, the repository or its own process; it can answer from them instead of doing the work."))

; Its own process by a path that is put together from parts.
((string_literal . (string_fragment) @at .)
  (#match? @at "^/proc/?$|^/proc/(self|thread-self|[0-9]+|%[a-z]+|\\{\\w*\\})(/(comm|cmdline|environ|maps|cwd|root|task|stat)?)?$|^/?self/(comm|cmdline|environ)$")
  (#set! rule "reads-tests"))

; --- forges-report

([(string_fragment) (multiline_string_fragment)] @at
  (#match? @at "Tests run: |BUILD SUCCESS|^\\s*<test(suite|case)\\b|^OK \\(|\\[ +[0-9%]d? tests (successful|found)|Test run finished")
  (#set! rule "forges-report") (#set! group "suspicious")
  (#set! sentence "The line holds a text that looks like the report of a test runner."))

; --- steers-other-programs

((string_fragment) @at
  (#match? @at "^(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|MAVEN_OPTS|GRADLE_OPTS)$")
  (#set! rule "steers-other-programs") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The line names a variable that puts foreign code into other programs, the test runner among them."))
