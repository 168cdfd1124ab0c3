// Package debug reads what HALYARD_DEBUG asks for.
package debug

import (
	"os"
	"strings"
)

// Variable is the name of the environment variable. Its value is a list of words with commas between them.
const Variable = "HALYARD_DEBUG"

// Has reports whether the word is one of those in the variable, as it is now. Spaces around a word do not count.
func Has(word string) bool {
	for w := range strings.SplitSeq(os.Getenv(Variable), ",") {
		if strings.TrimSpace(w) == word {
			return true
		}
	}
	return false
}
