package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-halyard/halyard/hal"
)

// selection is the devices that a command works on: the named ones, or if none is named, all.
type selection struct {
	devices  []string
	backends []string
	require  []string
}

func (s *selection) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&s.devices, "device", nil, "only these `devices`, such as host:0,cuda:1")
	f.StringSliceVar(&s.backends, "backend", nil, "only the devices of these `backends`, such as opencl")
	f.StringSliceVar(&s.require, "require", nil, "fail unless these `backends` or devices are among those checked")
}

// resolve returns the selected devices, each once. A name that cannot belong to any device is a usage error; a device
// that is missing is another error.
func (s *selection) resolve(ctx context.Context, reports []hal.Report) ([]hal.Info, error) {
	if len(s.devices) == 0 && len(s.backends) == 0 {
		return all(ctx, reports)
	}
	var chosen []hal.Info
	add := func(info hal.Info) {
		if !slices.ContainsFunc(chosen, func(c hal.Info) bool { return c.Name() == info.Name() }) {
			chosen = append(chosen, info)
		}
	}
	for _, name := range s.devices {
		infos, err := lookUp(reports, name, "--device")
		if err != nil {
			return nil, err
		}
		add(infos[0])
	}
	for _, name := range s.backends {
		if strings.Contains(name, ":") {
			return nil, usage("--backend %s: that is a device; use --device", name)
		}
		infos, err := lookUp(reports, name, "--backend")
		if err != nil {
			return nil, err
		}
		for _, info := range infos {
			add(info)
		}
	}
	return chosen, nil
}

// all returns the devices that hal.Devices lists, and those that it leaves out because another backend shows the same hardware: each has
// a driver of its own.
func all(ctx context.Context, reports []hal.Report) ([]hal.Info, error) {
	listed, err := hal.Devices(ctx)
	if err != nil || strings.TrimSpace(os.Getenv(hal.EnvDevices)) != "" {
		return listed, err
	}
	var infos []hal.Info
	for _, r := range reports {
		infos = append(infos, r.Devices...)
	}
	return infos, nil
}

// missing says, one sentence each, which required backends and devices were not selected.
func (s *selection) missing(reports []hal.Report, chosen []hal.Info) ([]string, error) {
	var lines []string
	for _, name := range s.require {
		_, err := lookUp(reports, name, "--require")
		if err != nil && errors.As(err, new(usageError)) {
			return nil, err
		}
		found := slices.ContainsFunc(chosen, func(info hal.Info) bool { return info.Backend == name || info.Name() == name })
		switch {
		case err != nil:
			lines = append(lines, err.Error())
		case !found:
			lines = append(lines, fmt.Sprintf("--require %s: present, but not among the devices selected", name))
		}
	}
	return lines, nil
}

// lookUp returns the devices of a backend, or the one device, that a name stands for. If there is none it returns an error.
func lookUp(reports []hal.Report, name, flag string) ([]hal.Info, error) {
	backend, number, numbered := strings.Cut(name, ":")
	i := slices.IndexFunc(reports, func(r hal.Report) bool { return r.Backend == backend })
	if i < 0 {
		names := make([]string, len(reports))
		for i, r := range reports {
			names[i] = r.Backend
		}
		return nil, usage("%s %q: no such backend; known are %s", flag, name, strings.Join(names, ", "))
	}
	r := reports[i]
	if numbered && (number == "" || strings.Trim(number, "0123456789") != "") {
		return nil, usage("%s %q: the part after the colon is not a device number", flag, name)
	}
	switch {
	case r.Err != nil && len(r.Devices) == 0:
		return nil, fmt.Errorf("%s %s: %s", flag, name, reason(r.Err))
	case len(r.Devices) == 0:
		return nil, fmt.Errorf("%s %s: the driver works, but finds no device", flag, name)
	case !numbered:
		return r.Devices, nil
	}
	for _, info := range r.Devices {
		if info.Name() == name {
			return []hal.Info{info}, nil
		}
	}
	return nil, fmt.Errorf("%s %s: no such device; %s has %s, numbered from 0", flag, name, backend, plural(len(r.Devices), "device"))
}

// openable leaves out listed devices that cannot be opened, and returns why, one error each.
func openable(ctx context.Context, infos []hal.Info) (open []hal.Info, refused []error) {
	for _, info := range infos {
		dev, err := hal.Open(ctx, info.Name())
		if err == nil {
			err = dev.Close()
		}
		switch {
		case err == nil || ctx.Err() != nil:
			open = append(open, info)
		default:
			refused = append(refused, err)
		}
	}
	return open, refused
}
