; Tests in Rust that say nothing.

; --- asserts-nothing

((attribute_item (attribute [(identifier) (scoped_identifier)] @test)) . (attribute_item)* . (function_item name: (identifier) @at body: (block) @body)
  (#match? @test "(^|::)(test|rstest|test_case|wasm_bindgen_test)$")
  (#match? @body "^\\{(\\s|//[^\\n]*|/\\*([^*]|\\*+[^*/])*\\*+/|\\(\\)|return;|Ok\\(\\(\\)\\)|assert!\\(\\s*(true|!false)\\s*(,\\s*\"[^\"]*\"\\s*)?\\);?|assert_eq!\\(\\s*(true|false|[\\d._]+|\"[^\"]*\")\\s*,\\s*(true|false|[\\d._]+|\"[^\"]*\")\\s*\\);?)*\\}$")
  (#set! rule "asserts-nothing") (#set! group "suppression") (#set! where "any")
  (#set! sentence "The test asserts nothing; it passes whatever the product does."))
