package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// generatedMutant is one of those that command made makes.
type generatedMutant struct {
	number                         int
	base, method, name, equivalent string
}

// generatedTime is how long one check may take on a generated mutant. On a sound backend each takes a fraction of a second.
const generatedTime = 20 * time.Second

// hangs begins the reason of a check that did not come back.
const hangs = "not done after"

// choose returns at most most of the mutants that the binary lists, all if most is negative. With an error of the simulated driver those of CUDA are left out.
func choose(binary string, want *regexp.Regexp, most int, cuda error) (chosen []generatedMutant, err error) {
	list, err := exec.Command(binary, "list").Output()
	if err != nil {
		return nil, err
	}
	left := 0
	for i, line := range strings.Split(strings.TrimRight(string(list), "\n"), "\n") {
		f := strings.Split(line, "\t")
		switch m := (generatedMutant{i, f[0], f[1], f[2], f[3]}); {
		case !want.MatchString(m.name):
		case m.base == "cuda" && cuda != nil:
			left++
		default:
			chosen = append(chosen, m)
		}
	}
	if left > 0 {
		fmt.Printf("%d mutants are left out: %v\n", left, cuda)
	}
	if most >= 0 && most < len(chosen) {
		rand.New(rand.NewPCG(1, 1)).Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		chosen = chosen[:most]
		slices.SortFunc(chosen, func(a, b generatedMutant) int { return a.number - b.number })
	}
	return chosen, nil
}

// generated runs at most most of the generated mutants, all if most is negative.
func (s *tally) generated(dir string, want *regexp.Regexp, most int) error {
	binary := filepath.Join(dir, "made.exe")
	build := exec.Command("go", "build", "-tags", "cuda", "-ldflags=-s -w", "-o", binary, "./internal/testing/mutants/made")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	env, cuda := simulated()
	chosen, err := choose(binary, want, most, cuda)
	if err != nil {
		return err
	}
	within := func(limit time.Duration, m, match, base string) finding {
		cmd := exec.Command(binary, m, match, limit.String(), base)
		cmd.Env = append(os.Environ(), env...)
		return execute(cmd)
	}
	suite := func(m, match, base string) finding { return within(generatedTime, m, match, base) }
	const beyond = "Beyond32Bits$"
	for _, base := range []string{"host", "apart", "caching", "large", "cuda"} {
		if !slices.ContainsFunc(chosen, func(m generatedMutant) bool { return m.base == base }) {
			continue
		}
		match, least := "", 100
		if base == "large" {
			match, least = beyond, 2
		}
		if f := suite("sound", match, base); f.by != "" || f.checks < least {
			return fmt.Errorf("on %s, without a fault, %d checks were run, and failed: %s", base, f.checks, f)
		}
	}
	each(len(chosen), func(i int) finding {
		m := chosen[i]
		number := strconv.Itoa(m.number)
		if m.base != "large" {
			f := suite(number, "", m.base)
			if m.equivalent != "" && strings.HasPrefix(f.reason, hangs) { // it is as slow as the machine
				f = within(3*generatedTime, number, "", m.base)
			}
			return f
		}
		f := suite(number, beyond, m.base)
		if f.by == "" {
			checks := f.checks
			f = suite(number, "", "host")
			f.checks += checks
		}
		return f
	}, func(i int, f finding) {
		m := chosen[i]
		s.add(mutant{name: m.name, equivalent: m.equivalent, missed: missed[m.name]}, f)
		of := s.methods[m.method]
		if of == nil {
			of = &method{name: m.method}
			s.methods[m.method] = of
		}
		of.add(m.equivalent != "", f.by != "")
	})
	return nil
}

// simulated builds the simulated CUDA driver, and returns the environment that makes the backend find it.
func simulated() (env []string, err error) {
	out, err := exec.Command("go", "run", "./internal/testing/simdrivers").Output()
	if err != nil {
		var e *exec.ExitError
		if errors.As(err, &e) {
			err = fmt.Errorf("%w: %s", err, e.Stderr)
		}
		return nil, fmt.Errorf("the simulated CUDA driver cannot be built: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// method counts the generated mutants of one method.
type method struct {
	name                       string
	caught, missed, equivalent int
}

func (m *method) add(equivalent, caught bool) {
	switch {
	case caught:
		m.caught++
	case equivalent:
		m.equivalent++
	default:
		m.missed++
	}
}

// byMethod prints a line for each method, and returns what is wrong with them: too many that are missed, or equivalent.
func (s *tally) byMethod() (wrong []error) {
	var all []*method
	sum := method{name: "all generated"}
	for _, m := range s.methods {
		all = append(all, m)
		sum.caught, sum.missed, sum.equivalent = sum.caught+m.caught, sum.missed+m.missed, sum.equivalent+m.equivalent
	}
	slices.SortFunc(all, func(a, b *method) int { return strings.Compare(a.name, b.name) })
	for _, m := range append(all, &sum) {
		fmt.Printf("%-36s %3d caught, %2d missed, %2d equivalent\n", m.name, m.caught, m.missed, m.equivalent)
		if n := m.caught + m.missed; 10*m.missed > n {
			wrong = append(wrong, fmt.Errorf("%s: %d of %d are too many to miss", m.name, m.missed, n))
		}
	}
	if n := sum.caught + sum.missed + sum.equivalent; 10*sum.equivalent > n {
		wrong = append(wrong, fmt.Errorf("%d of %d generated mutants are too many to be equivalent", sum.equivalent, n))
	}
	return wrong
}

// missed are the generated mutants that the suite does not find, with the reason.
var missed = map[string]string{}
