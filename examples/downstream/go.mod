module example.com/downstream

go 1.25.0

require github.com/go-halyard/halyard v0.0.0

// What the program is built of, with any of the tags cuda, opencl and hip. "go mod tidy" adds the modules of the tag linked.
require github.com/ebitengine/purego v0.11.3 // indirect

replace github.com/go-halyard/halyard => ../..
