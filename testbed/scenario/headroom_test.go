// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// headroomDraw is a random network with traffic that makes its switches pause.
type headroomDraw struct {
	text   string // scenario
	kind   string // what its headroom follows from
	mmu    string
	name   string
	target string
}

// generated keeps what generates returned.
var generated = make(map[[2]string]bool)

// generates reports whether a built-in profile exists for a target.
func generates(name, target string) bool {
	key := [2]string{name, target}
	ok, known := generated[key]
	if !known {
		p, err := gen.Builtin(name)
		if err == nil {
			_, err = gen.Generate(p, target)
		}
		ok = err == nil
		generated[key] = ok
	}
	return ok
}

// drawHeadroom draws number n.
func drawHeadroom(n uint64) headroomDraw {
	rng := rand.New(rand.NewPCG(n, 49))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	logarithmic := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	rates := []string{"10", "25", "40", "50", "100", "200", "400", "800"}

	mtu := int(logarithmic(256, 9217))
	if rng.IntN(3) == 0 {
		mtu = []int{256, 512, 1000, 1024, 1500, 2048, 4096, 9000, 9216}[rng.IntN(9)]
	}
	rate, uplink := pick(rates...), pick(rates...)
	metres := logarithmic(1, 2000)
	delay := max(int64(topo.CableDelay(metres)/vtime.Nanosecond), 1)
	r, _ := strconv.Atoi(rate)
	u, _ := strconv.Atoi(uplink)
	inFlight := int64(2*delay) * int64(max(r, u)) / 8

	d := headroomDraw{mmu: pick("", "", "dynamic", "hpcc", "conweave", "broadcom"), target: pick(program.V1Model, program.V1Model, program.TNA)}
	for {
		d.name = pick(gen.Names()...)
		if generates(d.name, d.target) {
			break
		}
	}
	ports, hosts, shape := 0, 0, ""
	switch rng.IntN(5) {
	case 0:
		ports, hosts, shape = 4, 16, fmt.Sprintf("fat_tree: {k: 4, rate: %sGbps, delay: %dns}", rate, delay)
	case 1:
		left, right := 1+rng.IntN(6), 2+rng.IntN(3)
		ports, hosts, shape = left+right, left+right, fmt.Sprintf("dumbbell: {left: %d, right: %d, rate: %sGbps, bottleneck_rate: %sGbps, delay: %dns}", left, right, rate, uplink, delay)
	default:
		leaves, spines, each := 2+rng.IntN(2), 1+rng.IntN(3), 2+rng.IntN(7)
		ports, hosts = spines+each, leaves*each
		shape = fmt.Sprintf("leaf_spine: {leaves: %d, spines: %d, hosts_per_leaf: %d, rate: %sGbps, uplink_rate: %sGbps, delay: %dns}", leaves, spines, each, rate, uplink, delay)
	}

	// A buffer that the headroom may fill almost or by a small part.
	frame := int64(mtu + 200)
	each := inFlight + inFlight/4 + 4*frame + 200 + 4096 // with frames that are longer than on the link
	shared := min(max(6e6/float64(int64(ports)*each), 1.2), 8)
	if d.mmu == "conweave" { // headroom is used when the shared buffer is full
		shared, each = 1.2, inFlight+inFlight/8+3*frame+200+2096
	}
	buffer := int64(float64(int64(ports)*each) * logarithmic(1.05, shared))
	xoff := int64(logarithmic(float64(2*frame+2*8), float64(max(buffer/4, 3*frame))))
	flow := 2*xoff + inFlight + 8*frame
	if d.mmu != "" {
		flow = buffer/5 + inFlight + 8*frame
	}
	flow = min(flow, max(int64(mtu)*40_000/int64(hosts), 10*frame)) // so that a draw takes a second at most

	var sw strings.Builder
	fmt.Fprintf(&sw, "{buffer: %dB", buffer)
	if rng.IntN(3) == 0 {
		fmt.Fprintf(&sw, ", mtu: %d", mtu+44+42+8+rng.IntN(40)) // headers, telemetry, tag
	}
	switch d.mmu {
	case "":
		fmt.Fprintf(&sw, ", pfc: {xoff: %dB}", xoff)
	case "dynamic":
		fmt.Fprintf(&sw, ", pfc: {alpha: %s, alpha_by_rate: %v, reserve: %dB}", pick("0.0625", "0.125", "0.5", "1", "2"), rng.IntN(2) == 0, rng.IntN(5000))
	default:
		fmt.Fprintf(&sw, ", mmu: %s", d.mmu)
	}
	sw.WriteString("}")

	cc := pick("none", "none", "")
	hostKeys := fmt.Sprintf("mtu: %d, recovery: %s", mtu, pick("go-back-n", "irn", "out-of-order"))
	if cc != "" {
		hostKeys += ", cc: {algorithm: none}"
	}
	if rng.IntN(8) == 0 {
		hostKeys += ", overhead: " + pick("-10", "0", "38")
	}

	names := make([]string, hosts)
	for i := range names {
		names[i] = fmt.Sprintf("h%d", i+1)
	}
	var traffic []string
	shuffled := func() []string {
		list := slices.Clone(names)
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list
	}
	permutation := func() {
		list := shuffled()
		to := append(slices.Clone(list[1:]), list[0])
		traffic = append(traffic, fmt.Sprintf("long: {from: %s, to: %s, size: %dB}", strings.Join(list, " "), strings.Join(to, " "), flow))
	}
	way := pick("incast", "permutation", "both", "exchange") // the last with frames to many leaves, of which PLB makes copies
	if way != "permutation" {
		degree := 1 + rng.IntN(hosts-1)
		if rng.IntN(2) == 0 {
			degree = hosts - 1
		}
		size := max(flow*2/int64(degree)+inFlight, 4*frame)
		traffic = append(traffic, fmt.Sprintf("incast: {degree: %d, size: %dB, times: %d, interval: %dns, jitter: %dns}", degree, size, 1+rng.IntN(3), delay*int64(1+rng.IntN(10)), rng.IntN(2)*1000))
	}
	switch way {
	case "permutation", "both":
		permutation()
	case "exchange":
		traffic = append(traffic, fmt.Sprintf("collective: {kind: all_to_all, size: %dB, place: random}", max(flow, int64(hosts*mtu))))
	}
	most := "frames"
	if 2*delay*int64(r)/8 > 3*frame {
		most = "cables"
	}
	size := "below Ethernet's frames"
	if mtu >= 1500 {
		size = "Ethernet's frames and larger"
	}
	d.kind = fmt.Sprintf("%s, mmu %s, mostly %s, %s", d.target, cmp.Or(d.mmu, "static"), most, size)
	d.text = fmt.Sprintf("name: draw%d\nnetwork:\n  %s\n  switch: %s\nhosts: {%s}\nprofile: %s\ntarget: %s\ntraffic:\n- %s\nuntil: 3ms\nseeds: [%d]\n",
		n, shape, sw.String(), hostKeys, d.name, d.target, strings.Join(traffic, "\n- "), 1+n%1000)
	return d
}

// headroomUse follows a run to its end, and keeps how much of its headroom the ports
// used.
type headroomUse struct {
	net       *topo.Topology
	used, had int64 // of the port that used the largest part
	drops     [softswitch.DropCauses]uint64
	clones    uint64 // dropped
}

func (*headroomUse) Tap(*topo.Node) fabric.Tap { return nil }
func (*headroomUse) Next() vtime.Time          { return vtime.Never }
func (*headroomUse) End(*fabric.Results)       {}

func (u *headroomUse) Look(lab *virtual.Lab) {
	for _, id := range u.net.Switches() {
		sw := lab.Switch(id)
		sw.Lock()
		for c, k := range sw.Stats().LosslessDrops {
			u.drops[c] += k
		}
		u.clones += sw.Stats().Drops[softswitch.DropClone]
		for p := range u.net.Nodes[id].Ports {
			stats := sw.Port(p + 1)
			if k := &stats.Class[manifest.LosslessClass]; k.Headroom > 0 && float64(k.MaxHeadroomBytes)*float64(u.had) >= float64(u.used)*float64(k.Headroom) {
				u.used, u.had = k.MaxHeadroomBytes, k.Headroom
			}
		}
		sw.Unlock()
	}
}

// useOf runs the case of a scenario, and fails if it loses packets.
func useOf(t *testing.T, text string, seed uint64) (*headroomUse, *result.Run) {
	t.Helper()
	s, err := Parse("headroom.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cases()[0]
	prog, err := c.Build(new(program.Cache))
	if err != nil {
		t.Fatal(err)
	}
	use := &headroomUse{net: c.Net()}
	run, err := c.Run(t.Context(), prog, seed, Options{Event: func(controlplane.Event) {}, Follow: func(Start) Follower { return use }})
	if err != nil {
		t.Fatal(err)
	}
	return use, run
}

// A buffer that has room for small frames was refused with PB-FS on Tofino, as if frames
// were Ethernet's.
func TestSmallFramesInASmallBuffer(t *testing.T) {
	s, err := Parse("small.yaml", []byte(`name: small
network:
  leaf_spine: {leaves: 3, spines: 2, hosts_per_leaf: 5, rate: 10Gbps, uplink_rate: 50Gbps, delay: 62ns}
  switch: {buffer: 43320B, mmu: conweave}
hosts: {mtu: 512, recovery: go-back-n, cc: {algorithm: none}}
profile: pbfs
target: tna
traffic:
- incast: {degree: 14, size: 2937B, times: 3, interval: 558ns, jitter: 1000ns}
until: 3ms
seeds: [464]
`))
	if err != nil {
		t.Fatal(err)
	}
	var cache program.Cache
	if _, err := s.Cases()[0].Build(&cache); err != nil {
		t.Error(err)
	}
}

// Each frame in flight may have a clone, such as PB-FS's postcard or RLB's warning. With a
// full buffer they took the headroom, and a frame was lost.
func TestClonesInAFullBuffer(t *testing.T) {
	use, _ := useOf(t, `name: clones
network:
  fat_tree: {k: 4, rate: 100Gbps, delay: 12ns}
  switch: {buffer: 37537B, mmu: conweave}
hosts: {mtu: 1500, recovery: out-of-order, cc: {algorithm: none}}
profile: rlb-pbfs
traffic:
- incast: {degree: 15, size: 6800B, times: 2, interval: 84ns}
- long: {from: h12 h2 h13 h14 h15 h5 h7 h8 h3 h9 h10 h11 h6 h1 h16 h4, to: h2 h13 h14 h15 h5 h7 h8 h3 h9 h10 h11 h6 h1 h16 h4 h12, size: 22307B}
until: 3ms
`, 460)
	if use.clones == 0 || use.used == 0 || use.drops != [softswitch.DropCauses]uint64{} {
		t.Errorf("%d clones were dropped, %d bytes of the headroom were used, lossless drops %v", use.clones, use.used, use.drops)
	}
}

// With a full buffer each acknowledgement at 800 Gb/s was followed by a PAUSE and a
// RESUME, which need twice its time on the link. The last PAUSE waited for all before it,
// and 7 frames were lost.
func TestAcknowledgementsInAFullBuffer(t *testing.T) {
	use, _ := useOf(t, `name: turns
network:
  leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 8, rate: 800Gbps, uplink_rate: 10Gbps, delay: 81ns}
  switch: {buffer: 1100617B, mtu: 1323, pfc: {xoff: 219428B}}
hosts: {mtu: 1206, recovery: out-of-order, cc: {algorithm: none}}
profile: ecmp
target: tna
traffic:
- incast: {degree: 15, size: 78373B, interval: 405ns, jitter: 1000ns}
- long: {from: h11 h9 h3 h7 h12 h16 h10 h5 h15 h6 h2 h14 h1 h4 h13 h8, to: h9 h3 h7 h12 h16 h10 h5 h15 h6 h2 h14 h1 h4 h13 h8 h11, size: 466304B}
until: 3ms
`, 124)
	if use.used == 0 || use.drops != [softswitch.DropCauses]uint64{} {
		t.Errorf("%d bytes of the headroom were used, lossless drops %v", use.used, use.drops)
	}
}

// No packet of a lossless class is dropped, whatever the frames, links, buffers,
// programs and traffic. Of each kind some draw uses at least two thirds of the headroom
// that was computed for it, so the headroom is not simply large. HEADROOM_DRAWS is the
// number of draws, HEADROOM_FIRST the number of the first, and HEADROOM_KIND a part of
// the name of their kind.
func TestNoLosslessDropAtAnyFrameSize(t *testing.T) {
	draws, first := 24, 0
	var only []int
	for _, s := range strings.Fields(os.Getenv("HEADROOM_ONLY")) {
		n, _ := strconv.Atoi(s)
		only = append(only, n)
	}
	if s := os.Getenv("HEADROOM_DRAWS"); s != "" {
		draws, _ = strconv.Atoi(s)
		first, _ = strconv.Atoi(os.Getenv("HEADROOM_FIRST"))
	}
	var cache program.Cache
	type most struct {
		ratio float64
		draws int
		text  string
	}
	kinds := make(map[string]*most)
	refused := 0
	for n := first; n < first+draws; n++ {
		if n > first && (n-first)%500 == 0 {
			t.Logf("%d draws", n-first)
		}
		if only != nil && !slices.Contains(only, n) {
			continue
		}
		d := drawHeadroom(uint64(n))
		if !strings.Contains(d.kind, os.Getenv("HEADROOM_KIND")) {
			continue
		}
		s, err := Parse("draw.yaml", []byte(d.text))
		if err != nil {
			if strings.Contains(err.Error(), "buffer") {
				refused++
				continue
			}
			t.Errorf("draw %d: %v\n%s", n, err, d.text)
			continue
		}
		c := s.Cases()[0]
		prog, err := c.Build(&cache)
		if err != nil && strings.Contains(err.Error(), "of a buffer of") {
			refused++
			continue
		}
		if err != nil {
			t.Errorf("draw %d: %v\n%s", n, err, d.text)
			continue
		}
		use := &headroomUse{net: c.Net()}
		_, err = c.Run(context.Background(), prog, s.Seeds[0], Options{Event: func(controlplane.Event) {}, Follow: func(Start) Follower { return use }})
		if err != nil {
			if !errors.Is(err, virtual.ErrDropped) && strings.Contains(err.Error(), "buffer") {
				refused++
				continue
			}
			t.Errorf("draw %d: %v\n%s", n, err, d.text)
			continue
		}
		for c, k := range use.drops {
			if k > 0 {
				t.Errorf("draw %d: %d packets of a lossless class were dropped: %v; the headroom of %d bytes took %d\n%s", n, k, softswitch.DropCause(c), use.had, use.used, d.text)
			}
		}
		k := kinds[d.kind]
		if k == nil {
			k = &most{}
			kinds[d.kind] = k
		}
		k.draws++
		if r := float64(use.used) / float64(use.had); use.had > 0 && r > k.ratio {
			k.ratio, k.text = r, d.text
		}
	}
	const share = 2. / 3
	worst := 0.
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		worst = max(worst, k.ratio)
		t.Logf("%-50s %4d draws, the worst used %.3f of its headroom", name, k.draws, k.ratio)
		if k.draws >= 50 && k.ratio < share {
			t.Errorf("%s: no draw of %d used more than %.3f of its headroom", name, k.draws, k.ratio)
		}
	}
	if worst < share {
		t.Errorf("no draw used more than %.3f of its headroom", worst)
	}
	t.Logf("%d draws, %d refused for lack of buffer", draws, refused)
}

// A permutation in a fat tree of 128 hosts loses nothing with packets of 2000 and
// 4000 bytes. With headroom for standard frames it lost 5 and 142.
func TestNoLosslessDropInAFatTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(49, 8))
	from := rng.Perm(128)
	names := func(shift int) string {
		var list []string
		for i := range from {
			list = append(list, fmt.Sprintf("h%d", from[(i+shift)%len(from)]+1))
		}
		return strings.Join(list, " ")
	}
	for _, mtu := range []int{2000, 4000} {
		text := fmt.Sprintf("name: tree\nnetwork:\n  fat_tree: {k: 8, rate: 100Gbps, delay: 1us}\n  switch: {buffer: 2MB, pfc: {alpha: 0.125}}\nhosts: {mtu: %d, cc: {algorithm: none}}\nprofile: ecmp\ntraffic:\n- long: {from: %s, to: %s, size: 600KB}\nuntil: 3ms\n",
			mtu, names(0), names(1))
		use, run := useOf(t, text, 1)
		if run.Summary.Finished != 128 || use.used == 0 || use.drops != [softswitch.DropCauses]uint64{} {
			t.Errorf("MTU %d: %d of 128 flows finished, %d bytes of the headroom were used, drops %v", mtu, run.Summary.Finished, use.used, use.drops)
		}
		t.Logf("MTU %d: %d of %d bytes of the headroom were used", mtu, use.used, use.had)
	}
}
