package kernel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/debug"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// Source is a program of one or more kernels, with a body for each kind of device. At least one field with code is set; a device takes
// the first of Go, Images, its own language and Portable that it can use. Devices of Vulkan compile no text: they take what
// [Program.Compiled] gives the program, or Images.
type Source struct {
	Name     string // for messages, like a file's name; "" means "kernel"
	Portable string // in the portable dialect: see Prelude
	OpenCL   string // OpenCL C
	CUDA     string // CUDA C++
	HIP      string // HIP C++

	// Images are compiled already. A device takes the first that it can load.
	Images []hal.Image

	// Go are the kernels as Go functions. Only the host runs them, and it runs nothing else: launches of a program without them fail there,
	// with an error of kind hal.ErrUnsupported.
	Go Functions

	// Source is written by the command "halyard kernels", together with Portable. Leave it out of a source written by hand.
	gridgen.Source

	// Headers are texts that the source can include, by name. Compilers include files too, by an absolute path or from a folder that
	// Options name. But compiled code is kept, and the source is not compiled again when such a file changes.
	Headers map[string]string

	// Options are for the device's compiler, in the order given. Unless they say otherwise, compilers do not fuse multiplications with
	// additions in portable source, so that every device rounds alike.
	Options map[hal.Language][]string

	list    int  // the program has the kernels for one list of types; 0: those that are not generic
	parts   bool // the kernels run parts of grids
	watched bool // the kernels look at their end whether the device still runs loops
	wide    bool // the kernels compute with integers of 64 bits
}

// Functions are kernels as Go functions, by name.
type Functions map[string]hal.Function

// text returns the source in a language, and the options to compile it with; "" if there is none.
func (s *Source) text(language hal.Language) (text string, options []string) {
	options = s.Options[language]
	switch language {
	case hal.LanguageOpenCLC:
		text = s.OpenCL
	case hal.LanguageCUDA:
		text = s.CUDA
	case hal.LanguageHIP:
		text = s.HIP
	default:
		return "", nil
	}
	if text == "" && s.Portable != "" {
		text = Prelude(language) + "#line 1\n" + s.Portable
		switch {
		case s.Indexes != nil && checkingBounds.Load():
			text = boundsMacro + text
		case s.watched:
			text = roundsMacro + text
		case s.wide:
			text = wideMacro + text
		}
		if s.prints() {
			text = printMacro + text
		}
		if s.parts {
			text = partsMacro + text
		}
		if s.generic() {
			text = fmt.Sprintf("#define GO_TYPES %d\n", s.list) + text
		}
		options = append(slices.Clone(own[language]), options...)
	}
	return text, options
}

// own are the options for text in the portable dialect. They make a compiler round after each operation; in OpenCL C a pragma in the prelude
// does that. With -w there are no warnings: of these PoCL and hipRTC would print how many there are to the program's standard error.
var own = map[hal.Language][]string{
	hal.LanguageOpenCLC: {"-w"},
	hal.LanguageCUDA:    {"--fmad=false"},
	hal.LanguageHIP:     {"-ffp-contract=off", "-w"},
}

// runsGo reports whether a device runs the Go functions.
func (s *Source) runsGo(dev *hal.Device) bool {
	return len(s.Go) > 0 && slices.Contains(dev.Formats(), hal.FormatGo)
}

// narrow reports whether kernels on a device, as modules for Vulkan or as text, keep integers in 32 bits: see GO_INT in prelude/bounds.h.
func (s *Source) narrow(dev *hal.Device, vulkan bool) bool {
	if s.runsGo(dev) || s.Indexes != nil && checkingBounds.Load() || s.prints() {
		return false
	}
	return vulkan || !s.wide && !s.watched && dev.Info().Compute.Language != hal.LanguageOpenCLC
}

// reports reports whether kernels on a device check their indexes, or the rounds of their loops, and so have the parameter that
// Source.Indexes describes.
func (s *Source) reports(dev *hal.Device) bool {
	if s.Indexes == nil || !s.watched && !checkingBounds.Load() && !s.prints() || s.Portable == "" {
		return false
	}
	if s.runsGo(dev) {
		return false
	}
	switch dev.Info().Compute.Language {
	case hal.LanguageCUDA:
		return s.CUDA == ""
	case hal.LanguageHIP:
		return s.HIP == ""
	}
	return s.OpenCL == ""
}

// prints reports whether kernels of the source print.
func (s *Source) prints() bool { return debug.Printing && len(s.Prints) > 0 }

// generic reports whether the source has generic kernels. A program compiles those for one list of types together, when the first of them is launched.
func (s *Source) generic() bool {
	for _, k := range s.Kernels {
		if k.Types > 0 {
			return true
		}
	}
	return false
}

// lacks says which bodies a device takes, and which the source has.
func (s *Source) lacks(formats []hal.Format, language hal.Language) string {
	var takes, has []string
	for _, f := range formats {
		takes = append(takes, f.String())
	}
	if language != 0 {
		takes = append(takes, language.String())
	}
	for _, b := range []struct {
		there bool
		name  string
	}{{s.Portable != "", "portable text"}, {s.OpenCL != "", "OpenCL C"}, {s.CUDA != "", "CUDA C++"}, {s.HIP != "",
		"HIP C++"}, {len(s.Go) > 0, "Go functions"}} {
		if b.there {
			has = append(has, b.name)
		}
	}
	for _, i := range s.Images {
		has = append(has, i.Format.String())
	}
	if len(takes) == 0 {
		return "it runs no kernels"
	}
	if len(has) == 0 {
		has = []string{"nothing"}
	}
	return fmt.Sprintf("it takes %s; there is %s", strings.Join(takes, ", "), strings.Join(has, ", "))
}

// types returns the C types of a launch's arguments, as the translation has them: "i32", "const GLOBAL f32 *". Without a translation all
// are "i64".
func (s *Source) types(name string) []string {
	in := s.Kernels[name]
	list := make([]string, len(in.Params))
	_, text, _ := strings.Cut(s.Portable, "KERNEL void "+in.Code+"(")
	text, _, _ = strings.Cut(text, " GO_FAULTS")
	text, _, _ = strings.Cut(text, " SHARED_PARAM")
	params := strings.Split(text, ",")
	for i := range list {
		list[i] = "i64"
		if text != "" && i < len(params) {
			param := strings.TrimSpace(params[i])
			list[i] = strings.TrimSpace(param[:strings.LastIndexAny(param, " *")+1])
		}
	}
	return list
}
