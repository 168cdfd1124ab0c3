//go:build opencl

package opencl

import (
	"errors"
	"os"
	"strings"

	"github.com/go-halyard/halyard/hal/driver"
)

// memoryEnv is the environment variable that forces a tier of memory.
const memoryEnv = "HALYARD_OPENCL_MEMORY"

// tier is a way to access device memory.
type tier uint8

const (
	tierNone tier = iota
	tierUSM
	tierSVM // fine-grained
	tierSVMCoarse
	tierBuffer
)

var tierNames = [...]string{"", "usm", "svm", "svm-coarse", "buffer"}

func (t tier) String() string { return tierNames[t] }

// tiers is a set of tiers, one bit for each.
type tiers uint8

func (s tiers) has(t tier) bool { return s&(1<<t) != 0 }

func (s tiers) String() string {
	var names []string
	for t := tierUSM; t <= tierBuffer; t++ {
		if s.has(t) {
			names = append(names, t.String())
		}
	}
	return strings.Join(names, ", ")
}

// preference is the tiers to choose from, best first, and the value of memoryEnv that forced them.
type preference struct {
	forced string
	order  []tier
}

// preferredTiers reads the environment.
func preferredTiers() (preference, error) {
	p := preference{forced: os.Getenv(memoryEnv)}
	var err error
	if p.order, err = tiersNamed(p.forced); err != nil {
		return preference{}, refusal("choose a tier", -1, driver.ErrInvalidArgument, "%s is %q; %v", memoryEnv, p.forced, err)
	}
	return p, nil
}

var errNoTier = errors.New("it must be usm, svm, svm-coarse or buffer")

// tiersNamed returns the tiers that a name stands for, best first; "" stands for all.
func tiersNamed(name string) ([]tier, error) {
	switch name {
	case "":
		return []tier{tierUSM, tierSVM, tierSVMCoarse, tierBuffer}, nil
	case "usm":
		return []tier{tierUSM}, nil
	case "svm":
		return []tier{tierSVM, tierSVMCoarse}, nil
	case "svm-coarse":
		return []tier{tierSVMCoarse}, nil
	case "buffer":
		return []tier{tierBuffer}, nil
	}
	return nil, errNoTier
}

// choose returns the best tier that a device has, or tierNone.
func (p preference) choose(have tiers) tier {
	for _, t := range p.order {
		if have.has(t) {
			return t
		}
	}
	return tierNone
}
