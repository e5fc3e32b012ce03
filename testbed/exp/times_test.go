// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"os"
	"reflect"
	"testing"

	"github.com/pauseless/pauseless/internal/golden"
)

// The times in the binary are those of times.txt.
func TestTimesArePackedAsTheyAre(t *testing.T) {
	text, err := os.ReadFile("times.txt")
	if err != nil {
		t.Fatal(err)
	}
	golden.CheckPacked(t, "times.txt.gz", text)
}

// Equal durations in a row are written once, and read as often as they were there.
func TestTimesOfRunsInARow(t *testing.T) {
	list := []float64{0.5, 0.24, 0.24, 0.24, 0, 0, 1300, 0.24}
	text := timesOf(list)
	if want := " 0.5 0.24*3 0*2 1.3e+03 0.24"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	got := parseTimes([]byte("a small\ndrill, none, 3*4: 1 2\ndrill:" + text + "\nbad: 1* 2*x 3*-1 4*2\n"))
	want := map[string]times{"a small": {"drill, none, 3*4": {1, 2}, "drill": list, "bad": {1, 2, 4, 4}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
