package main

import (
	"fmt"
	"strings"
)

// mermaid returns the diagram as Mermaid text, without the actions that stay within one name.
func mermaid() string {
	var b strings.Builder
	b.WriteString("%% Made from the transition table by: go generate ./internal/protocol\n")
	b.WriteString("%% Actions that do not change the name of the state, and refused ones, are left out.\n")
	b.WriteString("stateDiagram-v2\n")
	b.WriteString("    [*] --> UNINITIALIZED\n")
	for _, e := range edges() {
		if e.from == e.to {
			continue
		}
		var labels []string
		for _, c := range e.causes {
			labels = append(labels, c.String())
		}
		text := strings.Join(labels, ", ")
		if e.kept {
			text += " [other memory kept]"
		}
		fmt.Fprintf(&b, "    %v --> %v: %s\n", e.from, e.to, text)
	}
	return b.String()
}
