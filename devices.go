package halyard

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/debug"
	"github.com/go-halyard/halyard/kernel"
)

// all is the name for Open that stands for all GPUs.
const all = "all"

// opened is a device that Open opened, with a stream.
type opened struct {
	dev    *hal.Device
	stream *hal.Stream
}

// openAll opens devices by name and makes the queue one over all of them. After an error none is open.
func (c *core) openAll(names []string) (err error) {
	var list []opened
	defer func() {
		if err == nil {
			return
		}
		for _, o := range list {
			if e := hal.CloseAll(o.dev, o.stream); e != nil {
				err = errors.Join(err, e)
			}
		}
	}()
	whole := slices.Index(names, all)
	if whole >= 0 {
		if len(names) > 1 {
			return hal.Errorf("Open", hal.ErrInvalidArgument, "name %d of %d is \"all\", which stands alone", whole+1, len(names))
		}
		if names, err = gpus(c.ctx); err != nil {
			return err
		}
	}
	var streams []*hal.Stream
	var broken error
	for _, name := range names {
		o, err := openWithStream(c.ctx, name)
		if err == nil {
			list, streams = append(list, o), append(streams, o.stream)
			continue
		}
		if whole < 0 || c.ctx.Err() != nil {
			return err
		}
		broken = errors.Join(broken, err)
		if to := debug.Listener(); to != nil {
			fmt.Fprintf(to, "halyard: \"all\" is without a device that cannot be opened: %v\n", err)
		}
	}
	if len(list) == 0 {
		return broken
	}
	if len(list) > 1 {
		if c.split, err = kernel.NewSplit(streams...); err != nil {
			return err
		}
	}
	c.dev, c.stream, c.others = list[0].dev, list[0].stream, list[1:]
	return nil
}

// openWithStream opens a device and makes a stream on it. Tests replace it.
var openWithStream = func(ctx context.Context, name string) (o opened, err error) {
	if o.dev, err = openNamed(ctx, name); err != nil {
		return o, err
	}
	if o.stream, err = o.dev.NewStream(); err != nil {
		return o, errors.Join(err, o.dev.Close())
	}
	return o, nil
}

// gpus returns the names of the devices that "all" stands for.
func gpus(ctx context.Context) (names []string, err error) {
	infos, err := hal.Devices(ctx)
	if err != nil {
		return nil, err
	}
	var found []hal.Info
	for _, info := range infos {
		if info.Class == hal.ClassGPU {
			found = append(found, info)
		}
	}
	if len(found) == 0 {
		for _, info := range infos {
			if info.Backend == "host" && !info.SharesHostMemory {
				found = append(found, info)
			}
		}
	}
	for _, info := range found {
		names = append(names, info.Name())
	}
	if len(names) == 0 {
		d, err := hal.Default(ctx)
		if err != nil {
			return nil, err
		}
		names = []string{d.Name()}
		return names, d.Close()
	}
	return names, nil
}

// Split returns what divides the launches of a queue over several devices, nil if there is one device.
func (q *Queue) Split() *kernel.Split {
	if c := q.core(); c != nil {
		return c.split
	}
	return nil
}

// sync waits for the work on all devices.
func (c *core) sync(ctx context.Context) error {
	err := c.stream.Sync(ctx)
	for _, o := range c.others {
		if e := o.stream.Sync(ctx); err == nil {
			err = e
		}
	}
	return err
}

// closeStreams closes the streams that Open made.
func (c *core) closeStreams() error {
	errs := []error{c.stream.Close()}
	for _, o := range c.others {
		errs = append(errs, o.stream.Close())
	}
	if c.split != nil {
		errs = append(errs, c.split.Close())
	}
	return errors.Join(errs...)
}
