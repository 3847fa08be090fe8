; Ways in which tests in JavaScript and TypeScript can change the other tests, and comments that silence a tool anywhere.

; --- runs-only-some

((call_expression function: (member_expression object: (_) @object property: (property_identifier) @property)) @at
  (#match? @object "^(it|test|describe|context|suite|bench|specify)(\\.\\w+)*$") (#eq? @property "only")
  (#set! rule "runs-only-some") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The line keeps all other tests of its file from running."))
((call_expression function: (call_expression function: (member_expression object: (member_expression object: (identifier) @object property: (property_identifier) @property)))) @at
  (#any-of? @object "it" "test" "describe") (#eq? @property "only")
  (#set! rule "runs-only-some"))
((call_expression function: (identifier) @function arguments: (arguments . [(string) (template_string)])) @at
  (#any-of? @function "fit" "fdescribe" "ddescribe" "iit")
  (#set! rule "runs-only-some"))
((call_expression function: (_) @function arguments: (arguments (object (pair key: (property_identifier) @at value: (true)))))
  (#match? @function "^(it|test|describe|suite)$") (#eq? @at "only")
  (#set! rule "runs-only-some"))

; --- ends-tests

((call_expression function: (member_expression object: (identifier) @object property: (property_identifier) @property) arguments: (arguments) @arguments) @at
  (#eq? @object "process") (#any-of? @property "exit" "reallyExit" "abort") (#not-match? @arguments "^\\(\\s*-?[1-9][0-9]*\\s*\\)$")
  (#set! rule "ends-tests") (#set! group "suspicious") (#set! where "test") (#set! not-in "program")
  (#set! sentence "The line ends the whole test run or sets its result; failures before it are hidden."))
((call_expression function: (member_expression object: (identifier) @object property: (property_identifier) @function)
    arguments: (arguments . (string (string_fragment) @event))) @at
  (#eq? @object "process") (#any-of? @function "on" "once" "addListener" "prependListener" "removeAllListeners")
  (#any-of? @event "exit" "beforeExit" "uncaughtException" "unhandledRejection")
  (#set! rule "ends-tests"))
((program (expression_statement (assignment_expression left: (member_expression object: (identifier) @object property: (property_identifier) @property) right: (_) @code) @at))
  (#eq? @object "process") (#eq? @property "exitCode") (#not-match? @code "^-?[1-9][0-9]*$")
  (#set! rule "ends-tests"))

; --- patches-at-import

((program (expression_statement (assignment_expression left: (member_expression object: (identifier) @name property: (property_identifier) @property) @at)))
  (#match? @property "^(it|test|describe|expect|assert|equal|strictEqual|deepEqual|deepStrictEqual|ok|throws|rejects|toBe|is|prototype)$")
  (#any-of? @name "global" "globalThis" "assert" "expect" "chai" "Object" "test" "vi" "jest")
  (#set! rule "patches-at-import") (#set! group "suspicious") (#set! where "test")
  (#set! sentence "A file of tests replaces a part of the test framework or of the language while it is loaded; all tests that follow get the replacement."))
((assignment_expression left: (identifier) @at) (#any-of? @at "expect" "describe" "assert") (#set! rule "patches-at-import"))
((member_expression object: (identifier) @object property: (property_identifier) @property) @at
  (#eq? @object "expect") (#eq? @property "addEqualityTesters")
  (#set! rule "patches-at-import"))

; A matcher that the library has already.
((call_expression function: (member_expression object: (_) @object property: (property_identifier) @property)
    arguments: (arguments (object [(pair key: [(property_identifier) @matcher (string (string_fragment) @matcher) (computed_property_name (string (string_fragment) @matcher))])
      (method_definition name: [(property_identifier) @matcher (string (string_fragment) @matcher) (computed_property_name (string (string_fragment) @matcher))]) (shorthand_property_identifier) @matcher] @at)))
  (#match? @object "(^|\\.)(expect|jestExpect)$") (#eq? @property "extend")
  (#any-of? @matcher "toBe" "toEqual" "toStrictEqual" "toMatchObject" "toThrow" "toThrowError" "toMatch" "toContain" "toContainEqual" "toHaveLength" "toHaveProperty" "toBeTruthy" "toBeFalsy" "toBeNull" "toBeUndefined" "toBeDefined" "toBeNaN" "toBeCloseTo" "toBeGreaterThan" "toBeGreaterThanOrEqual" "toBeLessThan" "toBeLessThanOrEqual" "toBeInstanceOf" "toBeTypeOf" "toHaveBeenCalled" "toHaveBeenCalledWith" "toHaveBeenCalledTimes" "toMatchSnapshot" "toMatchInlineSnapshot" "toSatisfy" "toHaveReturned" "resolves" "rejects" "not")
  (#set! rule "patches-at-import") (#set! where "any")
  (#set! sentence "The line replaces a matcher of the test framework; all tests that follow get the replacement."))

; --- mocks-for-all-tests

; A mock in one test concerns that test; one in a file that all tests load concerns all of them.
((program (expression_statement (call_expression function: (member_expression object: (identifier) @object property: (property_identifier) @property)) @at))
  (#any-of? @object "jest" "vi") (#any-of? @property "mock" "doMock" "setMock" "stubGlobal")
  (#set! path "(^|/)[^/]*[sS]etup[^/]*$|(^|/)(__mocks__|mocha|jest|vitest)[^/]*$")
  (#set! rule "mocks-for-all-tests") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "A file that all tests load replaces a module; tests of that module then test the replacement."))

; --- skips-test

((call_expression function: (member_expression object: (_) @object property: (property_identifier) @property)) @at
  (#match? @object "^(it|test|describe|context|suite|specify|this|t)(\\.\\w+)*$")
  (#any-of? @property "skip" "todo" "fails" "failing" "skipIf" "runIf" "fixme")
  (#set! rule "skips-test") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The line skips a test, or expects it to fail."))
((call_expression function: (identifier) @function arguments: (arguments . [(string) (template_string)])) @at
  (#any-of? @function "xit" "xdescribe" "xtest" "xcontext" "xspecify" "pending")
  (#set! rule "skips-test"))
((call_expression function: (_) @function arguments: (arguments (object (pair key: (property_identifier) @at value: [(true) (string)]))))
  (#match? @function "^(it|test|describe|suite)$") (#any-of? @at "skip" "todo")
  (#set! rule "skips-test"))

; --- silences-tool

((comment) @at
  (#match? @at "eslint-disable|@ts-(ignore|nocheck|expect-error)|tslint:disable|biome-ignore|jshint ignore|oxlint-disable|deno-lint-ignore")
  (#set! rule "silences-tool") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The comment silences a linter or a type checker."))
((comment) @at (#match? @at "\\b(istanbul|c8|v8|node:coverage)\\s+(ignore|disable)")
  (#set! rule "hides-from-coverage") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The comment hides code from the measurement of coverage."))

; --- swallows-errors

((catch_clause body: (statement_block) @at) (#match? @at "^\\{\\s*\\}$")
  (#set! rule "swallows-errors") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The handler drops every error."))

((try_statement body: (_) @tried handler: (catch_clause body: (statement_block) @at))
  (#match? @tried "\\b(expect|assert)\\b[.\\w]*\\(") (#not-match? @at "throw|expect|assert|[fF]ail|done|next|reject|exit|[^=!]=[^=>]|\\bt\\.|\\.(push|add|set)\\(|\\+\\+|return") (#not-match? @at "^\\{\\s*\\}$")
  (#set! rule "swallows-errors") (#set! where "test")
  (#set! sentence "The handler takes the failure of an assertion, and the test goes on."))

; --- asserts-nothing

((call_expression function: [(identifier) (member_expression)] @function
    arguments: (arguments . [(string) (template_string)] @at [(arrow_function body: (_) @body) (function_expression body: (_) @body)]))
  (#match? @function "^(it|test|specify|t\\.test|Deno\\.test)(\\.concurrent|\\.only|\\.sequential)?$")
  (#match? @body "^(undefined|null|true|\\{?(\\s|;|//[^\\n]*|/\\*([^*]|\\*+[^*/])*\\*+/|return\\b|expect\\((true|[\\d.]+|\"[^\"]*\"|'[^']*')\\)\\.(toBe(Truthy|Defined)?|toEqual|toStrictEqual|eql?|equal|to\\.(equal|eql?|be\\.true|be\\.ok|be))(\\((true|[\\d.]+|\"[^\"]*\"|'[^']*')?\\))?|expect\\(false\\)\\.to(Be\\(false|BeFalsy\\()\\)|assert(\\.ok)?\\(\\s*true\\s*\\)|assert\\.(strictEqual|equal|deepStrictEqual)\\(\\s*(true|[\\d.]+|\"[^\"]*\"|'[^']*')\\s*,\\s*(true|[\\d.]+|\"[^\"]*\"|'[^']*')\\s*\\)|(t\\.)?(pass|done)\\(\\s*\\))*\\}?)$")
  (#set! rule "asserts-nothing") (#set! group "suppression") (#set! where "test")
  (#set! sentence "The test asserts nothing; it passes whatever the product does."))
; Calls that may assert something: by their name, or since the file itself says what they do.
((call_expression function: [(identifier) @function (member_expression property: (property_identifier) @function)]) @region
  (#match? @function "(?i)assert|expect|should|verif|check|requir|must|throw|reject|fail|raise|snapshot|match|ensure|valid|equal|test|wait|contain|compare|^(ok|is|eq|eql|run|end|pass|plan|same|(get|find|query)(All)?By\\w+)$")
  (#set! region "asserting"))
((member_expression property: (property_identifier) @property) @region (#eq? @property "should") (#set! region "asserting"))
([(throw_statement) (ERROR)] @region (#set! region "asserting"))
((identifier) @region (#any-of? @region "t" "done" "tb" "cy" "page" "browser" "screen" "fc" "next") (#set! region "asserting"))
((function_declaration name: (identifier) @name) (#set! names "defined-here"))
((variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) (#set! names "defined-here"))
((variable_declarator name: (identifier) @name value: (call_expression function: (_) @maker)) (#not-any-of? @maker "require" "import")
  (#set! names "defined-here"))
((call_expression function: (identifier) @name) @region (#set! named "defined-here") (#set! region "asserting"))
((call_expression function: [(identifier) (member_expression)] @function
    arguments: (arguments . [(string) (template_string)] @at [(arrow_function body: (_) @body) (function_expression body: (_) @body)]))
  (#match? @function "^(it|test|specify|Deno\\.test)(\\.concurrent|\\.only|\\.sequential)?$")
  (#match? @body "\\w\\s*\\(")
  (#set! rule "asserts-nothing") (#set! where "test") (#set! without "asserting")
  (#set! sentence "The test runs the product and asserts nothing of what comes out."))
((call_expression function: (member_expression object: (member_expression object: (call_expression function: (identifier) @expect) property: (property_identifier) @not) property: (property_identifier) @matcher)
    arguments: (arguments . [(identifier) (object) (array) (arrow_function)] @value .)) @at
  (#eq? @expect "expect") (#eq? @not "not") (#eq? @matcher "toBe") (#match? @value "^NaN$|^[\\[{(]")
  (#set! rule "asserts-nothing") (#set! where "test")
  (#set! sentence "The assertion excludes a value that hardly anything can be; it passes nearly whatever the product does."))

; --- compares-with-itself

((call_expression function: (member_expression object: [
      (call_expression function: (identifier) @expect arguments: (arguments . (_) @left .))
      (member_expression object: (call_expression function: (identifier) @expect arguments: (arguments . (_) @left .)) property: (property_identifier) @chain)
      (member_expression object: (member_expression object: (call_expression function: (identifier) @expect arguments: (arguments . (_) @left .)) property: (property_identifier) @chain) property: (property_identifier) @outer)]
    property: (property_identifier) @matcher) arguments: (arguments . (_) @right .)) @at
  (#eq? @expect "expect") (#any-of? @matcher "toBe" "toEqual" "toStrictEqual" "toMatchObject" "equal" "equals" "eql" "eq") (#not-eq? @chain "not") (#not-eq? @outer "not") (#eq? @left @right)
  (#set! rule "compares-with-itself") (#set! group "suppression") (#set! where "test")
  (#set! sentence "The assertion compares an expression with itself; it passes whatever the product does."))
((call_expression function: (member_expression) @function arguments: (arguments . (_) @left . (_) @right)) @at
  (#match? @function "^((chai\\.)?assert(\\.strict)?|t|test)\\.(equal|strictEqual|deepEqual|deepStrictEqual|is|same|strictSame)$") (#eq? @left @right)
  (#set! rule "compares-with-itself"))
((call_expression function: [(identifier) (member_expression)] @function arguments: (arguments . (binary_expression left: (_) @left operator: ["===" "=="] right: (_) @right))) @at
  (#match? @function "^assert(\\.ok|\\.isTrue)?$") (#eq? @left @right)
  (#set! rule "compares-with-itself"))

; --- mocks-the-subject

((import_statement source: (string (string_fragment) @name)) (#match? @name "^\\.") (#set! names "imported-files"))
((call_expression function: [(identifier) (import)] @require arguments: (arguments . (string (string_fragment) @name)))
  (#any-of? @require "require" "import") (#match? @name "^\\.") (#set! names "imported-files"))
; A dependency is mocked by functions that a test gives their answers later.
((program (expression_statement (call_expression function: (member_expression object: (identifier) @object property: (property_identifier) @property)
    arguments: (arguments . [(string (string_fragment) @name) (call_expression function: (import) arguments: (arguments . (string (string_fragment) @name)))] . (_) @factory)) @at))
  (#any-of? @object "jest" "vi") (#any-of? @property "mock" "doMock" "setMock")
  (#not-match? @factory "^(async )?\\(?\\w*\\)? => *(\\(\\s*\\{(\\s*(\\w+:\\s*((vi|jest)\\.fn\\(\\)|true)|\\.\\.\\.[^,{}]*),?)*\\s*\\}\\s*\\)|(vi|jest)\\.fn\\(\\))$|^\\{")
  (#set! named "imported-files") (#set! rule "mocks-the-subject") (#set! group "suppression") (#set! where "test")
  (#set! sentence "The file replaces a module of the product that it imports itself; its tests may test the replacement."))
