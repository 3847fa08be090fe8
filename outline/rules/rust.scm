; Ways in which code in Rust can deceive its tests, and attributes that silence a tool. The grammar sees the code in macros as
; tokens; rules that matter there name identifiers.

; Test code in files of the product.
((attribute_item (attribute (identifier) @cfg arguments: (token_tree) @condition)) . (attribute_item)* . (mod_item) @region
  (#eq? @cfg "cfg") (#match? @condition "^\\(\\s*(test\\s*\\)|all\\s*\\(\\s*test\\b)")
  (#set! region "test"))
((attribute_item (attribute [(identifier) (scoped_identifier)] @test)) . (attribute_item)* . (function_item) @region
  (#match? @test "(^|::)(test|rstest|bench|test_case|wasm_bindgen_test)$")
  (#set! region "test"))

; A program may end its own process.
((function_item name: (identifier) @name) @region (#eq? @name "main") (#set! region "program"))
((source_file) @region (#set! region "program")
  (#set! path "(^|/)(main|build|xtask)\\.rs$|(^|/)(src/bin|examples|bench|benches|xtask|build|fuzz)/"))

; --- differs-in-tests

((macro_invocation macro: (identifier) @macro (token_tree) @condition) @at
  (#eq? @macro "cfg") (#match? @condition "\\b(test|debug_assertions)\\b")
  (#set! rule "differs-in-tests") (#set! group "suspicious")
  (#set! sentence "Product code is different when tests are compiled; the tests then test something else than what is shipped."))
((attribute_item (attribute (identifier) @cfg arguments: (token_tree) @condition)) @at
  (#eq? @cfg "cfg") (#match? @condition "not\\s*\\(\\s*(test|debug_assertions)\\s*\\)")
  (#set! rule "differs-in-tests"))
; Within a function.
((block (attribute_item (attribute (identifier) @cfg arguments: (token_tree) @condition)) @at
    . (attribute_item)* . [(let_declaration) (expression_statement) (call_expression) (macro_invocation) (block) (if_expression) (match_expression)])
  (#eq? @cfg "cfg") (#match? @condition "\\btest\\b")
  (#set! rule "differs-in-tests"))
; A trait that behaves differently, such as an equality for tests only.
((attribute_item (attribute (identifier) @cfg arguments: (token_tree) @condition)) @at
    . (attribute_item)* . (impl_item trait: (_) @trait)
  (#eq? @cfg "cfg") (#match? @condition "^\\(\\s*test\\s*\\)$") (#match? @trait "^((std|core)::\\w+::)?(PartialEq|Eq|PartialOrd|Ord|Drop|Deref|Termination)\\b")
  (#set! rule "differs-in-tests"))

; --- looks-at-callers

; The test harness names threads after tests.
((field_expression value: (call_expression function: [(identifier) (scoped_identifier)] @function) field: (field_identifier) @field) @at
  (#match? @function "(^|::)current$") (#eq? @field "name")
  (#set! rule "looks-at-callers") (#set! group "suspicious")
  (#set! sentence "The line looks at its callers or at the name of its thread; product code can recognise a test that way and answer differently."))
((let_declaration pattern: (identifier) @name value: (call_expression function: (_) @function))
  (#match? @function "(^|::)current$") (#set! names "thread"))
((field_expression value: (identifier) @name field: (field_identifier) @field) @at
  (#eq? @field "name") (#set! named "thread")
  (#set! rule "looks-at-callers"))
((field_expression value: (call_expression function: (scoped_identifier) @function) field: (field_identifier) @field) @at
  (#match? @function "(^|::)Location::caller$") (#any-of? @field "file" "line")
  (#set! rule "looks-at-callers"))
((scoped_identifier path: (_) @path name: (identifier) @name) @at
  (#eq? @path "backtrace") (#any-of? @name "trace" "resolve" "resolve_frame" "trace_unsynchronized")
  (#set! rule "looks-at-callers"))
((call_expression function: (scoped_identifier path: (_) @path name: (identifier) @name)) @at
  (#match? @path "(^|::)Backtrace$") (#eq? @name "force_capture")
  (#set! rule "looks-at-callers"))

; --- ends-process

; An exit that looks like success, or that depends on something.
((call_expression function: [(identifier) (scoped_identifier)] @function arguments: (arguments) @arguments) @at
  (#match? @function "(^|::)(process::exit|libc::_?exit|_exit|quick_exit|unistd::_exit|process::abort)$")
  (#not-match? @arguments "^\\(\\s*[1-9][0-9]*\\s*\\)$")
  (#set! rule "ends-process") (#set! group "suspicious") (#set! where "any") (#set! not-in "program")
  (#set! sentence "The line ends the process, or signals it; in product code and in tests that also ends the test program before it reports."))
((use_declaration argument: (_) @at)
  (#match? @at "(^|::)process::(\\{[^}]*\\b)?(exit|abort)\\b|(^|::)process +as ")
  (#set! rule "ends-process"))
; In an expression that is handed on, or in the tokens of a macro.
([(arguments (scoped_identifier) @at) (let_declaration value: (scoped_identifier) @at)]
  (#match? @at "(^|::)process::(exit|abort)$")
  (#set! rule "ends-process"))
((token_tree (identifier) @module . (identifier) @at . (token_tree) @arguments)
  (#eq? @module "process") (#any-of? @at "exit" "abort") (#not-match? @arguments "^\\(\\s*[1-9][0-9]*\\s*\\)$")
  (#set! rule "ends-process"))
((scoped_identifier path: (_) @path name: (identifier) @name) @at
  (#match? @path "(^|::)(libc|unistd|process|signal)$") (#any-of? @name "kill" "raise" "getppid" "atexit" "execv" "execvp" "parent_id" "tgkill")
  (#set! rule "ends-process"))
((foreign_mod_item body: (declaration_list (function_signature_item name: (identifier) @at)))
  (#any-of? @at "exit" "_exit" "_Exit" "abort" "atexit" "on_exit" "quick_exit" "kill" "raise" "syscall" "execv" "execve" "fork" "dup2")
  (#set! rule "ends-process"))
((macro_invocation macro: [(identifier) (scoped_identifier)] @at)
  (#match? @at "(^|::)(asm|global_asm|naked_asm)$")
  (#set! rule "ends-process"))

; --- ends-tests

; An example in a comment is a test too, and one that ends its process is green.
((line_comment) @at (#match? @at "^//[/!].*process::(exit\\s*\\(\\s*0|abort)")
  (#set! rule "ends-tests") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The example ends its process with success; as a test it passes whatever comes after."))

; --- hooks-panics

((scoped_identifier path: (_) @path name: (identifier) @name) @at
  (#match? @path "(^|::)panic$") (#any-of? @name "set_hook" "take_hook" "update_hook" "catch_unwind")
  (#set! rule "hooks-panics") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "The line catches panics or hides them; a failed assertion is a panic."))
((use_declaration argument: (_) @at) (#match? @at "panic::(\\{[^}]*\\b)?(set_hook|take_hook|catch_unwind)\\b") (#set! rule "hooks-panics"))

; --- equals-everything

((impl_item trait: [(type_identifier) (generic_type) (scoped_type_identifier)] @trait
    body: (declaration_list (function_item name: (identifier) @function body: (block . (boolean_literal) @at .))))
  (#match? @trait "(^|::)PartialEq(<.*)?$") (#eq? @function "eq") (#eq? @at "true")
  (#set! rule "equals-everything") (#set! group "suspicious")
  (#set! sentence "The type says that its values are equal to everything; an assertion on one always passes."))
((impl_item trait: [(type_identifier) (generic_type) (scoped_type_identifier)] @trait
    body: (declaration_list (function_item name: (identifier) @function body: (block . (boolean_literal) @at .))))
  (#match? @trait "(^|::)PartialEq(<.*)?$") (#eq? @function "ne") (#eq? @at "false")
  (#set! rule "equals-everything"))

((impl_item trait: [(type_identifier) (generic_type) (scoped_type_identifier)] @trait
    body: (declaration_list (function_item name: (identifier) @function
      body: (block . (expression_statement (return_expression (boolean_literal) @at)) .))))
  (#match? @trait "(^|::)PartialEq(<.*)?$") (#eq? @function "eq") (#eq? @at "true")
  (#set! rule "equals-everything"))

; --- runs-before-main

((attribute_item (attribute) @at)
  (#match? @at "^(unsafe\\s*\\()?\\s*((ctor::)?[cd]tor|link_section|export_name|global_allocator|linkage)\\b")
  (#set! rule "runs-before-main") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "The attribute puts code where it runs before the tests, or in the place of a function of the system."))
; A function that replaces one of the C library for the whole program.
((attribute_item (attribute) @attribute) . (attribute_item)* . (function_item name: (identifier) @at)
  (#match? @attribute "no_mangle")
  (#match? @at "^(_?exit|_Exit|abort|atexit|write|read|open|close|main|memcmp|bcmp|strcmp|strncmp|memcpy|getenv|secure_getenv|time|clock_gettime|gettimeofday|malloc|free|raise|kill|waitpid|rust_.*|__rust_.*|_start)$")
  (#set! rule "runs-before-main"))

; --- redefines-assertions

((macro_definition name: (identifier) @at)
  (#match? @at "^((debug_)?assert(_eq|_ne)?|assert_matches|panic|matches|cfg|unreachable|unimplemented|todo|test|env|include_str)$")
  (#set! rule "redefines-assertions") (#set! group "suspicious") (#set! where "any")
  (#set! sentence "The macro has the name of a standard one; assertions in the tests may no longer compare anything."))
((use_as_clause alias: (identifier) @at)
  (#match? @at "^((debug_)?assert(_eq|_ne)?|panic|matches)$")
  (#set! rule "redefines-assertions"))

; --- reads-tests

((call_expression function: [(identifier) (scoped_identifier) (field_expression)] @function
    arguments: (arguments (string_literal (string_content) @text))) @at
  (#match? @function "(^|::|\\.)(read_to_string|read|read_dir|open|read_link|exists|metadata|canonicalize|from|new|join|push)$")
  (#match? @function "(^|::)(fs|File|Path|PathBuf|OpenOptions)(::|$)|(^|\\.)(join|open|push)$")
  (#match? @text "(^|/)(tests?|specs?|testdata|goldens?|snapshots|\\.git)(/|$)|(^|/)[^/]*(_tests?|test_[^/]*|tests)\\.rs$|golden|\\.snap$|^/proc/")
  (#set! rule "reads-tests") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "Product code reads tests, their expected results, the repository or its own process; it can answer from them instead of doing the work."))
; Its own process by a path that is put together from parts.
((string_literal . (string_content) @at .)
  (#match? @at "^/proc/?$|^/proc/(self|thread-self|[0-9]+|%[a-z]+|\\{\\w*\\})(/(comm|cmdline|environ|maps|cwd|root|task|stat)?)?$|^/?self/(comm|cmdline|environ)$")
  (#set! rule "reads-tests"))
((macro_invocation macro: (identifier) @macro (token_tree (string_literal (string_content) @text))) @at
  (#any-of? @macro "include" "include_str" "include_bytes")
  (#match? @text "(^|/)(tests?|specs?|testdata|goldens?|snapshots|\\.git)/|(^|/)[^/]*(_tests?|tests)\\.rs$|golden|\\.snap$")
  (#set! rule "reads-tests"))

; --- asks-for-runner

((call_expression function: [(identifier) (scoped_identifier)] @function arguments: (arguments . (string_literal (string_content) @variable))) @at
  (#match? @function "(^|::)(var|var_os|remove_var|set_var)$")
  (#match? @variable "^(CI|GITHUB_ACTIONS|GITLAB_CI|NEXTEST.*|RUST_TEST.*|CARGO_(MANIFEST|BIN|TARGET|PKG|CRATE|PRIMARY|TERM|TARPAULIN).*|LLVM_PROFILE_FILE|INSTA_.*|(UNDER_|IN_|IS_)?TEST(S|ING)?)$")
  (#set! rule "asks-for-runner") (#set! group "suspicious") (#set! not-in "program")
  (#set! sentence "Product code asks who runs it, such as a test runner, a build server or a certain user, and can answer differently there."))
((macro_invocation macro: (identifier) @macro (token_tree . (string_literal (string_content) @variable))) @at
  (#any-of? @macro "env" "option_env")
  (#match? @variable "^(CI|GITHUB_ACTIONS|NEXTEST.*|RUST_TEST.*|LLVM_PROFILE_FILE)$")
  (#set! rule "asks-for-runner"))
((string_literal (string_content) @at)
  (#any-of? @at "NEXTEST" "NEXTEST_RUN_ID" "NEXTEST_EXECUTION_MODE" "RUST_TEST_THREADS" "RUST_TEST_NOCAPTURE" "--test-threads" "--nocapture")
  (#set! rule "asks-for-runner"))
; The folder of test programs.
((call_expression function: (field_expression field: (field_identifier) @function) arguments: (arguments . (string_literal (string_content) @text))) @at
  (#any-of? @function "contains" "ends_with" "starts_with" "find") (#match? @text "^/?(target/)?(debug/|release/)?deps/?$")
  (#set! rule "asks-for-runner"))
((binary_expression [(call_expression function: (_) @function) (unsafe_block (block (call_expression function: (_) @function)))]) @at
  (#match? @function "(^|::)(getuid|geteuid|gethostname|getppid|hostname)$")
  (#set! rule "asks-for-runner"))

; --- time-bomb

((binary_expression operator: [">" ">=" "<" "<=" "==" "!="]) @at
  (#match? @at "\\b(SystemTime|Utc|Local|OffsetDateTime|Zoned|Timestamp|Date)::(now|today|now_utc|now_local)\\b")
  (#match? @at "\\b20[2-9][0-9]\\b|\\b1_?[6-9][0-9]{2}_?[0-9]{3}_?[0-9]{3}\\b|\\b2_?[0-9]{3}_?[0-9]{3}_?[0-9]{3}\\b")
  (#set! rule "time-bomb") (#set! group "suspicious")
  (#set! sentence "The line compares the clock with a fixed date; the code behaves differently after the tests ran."))

; --- forges-report

((string_literal (string_content) @at)
  (#match? @at "test result: (ok|\\{)|running [0-9]+ tests?|[0-9]+ passed; [0-9]+ failed")
  (#set! rule "forges-report") (#set! group "suspicious")
  (#set! sentence "The line holds a text that looks like the report of a test runner."))

; --- steers-other-programs

((string_literal (string_content) @at)
  (#match? @at "^(LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER|BASH_ENV)$")
  (#set! rule "steers-other-programs") (#set! group "suspicious") (#set! where "any") (#set! not-in "program")
  (#set! sentence "The line names a variable that puts foreign code into other programs, the test runner among them."))

; --- silences-tool

([(attribute_item (attribute) @at) (inner_attribute_item (attribute) @at)]
  (#match? @at "^(allow|expect)\\s*\\(|^cfg_attr\\s*\\((.|\\n)*\\ballow\\s*\\(")
  (#set! rule "silences-tool") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The attribute silences warnings of the compiler or a linter."))
((attribute_item (attribute) @at) (#match? @at "^(coverage\\s*\\(\\s*off|no_coverage|mutants::skip)")
  (#set! rule "hides-from-coverage") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The attribute hides code from the measurement of coverage or of mutants."))

; --- skips-test

((attribute_item (attribute) @at) (#match? @at "^ignore\\b|^cfg_attr\\s*\\((.|\\n)*,\\s*ignore\\b|^should_panic$")
  (#set! rule "skips-test") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The attribute skips a test, or expects it to fail."))
