package main

import (
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/hal"
)

// device is a device that was measured.
type device struct {
	Device    string `json:"device"`
	Name      string `json:"name"`
	Driver    string `json:"driver"`
	Tier      string `json:"tier,omitempty"` // the model of its memory
	Unified   bool   `json:"unified"`        // it uses the host's memory in place
	Simulated bool   `json:"simulated"`
}

func deviceOf(info hal.Info) device {
	return device{info.Name(), info.Model, info.Driver, info.MemoryModel, info.SharesHostMemory, info.Simulated}
}

// title names a device and says what kind it is.
func (d device) title() string {
	kind := "discrete"
	if d.Unified {
		kind = "unified"
	}
	if d.Simulated {
		kind += ", simulated"
	}
	return d.Device + "  " + joinNonEmpty(", ", d.Name, d.Tier, kind)
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

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// bytesText formats a number of bytes for display: "23.4 GiB".
func bytesText(n uint64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, u := float64(n)/1024, 0
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + units[u:u+1] + "iB"
}

// plural returns "1 measurement", "2 measurements".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
