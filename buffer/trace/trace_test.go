package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/trace"
	"github.com/go-halyard/halyard/hal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// work moves 4000 bytes to the device and back, with one wait for a stream that is held shut, and one eviction.
func work(tb testing.TB) {
	tb.Helper()
	ctx := context.Background()
	d, err := hal.OpenWith(ctx, host.New(host.Options{Name: "demo", Discrete: 1}), 1)
	require.NoError(tb, err)
	defer func() { require.NoError(tb, d.Close()) }()
	b, err := buffer.From(make([]float32, 1000))
	require.NoError(tb, err)
	defer func() { require.NoError(tb, b.Close()) }()
	require.NoError(tb, b.SyncTo(ctx, d))
	s, err := d.CopyStream(false)
	require.NoError(tb, err)
	require.NoError(tb, b.MarkModified(s))
	require.NoError(tb, b.View(ctx, func([]float32) error { return nil }))
	require.NoError(tb, b.Evict(ctx, d))
}

func TestRecordingAsChromeTrace(t *testing.T) {
	r := trace.Record()
	work(t)
	r.Stop()
	r.Stop()
	work(t) // not recorded
	var out bytes.Buffer
	require.NoError(t, r.WriteJSON(&out))
	var got struct {
		TraceEvents []struct {
			Name, Ph string
			Ts, Dur  float64
			Tid      int
			Args     map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	track := map[int]string{}
	var copies, marks []string
	for _, e := range got.TraceEvents {
		switch {
		case e.Name == "thread_name":
			track[e.Tid] = e.Args["name"].(string)
		case e.Ph == "X" && e.Name != "wait":
			require.GreaterOrEqual(t, e.Dur, 0.0)
			copies = append(copies, fmt.Sprintf("%s on %s: %v bytes because of %v", e.Name, track[e.Tid], e.Args["bytes"], e.Args["cause"]))
		case e.Ph == "i":
			marks = append(marks, e.Name)
		}
	}
	require.Equal(t, []string{
		"host → demo:1 on demo:1 in: 4000 bytes because of SyncTo",
		"demo:1 → host on demo:1 out: 4000 bytes because of View",
	}, copies)
	require.Equal(t, []string{"alloc", "free"}, marks)
}

func TestRecordingAsPicture(t *testing.T) {
	r := trace.Record()
	work(t)
	r.Stop()
	var out bytes.Buffer
	require.NoError(t, r.WriteSVG(&out))
	rects := 0
	dec := xml.NewDecoder(bytes.NewReader(out.Bytes()))
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, "the picture is well-formed")
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "rect" {
			rects++
		}
	}
	require.GreaterOrEqual(t, rects, 1+5+4, "background, legend, and the spans")
	require.Contains(t, out.String(), "demo:1 in")
}

func TestEmptyRecording(t *testing.T) {
	r := trace.Record()
	r.Stop()
	require.NoError(t, r.WriteJSON(io.Discard))
	require.NoError(t, r.WriteSVG(io.Discard))
	require.Empty(t, r.Spans())
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	stop := trace.Log(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	work(t)
	stop()
	require.Regexp(t, `level=DEBUG msg="halyard: copy" buffer=\d+ at=demo:1 from=host sources=\{host\} lo=0 hi=4000 cause=SyncTo`, out.String())
	n := out.Len()
	work(t)
	require.Equal(t, n, out.Len(), "nothing is logged after stop")
}
