// SPDX-License-Identifier: Apache-2.0

package yamlfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/diag"
)

// A file with very many errors reports some of them and that there are others, in a
// time that does not grow with the square of their number: 300,000 unknown keys took
// more than 25 s.
func TestErrorsAreLimited(t *testing.T) {
	var keys, values, twice strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
		fmt.Fprintf(&values, "- x\n")
		fmt.Fprintf(&twice, "name: x\n")
	}
	for what, text := range map[string]string{"unknown keys": keys.String(), "wrong values": "list:\n" + values.String(), "keys given twice": twice.String()} {
		var v struct {
			Name string `yaml:"name"`
			List []int  `yaml:"list"`
		}
		f, err := Parse("x.yaml", []byte(text), &v)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100_000 {
			f.Errorf("list", "error %d", i)
		}
		var list diag.List
		if !errors.As(f.Err(), &list) || len(list) != maxErrors+1 || !strings.Contains(list[maxErrors].Msg, "more than 200 errors") {
			t.Errorf("%s: %d errors", what, len(list))
		}
	}
}
