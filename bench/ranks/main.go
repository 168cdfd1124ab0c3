// Command ranks measures how the cost of exchanges of divided buffers (package part) grows with the number of ranks: what one rank sends, and its share
// of the time. The ranks are goroutines of this process. The part of each rank stays the same.
//
//	go run ./bench/ranks -document docs/performance.md -svg docs/ranks.svg
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/go-halyard/halyard/bench/internal/frame"
)

func main() {
	document := frame.Document()
	svg := flag.String("svg", "", "write a picture to this file")
	most := flag.Int("max", 4096, "the most ranks")
	frame.Parse(0, func() bool { return *most > 0 })
	frame.Main("ranks", func(ctx context.Context) { run(ctx, *most, *document, *svg) })
}

func run(ctx context.Context, most int, document, svg string) {
	var all []curve
	for _, p := range problems {
		c := curve{name: p.name}
		for _, ranks := range []int{1, 8, 64, 512, 4096} {
			if ranks > most {
				break
			}
			fmt.Fprintf(os.Stderr, "%s, %d ranks\n", p.name, ranks)
			c.points = append(c.points, frame.Get(measure(ctx, p, ranks)))
		}
		all = append(all, c)
	}
	if svg != "" {
		frame.Must(page(all).Write(svg))
	}
	frame.Write(document, "ranks", markdown(all, frame.Relative(document, svg)))
}
