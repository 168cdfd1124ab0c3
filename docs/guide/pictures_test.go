package guide

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/svg"
)

var draw = flag.Bool("draw", false, "write the pictures of the guide anew")

// The pictures of the guide are what this file draws: go test ./docs/guide -run Pictures -draw writes them.
func TestPicturesAreCurrent(t *testing.T) {
	for name, picture := range map[string]func() []byte{"grid.svg": grid, "divided.svg": divided} {
		name = filepath.Join("..", name)
		if *draw {
			require.NoError(t, os.WriteFile(name, picture(), 0o644))
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.Equal(t, string(picture()), string(text), "go test ./docs/guide -run Pictures -draw")
	}
}

const style = `<style>
.ground{fill:#ffffff;stroke:#c9d1d9}.block{fill:#f3f5f8;stroke:#7a828b}.thread{fill:#e6f0fa;stroke:#1f6fc4}.beyond{fill:none;stroke:#7a828b;stroke-dasharray:3 3}
.one{fill:#e6f0fa;stroke:#1f6fc4}.two{fill:#fbf3dd;stroke:#8a6d1d}.copied{fill:#ffffff;stroke:#b34700;stroke-width:2}.text{fill:#1b2229}.small{fill:#4a535c}
.code{fill:#1b2229;font-family:ui-monospace,Menlo,Consolas,'Liberation Mono',monospace}.arrow{stroke:#b34700;fill:none;stroke-width:2}.tip{fill:#b34700}
@media (prefers-color-scheme:dark){
.ground{fill:#10151c;stroke:#30363d}.block{fill:#171e27;stroke:#8b949e}.thread{fill:#12263b;stroke:#6cb0f5}.beyond{stroke:#8b949e}
.one{fill:#12263b;stroke:#6cb0f5}.two{fill:#2c2510;stroke:#d8b54a}.copied{fill:#10151c;stroke:#f0883e}.text,.code{fill:#e6edf3}.small{fill:#b1bac4}
.arrow{stroke:#f0883e}.tip{fill:#f0883e}
}
</style>
`

// page begins a picture; written returns it as a file.
func page(width, height float64) *svg.Picture {
	p := &svg.Picture{}
	p.Raw(style)
	p.Rect(0.5, 0.5, width-1, height-1, "class", "ground", "rx", 10)
	return p
}

func written(p *svg.Picture, width, height float64, title string) []byte {
	var b bytes.Buffer
	if err := p.Write(&b, width, height, title); err != nil {
		panic(err) // a bytes.Buffer takes all
	}
	return b.Bytes()
}

// grid draws ten elements in blocks of four threads, and a picture of eleven by five pixels in blocks of four by two.
func grid() []byte {
	const width, height, side = 760.0, 404.0, 44.0
	const n, size, cols, rows, wide, high = 10, 4, 11, 5, 4, 2
	p := page(width, height)
	left := 190.0
	p.Text(20, 28, "One dimension: 10 elements, blocks of 4 threads", "class", "text", "font-weight", "bold")
	for i, name := range []string{"t.Block(0)", "t.Local(0)", "t.Global(0)", "i < len(y)"} {
		p.Text(20, 60+28*float64(i)+14, name, "class", "code")
	}
	for b := range (n + size - 1) / size {
		x := left + float64(b)*(size*side+8)
		p.Rect(x-3, 44, size*side+6, 128, "class", "block", "rx", 6)
		p.Text(x+size*side/2, 74, fmt.Sprint(b), "class", "code", "text-anchor", "middle")
		for local := range size {
			i, class, in := b*size+local, "thread", "yes"
			if i >= n {
				class, in = "beyond", "no"
			}
			at := x + float64(local)*side
			p.Rect(at+2, 84, side-4, 82, "class", class, "rx", 4)
			for line, text := range []string{fmt.Sprint(local), fmt.Sprint(i), in} {
				p.Text(at+side/2, 102+28*float64(line), text, "class", "code", "text-anchor", "middle")
			}
		}
	}
	p.Text(20, 200, fmt.Sprintf("Two dimensions: %d columns, %d rows, blocks of %d by %d threads", cols, rows, wide, high), "class", "text", "font-weight", "bold")
	p.Text(left+6*side, 226, "t.Global(0), the column: neighbours here use neighbouring elements", "class", "code", "text-anchor", "middle")
	p.Text(20, 260, "t.Global(1), the row", "class", "code")
	const small = 22.0
	for by := range (rows + high - 1) / high {
		for bx := range (cols + wide - 1) / wide {
			x, y := left+float64(bx)*(wide*side+8), 238+float64(by)*(high*small+8)
			p.Rect(x-3, y-3, wide*side+6, high*small+6, "class", "block", "rx", 6)
			for i := range wide * high {
				column, row, class := bx*wide+i%wide, by*high+i/wide, "thread"
				if column >= cols || row >= rows {
					class = "beyond"
				}
				cx, cy := x+float64(i%wide)*side, y+float64(i/wide)*small
				p.Rect(cx+2, cy+2, side-4, small-4, "class", class, "rx", 4)
				p.Text(cx+side/2, cy+15, fmt.Sprintf("%d,%d", column, row), "class", "code", "text-anchor", "middle", "font-size", 11)
			}
		}
	}
	return written(p, width, height, "A grid of one dimension and one of two: blocks, and the threads of each block; the last blocks reach beyond the elements")
}

// divided draws which rows of a plate two devices compute and read in a step of heat.
func divided() []byte {
	const width, height, side = 760.0, 250.0, 42.0
	const rows = 12
	p := page(width, height)
	p.Raw(`<defs><marker id="to" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto">` +
		`<path class="tip" d="M0 0L10 5L0 10z"/></marker></defs>` + "\n")
	left := 210.0
	at := func(row int) float64 { return left + float64(row)*side }
	p.Text(20, 40, "rows of the plate", "class", "text")
	for row := range rows {
		p.Text(at(row)+side/2, 40, fmt.Sprint(row), "class", "code", "text-anchor", "middle")
	}
	for device, class := range []string{"one", "two"} {
		first, end := device*rows/2, (device+1)*rows/2
		y := 64 + 100*float64(device)
		p.Text(20, y+20, fmt.Sprintf("cuda:%d: its threads", device), "class", "text")
		p.Text(20, y+52, "the elements that it reads", "class", "small")
		for row := range rows {
			if row >= first && row < end {
				p.Rect(at(row)+2, y+2, side-4, 28, "class", class, "rx", 4)
			}
			switch {
			case row >= first && row < end:
				p.Rect(at(row)+2, y+36, side-4, 24, "class", class, "rx", 4)
			case row == first-1 || row == end:
				p.Rect(at(row)+2, y+36, side-4, 24, "class", "copied", "rx", 4)
			}
		}
	}
	p.Path(fmt.Sprintf("M%s 166V127", svg.Number(at(6)+side/2)), "class", "arrow", "marker-end", "url(#to)")
	p.Path(fmt.Sprintf("M%s 127V197", svg.Number(at(5)+side/2)), "class", "arrow", "marker-end", "url(#to)")
	p.Text(at(7)+8, 118, "row 6 comes from cuda:1", "class", "small")
	p.Text(at(5)-8, 218, "row 5 comes from cuda:0", "class", "small", "text-anchor", "end")
	return written(p, width, height, "A step of heat on two devices: each computes six of twelve rows, and reads one row more, which is copied from the other")
}
