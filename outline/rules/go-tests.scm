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
