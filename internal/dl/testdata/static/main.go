// Command static opens the C library in two ways and prints what came of it.
package main

import (
	"fmt"

	"github.com/go-halyard/halyard/internal/dl"
)

func main() {
	names := []string{"libc.so.6", "libc.so"}
	_, err := dl.Open("", names...)
	_, first := dl.First("", names, func(l *dl.Library) (*dl.Library, error) { return l, nil })
	fmt.Printf("%v\n%v\n", err, first)
}
