package hal

import "context"

// await waits for work, and gives up when ctx ends. The wait itself cannot be cancelled, so
// it then goes on in the background; release runs when nothing waits any more.
func await(ctx context.Context, op string, query func() (bool, error), wait func() error, release func()) error {
	if ctx.Err() != nil {
		release()
		return Interrupted(op, ctx)
	}
	if done, err := query(); done || err != nil {
		release()
		return err
	}
	if ctx.Done() == nil {
		err := wait()
		release()
		return err
	}
	ch := make(chan error, 1)
	go func() {
		err := wait()
		release()
		ch <- err
	}()
	select {
	case err := <-ch:
		return err
	case <-ctx.Done():
		return Interrupted(op, ctx)
	}
}
