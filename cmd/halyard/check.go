package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/spf13/cobra"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// checkOptions are the flags of check.
type checkOptions struct {
	selection
	json, short, list, verbose bool
	seed                       uint64
	match, file                string
	exclude                    []string
	timeout                    time.Duration
}

func newCheck() *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Run the conformance suite on devices, or move a file through all of them",
		Long: `Run the conformance suite on every available device. Checks that need a second
device use other available devices: one of the same backend as the peer, and those of
other backends for checks between backends.

With --file, move a file's bytes through a coherent buffer instead: they are written in pieces
at different places, acquired for writing and read at each place, and read back on the host.
The SHA-256 digests before and after must be equal.

The last line is "N passed, N failed, N skipped". The skipped checks include those that need
a missing ability or a second device, and those excluded by --exclude; each is listed with
its reason. The exit status is 1 if a check failed or something required is missing.`,
		Example: `  halyard check
  halyard check --backend opencl --require opencl
  halyard check --device host:0 --run '^Copy/' --short
  halyard check --list
  halyard check --file README.md`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.addFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print the results as JSON")
	f.BoolVar(&o.short, "short", false, "use smaller sizes and fewer repetitions")
	f.BoolVar(&o.list, "list", false, "list the checks with the rule that each one enforces, and run none")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "list every check with its outcome, and all names in groups of skipped checks")
	f.Uint64Var(&o.seed, "seed", 0, "`seed` of random data and actions; 0 means the suite's default")
	f.StringVar(&o.match, "run", "", "only checks whose group/name matches this regular `expression`")
	f.StringArrayVar(&o.exclude, "exclude", nil, "leave a check out: `Group/Name=reason`, where the name may be a pattern such as Copy/Peer*; may be repeated")
	f.DurationVar(&o.timeout, "timeout", 0, "how long one check may take (default 1m0s)")
	f.StringVar(&o.file, "file", "", "move the bytes of the file at this `path` through all devices instead of running the suite")
	return cmd
}

// validate returns an error for invalid flags and combinations of flags.
func (o *checkOptions) validate(cmd *cobra.Command) error {
	if _, err := regexp.Compile(o.match); err != nil {
		return usage("--run: %w", err)
	}
	if o.timeout < 0 {
		return usage("--timeout must not be negative, but is %s", o.timeout)
	}
	alone := ""
	switch {
	case cmd.Flags().Changed("file"):
		alone = "file"
		if o.file == "" {
			return usage("--file needs the path of a file")
		}
	case o.list:
		alone = "list"
	}
	if alone != "" {
		for _, other := range []string{"run", "exclude", "seed", "short", "list", "timeout", "verbose"} {
			if other != alone && cmd.Flags().Changed(other) && !(alone == "list" && other == "run") {
				return usage("--%s and --%s cannot be used together", alone, other)
			}
		}
	}
	return nil
}

// exclusions returns the exclusions of the command line.
func (o *checkOptions) exclusions() ([]conformance.Exclusion, error) {
	var list []conformance.Exclusion
	for _, x := range o.exclude {
		name, why, ok := strings.Cut(x, "=")
		name, why = strings.TrimSpace(name), strings.TrimSpace(why)
		if !ok || name == "" || why == "" {
			return nil, usage("--exclude %q: write Group/Name=reason", x)
		}
		list = append(list, conformance.Exclusion{Check: name, Kind: conformance.Unsupported, Reason: why})
	}
	list, unmatched := expand(list)
	if len(unmatched) > 0 {
		return nil, usage("--exclude %q: no check has that name; halyard check --list shows them", unmatched[0])
	}
	return list, nil
}

// expand replaces each pattern by the names of the checks that it matches. If several entries match a check, the first one
// counts. unmatched lists the patterns that match no check or are malformed.
func expand(list []conformance.Exclusion) (named []conformance.Exclusion, unmatched []string) {
	taken := map[string]bool{}
	for _, x := range list {
		found := false
		for _, c := range conformance.Checks() {
			name := c.Name
			if ok, err := path.Match(x.Check, name); err != nil || !ok {
				continue
			}
			found = true
			if !taken[name] {
				taken[name] = true
				named = append(named, conformance.Exclusion{Check: name, Kind: x.Kind, Reason: x.Reason})
			}
		}
		if !found {
			unmatched = append(unmatched, x.Check)
		}
	}
	return named, unmatched
}

func (o *checkOptions) run(cmd *cobra.Command) error {
	if err := o.validate(cmd); err != nil {
		return err
	}
	excluded, err := o.exclusions()
	if err != nil {
		return err
	}
	if len(o.checks()) == 0 {
		return usage("--run %q: no check matches; halyard check --list shows them", o.match)
	}
	if o.list {
		return o.printChecks(cmd)
	}
	ctx := cmd.Context()
	enumerate, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	reports := hal.List(enumerate)
	infos, err := o.resolve(enumerate, reports)
	if err != nil {
		return err
	}
	infos, refused := openable(enumerate, infos)
	missing, err := o.missing(reports, infos)
	if err != nil {
		return err
	}
	switch {
	case o.file != "" && len(missing) > 0:
		return fmt.Errorf("%s", strings.Join(missing, "; "))
	case o.file != "" && len(o.devices) > 0 && len(refused) > 0:
		return errors.Join(refused...)
	case o.file != "":
		return checkFile(cmd, o.file, infos, o.json)
	}
	around, err := hal.Devices(enumerate)
	if err != nil {
		return err
	}
	around, _ = openable(enumerate, around)
	run := o.suite(missing, refused, reports, len(infos))
	m := newMeter(cmd.ErrOrStderr(), int64(len(infos)*len(o.checks())), progress.UnitsDefault)
	for _, info := range infos {
		h := o.harness(info, around)
		h.Exclusions = excluded
		if err = run.device(ctx, info, h, func(check string) { m.step(1, info.Name()+" "+check) }); err != nil {
			break
		}
	}
	m.stop()
	if err != nil && ctx.Err() == nil {
		return err
	}
	if err != nil {
		run.Missing = append(run.Missing, "the run was interrupted: not all checks were run")
	}
	return o.report(cmd, run)
}

// suite returns a run of so many devices, before the first is checked.
func (o *checkOptions) suite(missing []string, refused []error, reports []hal.Report, devices int) *suiteRun {
	run := &suiteRun{Missing: missing, Version: version()}
	for _, err := range refused {
		run.tellRefused(err, len(o.devices) > 0)
	}
	if len(o.devices) == 0 && len(o.backends) == 0 {
		run.tellAbsent(reports)
	}
	if devices == 0 {
		run.Missing = append(run.Missing, "there is no device to check")
	}
	return run
}

// report prints what a run has found. The error decides the status of the command.
func (o *checkOptions) report(cmd *cobra.Command, run *suiteRun) error {
	if o.json {
		if err := writeJSON(cmd.OutOrStdout(), run); err != nil {
			return err
		}
	} else {
		run.print(cmd.OutOrStdout(), o.verbose)
	}
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	if run.Summary.Failed > 0 || len(run.Missing) > 0 {
		return errReported
	}
	return nil
}

// harness returns the harness for the device info. The devices around it give the peer and the devices of other backends.
func (o *checkOptions) harness(info hal.Info, around []hal.Info) conformance.Harness {
	open := func(name string) func(context.Context) (*hal.Device, error) {
		return func(ctx context.Context) (*hal.Device, error) { return hal.Open(ctx, name) }
	}
	h := conformance.Harness{
		Open: open(info.Name()), VendorCodes: vendorCodes(info.Backend),
		Timeout: o.timeout, Seed: o.seed, Short: o.short, Match: o.match,
	}
	if peer := peerOf(info, around); peer != "" {
		h.Peer = open(peer)
	}
	for _, other := range around {
		if other.Backend != info.Backend {
			h.Others = append(h.Others, open(other.Name()))
		}
	}
	return h
}

// peerOf returns another device of the same backend, if possible one with its own memory.
func peerOf(info hal.Info, around []hal.Info) string {
	peer := ""
	for _, other := range around {
		if other.Backend != info.Backend || other.Ordinal == info.Ordinal {
			continue
		}
		if !other.SharesHostMemory {
			return other.Name()
		}
		if peer == "" {
			peer = other.Name()
		}
	}
	return peer
}

// vendorCodes returns the table with which a backend maps its vendor's statuses to kinds, nil if it has none.
func vendorCodes(backend string) func() []hal.Error {
	for _, b := range driver.Backends() {
		table, ok := b.(interface {
			VendorCodes() []int64
			VendorError(api string, code int64) error
		})
		if !ok || b.Name() != backend {
			continue
		}
		return func() []hal.Error {
			var list []hal.Error
			for _, code := range table.VendorCodes() {
				e := &hal.Error{Vendor: driver.Vendor{Code: code}}
				_ = errors.As(table.VendorError("status", code), &e)
				list = append(list, *e)
			}
			return list
		}
	}
	return nil
}
