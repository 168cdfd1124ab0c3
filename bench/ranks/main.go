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
	"os/signal"
	"path/filepath"

	"github.com/go-halyard/halyard/bench/internal/timing"
)

func main() {
	document := flag.String("document", "", "a Markdown file whose part between the markers is replaced; standard output if empty")
	svg := flag.String("svg", "", "write a picture to this file")
	most := flag.Int("max", 4096, "the most ranks")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *most, *document, *svg); err != nil {
		fmt.Fprintln(os.Stderr, "ranks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, most int, document, svg string) error {
	var all []curve
	for _, p := range problems {
		c := curve{name: p.name}
		for _, ranks := range []int{1, 8, 64, 512, 4096} {
			if ranks > most {
				break
			}
			fmt.Fprintf(os.Stderr, "%s, %d ranks\n", p.name, ranks)
			at, err := measure(ctx, p, ranks)
			if err != nil {
				return fmt.Errorf("%s, %d ranks: %w", p.name, ranks, err)
			}
			c.points = append(c.points, at)
		}
		all = append(all, c)
	}
	if svg != "" {
		if err := page(all).Write(svg); err != nil {
			return err
		}
	}
	picture := svg
	if rel, err := filepath.Rel(filepath.Dir(document), svg); err == nil && document != "" && svg != "" {
		picture = filepath.ToSlash(rel)
	}
	text := markdown(all, picture)
	if document == "" {
		_, err := fmt.Print(text)
		return err
	}
	return timing.Replace(document, "ranks", text)
}
