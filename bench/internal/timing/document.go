package timing

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Replace replaces the text between the markers <!-- name: begin --> and <!-- name: end --> in a file. If the file lacks
// the markers, it returns an error and leaves the file unchanged.
func Replace(file, name, text string) error {
	before, after, err := cut(file, name)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(before+"\n"+text+after), 0o644)
}

// Marked returns the error of a [Replace] that would find no markers.
func Marked(file, name string) error {
	_, _, err := cut(file, name)
	return err
}

// cut returns what stands before and after the text between the markers, with the markers.
func cut(file, name string) (before, after string, err error) {
	old, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	begin, end := "<!-- "+name+": begin -->", "<!-- "+name+": end -->"
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", "", fmt.Errorf("%s lacks the markers %s and %s", file, begin, end)
	}
	return before + begin, end + after, nil
}

// Machine describes the machine: the processor and its vendor, how many processors Go sees, the system, and the version of Go.
func Machine() string {
	return fmt.Sprintf("%s (%s), %d processors, %s/%s, %s", cmp.Or(processor("model name"), runtime.GOARCH), Vendor(), runtime.NumCPU(), runtime.GOOS,
		runtime.GOARCH, runtime.Version())
}

// Vendor names the maker of the processor, such as AuthenticAMD, or else its architecture. It has no spaces.
func Vendor() string {
	return cmp.Or(strings.ReplaceAll(processor("vendor_id"), " ", "-"), runtime.GOARCH)
}

// processor returns what Linux says of the first processor, "" if it says nothing.
func processor(key string) string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for l := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Duration formats a time in nanoseconds for display, in ns, µs or ms. Numbers below 10 have one decimal, others none.
func Duration(ns float64) string {
	switch d := time.Duration(ns); {
	case ns < 10:
		return fmt.Sprintf("%.1f ns", ns)
	case d < time.Microsecond:
		return fmt.Sprintf("%.0f ns", ns)
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.1f µs", ns/1e3)
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", ns/1e3)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", ns/1e6)
	}
	return fmt.Sprintf("%.0f ms", ns/1e6)
}
