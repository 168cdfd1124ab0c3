package hal_test

import (
	"context"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
)

// A device has one stream for each direction, made when it is first asked for.
func TestCopyStreamsAreTheDevicesOwn(t *testing.T) {
	d, err := hal.OpenWith(ctx, host.New(host.Options{Name: "own", Discrete: 1}), 1)
	require.NoError(t, err)
	in, err := d.CopyStream(false)
	require.NoError(t, err)
	out, err := d.CopyStream(true)
	require.NoError(t, err)
	require.NotSame(t, in, out)
	for range 3 {
		again, err := d.CopyStream(false)
		require.NoError(t, err)
		require.Same(t, in, again)
	}

	m, err := d.Alloc(hal.KindDevice, 4, 0)
	require.NoError(t, err)
	got := make([]byte, 4)
	require.NoError(t, in.CopyIn(m.All(), []byte{1, 2, 3, 4}))
	require.NoError(t, out.WaitStream(in))
	require.NoError(t, out.CopyOut(got, m.All()))
	require.NoError(t, out.Sync(ctx))
	require.Equal(t, []byte{1, 2, 3, 4}, got)

	require.NoError(t, m.Close())
	require.NoError(t, d.Close(), "they close with the device")
	_, err = d.CopyStream(false)
	require.ErrorIs(t, err, hal.ErrClosed)
	require.ErrorIs(t, in.Fill(hal.Region{}, hal.Zero), hal.ErrClosed)
}

// A channel that is closed when a stream has come so far.
func ExampleStream_OnDone() {
	dev, err := hal.Open(context.Background(), "host:0")
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	stream, err := dev.NewStream()
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	mem, err := dev.Alloc(hal.KindHost, 4, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer mem.Close()

	if err := stream.Fill(mem.All(), hal.Pattern8(7)); err != nil {
		log.Fatal(err)
	}
	done := make(chan struct{})
	if err := stream.OnDone(func() { close(done) }); err != nil {
		log.Fatal(err)
	}
	select {
	case <-done:
		b, err := mem.Bytes()
		fmt.Println(b, err)
	case <-time.After(time.Minute):
		fmt.Println("too late")
	}
	// Output: [7 7 7 7] <nil>
}

// What a stream's work takes, on the device and as the host sees it.
func ExampleEvent_Elapsed() {
	ctx := context.Background()
	dev, err := hal.Open(ctx, "host:0")
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	stream, err := dev.NewStream()
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	mem, err := dev.Alloc(hal.KindDevice, 1<<20, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer mem.Close()

	began := time.Now()
	start, err := stream.Record(hal.WithTiming())
	if err != nil {
		log.Fatal(err)
	}
	defer start.Close()
	if err := stream.Fill(mem.All(), hal.Zero); err != nil {
		log.Fatal(err)
	}
	end, err := stream.Record(hal.WithTiming())
	if err != nil {
		log.Fatal(err)
	}
	defer end.Close()
	if err := end.Sync(ctx); err != nil {
		log.Fatal(err)
	}
	onHost := time.Since(began)
	onDevice, err := end.Elapsed(start)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(0 <= onDevice && onDevice <= onHost)
	// Output: true
}

// Independent pieces of work take turns on a few streams.
func ExampleDevice_NewStream() {
	ctx := context.Background()
	dev, err := hal.Open(ctx, "host:0")
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	streams := make([]*hal.Stream, 3)
	for i := range streams {
		if streams[i], err = dev.NewStream(); err != nil {
			log.Fatal(err)
		}
		defer streams[i].Close()
	}
	mem, err := dev.Alloc(hal.KindHost, 8, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer mem.Close()

	for i := range mem.Size() {
		s := streams[i%uint64(len(streams))]
		if err := s.Fill(mem.Region(i, 1), hal.Pattern8(uint8(i))); err != nil {
			log.Fatal(err)
		}
	}
	for _, s := range streams {
		if err := s.Sync(ctx); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(mem.Bytes())
	// Output: [0 1 2 3 4 5 6 7] <nil>
}
