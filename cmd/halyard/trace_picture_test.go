package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/hooked"
	"github.com/go-halyard/halyard/internal/tracefile"
)

// pictured moves 4000 bytes to a device and back, with one access that finds its bytes in place, and two evictions, one of them to make room
// for a second buffer. The device answers the first question about each event with not yet, so calls that wait for work have to wait.
func pictured(t *testing.T) {
	ctx := context.Background()
	asked := sync.Map{}
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "demo", Discrete: 1})}
	b.QueryEvent = func(e *hooked.Event) (bool, error) {
		if _, again := asked.LoadOrStore(e, nil); !again {
			return false, nil
		}
		return e.Event.Query()
	}
	d, err := hal.OpenWith(ctx, b, 1)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	buffer.SetBudget(d, 5000)
	x, err := buffer.From(make([]float32, 1000))
	require.NoError(t, err)
	defer func() { require.NoError(t, x.Close()) }()
	other, err := buffer.From(make([]float32, 500))
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	require.NoError(t, x.SyncTo(ctx, d))
	s, err := d.CopyStream(false)
	require.NoError(t, err)
	require.NoError(t, x.MarkModified(s))
	l, err := x.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	require.NoError(t, other.Prefetch(s))
	require.NoError(t, x.View(ctx, func([]float32) error { return nil }))
	require.NoError(t, other.Evict(ctx, d))
}

func TestTraceAsPicture(t *testing.T) {
	name := filepath.Join(t.TempDir(), "t.json")
	require.NoError(t, traced(name, func() error { pictured(t); return nil }))
	r := readTrace(t, name)
	var out bytes.Buffer
	require.NoError(t, drawTrace(&out, r, "a <title>"))
	bars := map[string]int{}
	dec := xml.NewDecoder(bytes.NewReader(out.Bytes()))
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, "the picture is well-formed")
		if e, ok := tok.(xml.StartElement); ok && (e.Name.Local == "rect" || e.Name.Local == "path") {
			for _, a := range e.Attr {
				if a.Name.Local == "class" {
					bars[strings.TrimPrefix(a.Value, "bar ")]++
				}
			}
		}
	}
	waits := bars["wait"]
	delete(bars, "wait")
	// One more of each in the legend.
	assert.Equal(t, map[string]int{"ground": 1, "band": 2, "in": 3, "out": 2, "use": 2, "host": 4, "evict": 3, "res": 2}, bars)
	assert.Positive(t, waits, "SyncTo waits")
	for _, says := range []string{"demo:1 (simulated)", "demo:1: simulated, there is no such hardware here", "a &lt;title&gt;",
		"stream 2", "memory, 3.9 KiB", "halyard/trace_picture_test.go:", "because of Prefetch for Evict; room for buffer", "copied 9.8 KiB, avoided 7.8 KiB, 2 evictions"} {
		assert.Contains(t, out.String(), says)
	}
	assert.Contains(t, out.String(), "prefers-color-scheme:dark")
	wd, err := os.Getwd()
	require.NoError(t, err)
	assert.NotContains(t, out.String(), wd, "a picture may be shown to others")
}

func TestPictureOfNothing(t *testing.T) {
	require.NoError(t, drawTrace(io.Discard, &tracefile.Trace{}, ""))
}
