package translate_test

import (
	"os"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/vulkan"
)

func init() {
	if os.Getenv("HALYARD_TEST_MODULES") == "new" {
		translate.MakeModules(vulkan.Modules)
	}
}
