package trace_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/trace"
)

// The trace of a part of a program is a file for ui.perfetto.dev.
func Example() {
	name := filepath.Join(os.TempDir(), fmt.Sprintf("halyard-example-%d.json", os.Getpid()))
	defer os.Remove(name)
	f, err := trace.Create(name)
	if err != nil {
		log.Fatal(err)
	}
	x, err := buffer.From([]int32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	if err := x.View(context.Background(), func([]int32) error { return nil }); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the access is in it:", strings.Contains(string(text), `"cause":"View","action":"Read"`))
	// Output:
	// the access is in it: true
}
