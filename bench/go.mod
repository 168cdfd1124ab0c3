module github.com/go-halyard/halyard/bench

go 1.25.0

require (
	github.com/ebitengine/purego v0.11.3
	github.com/go-halyard/halyard v0.0.0
	github.com/go-halyard/halyard/examples v0.0.0
	github.com/jedib0t/go-pretty/v6 v6.8.3
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/go-gl/cl v0.0.0-20160402050751-283e73a0ca2a // indirect
	github.com/google/uuid v1.1.1 // indirect
	github.com/mattn/go-runewidth v0.0.16 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.36.0 // indirect
	golang.org/x/text v0.23.0 // indirect
	gorgonia.org/cu v0.9.6 // indirect
)

replace (
	github.com/go-halyard/halyard => ../
	github.com/go-halyard/halyard/examples => ../examples
)
