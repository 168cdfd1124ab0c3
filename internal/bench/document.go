package bench

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Replace puts text between the markers of that name in a file: <!-- name: begin --> and <!-- name: end -->. A file without
// them is left as it is.
func Replace(file, name, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+name+": begin -->", "<!-- "+name+": end -->"
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s has no %s and %s", file, begin, end)
	}
	return os.WriteFile(file, []byte(before+begin+"\n"+text+end+after), 0o644)
}

// Machine is the processor, how many of them Go sees, the system, and the version of Go.
func Machine() string {
	name := runtime.GOARCH
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for l := range strings.Lines(string(text)) {
			if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == "model name" {
				name = strings.TrimSpace(v)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d processors, %s/%s, %s", name, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// Duration is a time in nanoseconds for people, with two significant digits up to 10 ms.
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
