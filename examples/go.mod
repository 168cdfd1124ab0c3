module github.com/go-halyard/halyard/examples

go 1.25.0

require (
	github.com/go-halyard/halyard v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/ebitengine/purego v0.11.3 // indirect
	github.com/go-gl/cl v0.0.0-20160402050751-283e73a0ca2a // indirect
	github.com/google/uuid v1.1.1 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	gorgonia.org/cu v0.9.6 // indirect
)

replace github.com/go-halyard/halyard => ../
