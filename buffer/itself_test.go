package buffer_test

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
)

// here returns the line of its caller, some lines below.
func here(below int) string {
	_, _, line, _ := runtime.Caller(1)
	return "itself_test.go:" + strconv.Itoa(line+below)
}

// An access that waits for one of its own goroutine says so when its context ends, with both lines.
func TestWaitForItself(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the platform does not number goroutines")
	}
	synctest.Test(t, waitForItself)
}

func waitForItself(t *testing.T) {
	b := newBuffer(t, []uint32{1, 2})
	short := func() context.Context { // it ends when nothing else can go on
		c, cancel := context.WithTimeout(ctx, time.Second)
		t.Cleanup(cancel)
		return c
	}
	var err error
	outer, inner := here(1), here(2)
	require.NoError(t, b.Update(ctx, func([]uint32) error {
		err = b.CopyOut(short(), make([]uint32, 2))
		return nil
	}))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Contains(t, err.Error(), outer+"), of this goroutine or of one that has ended")
	assert.Contains(t, err.Error(), inner)

	outer = here(1)
	require.NoError(t, b.View(ctx, func([]uint32) error { err = b.Fill(short(), 3); return nil }))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Regexp(t, `has to wait for Read of \[0, 2\) at host, and this call is in a function that was passed at \S*`+outer+":", err.Error())

	lease, err := b.AcquireHost(ctx, coherence.ReadWrite)
	require.NoError(t, err)
	assert.ErrorContains(t, b.Fill(short(), 3), "of this goroutine")
	other := make(chan error)
	go func() { other <- b.Fill(short(), 3) }()
	err = <-other
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NotContains(t, err.Error(), "goroutine")
	require.NoError(t, lease.Release())
}

// A user who looks on is told of such a wait before it ends.
func TestWaitForItselfIsTold(t *testing.T) {
	if os.Getenv("HALYARD_ITSELF") != "" {
		b, err := buffer.New[uint32](2)
		require.NoError(t, err)
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		require.NoError(t, b.Update(ctx, func([]uint32) error { _ = b.Fill(short, 1); return nil }))
		require.NoError(t, b.Close())
		return
	}
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the platform does not number goroutines")
	}
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "HALYARD_ITSELF=1", "HALYARD_DEBUG=log")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Regexp(t, `(?m)^halyard: Fill has waited for 2s: Overwrite of \[0, 2\) at host \(\S*itself_test.go:\d+\) has to wait for ReadWrite of \[0, 2\) at host \(\S*itself_test.go:\d+\), of this goroutine`, string(out))
}
