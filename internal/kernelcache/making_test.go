package kernelcache

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
)

// waitingContext is a context whose first Done after the start is told: a goroutine that asks for it in Do is about to wait.
type waitingContext struct {
	context.Context
	waits func()
}

func (c waitingContext) Done() <-chan struct{} {
	c.waits()
	return c.Context.Done()
}

func TestOneKeyIsCompiledOnceAtATime(t *testing.T) {
	for _, dir := range []string{filepath.Join(t.TempDir(), "kernels"), ""} {
		c := Open(dir, 0)
		const goroutines = 50
		var compiled atomic.Int32
		var waiting, all sync.WaitGroup
		waiting.Add(goroutines - 1)
		ctx := waitingContext{t.Context(), waiting.Done}
		images := make([]*driver.Image, goroutines)
		for i := range goroutines {
			all.Go(func() {
				img, err := c.Do(ctx, NewKey("kernel"), func() (*driver.Image, error) {
					compiled.Add(1)
					waiting.Wait() // for all the others
					return example(), nil
				})
				assert.NoError(t, err)
				images[i] = img
			})
		}
		all.Wait()
		require.EqualValues(t, 1, compiled.Load())
		for _, img := range images {
			require.Same(t, images[0], img)
		}
		require.Empty(t, c.making)
	}
}

func TestOtherKeysDoNotWait(t *testing.T) {
	c := Open(t.TempDir(), 0)
	_, err := c.Do(t.Context(), NewKey("outer"), func() (*driver.Image, error) {
		return c.Do(t.Context(), NewKey("inner"), func() (*driver.Image, error) { return example(), nil })
	})
	require.NoError(t, err)
}

// hold starts a Do of the key that ends when the result is sent, and returns once it compiles.
func hold(c *Cache, key Key, end func() (*driver.Image, error)) (release func(), ended <-chan struct{}) {
	compiles, released, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		_, _ = c.Do(context.Background(), key, func() (*driver.Image, error) {
			close(compiles)
			<-released
			return end()
		})
	}()
	<-compiles
	return func() { close(released) }, done
}

// Who waits stops when its context ends, and the others go on.
func TestWaitersHonourTheirContexts(t *testing.T) {
	c, key := Open(t.TempDir(), 0), NewKey()
	release, ended := hold(c, key, func() (*driver.Image, error) { return example(), nil })
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	_, err := c.Do(waitingContext{ctx, func() { cancel(why) }}, key, nil)
	require.ErrorIs(t, err, driver.ErrNotReady)
	require.ErrorIs(t, err, why)

	_, err = c.Do(ctx, NewKey("another"), nil)
	require.ErrorIs(t, err, driver.ErrNotReady, "ended before")
	require.ErrorIs(t, err, why)

	release()
	<-ended
	img, err := c.Do(t.Context(), key, nil)
	require.NoError(t, err)
	require.Equal(t, example(), img)
}

func TestErrorIsSharedAndNotKept(t *testing.T) {
	c, key, bad := Open(t.TempDir(), 0), NewKey(), errors.New("bad")
	release, ended := hold(c, key, func() (*driver.Image, error) { return nil, bad })
	_, err := c.Do(waitingContext{t.Context(), release}, key, nil)
	require.Equal(t, bad, err)
	<-ended
	require.Empty(t, files(t, c.dir))
	img, err := c.Do(t.Context(), key, func() (*driver.Image, error) { return example(), nil })
	require.NoError(t, err)
	require.Equal(t, example(), img)
}

// An end that concerns one caller alone makes another try.
func TestWaitersTryThemselves(t *testing.T) {
	for what, end := range map[string]func() (*driver.Image, error){
		"panic":    func() (*driver.Image, error) { panic("at the first") },
		"Goexit":   func() (*driver.Image, error) { runtime.Goexit(); return nil, nil },
		"canceled": func() (*driver.Image, error) { return nil, fmt.Errorf("compile: %w", context.Canceled) },
		"deadline": func() (*driver.Image, error) { return nil, context.DeadlineExceeded },
		"interrupted": func() (*driver.Image, error) {
			return nil, &driver.Error{Kind: driver.ErrNotReady, Err: errors.New("stop")}
		},
		"closed": func() (*driver.Image, error) { return nil, &driver.Error{Kind: driver.ErrClosed} }, // the caller's device, not those of others
		"lost":   func() (*driver.Image, error) { return nil, &driver.Error{Kind: driver.ErrDeviceLost} },
	} {
		t.Run(what, func(t *testing.T) {
			c, key := Open(t.TempDir(), 0), NewKey()
			release, ended := hold(c, key, end)
			compiled := 0
			img, err := c.Do(waitingContext{t.Context(), release}, key, func() (*driver.Image, error) {
				compiled++
				return example(), nil
			})
			require.NoError(t, err)
			require.Equal(t, example(), img)
			require.Equal(t, 1, compiled)
			<-ended
			require.Empty(t, c.making)
		})
	}
}

func TestPanicReachesTheCaller(t *testing.T) {
	c := Open(t.TempDir(), 0)
	require.PanicsWithValue(t, "oops", func() { _, _ = c.Do(t.Context(), NewKey(), func() (*driver.Image, error) { panic("oops") }) })
	require.Empty(t, c.making)
}

func TestNoImageIsAnError(t *testing.T) {
	c := Open(t.TempDir(), 0)
	_, err := c.Do(t.Context(), NewKey(), func() (*driver.Image, error) { return nil, nil })
	require.ErrorIs(t, err, driver.ErrDriver)
}

// What cannot be stored is returned all the same.
func TestFunctionsAreNotStored(t *testing.T) {
	c := Open(filepath.Join(t.TempDir(), "kernels"), 0)
	want := &driver.Image{Format: driver.FormatGo, Functions: map[string]driver.Function{"f": {Run: func(*driver.Block) {}}}}
	img, err := c.Do(t.Context(), NewKey(), func() (*driver.Image, error) { return want, nil })
	require.NoError(t, err)
	require.Same(t, want, img)
	require.NoDirExists(t, c.dir)
}
