// SPDX-License-Identifier: Apache-2.0

package yamlfile

import (
	"strings"
	"testing"
)

const layered = `
network: {leaf_spine: {leaves: 4, rate: 40Gbps}, switch: {pfc: {xoff: 256KB}}}
set: {rlb.warn: 1KB}
traffic:
- poisson: {load: 0.6}
- incast: {degree: 4}
over:
  network: {switch: {pfc: {off: true}}}
  network.leaf_spine.leaves: 8
  traffic.1.incast.degree: 9
  traffic: {0: {poisson: {load: 0.7}}}
  set: {rlb.calm: 2KB}
  set.rlb.warn: 3KB
  hosts.recovery: irn
  network.clos: ~
bad:
  traffic.2.poisson.load: 1
list: {traffic: [{long: {size: 1}}]}
`

func TestOverlaysMergeKeysAndReplaceTheRest(t *testing.T) {
	f, err := Parse("c.yaml", []byte(layered), nil)
	if err != nil {
		t.Fatal(err)
	}
	before := string(f.Canonical())
	got := f.Over(f.Raw("over")).Without("over", "bad", "list")
	want := `{"hosts":{"recovery":"irn"},"network":{"leaf_spine":{"leaves":"8","rate":"40Gbps"},"switch":{"pfc":{"off":"true","xoff":"256KB"}}},` +
		`"set":{"rlb.calm":"2KB","rlb.warn":"3KB"},"traffic":[{"poisson":{"load":"0.7"}},{"incast":{"degree":"9"}}]}`
	if err := got.Err(); err != nil || string(got.Canonical()) != want {
		t.Errorf("error %v, got\n%s\nwant\n%s", err, got.Canonical(), want)
	}
	if got := f.Over(f.Raw("list")).Raw("traffic"); got.Has("1") {
		t.Error("a list was merged; want it replaced")
	}
	if string(f.Canonical()) != before {
		t.Error("an overlay changed the file that it was laid over")
	}
	if p := got.Pos("traffic.1.incast.degree").String(); p != "c.yaml:10:28" {
		t.Errorf("a value of an overlay is said to be at %s, want its own place 10:28", p)
	}
}

func TestAnOverlayThatDoesNotFitIsReportedAtItsPlace(t *testing.T) {
	f, err := Parse("c.yaml", []byte(layered), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = f.Over(f.Raw("bad")).Err()
	if err == nil || !strings.HasPrefix(err.Error(), `c.yaml:17:3: "2" is not an index of this list of 2 elements, which are numbered from 0`) {
		t.Errorf("got %v", err)
	}
	if err := f.Over(f.Raw("traffic")).Err(); err == nil {
		t.Error("a list laid over a file: no error")
	}
}

func TestPutReachesIntoLists(t *testing.T) {
	f, err := Parse("c.yaml", []byte(layered), nil)
	if err != nil {
		t.Fatal(err)
	}
	v := f.Raw("over.hosts.recovery") // not there: the key has a dot
	if v.Given() {
		t.Fatal("a dotted key was found as a path")
	}
	g := f.Put("traffic.0.poisson.load", f.Raw("traffic.1.incast.degree"), f.Raw("over"))
	if got := g.Raw("traffic.0.poisson.load").Text(""); got != "4" {
		t.Errorf("load is %q, want 4", got)
	}
}
