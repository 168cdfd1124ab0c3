package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// frames is a terminal that tells when something was drawn.
type frames struct {
	bytes.Buffer
	drawn chan string
}

func (f *frames) Write(p []byte) (int, error) {
	select {
	case f.drawn <- string(p):
	default:
	}
	return f.Buffer.Write(p)
}

// The live line is drawn in place, fits a narrow terminal, and is gone at the end.
func TestMeterLeavesNothingBehind(t *testing.T) {
	out := frames{drawn: make(chan string, 1)}
	m := startMeter(&out, 1000, progress.UnitsDefault)
	for i := range 3 {
		m.step(300, fmt.Sprintf("frame %d", i)+strings.Repeat(" is long", 20))
		for !strings.Contains(<-out.drawn, fmt.Sprintf("frame %d", i)) {
		}
	}
	m.stop()
	s := out.String()
	require.True(t, strings.HasSuffix(s, "\x1b[A\x1b[K"), "%q", s)
	// As many lines up as down: the cursor is where it was.
	assert.Equal(t, strings.Count(s, "\n"), strings.Count(s, "\x1b[A"), "%q", s)
	for line := range strings.SplitSeq(regexp.MustCompile("\x1b\\[[0-9]*[A-Z]").ReplaceAllString(s, ""), "\n") {
		assert.LessOrEqual(t, len([]rune(line)), 80, "%q", line)
	}

	quiet := newMeter(&out, 3, progress.UnitsDefault)
	out.Reset()
	quiet.step(1, "x")
	quiet.stop()
	assert.Empty(t, out.String(), "a buffer is no terminal")
}
