// Package debug reads the environment variable HALYARD_DEBUG, and knows whether a user listens.
package debug

import (
	"io"
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

// Printing says whether kernels print: the variable had the word print when the program began.
var Printing = Has("print")

// Listener returns where a program tells its user what it does by itself: standard error, if that is a terminal or the variable has the
// word log, else nil.
func Listener() io.Writer {
	if s, err := os.Stderr.Stat(); Has("log") || err == nil && s.Mode()&os.ModeCharDevice != 0 {
		return os.Stderr
	}
	return nil
}
