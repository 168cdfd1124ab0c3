package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

func newDevices() *cobra.Command {
	var asJSON bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "List every backend and the devices it finds",
		Long: `List every backend of this module and the devices that each one finds. A backend
that was not built in, or whose driver is missing, is listed with the reason. Finding
nothing is not an error: the exit status is 0.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return usage("--timeout must be positive, not %s", timeout)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			reports := hal.List(ctx)
			if cmd.Context().Err() != nil {
				return cmd.Context().Err()
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), listingOf(ctx, reports))
			}
			printDevices(ctx, cmd.OutOrStdout(), reports)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything that is known, as JSON")
	cmd.Flags().DurationVar(&timeout, "timeout", 20*time.Second, "how long to wait for a backend that does not answer")
	return cmd
}

func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func printDevices(ctx context.Context, out io.Writer, reports []hal.Report) {
	devices := newTable(out, 0, 40)
	devices.AppendHeader(table.Row{"device", "name", "tier", "memory", "align", "kind"})
	details := newTable(out, 0, 84)
	details.AppendHeader(table.Row{"device", "driver and capabilities"})
	absent := newTable(out, 0, 84)
	absent.AppendHeader(table.Row{"backend", "what is missing, and why"})
	for _, r := range reports {
		for _, info := range r.Devices {
			tier := info.MemoryModel
			if tier == "" {
				tier = "-"
			}
			devices.AppendRow(table.Row{info.Name(), info.Model, tier, bytesText(info.TotalMemory),
				bytesText(info.Alignment), kindText(info)})
			details.AppendRow(table.Row{info.Name(), joinNonEmpty("\n", info.Driver, info.Caps.String(), sharedText(reports, info))})
		}
		for _, p := range problems(ctx, r) {
			absent.AppendRow(table.Row{r.Backend, p})
		}
		switch {
		case r.Err != nil:
			absent.AppendRow(table.Row{r.Backend, reason(r.Err)})
		case len(r.Devices) == 0:
			absent.AppendRow(table.Row{r.Backend, "the driver works, but finds no device"})
		}
	}
	if devices.Length() == 0 {
		fmt.Fprintln(out, "no devices")
	} else {
		devices.Render()
		fmt.Fprintln(out)
		details.Render()
	}
	if absent.Length() > 0 {
		fmt.Fprintln(out)
		absent.Render()
	}
	if selection := strings.TrimSpace(os.Getenv(hal.EnvDevices)); selection != "" {
		fmt.Fprintf(out, "\n%s=%s: ", hal.EnvDevices, selection)
		if infos, err := hal.Devices(ctx); err != nil {
			fmt.Fprintf(out, "programs get an error: %v\n", err)
		} else {
			names := make([]string, len(infos))
			for i, info := range infos {
				names[i] = info.Name()
			}
			fmt.Fprintf(out, "programs see %s\n", strings.Join(names, ", "))
		}
	}
}

// sameHardware are the names of the devices of other backends that are the same hardware.
func sameHardware(reports []hal.Report, info hal.Info) []string {
	return named(reports, info.SameHardware)
}

// sameProcessors are the names of the other devices that are the processors of the host, if info is one.
func sameProcessors(reports []hal.Report, info hal.Info) []string {
	return named(reports, func(other hal.Info) bool {
		return info.Class == hal.ClassCPU && other.Class == hal.ClassCPU && !info.Simulated && !other.Simulated && info.Name() != other.Name()
	})
}

func named(reports []hal.Report, which func(hal.Info) bool) (names []string) {
	for _, r := range reports {
		for _, other := range r.Devices {
			if which(other) {
				names = append(names, other.Name())
			}
		}
	}
	return names
}

func sharedText(reports []hal.Report, info hal.Info) string {
	if names := sameHardware(reports, info); len(names) > 0 {
		return "the same hardware as " + strings.Join(names, " and ")
	}
	if names := sameProcessors(reports, info); len(names) > 0 {
		return "the same processors as " + strings.Join(names, " and ")
	}
	return ""
}

// kindText says what kind of device it is.
func kindText(info hal.Info) string {
	kind := "discrete"
	if info.SharesHostMemory {
		kind = "unified"
	}
	if info.Class != 0 {
		kind = info.Class.String() + ", " + kind
	}
	if info.Simulated {
		kind += ", simulated"
	}
	return kind
}

// deviceTitle names a device, and says if it is simulated.
func deviceTitle(info hal.Info) string {
	title := info.Name() + " (" + info.Model
	if info.MemoryModel != "" {
		title += ", " + info.MemoryModel
	}
	if info.Simulated && !strings.Contains(strings.ToLower(info.Model), "simulated") {
		title += ", simulated"
	}
	return title + ")"
}

func joinNonEmpty(sep string, parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, sep)
}

// reason returns an error's text without the parts that are in the table's first column.
func reason(err error) string {
	var e *hal.Error
	if !errors.As(err, &e) || e.Kind == nil {
		return err.Error()
	}
	s := e.Kind.Error()
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Vendor.API != "" {
		s += fmt.Sprintf(" [%s: %s (%d)]", e.Vendor.API, e.Vendor.Name, e.Vendor.Code)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// problems returns a backend's reasons why devices may be missing from its list, apart from the error of
// the list itself.
func problems(ctx context.Context, r hal.Report) []string {
	if info, ok := debug.ReadBuildInfo(); ok && !r.Built {
		return misspelt(setting(info, "-tags"), r.Backend)
	}
	for _, b := range driver.Backends() {
		if p, ok := b.(interface {
			Problems(context.Context) []string
		}); ok && b.Name() == r.Backend {
			return slices.DeleteFunc(slices.Clone(p.Problems(ctx)), func(s string) bool { return r.Err != nil && s == r.Err.Error() })
		}
	}
	return nil
}

// misspelt names the build tags that would be the backend's but for upper case.
func misspelt(tags, backend string) (found []string) {
	for tag := range strings.SplitSeq(tags, ",") {
		if tag != backend && strings.EqualFold(tag, backend) {
			found = append(found, fmt.Sprintf("tag %s: Go's tags are case-sensitive; write -tags %s", tag, backend))
		}
	}
	return found
}

// listing is the output of devices --json.
type listing struct {
	Backends []backendEntry `json:"backends"`
}

type backendEntry struct {
	Backend  string        `json:"backend"`
	Built    bool          `json:"built"`
	Error    *errorEntry   `json:"error,omitempty"`
	Problems []string      `json:"problems,omitempty"`
	Devices  []deviceEntry `json:"devices"`
}

type errorEntry struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

type deviceEntry struct {
	Device         string   `json:"device"`
	Type           string   `json:"type,omitempty"`
	Name           string   `json:"name"`
	Vendor         string   `json:"vendor"`
	Driver         string   `json:"driver"`
	Tier           string   `json:"tier,omitempty"`
	UUID           string   `json:"uuid,omitempty"`
	PCI            string   `json:"pci,omitempty"`
	SameHardware   []string `json:"same_hardware,omitempty"`
	SameProcessors []string `json:"same_processors,omitempty"`
	TotalMemory    uint64   `json:"total_memory"`
	MaxAlloc       uint64   `json:"max_alloc"`
	Alignment      uint64   `json:"alignment"`
	MaxAlign       uint64   `json:"max_align"`
	Unified        bool     `json:"unified"`
	Simulated      bool     `json:"simulated"`
	Capabilities   []string `json:"capabilities"`
	LowPriority    int      `json:"low_priority"`
	HighPriority   int      `json:"high_priority"`
}

func listingOf(ctx context.Context, reports []hal.Report) listing {
	l := listing{Backends: []backendEntry{}}
	for _, r := range reports {
		b := backendEntry{Backend: r.Backend, Built: r.Built, Problems: problems(ctx, r), Devices: []deviceEntry{}}
		if r.Err != nil {
			b.Error = errorEntryOf(r.Err)
		}
		for _, info := range r.Devices {
			d := deviceEntryOf(info)
			d.SameHardware, d.SameProcessors = sameHardware(reports, info), sameProcessors(reports, info)
			b.Devices = append(b.Devices, d)
		}
		l.Backends = append(l.Backends, b)
	}
	return l
}

func errorEntryOf(err error) *errorEntry {
	e := &errorEntry{Kind: "other", Message: err.Error()}
	for _, kind := range driver.Kinds() {
		if errors.Is(err, kind) {
			e.Kind = kind.Error()
		}
	}
	return e
}

func deviceEntryOf(info hal.Info) deviceEntry {
	d := deviceEntry{
		Device: info.Name(), Type: info.Class.String(), Name: info.Model, Vendor: info.Vendor, Driver: info.Driver, Tier: info.MemoryModel,
		PCI: info.PCI, TotalMemory: info.TotalMemory, MaxAlloc: info.MaxAlloc,
		Alignment: info.Alignment, MaxAlign: info.MaxAlign, Unified: info.SharesHostMemory, Simulated: info.Simulated,
		Capabilities: info.Caps.Names(), LowPriority: info.LowPriority, HighPriority: info.HighPriority,
	}
	if info.UUID != (hal.UUID{}) {
		d.UUID = info.UUID.String()
	}
	if d.Capabilities == nil {
		d.Capabilities = []string{}
	}
	return d
}
