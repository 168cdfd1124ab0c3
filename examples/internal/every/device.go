// Package every runs an example on every device of the machine.
package every

import (
	"context"
	"errors"
	"fmt"
	"io"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// Device calls fn with a stream of each device that hal.Devices lists, one after the other, and prints what it returns. It returns the names of
// the devices on which fn ran. Devices that run no kernels, or for which the vendor's compiler is missing, are printed and left out;
// any other error of fn ends the run.
func Device(ctx context.Context, out io.Writer, fn func(*hal.Stream) (string, error)) (ran []string, err error) {
	devices, err := hal.Devices(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		result, err := onOne(ctx, d.Name(), fn)
		switch {
		case Unusable(err):
			result = "not used: " + err.Error()
		case err != nil:
			return ran, fmt.Errorf("%s: %w", d.Name(), err)
		default:
			ran = append(ran, d.Name())
		}
		if _, err := fmt.Fprintf(out, "%s: %s\n", d.Name(), result); err != nil {
			return ran, err
		}
	}
	return ran, nil
}

func onOne(ctx context.Context, name string, fn func(*hal.Stream) (string, error)) (result string, err error) {
	streams, closeAll, err := Streams(ctx, name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	return fn(streams[0])
}

// Unusable reports whether an error says that a device cannot run the kernel: it runs none, or there is no body or no compiler for it.
func Unusable(err error) bool {
	return errors.Is(err, hal.ErrUnsupported) || errors.Is(err, hal.ErrUnavailable)
}

// Streams opens devices by name and makes a stream on each. closeAll closes what was opened.
func Streams(ctx context.Context, names ...string) (streams []*hal.Stream, closeAll func() error, err error) {
	var made []io.Closer
	closeAll = func() error { return hal.CloseAll(made...) }
	for _, name := range names {
		dev, err := hal.Open(ctx, name)
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		made = append(made, dev)
		stream, err := dev.NewStream()
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		made = append(made, stream)
		streams = append(streams, stream)
	}
	return streams, closeAll, nil
}

// NameForRank returns the name of the device that ForRank opens.
func NameForRank(ctx context.Context, rank int, k *kernel.Kernel) (string, error) {
	dev, err := ForRank(ctx, rank, k)
	if err != nil {
		return "", err
	}
	return dev.Name(), dev.Close()
}

// ForRank opens the device that a rank works on. Ranks share the devices that can run the kernel; if there are none, they use the host.
func ForRank(ctx context.Context, rank int, k *kernel.Kernel) (*hal.Device, error) {
	infos, err := hal.Devices(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, i := range infos {
		if i.Backend != "host" {
			names = append(names, i.Name())
		}
	}
	for i := range names {
		dev, err := hal.Open(ctx, names[(rank+i)%len(names)])
		if err != nil {
			return nil, err
		}
		_, err = k.Of(ctx, dev)
		if err == nil {
			return dev, nil
		}
		if !Unusable(err) {
			return nil, errors.Join(err, dev.Close())
		}
		if err := dev.Close(); err != nil {
			return nil, err
		}
	}
	return hal.Open(ctx, "host:0")
}
