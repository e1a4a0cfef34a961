package main

import "github.com/rpcgate/rpcgate/internal/readme"

// section is where the table stands in a Markdown file.
func section() readme.Section {
	return readme.Section{
		Begin: "<!-- matrix: go run ./internal/conformance/matrix -write README.md -->\n",
		End:   "<!-- /matrix -->\n",
	}
}
