package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/bench/internal/peer"
	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/hal"
)

// site is a device that is measured, with everything that all measurements need.
type site struct {
	info          hal.Info
	dev           *hal.Device
	stream, other *hal.Stream
	raw           peer.Peer // nil if no vendor's calls can be made
	noRaw         string    // why raw is nil
}

// openSite opens a device, two streams on it, and its peer.
func openSite(ctx context.Context, info hal.Info) (*site, error) {
	s := &site{info: info}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	var err error
	if s.raw, err = rawPeer(s.dev); err != nil {
		s.raw, s.noRaw = nil, oneLine(err)
	}
	return s, nil
}

func (s *site) open(ctx context.Context) (err error) {
	if s.dev, err = hal.Open(ctx, s.info.Name()); err != nil {
		return err
	}
	if s.stream, err = s.dev.NewStream(); err != nil {
		return err
	}
	s.other, err = s.dev.NewStream()
	return err
}

// rawPeer returns the peer that makes the vendor's own calls on a device.
func rawPeer(dev *hal.Device) (peer.Peer, error) {
	info := dev.Info()
	switch info.Backend {
	case "host":
		return peer.Host(), nil
	case "cuda":
		return peer.CUDA(info.Ordinal)
	case "hip":
		return peer.HIP(info.Ordinal)
	case "opencl":
		// A stream whose handle has been handed out is slower. This stream serves only to find the context and device.
		s, err := dev.NewStream()
		if err != nil {
			return nil, err
		}
		p, err := peer.OpenCL(s.Handle(), info.MemoryModel, info.SharesHostMemory)
		if cerr := s.Close(); err == nil && cerr != nil {
			return nil, errors.Join(cerr, p.Close())
		}
		return p, err
	}
	return nil, fmt.Errorf("halyard knows no calls to compare the backend %s with", info.Backend)
}

func (s *site) close() error {
	var errs []error
	if s.raw != nil {
		errs = append(errs, s.raw.Close())
	}
	for _, stream := range []*hal.Stream{s.stream, s.other} {
		if stream != nil {
			errs = append(errs, stream.Close())
		}
	}
	if s.dev != nil {
		errs = append(errs, s.dev.Close())
	}
	return errors.Join(errs...)
}

// beside returns a side of raw calls. It is empty if there is no peer.
func (s *site) beside(op func(p peer.Peer) func() error) timing.Side {
	if s.raw == nil {
		return timing.Side{}
	}
	return timing.Side{Op: op(s.raw), Enter: s.raw.Enter, Leave: s.raw.Leave}
}

// calls returns the names of the calls of the raw side.
func (s *site) calls(ops ...peer.Op) string {
	if s.raw == nil {
		return ""
	}
	var names []string
	for _, op := range ops {
		names = append(names, s.raw.Names(op)) // "" if the operation needs no call
	}
	return joinNonEmpty(", ", names...)
}
