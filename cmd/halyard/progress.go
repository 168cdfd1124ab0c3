package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/jedib0t/go-pretty/v6/text"
)

// meter is the progress line of a long command. The zero meter shows nothing.
type meter struct {
	tracker *progress.Tracker
	out     io.Writer
	done    chan struct{}
}

// newMeter starts a line on out if that is a terminal.
func newMeter(out io.Writer, total int64, units progress.Units) *meter {
	if !terminal(out) {
		return &meter{}
	}
	return startMeter(out, total, units)
}

func startMeter(out io.Writer, total int64, units progress.Units) *meter {
	w := progress.NewWriter()
	w.SetOutputWriter(out)
	w.SetAutoStop(true)
	w.SetNumTrackersExpected(1)
	// All of it fits 80 columns: the renderer cannot rewind a line that wraps.
	w.SetTrackerLength(18)
	w.SetMessageLength(36)
	w.SetTrackerPosition(progress.PositionLeft)
	w.SetUpdateFrequency(80 * time.Millisecond)
	style := progress.StyleBlocks
	style.Options.Separator = " "
	style.Options.TimeInProgressPrecision = time.Second
	style.Visibility.Percentage = false
	style.Visibility.Speed = false
	style.Visibility.ETA = false
	w.SetStyle(style)
	m := &meter{
		tracker: &progress.Tracker{Total: total, Units: units, AutoStopDisabled: true},
		out:     out,
		done:    make(chan struct{}),
	}
	w.AppendTracker(m.tracker)
	go func() {
		defer close(m.done)
		w.Render()
	}()
	return m
}

// step counts n more units and shows the current step.
func (m *meter) step(n int64, what string) {
	if m.tracker != nil {
		m.tracker.UpdateMessage(what)
		m.tracker.Increment(n)
	}
}

// stop removes the line and waits until that is done.
func (m *meter) stop() {
	if m.tracker != nil {
		m.tracker.MarkAsDone()
		<-m.done
		fmt.Fprint(m.out, text.CursorUp.Sprint(), text.EraseLine.Sprint())
	}
}

// terminal reports whether out is a terminal.
func terminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok || os.Getenv("TERM") == "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
