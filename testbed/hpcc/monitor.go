// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// Kinds of output files.
const (
	FCTFile    = iota // WriteFCT
	PFCFile           // WritePFC
	QlenFile          // HPCC: lengths of queues, as a distribution
	UplinkFile        // ConWeave: bytes sent by leaves upwards, over time
	ConnFile          // ConWeave: flows of each host, over time
)

// Output is a file that a configuration says to write, in the simulator's format.
type Output struct {
	Kind int
	Key  string // in the configuration
	File string
	at   diag.Pos
}

// Place checks where a file would be written, and makes its folder: below the working
// folder, to which names are relative as in the simulator, or below the folder of the
// configuration. A configuration may be someone else's, so that a file outside of both
// is not written; the warning says so.
func (c *Config) Place(o *Output) (ok bool, warnings diag.List) {
	refuse := func(format string, args ...any) (bool, diag.List) {
		warnings.Warnf(o.at, code, "%s: %s is not written: %s", o.Key, o.File, fmt.Sprintf(format, args...))
		return false, warnings
	}
	var bases []string
	for _, dir := range []string{".", filepath.Dir(c.name)} {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			if real, err = filepath.Abs(real); err == nil {
				bases = append(bases, real)
			}
		}
	}
	file, err := filepath.Abs(o.File)
	if err != nil {
		return refuse("%v", err)
	}
	dir := filepath.Dir(file)
	// The part of the folder that exists decides, with its links followed.
	var missing []string
	there := dir
	for {
		if real, err := filepath.EvalSymlinks(there); err == nil {
			there = real
			break
		}
		up := filepath.Dir(there)
		if up == there {
			return refuse("no folder on the way to it exists")
		}
		missing = append(missing, filepath.Base(there))
		there = up
	}
	slices.Reverse(missing)
	dir = filepath.Join(append([]string{there}, missing...)...)
	target := filepath.Join(dir, filepath.Base(file))
	if real, err := filepath.EvalSymlinks(target); err == nil {
		target = real
	}
	if !slices.ContainsFunc(bases, func(b string) bool { return below(target, b) }) {
		hint := "change the name in the configuration"
		switch o.Kind {
		case FCTFile:
			hint = "name it with --fct"
		case PFCFile:
			hint = "name it with --pfc"
		}
		return refuse("it is outside of the working folder and of the configuration's; %s", hint)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return refuse("%v", err)
	}
	if err := outfile.Check(target); err != nil {
		return refuse("%v", err)
	}
	return true, nil
}

// below reports whether a file is in a folder or below it.
func below(file, folder string) bool {
	rel, err := filepath.Rel(folder, file)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// Recorder samples a run for the outputs of a configuration. It implements
// scenario.Follower.
type Recorder struct {
	t       *topo.Topology
	m       Monitor
	flows   []fabric.Flow
	queues  bool
	links   bool
	next    vtime.Time // of the sample
	last    vtime.Time // no sample is after it
	frame   int64      // bytes of a full data frame here
	theirs  int64      // and there
	lengths map[[2]int][]int
	qlen    strings.Builder
	uplink  strings.Builder
	conn    strings.Builder
	present map[[2]int]int64 // lengths at the last look, in bytes
	order   []int            // flows by start
	open    []int            // of these, those that have started and not been seen to end
}

// qlenDump is the interval of the lines in the file of queue lengths.
const qlenDump = 100 * vtime.Millisecond

// NewRecorder returns a recorder for the outputs of a configuration, or nil if they
// need no samples.
func (c *Config) NewRecorder(t *topo.Topology, flows []fabric.Flow) *Recorder {
	r := &Recorder{
		t: t, m: c.Monitor, flows: flows, next: c.Monitor.From, last: c.Monitor.Until,
		frame: int64(c.Hosts.MTU + roce.DataOverhead), theirs: int64(c.Hosts.MTU + headerBytes),
		lengths: make(map[[2]int][]int), present: make(map[[2]int]int64),
	}
	if c.Stop > 0 {
		r.last = min(r.last, c.Stop)
	}
	for _, o := range c.Outputs {
		r.queues = r.queues || o.Kind == QlenFile
		r.links = r.links || o.Kind == UplinkFile || o.Kind == ConnFile
	}
	if !r.queues && !r.links {
		return nil
	}
	for i := range flows {
		r.order = append(r.order, i)
	}
	slices.SortStableFunc(r.order, func(a, b int) int { return cmp.Compare(flows[a].Start, flows[b].Start) })
	if r.queues {
		// Samples after the last lines appear in no file.
		steps := (max(r.last-r.next, 0) + r.m.Every - 1) / r.m.Every
		r.last = r.next + steps*r.m.Every
		for ; r.last%qlenDump != 0; r.last -= r.m.Every {
			if r.last < r.next {
				break
			}
		}
		first := vtime.Never
		for i := range flows {
			first = min(first, flows[i].Start)
		}
		r.fill(min(first, r.last+1))
	}
	return r
}

// Next implements scenario.Follower.
func (r *Recorder) Next() vtime.Time {
	if r.next > r.last {
		return vtime.Never
	}
	return r.next
}

// Look implements scenario.Follower.
func (r *Recorder) Look(lab *virtual.Lab) {
	now := lab.Fabric.Now()
	if r.queues {
		r.measure(lab)
	}
	if now != r.next || now > r.last {
		return
	}
	if r.queues {
		r.count(1)
	} else {
		r.sampleLinks(lab)
	}
	r.next += r.m.Every
}

// measure reads the length of each switch's egress queues, in bytes of the
// simulator's frames.
func (r *Recorder) measure(lab *virtual.Lab) {
	for _, id := range r.t.Switches() {
		sw := lab.Switch(id)
		sw.Lock()
		for p := range r.t.Nodes[id].Ports {
			var bytes int64
			stats := sw.Port(p + 1)
			for c := range stats.Class {
				bytes += stats.Class[c].QueueBytes
			}
			r.present[[2]int{id, p + 1}] = bytes * r.theirs / r.frame
		}
		sw.Unlock()
	}
}

// count adds the present lengths to the distributions a number of times, and writes
// these if it is time.
func (r *Recorder) count(times int) {
	for _, id := range r.t.Switches() {
		for p := range r.t.Nodes[id].Ports {
			key := [2]int{id, number(r.t, id, p+1)}
			kb, l := int(r.present[[2]int{id, p + 1}]/1000), r.lengths[key]
			for kb >= len(l) {
				l = append(l, 0)
			}
			l[kb] += times
			r.lengths[key] = l
		}
	}
	r.dump()
}

// dump writes the distributions so far, every 100 ms.
func (r *Recorder) dump() {
	if r.next%qlenDump != 0 {
		return
	}
	fmt.Fprintf(&r.qlen, "time: %d\n", r.next.Nanoseconds())
	keys := slices.SortedFunc(maps.Keys(r.lengths), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	for _, k := range keys {
		fmt.Fprintf(&r.qlen, "%d %d", k[0], k[1])
		for _, n := range r.lengths[k] {
			fmt.Fprintf(&r.qlen, " %d", n)
		}
		r.qlen.WriteByte('\n')
	}
}

// sampleLinks notes the bytes that each leaf has sent to other switches, and the flows
// of each host: those under way, and those of them that have data to send.
func (r *Recorder) sampleLinks(lab *virtual.Lab) {
	now := r.next.Nanoseconds()
	for _, id := range r.t.Switches() {
		n := &r.t.Nodes[id]
		if n.Tier != 1 {
			continue
		}
		for i, p := range n.Ports {
			if r.t.Nodes[p.Peer].Kind != topo.Switch || r.t.Links[p.Link].Unused {
				continue
			}
			end := 0
			if l := &r.t.Links[p.Link]; l.B.Node == id {
				end = 1
			}
			sent := lab.Fabric.Sent(p.Link, end)
			fmt.Fprintf(&r.uplink, "%d,%d,%d,%d\n", now, id, number(r.t, id, i+1), int64(sent.Bytes)*r.theirs/r.frame)
		}
	}
	for len(r.order) > 0 && r.flows[r.order[0]].Start < r.next {
		r.open, r.order = append(r.open, r.order[0]), r.order[1:]
	}
	r.open = slices.DeleteFunc(r.open, lab.Fabric.Ended)
	open, active := make(map[int]int), make(map[int]int)
	for _, i := range r.open {
		host := r.t.Nodes[r.flows[i].Src].Host
		open[host]++
		if fl := lab.Fabric.Flow(i); fl.Sent < fl.Packets {
			active[host]++
		}
	}
	for _, id := range r.t.Hosts() {
		if r.t.Nodes[id].Host == id {
			fmt.Fprintf(&r.conn, "%d,%d,%d,%d\n", now, id, open[id], active[id])
		}
	}
}

// Tap implements scenario.Follower.
func (r *Recorder) Tap(*topo.Node) fabric.Tap { return nil }

// End implements scenario.Follower. In the simulator the samples of queues go on to
// their end.
func (r *Recorder) End(*fabric.Results) {
	if r.queues {
		r.fill(r.last + 1)
	}
}

// fill counts the present lengths for all samples before a time.
func (r *Recorder) fill(until vtime.Time) {
	for ; r.next < until; r.next += r.m.Every {
		// Those up to the next lines at once.
		times := max(min(until-1, (r.next+qlenDump-1)/qlenDump*qlenDump)-r.next, 0) / r.m.Every
		r.next += times * r.m.Every
		r.count(int(times) + 1)
	}
}

// Write writes the samples that an output is for.
func (r *Recorder) Write(w io.Writer, kind int) error {
	bw := bufio.NewWriter(w)
	switch kind {
	case QlenFile:
		bw.WriteString(r.qlen.String())
	case UplinkFile:
		bw.WriteString(r.uplink.String())
	case ConnFile:
		bw.WriteString(r.conn.String())
	}
	return bw.Flush()
}
