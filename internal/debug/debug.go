// Package debug reads the environment variable HALYARD_DEBUG.
package debug

import (
	"os"
	"strings"
)

// Variable is the name of the environment variable. Its value is a list of words with commas between them.
const Variable = "HALYARD_DEBUG"

// Has reports whether the variable now contains the word. Spaces around a word do not count.
func Has(word string) bool {
	for w := range strings.SplitSeq(os.Getenv(Variable), ",") {
		if strings.TrimSpace(w) == word {
			return true
		}
	}
	return false
}
