; Ways in which product code in JavaScript and TypeScript can deceive its tests. `javascript-tests.scm` has the rules for tests
; and for suppressions. The grammar of TypeScript has the same names for all that is used here.

; Names that an import brings in from a package: an assignment to an attribute of one changes code that others use.
((import_statement (import_clause (identifier) @name) source: (string (string_fragment) @source))
  (#not-match? @source "^[.~@]/|^\\.") (#set! names "imported"))
((import_statement (import_clause (namespace_import (identifier) @name)) source: (string (string_fragment) @source))
  (#not-match? @source "^[.~@]/|^\\.") (#set! names "imported"))
((variable_declarator name: (identifier) @name
    value: (call_expression function: (identifier) @require arguments: (arguments . (string (string_fragment) @source))))
  (#eq? @require "require") (#not-match? @source "^\\.") (#set! names "imported"))

; Names for a library of assertions, which is the same one in the tests, however they call it.
((import_statement (import_clause [(identifier) @name (namespace_import (identifier) @name) (named_imports (import_specifier name: (identifier) @name !alias)) (named_imports (import_specifier alias: (identifier) @name))]) source: (string (string_fragment) @source))
  (#match? @source "^((node:)?assert(/strict)?|chai|vitest|expect|@jest/(globals|expect)|power-assert|should|expect\\.js|@vitest/expect|node:test)$") (#set! names "assertions"))
((variable_declarator
    name: [(identifier) @name (object_pattern (shorthand_property_identifier_pattern) @name) (object_pattern (pair_pattern value: (identifier) @name))]
    value: [(call_expression) (member_expression) (await_expression)] @value)
  (#match? @value "^\\(?(await )?(require|import)\\(\\s*['\"`]((node:)?assert(/strict)?|chai|vitest|expect|@jest/(globals|expect)|power-assert|should|expect\\.js|@vitest/expect|node:test)['\"`]\\s*\\)\\)?(\\.(default|strict|assert|expect|Assertion))*$")
  (#set! names "assertions"))

; A program may end its own process.
((program (hash_bang_line)) @region (#set! region "program"))
((program) @region (#set! region "program")
  (#set! path "(^|/)(bin|scripts|tools|examples|bench|benchmarks?|cli)/|(^|/)(cli|gulpfile|Gruntfile)(\\.[^/]*)?\\.[cm]?[jt]sx?$|\\.config\\.[cm]?[jt]s$"))
((if_statement condition: (_) @condition) @region
  (#match? @condition "^\\(require\\.main ={2,3} module\\)$|^\\(import\\.meta\\.main\\)$|^\\(import\\.meta\\.(url|filename) ={2,3} [^&|]*\\)$") (#set! region "program"))

; --- looks-at-callers

((member_expression object: (new_expression constructor: (identifier) @class) property: (property_identifier) @property) @at
  (#match? @class "Error$") (#eq? @property "stack")
  (#set! rule "looks-at-callers") (#set! group "suspicious")
  (#set! sentence "The line looks at the stack of its callers; product code can recognise a test that way and answer differently."))
((member_expression object: (call_expression function: (identifier) @class) property: (property_identifier) @property) @at
  (#match? @class "^\\w*Error$") (#eq? @property "stack")
  (#set! rule "looks-at-callers"))
((member_expression object: (identifier) @class property: (property_identifier) @property) @at
  (#eq? @class "Error") (#any-of? @property "prepareStackTrace" "stackTraceLimit")
  (#set! rule "looks-at-callers"))
((subscript_expression object: [(identifier) @class (new_expression constructor: (identifier) @class)] index: (string (string_fragment) @property)) @at
  (#eq? @class "Error") (#any-of? @property "prepareStackTrace" "stackTraceLimit" "captureStackTrace" "stack")
  (#set! rule "looks-at-callers"))
((call_expression function: (member_expression object: (identifier) @class property: (property_identifier) @property)
    arguments: (arguments . [(identifier) (object)])) @at
  (#eq? @class "Error") (#eq? @property "captureStackTrace")
  (#set! rule "looks-at-callers"))
((member_expression object: (identifier) @object property: (property_identifier) @property) @at
  (#eq? @object "arguments") (#any-of? @property "callee" "caller")
  (#set! rule "looks-at-callers"))
((call_expression function: (member_expression object: (member_expression property: (property_identifier) @stack) property: (property_identifier) @search)) @at
  (#eq? @stack "stack") (#any-of? @search "includes" "match" "matchAll" "search")
  (#set! rule "looks-at-callers"))
((call_expression function: (member_expression property: (property_identifier) @search) arguments: (arguments . (member_expression property: (property_identifier) @stack))) @at
  (#eq? @stack "stack") (#any-of? @search "test" "exec")
  (#set! rule "looks-at-callers"))
((member_expression object: (member_expression object: (identifier) @module property: (property_identifier) @parent) property: (property_identifier) @property) @at
  (#eq? @module "module") (#eq? @parent "parent") (#any-of? @property "filename" "id" "children" "path" "exports")
  (#set! rule "looks-at-callers"))
((string (string_fragment) @at) (#any-of? @at "callsites" "stack-trace" "caller-callsite" "callsite")
  (#set! rule "looks-at-callers"))

; An error that is made for it.
((variable_declarator name: (identifier) @name value: [(new_expression constructor: (identifier) @class) (call_expression function: (identifier) @class)])
  (#match? @class "^[A-Z]?\\w*Error$") (#set! names "own-error"))
((variable_declarator
    name: (object_pattern [(shorthand_property_identifier_pattern) @property (pair_pattern key: (property_identifier) @property)])
    value: (identifier) @name) @at
  (#eq? @property "stack") (#set! named "own-error")
  (#set! rule "looks-at-callers"))
((variable_declarator
    name: (object_pattern [(shorthand_property_identifier_pattern) @property (pair_pattern key: (property_identifier) @property)])
    value: [(new_expression constructor: (identifier) @class) (call_expression function: (identifier) @class)]) @at
  (#eq? @property "stack") (#match? @class "^[A-Z]?\\w*Error$")
  (#set! rule "looks-at-callers"))
((call_expression function: (member_expression object: (_) @stack property: (property_identifier) @search) arguments: (arguments . (string (string_fragment) @text))) @at
  (#match? @stack "(^|\\.)stack$") (#any-of? @search "includes" "indexOf" "split" "match" "search" "lastIndexOf") (#match? @text "test|spec|mocha|jest|vitest|jasmine|chai|expect|node_modules")
  (#set! rule "looks-at-callers"))

; --- uses-test-framework

((import_statement source: (string (string_fragment) @source)) @at
  (#match? @source "^(vitest|jest|@jest/.*|mocha|chai|sinon|ava|tap|tape|jasmine|node:test|@playwright/test|cypress|bun:test|nyc|c8|proxyquire|supertest)$")
  (#set! rule "uses-test-framework") (#set! group "suspicious")
  (#set! not-path "\\.config\\.[cm]?[jt]s$|(^|/)(bench|benchmarks?)/|\\.bench\\.[cm]?[jt]s$")
  (#set! sentence "Product code uses a test framework; it can change how its tests run, or find out that they run."))
((call_expression function: [(identifier) (import)] @require arguments: (arguments . (string (string_fragment) @source))) @at
  (#any-of? @require "require" "import")
  (#match? @source "^(vitest|jest|@jest/.*|mocha|chai|sinon|ava|tap|tape|jasmine|node:test|@playwright/test|cypress|bun:test|nyc|c8|proxyquire|supertest)$")
  (#set! rule "uses-test-framework")
  (#set! not-path "\\.config\\.[cm]?[jt]s$|(^|/)(bench|benchmarks?)/|\\.bench\\.[cm]?[jt]s$"))
((member_expression object: (identifier) @object property: (property_identifier) @property) @at
  (#any-of? @object "jest" "vi" "jasmine" "expect")
  (#any-of? @property "fn" "mock" "unmock" "doMock" "spyOn" "extend" "setState" "getState" "useFakeTimers" "requireActual" "Spec" "addEqualityTesters"
    "resetModules" "stubGlobal" "isMockFunction" "retryTimes" "setTimeout" "getEnv")
  (#set! rule "uses-test-framework"))
((unary_expression operator: "typeof" argument: (identifier) @name) @at
  (#any-of? @name "jest" "vi" "vitest" "describe" "it" "test" "expect" "beforeEach" "afterEach" "beforeAll" "afterAll" "jasmine" "mocha" "suite")
  (#set! rule "uses-test-framework"))
((member_expression object: (identifier) @global property: (property_identifier) @property) @at
  (#any-of? @global "global" "globalThis" "window" "self")
  (#any-of? @property "jest" "vi" "describe" "it" "test" "expect" "beforeEach" "afterEach" "jasmine" "mocha" "__vitest_worker__" "__coverage__" "__karma__" "Cypress")
  (#set! rule "uses-test-framework"))
((binary_expression (string (string_fragment) @text)) @at
  (#any-of? @text "jest" "mocha" "vitest" "jasmine" "describe" "__vitest_worker__" "__coverage__")
  (#set! rule "uses-test-framework"))
((call_expression function: (member_expression property: (property_identifier) @search) arguments: (arguments . (string (string_fragment) @text))) @at
  (#any-of? @search "includes" "indexOf" "endsWith" "startsWith" "match" "search")
  (#match? @text "^(jest|mocha|vitest|jasmine|__tests__|\\.(test|spec)\\.[cm]?[jt]s|\\.(test|spec)\\.?|node:test|node_modules/(jest|vitest|mocha).*)$")
  (#set! rule "uses-test-framework"))
((string (string_fragment) @at) (#eq? @at "jest.asymmetricMatcher") (#set! rule "uses-test-framework"))
((pair key: (property_identifier) @at) (#eq? @at "asymmetricMatch") (#set! rule "uses-test-framework"))
((method_definition name: (property_identifier) @at) (#eq? @at "asymmetricMatch") (#set! rule "uses-test-framework"))

; --- equals-everything

([(method_definition name: (computed_property_name (member_expression) @symbol))
    (pair key: (computed_property_name (member_expression) @symbol))] @at
  (#any-of? @symbol "Symbol.toPrimitive" "Symbol.hasInstance")
  (#set! rule "equals-everything") (#set! group "suspicious")
  (#set! sentence "The object decides by itself how it compares; an assertion on it may always pass."))
([(method_definition name: (property_identifier) @name) (pair key: (property_identifier) @name)] @at
  (#eq? @name "valueOf")
  (#set! rule "equals-everything"))
((assignment_expression left: (member_expression property: (property_identifier) @name)) @at
  (#eq? @name "valueOf")
  (#set! rule "equals-everything"))
((method_definition name: (property_identifier) @name body: (statement_block . (return_statement (true)) @at .))
  (#match? @name "^(equals|isEqual|eq)$")
  (#set! rule "equals-everything"))

; --- patches-other-code

((assignment_expression left: (member_expression object: (identifier) @name) @at)
  (#not-match? @at "^(process\\.exitCode|React\\.|Vue\\.)")
  (#set! named "imported") (#set! rule "patches-other-code") (#set! group "suspicious")
  (#set! sentence "The line replaces a part of a module or of the language; the tests and their runner get the replacement too."))
((assignment_expression left: (member_expression object: (member_expression object: (identifier) @class property: (property_identifier) @prototype)) @at)
  (#eq? @prototype "prototype")
  (#any-of? @class "Object" "Array" "String" "Number" "Boolean" "Function" "Promise" "Map" "Set" "WeakMap" "RegExp" "Date" "Error" "AssertionError" "Module" "Symbol" "BigInt")
  (#set! rule "patches-other-code"))
((assignment_expression left: (member_expression object: (identifier) @class property: (property_identifier) @property) @at)
  (#any-of? @class "Object" "Array" "String" "Number" "Promise" "RegExp" "Date" "JSON" "Math" "Reflect" "assert" "Module" "Symbol" "console")
  (#match? @property "^[a-z]")
  (#set! rule "patches-other-code"))
((assignment_expression left: (member_expression object: (identifier) @object property: (property_identifier) @property) @at)
  (#eq? @object "process") (#any-of? @property "exit" "reallyExit" "abort" "kill" "emit" "hrtime" "nextTick" "env")
  (#set! rule "patches-other-code"))
((call_expression function: (member_expression object: (identifier) @object property: (property_identifier) @function)
    arguments: (arguments . (_) @target)) @at
  (#any-of? @object "Object" "Reflect") (#any-of? @function "defineProperty" "defineProperties" "setPrototypeOf" "assign" "set")
  (#match? @target "^require\\(|^((Object|Array|String|Number|Function|Promise|Map|Set|RegExp|Date|Error|Module)(\\.prototype)?|JSON|Math|console|process|assert)$")
  (#set! rule "patches-other-code"))
((assignment_expression left: [(member_expression object: (identifier) @global property: (property_identifier) @property)] @at)
  (#any-of? @global "global" "globalThis" "window")
  (#any-of? @property "it" "test" "describe" "expect" "assert" "beforeEach" "afterEach" "jest" "vi" "Date" "Promise" "Object" "Array" "Error" "setTimeout" "performance" "require")
  (#set! rule "patches-other-code"))

((assignment_expression left: (subscript_expression object: (identifier) @global index: (string (string_fragment) @property)) @at)
  (#any-of? @global "global" "globalThis" "window")
  (#any-of? @property "it" "test" "describe" "expect" "assert" "beforeEach" "afterEach" "jest" "vi" "Date" "Promise" "Object" "Array" "Error" "setTimeout" "performance" "require")
  (#set! rule "patches-other-code"))
((call_expression function: (member_expression object: (identifier) @object property: (property_identifier) @function)
    arguments: (arguments . (identifier) @global . (string (string_fragment) @property))) @at
  (#any-of? @object "Object" "Reflect") (#any-of? @function "defineProperty" "set") (#any-of? @global "global" "globalThis" "window")
  (#any-of? @property "it" "test" "describe" "expect" "assert" "beforeEach" "afterEach" "jest" "vi" "Date" "Promise" "Object" "Array" "Error" "setTimeout" "performance" "require")
  (#set! rule "patches-other-code"))
; The same with the name as a text.
((assignment_expression left: (subscript_expression object: (identifier) @class index: (_) @property) @at)
  (#any-of? @class "Object" "Array" "String" "Number" "Promise" "RegExp" "Date" "JSON" "Math" "Reflect" "assert" "Module" "Symbol" "console")
  (#match? @property "[a-z]") (#not-match? @property "^['\"`][A-Z]")
  (#set! rule "patches-other-code"))
((assignment_expression left: (subscript_expression object: (identifier) @class index: (_) @property) @at)
  (#eq? @class "process") (#match? @property "^['\"`](exit|reallyExit|abort|kill|emit|hrtime|nextTick|env)['\"`]$|[+{(]")
  (#set! rule "patches-other-code"))
((assignment_expression left: [(subscript_expression object: (_) @prototype) (member_expression object: (subscript_expression) @prototype)] @at)
  (#match? @prototype "^(Object|Array|String|Number|Boolean|Function|Promise|Map|Set|WeakMap|RegExp|Date|Error|AssertionError|Module|Symbol|BigInt)(\\.prototype|\\[['\"`]prototype['\"`]\\])$")
  (#set! rule "patches-other-code"))
((assignment_expression left: (subscript_expression object: (identifier) @name) @at)
  (#set! named "assertions") (#set! rule "patches-other-code") (#set! where "any"))
((assignment_expression left: (member_expression object: (identifier) @name) @at)
  (#set! named "assertions") (#set! rule "patches-other-code") (#set! where "any"))
((assignment_expression left: (subscript_expression object: (identifier) @name index: (string)) @at)
  (#set! named "imported") (#set! rule "patches-other-code") (#set! where "product"))
; One call that assigns.
((call_expression function: (member_expression object: (identifier) @object property: (property_identifier) @function)
    arguments: (arguments . (identifier) @name . (_))) @at
  (#any-of? @object "Object" "Reflect") (#any-of? @function "defineProperty" "defineProperties" "setPrototypeOf" "assign" "set")
  (#set! named "assertions") (#set! rule "patches-other-code") (#set! where "any"))
((call_expression function: (member_expression object: (identifier) @object property: (property_identifier) @function)
    arguments: (arguments . (identifier) @name . (_))) @at
  (#any-of? @object "Object" "Reflect") (#any-of? @function "defineProperty" "defineProperties" "setPrototypeOf" "assign" "set")
  (#set! named "imported") (#set! rule "patches-other-code") (#set! where "product"))
; A part of such a library that it gives for extensions, or a call that is meant for them.
([(assignment_expression left: [(member_expression object: (_) @target) (subscript_expression object: (_) @target)] @at)
    ((call_expression function: (member_expression object: (identifier) @object property: (property_identifier) @function)
      arguments: (arguments . (_) @target . (_))) @at (#any-of? @object "Object" "Reflect") (#any-of? @function "defineProperty" "defineProperties" "setPrototypeOf" "assign" "set"))]
  (#match? @target "\\bAssertion(\\.prototype|\\[['\"`]prototype['\"`]\\])$|^require\\(\\s*['\"`]((node:)?assert(/strict)?|chai|expect|power-assert)['\"`]\\s*\\)(\\.(strict|assert|expect))*$")
  (#set! rule "patches-other-code") (#set! where "any"))
((call_expression function: (member_expression property: (property_identifier) @function)) @at
  (#any-of? @function "overwriteMethod" "overwriteProperty" "overwriteChainableMethod")
  (#set! rule "patches-other-code"))
((call_expression function: (member_expression object: (_) @object property: (property_identifier) @function) arguments: (arguments (string (string_fragment) @method))) @at
  (#match? @object "(^|\\.)(Assertion|utils?)$") (#any-of? @function "addMethod" "addProperty" "addChainableMethod")
  (#any-of? @method "equal" "equals" "eq" "eql" "eqls" "deep" "be" "ok" "true" "false" "throw" "throws" "include" "includes" "contain" "match" "property" "length" "lengthOf" "a" "an" "not"
    "toBe" "toEqual" "toStrictEqual" "toThrow" "toMatch" "toContain" "toHaveLength" "toBeTruthy")
  (#set! rule "patches-other-code"))
; A module without a name, and the output of the process.
((assignment_expression left: (member_expression object: (call_expression function: (identifier) @require arguments: (arguments . (string (string_fragment) @source)))) @at)
  (#eq? @require "require") (#not-match? @source "^\\.")
  (#set! rule "patches-other-code") (#set! where "product"))
((assignment_expression left: (member_expression object: (member_expression object: (identifier) @object property: (property_identifier) @stream) property: (property_identifier) @property) @at)
  (#eq? @object "process") (#any-of? @stream "stdout" "stderr") (#eq? @property "write")
  (#set! rule "patches-other-code"))

; --- changes-imports

((member_expression object: (identifier) @object property: (property_identifier) @property) @at
  (#eq? @object "require") (#any-of? @property "cache" "extensions")
  (#set! rule "changes-imports") (#set! group "suspicious")
  (#set! sentence "The line changes which code an import finds; a test may then import something else than the product."))
((member_expression object: (_) @object property: (property_identifier) @property) @at
  (#match? @object "^_?[mM]odule\\$?[0-9]*(\\.prototype)?$|require\\(") (#any-of? @property "_load" "_resolveFilename" "_extensions" "_compile" "_nodeModulePaths" "_cache" "registerHooks")
  (#set! rule "changes-imports"))
((member_expression object: (identifier) @object property: (property_identifier) @property) @at
  (#eq? @object "process") (#any-of? @property "binding" "dlopen" "_linkedBinding")
  (#set! rule "changes-imports"))

; --- runs-text-as-code

((call_expression function: (identifier) @function) @at
  (#eq? @function "eval")
  (#set! rule "runs-text-as-code") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "The line runs a text as code, which neither a reader nor a rule can look into."))
((new_expression constructor: (identifier) @class) @at (#eq? @class "Function") (#set! rule "runs-text-as-code"))
((call_expression function: (identifier) @class) @at (#eq? @class "Function") (#set! rule "runs-text-as-code"))
((call_expression function: (member_expression object: (identifier) @object property: (property_identifier) @property)) @at
  (#eq? @object "vm") (#any-of? @property "runInThisContext" "runInContext" "runInNewContext" "compileFunction")
  (#set! rule "runs-text-as-code"))

; --- ends-process

; An exit that looks like success, or that depends on something. One with a number of its own cannot make a run green.
((call_expression function: (member_expression object: (_) @object property: (property_identifier) @property) arguments: (arguments) @arguments) @at
  (#match? @object "^((global|globalThis|window)\\.)?process$|^require\\(.(node:)?process.\\)$") (#any-of? @property "exit" "reallyExit" "abort") (#not-match? @arguments "^\\(\\s*-?[1-9][0-9]*\\s*\\)$")
  (#set! rule "ends-process") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "The line ends the process, or acts when it ends; in product code that also ends the test runner before it reports."))
([(arguments (member_expression object: (identifier) @object property: (property_identifier) @property) @at)
    (variable_declarator value: (member_expression object: (identifier) @object property: (property_identifier) @property) @at)]
  (#eq? @object "process") (#any-of? @property "exit" "reallyExit" "abort" "ppid")
  (#set! rule "ends-process"))
((call_expression function: (member_expression object: (identifier) @object property: (property_identifier) @function)
    arguments: (arguments . (string (string_fragment) @event))) @at
  (#eq? @object "process") (#any-of? @function "on" "once" "addListener" "prependListener" "removeAllListeners" "emit")
  (#any-of? @event "exit" "beforeExit" "uncaughtException" "unhandledRejection")
  (#set! rule "ends-process"))
((call_expression function: (member_expression object: (identifier) @object property: (property_identifier) @function)
    arguments: (arguments . (member_expression) @who)) @at
  (#eq? @object "process") (#eq? @function "kill") (#any-of? @who "process.pid" "process.ppid")
  (#set! rule "ends-process"))
((assignment_expression left: (member_expression object: (identifier) @object property: (property_identifier) @property) right: (_) @code) @at
  (#eq? @object "process") (#eq? @property "exitCode") (#not-match? @code "^-?[1-9][0-9]*$")
  (#set! rule "ends-process"))
((subscript_expression object: (identifier) @object index: (string (string_fragment) @property)) @at
  (#eq? @object "process") (#any-of? @property "exit" "reallyExit" "abort" "kill")
  (#set! rule "ends-process"))
((variable_declarator
    name: (object_pattern [(shorthand_property_identifier_pattern) @property (pair_pattern key: (property_identifier) @property)])
    value: (_) @object) @at
  (#match? @object "^process$|^require\\(.(node:)?process.\\)$") (#any-of? @property "exit" "reallyExit" "abort" "kill")
  (#set! rule "ends-process"))
((import_statement (import_clause (named_imports (import_specifier name: (identifier) @at))) source: (string (string_fragment) @source))
  (#match? @source "^(node:)?process$") (#any-of? @at "exit" "abort" "reallyExit")
  (#set! rule "ends-process"))

; --- asks-for-runner

((member_expression object: (member_expression property: (property_identifier) @env) property: (property_identifier) @variable) @at
  (#eq? @env "env")
  (#match? @variable "^(CI|GITHUB_ACTIONS|JEST_.*|VITEST.*|MOCHA_.*|NODE_TEST_CONTEXT|NODE_V8_COVERAGE|NYC_.*|AVA_PATH|TAP|npm_lifecycle_event|npm_lifecycle_script|CYPRESS|PLAYWRIGHT.*|(UNDER_|IN_|IS_)?TEST(S|ING)?)$")
  (#set! rule "asks-for-runner") (#set! group "suspicious") (#set! not-path "\\.config\\.[cm]?[jt]s$|(^|/)(scripts|benchmarks?)/")
  (#set! sentence "Product code asks who runs it, such as a test runner, a build server or a certain user, and can answer differently there."))
((member_expression object: (parenthesized_expression) @env property: (property_identifier) @variable) @at
  (#match? @env "\\benv\\b")
  (#match? @variable "^(CI|GITHUB_ACTIONS|JEST_.*|VITEST.*|MOCHA_.*|NODE_TEST_CONTEXT|NODE_V8_COVERAGE|NYC_.*|AVA_PATH|TAP|npm_lifecycle_event|npm_lifecycle_script|CYPRESS|PLAYWRIGHT.*|(UNDER_|IN_|IS_)?TEST(S|ING)?)$")
  (#set! rule "asks-for-runner") (#set! not-path "\\.config\\.[cm]?[jt]s$|(^|/)(scripts|benchmarks?)/"))
((variable_declarator
    name: (object_pattern [(shorthand_property_identifier_pattern) @variable (pair_pattern key: (property_identifier) @variable)])
    value: (member_expression property: (property_identifier) @env)) @at
  (#eq? @env "env")
  (#match? @variable "^(CI|GITHUB_ACTIONS|JEST_.*|VITEST.*|MOCHA_.*|NODE_TEST_CONTEXT|NODE_V8_COVERAGE|NYC_.*|AVA_PATH|TAP|npm_lifecycle_event|npm_lifecycle_script|CYPRESS|PLAYWRIGHT.*|(UNDER_|IN_|IS_)?TEST(S|ING)?)$")
  (#set! rule "asks-for-runner") (#set! not-path "\\.config\\.[cm]?[jt]s$|(^|/)(scripts|benchmarks?)/"))
((subscript_expression object: (member_expression property: (property_identifier) @env) index: (string (string_fragment) @variable)) @at
  (#eq? @env "env")
  (#match? @variable "^(CI|GITHUB_ACTIONS|JEST_.*|VITEST.*|MOCHA_.*|NODE_TEST_CONTEXT|NODE_V8_COVERAGE|NYC_.*|AVA_PATH|TAP|npm_lifecycle_event|npm_lifecycle_script|CYPRESS|PLAYWRIGHT.*|(UNDER_|IN_|IS_)?TEST(S|ING)?)$")
  (#set! rule "asks-for-runner") (#set! not-path "\\.config\\.[cm]?[jt]s$|(^|/)(scripts|benchmarks?)/"))
((string (string_fragment) @at)
  (#any-of? @at "JEST_WORKER_ID" "VITEST_WORKER_ID" "VITEST_POOL_ID" "NODE_TEST_CONTEXT" "NODE_V8_COVERAGE")
  (#set! rule "asks-for-runner") (#set! not-path "\\.config\\.[cm]?[jt]s$"))
((binary_expression left: (_) @variable operator: ["===" "!==" "==" "!="] right: (string (string_fragment) @value)) @at
  (#match? @variable "NODE_ENV|\\.MODE$|BABEL_ENV") (#any-of? @value "test" "testing")
  (#set! rule "asks-for-runner"))
((member_expression object: (meta_property) property: (property_identifier) @at) (#eq? @at "vitest") (#set! rule "asks-for-runner"))
((binary_expression (call_expression function: [(identifier) @function (member_expression property: (property_identifier) @function)])
    operator: ["===" "!==" "==" "!="]) @at
  (#any-of? @function "getuid" "geteuid" "hostname" "userInfo")
  (#set! rule "asks-for-runner"))
((binary_expression (member_expression object: (call_expression function: [(identifier) @function (member_expression property: (property_identifier) @function)]))) @at
  (#eq? @function "userInfo")
  (#set! rule "asks-for-runner"))

; --- time-bomb

((binary_expression operator: [">" ">=" "<" "<=" "==" "===" "!=" "!=="]) @at
  (#match? @at "Date\\.now\\(\\)|new Date(\\(\\)|\\b[^(])|performance\\.timeOrigin")
  (#match? @at "\\b20[2-9][0-9]\\b|\\b1_?[6-9][0-9]{2}_?[0-9]{3}_?[0-9]{3}(_?[0-9]{3})?\\b|\\b2_?[0-9]{3}_?[0-9]{3}_?[0-9]{3}(_?[0-9]{3})?\\b")
  (#set! rule "time-bomb") (#set! group "suspicious")
  (#set! sentence "The line compares the clock with a fixed date; the code behaves differently after the tests ran."))

; --- reads-tests

((call_expression function: [(identifier) @function (member_expression property: (property_identifier) @function)]
    arguments: (arguments [(string (string_fragment) @text) (template_string (string_fragment) @text)])) @at
  (#any-of? @function "readFile" "readFileSync" "readdir" "readdirSync" "createReadStream" "existsSync" "statSync" "open" "openSync" "require"
    "join" "resolve" "glob" "globSync" "file" "readTextFile" "readTextFileSync")
  (#match? @text "(^|/)(tests?|__tests__|specs?|testdata|goldens?|__snapshots__|\\.git)(/|$)|\\.(test|spec)\\.[cm]?[jt]sx?$|golden|\\.snap$|^/proc/")
  (#set! rule "reads-tests") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "Product code reads tests, their expected results, the repository or its own process; it can answer from them instead of doing the work."))
((import_statement source: (string (string_fragment) @text)) @at
  (#match? @text "^\\.{1,2}/(.*/)?(tests?|__tests__|specs?|__snapshots__)/|\\.(test|spec)(\\.[cm]?[jt]sx?)?$|golden")
  (#set! rule "reads-tests"))

; Its own process by a path that is put together from parts.
([(string . (string_fragment) @at .) (template_string . (string_fragment) @at)]
  (#match? @at "^/proc/?$|^/proc/(self|thread-self|[0-9]+|%[a-z]+|\\{\\w*\\})(/(comm|cmdline|environ|maps|cwd|root|task|stat)?)?$|^/?self/(comm|cmdline|environ)$")
  (#set! rule "reads-tests"))

; --- forges-report

([(string (string_fragment) @at) (template_string (string_fragment) @at)]
  (#match? @at "^# (pass|tests|fail) [0-9]|^TAP version 1|^(not )?ok [0-9]+ |Tests: +[0-9]+ passed|^[0-9]+ passing")
  (#set! rule "forges-report") (#set! group "suspicious")
  (#set! sentence "The line holds a text that looks like the report of a test runner."))

; --- steers-other-programs

((string (string_fragment) @at)
  (#match? @at "^(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV)$")
  (#set! rule "steers-other-programs") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The line names a variable that puts foreign code into other programs, the test runner among them."))
((member_expression property: (property_identifier) @at)
  (#any-of? @at "LD_PRELOAD" "DYLD_INSERT_LIBRARIES")
  (#set! rule "steers-other-programs"))
((assignment_expression left: (member_expression property: (property_identifier) @variable)) @at
  (#eq? @variable "NODE_OPTIONS")
  (#set! rule "steers-other-programs"))
