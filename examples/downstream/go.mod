module example.com/downstream

go 1.25.0

require github.com/go-halyard/halyard v0.0.0

require (
	github.com/ebitengine/purego v0.11.3 // indirect
	golang.org/x/sys v0.36.0 // indirect
)

replace github.com/go-halyard/halyard => ../..
