//go:build opencl

package opencl

import (
	"os"
	"strings"

	"github.com/go-halyard/halyard/hal/driver"
)

// memoryEnv forces a tier of memory.
const memoryEnv = "HALYARD_OPENCL_MEMORY"

// tier is a way to reach device memory.
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

// tiers is a set of them.
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

// preference is the tiers to take, best first, and the name by which they were asked for.
type preference struct {
	forced string
	order  []tier
}

// preferredTiers reads the environment.
func preferredTiers() (preference, error) {
	switch v := os.Getenv(memoryEnv); v {
	case "":
		return preference{"", []tier{tierUSM, tierSVM, tierSVMCoarse, tierBuffer}}, nil
	case "usm":
		return preference{v, []tier{tierUSM}}, nil
	case "svm":
		return preference{v, []tier{tierSVM, tierSVMCoarse}}, nil
	case "svm-coarse":
		return preference{v, []tier{tierSVMCoarse}}, nil
	case "buffer":
		return preference{v, []tier{tierBuffer}}, nil
	default:
		return preference{}, refusal("read the environment", -1, driver.ErrInvalidArgument,
			"%s is %q; it can be usm, svm, svm-coarse or buffer", memoryEnv, v)
	}
}

// choose returns the best tier of those a device has, tierNone if none will do.
func (p preference) choose(have tiers) tier {
	for _, t := range p.order {
		if have.has(t) {
			return t
		}
	}
	return tierNone
}
