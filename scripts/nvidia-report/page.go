package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// pageFile is the name of the page, beside report.json.
const pageFile = "report.md"

// page returns the report as one page of Markdown.
func (r *Report) page() []byte {
	var b bytes.Buffer
	title := "Halyard on " + cell(r.Machine.Name)
	if r.Simulated {
		title += ", with simulated devices"
	}
	fmt.Fprintf(&b, "# %s\n\n%s\n", title, r.verdict())
	if r.Simulated {
		b.WriteString("\nThe driver was simulated. Its times say nothing about hardware.\n")
	}
	b.WriteString("\n## Machine\n\n| | |\n|---|---|\n")
	for _, row := range [][2]string{
		{"system", fmt.Sprintf("%s, %s, %d processors", r.Machine.OS, r.Machine.Arch, r.Machine.CPUs)},
		{"devices, by nvidia-smi", strings.Join(r.Machine.GPUs, "; ")},
		{"date", r.Date.Format("2006-01-02 15:04 MST")},
		{"compiler of kernels", r.NVRTC},
		{"library for ranks", r.NCCL},
		{"built from", r.Build.String()},
	} {
		if row[1] == "" {
			row[1] = "none listed"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], cell(row[1]))
	}
	b.WriteString("\n## Parts" + r.simulated() + "\n\n| part | result | seconds | what it says |\n|---|---|---|---|\n")
	for _, p := range r.Parts {
		fmt.Fprintf(&b, "| %s | %s | %.1f | %s |\n", p.Name, p.verdict(), p.Seconds, cell(p.summary()))
	}
	r.suite(&b)
	r.skippedTests(&b)
	r.pools(&b)
	r.table(&b)
	return b.Bytes()
}

// verdict is the report's result in a sentence.
func (r *Report) verdict() string {
	passed, failed, skipped := 0, []string{}, 0
	for _, p := range r.Parts {
		switch p.verdict() {
		case "passed":
			passed++
		case "skipped":
			skipped++
		default:
			failed = append(failed, p.Name)
		}
	}
	s := fmt.Sprintf("%d parts passed, %d failed and %d were skipped", passed, len(failed), skipped)
	if len(failed) > 0 {
		s = fmt.Sprintf("**Failed**: %s. %s", strings.Join(failed, ", "), s)
	}
	if r.Error != "" {
		s += "; the report ends early: " + cell(r.Error)
	}
	return s + "."
}

func (p *Part) verdict() string {
	switch {
	case p.Passed:
		return "passed"
	case p.Skipped != "":
		return "skipped"
	}
	return "**failed**"
}

// outcomes are the suite's words for the results of tests.
var outcomes = map[string]string{"pass": "passed", "fail": "failed", "skip": "skipped"}

// summary says in a line what a part found, or why it found nothing.
func (p *Part) summary() string {
	var counts map[string]int
	switch {
	case p.Error != "":
		return p.Error
	case p.Skipped != "":
		return p.Skipped
	case len(p.Benchmarks) > 0:
		return fmt.Sprintf("%d benchmarks", len(p.Benchmarks))
	case p.Tests != nil:
		counts = make(map[string]int)
		for _, result := range p.Tests {
			counts[outcomes[result]]++
		}
	default:
		return p.resultSummary()
	}
	return count(counts)
}

// resultSummary sums up what a program printed as JSON: how many of the suite's checks passed, or the version.
func (p *Part) resultSummary() string {
	var result struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(p.Result, &result) != nil {
		return ""
	}
	counts := make(map[string]int)
	for _, d := range checkedDevices(p) {
		for _, c := range d.Results {
			counts[c.Outcome]++
		}
	}
	if len(counts) > 0 {
		return count(counts)
	}
	return result.Version
}

// checkedDevice is what "halyard check --json" says of one device.
type checkedDevice struct {
	Device struct {
		Device string `json:"device"`
	} `json:"device"`
	Results []struct {
		Check   string `json:"check"` // "Bounds/Overflow"
		Outcome string `json:"outcome"`
	} `json:"results"`
}

func checkedDevices(p *Part) []checkedDevice {
	var result struct {
		Devices []checkedDevice `json:"devices"`
	}
	if json.Unmarshal(p.Result, &result) != nil {
		return nil
	}
	return result.Devices
}

// suite writes a row for each group of checks on each device.
func (r *Report) suite(b *bytes.Buffer) {
	first := true
	for _, d := range checkedDevices(r.part("conformance")) {
		groups := make(map[string]map[string]int)
		for _, c := range d.Results {
			group, _, _ := strings.Cut(c.Check, "/")
			if groups[group] == nil {
				groups[group] = make(map[string]int)
			}
			groups[group][c.Outcome]++
		}
		for _, group := range slices.Sorted(maps.Keys(groups)) {
			if first {
				b.WriteString("\n## The suite" + r.simulated() + "\n\n| device | group | checks |\n|---|---|---|\n")
				first = false
			}
			fmt.Fprintf(b, "| %s | %s | %s |\n", cell(d.Device.Device), cell(group), count(groups[group]))
		}
	}
}

// count says "3 passed, 1 skipped".
func count(counts map[string]int) string {
	var said []string
	for _, outcome := range slices.Sorted(maps.Keys(counts)) {
		said = append(said, fmt.Sprintf("%d %s", counts[outcome], outcome))
	}
	return strings.Join(said, ", ")
}

// skippedTests lists the tests that were skipped within parts that ran.
func (r *Report) skippedTests(b *bytes.Buffer) {
	first := true
	for _, p := range r.Parts {
		for _, name := range slices.Sorted(maps.Keys(p.Tests)) {
			if p.Tests[name] != "skip" {
				continue
			}
			if first {
				b.WriteString("\n## Skipped tests" + r.simulated() + "\n\n| part | test | why |\n|---|---|---|\n")
				first = false
			}
			fmt.Fprintf(b, "| %s | %s | %s |\n", p.Name, cell(name), cell(p.Reasons[name]))
		}
	}
}

// simulated returns the ending of titles: ", simulated" if a device is simulated, else "".
func (r *Report) simulated() string {
	if r.Simulated {
		return ", simulated"
	}
	return ""
}

// pools writes a row for each size, with the times of Halyard's pool and of those of Python's libraries, or why one was not measured.
func (r *Report) pools(b *bytes.Buffer) {
	b.WriteString("\n## Pools" + r.simulated() + "\n\nAllocating and freeing, in nanoseconds.\n\n| bytes | Halyard | RMM | PyTorch | CuPy |\n|---:|---:|---:|---:|---:|\n")
	measured := make(map[string]map[string]float64)
	for _, m := range r.measured() {
		measured[m.Name] = m.NS
	}
	for _, size := range pythonSizes {
		fmt.Fprintf(b, "| %d |", size)
		for _, who := range []string{"halyard", "rmm", "torch", "cupy"} {
			said := "not measured"
			switch ns, ok := measured[fmt.Sprint("pool/", size)][who]; {
			case ok:
				said = fmt.Sprintf("%.4g", ns)
			case r.part(who).Skipped != "":
				said = r.part(who).Skipped
			case r.part(who).Error != "":
				said = r.part(who).Error
			}
			fmt.Fprintf(b, " %s |", cell(said))
		}
		b.WriteString("\n")
	}
}

// table writes the comparisons, with a row for each time that is compared with Halyard's.
func (r *Report) table(b *bytes.Buffer) {
	b.WriteString("\n## Comparisons" + r.simulated() + "\n\n")
	if len(r.Comparisons) == 0 {
		b.WriteString("There is nothing to compare.\n")
		return
	}
	b.WriteString("Times are in nanoseconds. The ratio is Halyard's time divided by the other's: below 1 Halyard is faster.\n\n" +
		"| what | Halyard | other | its time | ratio |\n|---|---:|---|---:|---:|\n")
	for _, c := range r.Comparisons {
		for _, who := range slices.Sorted(maps.Keys(c.Ratios)) {
			fmt.Fprintf(b, "| %s | %.4g | %s | %.4g | %.2f |\n", cell(c.Name), c.NS[c.ours(who)], who, c.NS[who], c.Ratios[who])
		}
	}
}

// cell is text that is safe in a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

func (b Build) String() string {
	s := b.Go
	if b.Revision != "" {
		s += ", revision " + b.Revision
	}
	if b.Modified {
		s += ", modified"
	}
	return s
}
