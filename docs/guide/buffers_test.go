package guide

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/svg"
	"github.com/go-halyard/halyard/internal/testing/small"
)

var update = flag.Bool("update", false, "write docs/buffer.svg anew")

// queue returns a queue on a device with memory of its own.
func queue(ctx context.Context) (*halyard.Queue, func()) {
	dev, err := hal.OpenWith(ctx, host.New(host.Options{Name: "device", Discrete: 1}), 1)
	check(err)
	stream, err := dev.NewStream()
	check(err)
	q := halyard.On(ctx, stream)
	return q, func() {
		check(q.Close())
		check(hal.CloseAll(dev, stream))
	}
}

// The calls of the page about buffers.
func Example_buffers() {
	q, closeAll := queue(context.Background())
	defer closeAll()

	x := halyard.From(q, []float32{1, 2, 3, 4})
	small.Saxpy(q, 2, x, x) // x += 2x, on the device: 16 bytes go there
	small.Saxpy(q, 2, x, x) // again: nothing is copied
	fmt.Println(x.At(0))    // one element comes back
	x.Set(0, 5)             // and is changed on the host
	small.Saxpy(q, 2, x, x) // it goes to the device, alone
	fmt.Println(x)          // all come back
	// Output:
	// 9
	// [15 54 81 108]
}

// step is a call, and what it has left.
type step struct {
	call   string
	copied []string // "4 bytes →" to the device, "← 4 bytes" from there
	host   [4]string
	device [4]string
}

// story makes the calls of the example, and looks at the buffer after each.
func story(ctx context.Context) (steps []step) {
	q, closeAll := queue(ctx)
	defer closeAll()
	var x *halyard.Buffer[float32]
	var copied []string
	stop := buffer.Observe(func(a buffer.Activity) {
		switch {
		case a.Kind != buffer.ActivityCopy:
		case a.To == "host":
			copied = append(copied, fmt.Sprintf("← %d bytes", a.Hi-a.Lo))
		default:
			copied = append(copied, fmt.Sprintf("%d bytes →", a.Hi-a.Lo))
		}
	})
	defer stop()
	for _, s := range []struct {
		call string
		do   func()
	}{
		{"x := halyard.From(q, numbers)", func() { x = halyard.From(q, []float32{1, 2, 3, 4}) }},
		{"Saxpy(q, 2, x, x)", func() { small.Saxpy(q, 2, x, x) }},
		{"Saxpy(q, 2, x, x)", func() { small.Saxpy(q, 2, x, x) }},
		{"x.At(0)", func() { x.At(0) }},
		{"x.Set(0, 5)", func() { x.Set(0, 5) }},
		{"Saxpy(q, 2, x, x)", func() { small.Saxpy(q, 2, x, x) }},
		{"x.Values()", func() { x.Values() }},
	} {
		copied = nil
		s.do()
		q.Sync()
		now := step{call: s.call, copied: copied}
		for i := range 4 {
			part, err := x.Buffer().Slice(i, i+1)
			check(err)
			now.device[i] = "without memory"
			for _, p := range part.State().Places {
				to := &now.device[i]
				if p.Device == nil {
					to = &now.host[i]
				}
				*to, _ = strings.CutPrefix(p.String(), p.Place+" ")
			}
		}
		steps = append(steps, now)
	}
	return steps
}

// picture draws the story: a row for each call, with the four elements at each place.
func picture(steps []step) []byte {
	const width, row, cell, left, right = 760.0, 46.0, 34.0, 290.0, 560.0
	var p svg.Picture
	p.Rect(0, 0, width, 60+row*float64(len(steps))+40, "fill", "#ffffff")
	p.Text(16, 30, "the program calls", "font-weight", "bold")
	p.Text(left+2*cell, 30, "memory of the host", "text-anchor", "middle", "font-weight", "bold")
	p.Text(right+2*cell, 30, "memory of the device", "text-anchor", "middle", "font-weight", "bold")
	looks := map[string][]any{
		"current":        {"fill", "#9ad0a0", "stroke", "#2f6b3a"},
		"not current":    {"fill", "#e6e6e6", "stroke", "#8a8a8a"},
		"without memory": {"fill", "none", "stroke", "#b0b0b0", "stroke-dasharray", "3 3"},
	}
	for i, s := range steps {
		y := 50 + row*float64(i)
		p.Text(16, y+21, s.call, "font-family", "monospace", "font-size", 13)
		for k := range 4 {
			p.Rect(left+cell*float64(k), y, cell-4, 30, looks[s.host[k]]...)
			p.Rect(right+cell*float64(k), y, cell-4, 30, looks[s.device[k]]...)
		}
		for k, text := range s.copied {
			p.Text((left+4*cell+right)/2, y+20+14*float64(k), text, "text-anchor", "middle", "fill", "#1f4e9e")
		}
	}
	y := 60 + row*float64(len(steps))
	for i, name := range []string{"current", "not current", "without memory"} {
		x := left + 150*float64(i)
		p.Rect(x, y, 14, 14, looks[name]...)
		p.Text(x+20, y+12, name)
	}
	var b bytes.Buffer
	check(p.Write(&b, width, 60+row*float64(len(steps))+40, "A buffer of four elements: which of them are current on the host and on the device after each call, and what was copied"))
	return b.Bytes()
}

// The picture shows what happens.
func TestPictureOfABuffer(t *testing.T) {
	const file = "../buffer.svg"
	want := picture(story(t.Context()))
	if *update {
		require.NoError(t, os.WriteFile(file, want, 0o644))
	}
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "run go test ./docs/guide -run TestPictureOfABuffer -update")
}
