; Tests in Rust that say nothing.

; --- asserts-nothing

((attribute_item (attribute [(identifier) (scoped_identifier)] @test)) . (attribute_item)* . (function_item name: (identifier) @at body: (block) @body)
  (#match? @test "(^|::)(test|rstest|test_case|wasm_bindgen_test)$")
  (#match? @body "^\\{(\\s|//[^\\n]*|/\\*([^*]|\\*+[^*/])*\\*+/|\\(\\)|return;|Ok\\(\\(\\)\\)|assert!\\(\\s*(true|!false)\\s*(,\\s*\"[^\"]*\"\\s*)?\\);?|assert_eq!\\(\\s*(true|false|[\\d._]+|\"[^\"]*\")\\s*,\\s*(true|false|[\\d._]+|\"[^\"]*\")\\s*\\);?)*\\}$")
  (#set! rule "asserts-nothing") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The test asserts nothing; it passes whatever the product does."))

; --- compares-with-itself

; The arguments of a macro are tokens to the grammar.
((macro_invocation macro: (identifier) @macro (token_tree . (identifier) @left . (identifier) @right .)) @at
  (#any-of? @macro "assert_eq" "debug_assert_eq") (#eq? @left @right)
  (#set! rule "compares-with-itself") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The assertion compares an expression with itself; it passes whatever the product does."))
((macro_invocation macro: (identifier) @macro (token_tree . (identifier) @left . (token_tree) @left_arguments . (identifier) @right . (token_tree) @right_arguments .)) @at
  (#any-of? @macro "assert_eq" "debug_assert_eq") (#eq? @left @right) (#eq? @left_arguments @right_arguments)
  (#set! rule "compares-with-itself"))
