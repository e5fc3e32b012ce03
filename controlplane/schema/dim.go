// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strconv"
	"strings"
)

// Dim is one dimension of an array's index. A program defines dimensions by an
// annotation on the register, counter or meter:
//
//	@index("port")          cell i belongs to port i
//	@index("leaf:16,path:8") cell 8·leaf + path
//
// The last dimension varies fastest. All dimensions except the first need a
// size.
type Dim struct {
	Name string
	Size int // 0 means as many as fit
}

func parseDims(text string) ([]Dim, error) {
	var dims []Dim
	for part := range strings.SplitSeq(text, ",") {
		name, size, sized := strings.Cut(strings.TrimSpace(part), ":")
		d := Dim{Name: strings.TrimSpace(name)}
		if d.Name == "" {
			return nil, fmt.Errorf("a dimension of %q has no name", text)
		}
		if sized {
			n, err := strconv.Atoi(strings.TrimSpace(size))
			if err != nil || n < 1 {
				return nil, fmt.Errorf("size of %s in %q is not a number above 0", d.Name, text)
			}
			d.Size = n
		} else if len(dims) > 0 {
			return nil, fmt.Errorf("dimension %s in %q needs a size, as in %s:8", d.Name, text, d.Name)
		}
		dims = append(dims, d)
	}
	return dims, nil
}

// Split returns the coordinates of cell i, one per dimension.
func Split(dims []Dim, i int) []int {
	at := make([]int, len(dims))
	for d := len(dims) - 1; d > 0; d-- {
		at[d] = i % dims[d].Size
		i /= dims[d].Size
	}
	if len(dims) > 0 {
		at[0] = i
	}
	return at
}
