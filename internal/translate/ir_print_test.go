package translate_test

import (
	"flag"
	"os"
	"testing"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/build"
	"github.com/go-halyard/halyard/internal/translate/cprint"
)

var fromRepresentation = flag.Bool("printed", false, "run the C text that is printed from the representation")

func TestMain(m *testing.M) {
	flag.Parse()
	if *fromRepresentation {
		*translate.Portable = func(p *translate.Package) (string, []string, error) {
			program, err := build.Program(p)
			if err != nil {
				return "", nil, err
			}
			made := cprint.Print(program)
			return made.C, made.Sites, nil
		}
	}
	os.Exit(m.Run())
}
