; Tests in Go that say nothing.

; --- asserts-nothing

((function_declaration name: (identifier) @at parameters: (parameter_list) @parameters body: (block) @body)
  (#match? @at "^Test([^a-z]|$)") (#match? @parameters "\\*testing\\.T\\s*\\)$")
  (#match? @body "^\\{(\\s|//[^\\n]*|/\\*([^*]|\\*+[^*/])*\\*+/|return\\b|\\w+\\.(Parallel|Helper)\\(\\)|\\w+\\.Log\\(\"[^\"]*\"\\)|(assert|require)\\.(True\\(\\w+,\\s*true|False\\(\\w+,\\s*false|Nil\\(\\w+,\\s*nil|Equal\\(\\w+,\\s*(true|false|[\\d.]+|\"[^\"]*\"),\\s*(true|false|[\\d.]+|\"[^\"]*\"))\\))*\\}$")
  (#set! rule "asserts-nothing") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The test asserts nothing; it passes whatever the product does."))
; In a suite of testify.
((method_declaration name: (field_identifier) @at parameters: (parameter_list . ")") body: (block) @body)
  (#match? @at "^Test([^a-z]|$)")
  (#match? @body "^\\{(\\s|//[^\\n]*|/\\*([^*]|\\*+[^*/])*\\*+/|return\\b|\\w+\\.(Require\\(\\)\\.)?(True\\(true|False\\(false)\\))*\\}$")
  (#set! rule "asserts-nothing") (#set! where "test"))
; Calls that may assert something: by their name, or since they get what reports a failure.
((call_expression function: [(identifier) @function (selector_expression field: (field_identifier) @function)]) @region
  (#match? @function "(?i)assert|expect|should|verif|check|requir|must|throw|raise|snapshot|match|ensure|valid|equal|compare|test|golden|^(Fatal|Fatalf|Fatalln|Fail|FailNow|Errorf|Skip|Skipf|SkipNow|panic|Ω)$")
  (#set! region "asserting"))
((call_expression function: (selector_expression field: (field_identifier) @function) arguments: (argument_list (_))) @region
  (#eq? @function "Error") (#set! region "asserting"))
((call_expression function: (selector_expression operand: (identifier) @package)) @region
  (#any-of? @package "assert" "require" "is" "qt" "td" "s" "suite" "c" "g" "tc" "tt") (#set! region "asserting"))
((call_expression arguments: (argument_list (identifier) @t)) @region (#any-of? @t "t" "tb" "b" "s" "suite" "T") (#set! region "asserting"))
((argument_list [(unary_expression (composite_literal)) (composite_literal)] @region) (#match? @region "\\bt\\b") (#set! region "asserting"))
; A subtest that is somewhere else.
((call_expression function: (selector_expression field: (field_identifier) @function) arguments: (argument_list (_) . [(identifier) (selector_expression) (call_expression)] .)) @region
  (#eq? @function "Run") (#set! region "asserting"))
((ERROR) @region (#set! region "asserting"))
((function_declaration name: (identifier) @name) (#set! names "defined-here"))
((short_var_declaration left: (expression_list (identifier) @name) right: (expression_list (func_literal))) (#set! names "defined-here"))
((call_expression function: (identifier) @name) @region (#set! named "defined-here") (#set! region "asserting"))
((function_declaration name: (identifier) @at parameters: (parameter_list) @parameters body: (block) @body)
  (#match? @at "^Test([^a-z]|$)") (#match? @parameters "\\*testing\\.T\\s*\\)$") (#match? @body "\\w\\(")
  (#set! rule "asserts-nothing") (#set! where "test") (#set! without "asserting")
  (#set! sentence "The test runs the product and asserts nothing of what comes out."))

; --- compares-with-itself

((call_expression function: (selector_expression field: (field_identifier) @function) arguments: (argument_list . (identifier) @t . (_) @left . (_) @right)) @at
  (#any-of? @function "Equal" "Equalf" "EqualValues" "EqualValuesf" "Exactly" "Same" "ElementsMatch" "JSONEq" "YAMLEq" "InDelta") (#any-of? @t "t" "tb" "b") (#eq? @left @right)
  (#set! rule "compares-with-itself") (#set! group "suppression") (#set! where "test")
  (#set! sentence "The assertion compares an expression with itself; it passes whatever the product does."))
((call_expression function: (selector_expression operand: (_) @operand field: (field_identifier) @function) arguments: (argument_list . (_) @left . (_) @right)) @at
  (#match? @operand "^(s|suite|assert|require|is|a|r|reflect|cmp|(s|suite)\\.(Require|Assert)\\(\\))$") (#any-of? @function "Equal" "EqualValues" "Exactly" "Same" "ElementsMatch" "JSONEq" "DeepEqual" "Diff") (#eq? @left @right)
  (#set! rule "compares-with-itself"))
((if_statement condition: (binary_expression left: (_) @left operator: ["==" "!="] right: (_) @right) @at)
  (#eq? @left @right)
  (#set! rule "compares-with-itself"))
