// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/yamlfile"
	"github.com/pauseless/pauseless/testbed/packets"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
)

// replaced returns the keys of the file that an arm replaces as a whole: a profile takes
// the place of a program, and the other way round.
func replaced(over yamlfile.Raw) []string {
	has := func(name string) bool {
		for _, key := range over.Keys() {
			if top, _, _ := strings.Cut(key, "."); top == name {
				return true
			}
		}
		return false
	}
	switch program, profile := has("program"), has("profile"); {
	case program && !profile:
		return []string{"profile", "set"}
	case profile && !program:
		return []string{"program"}
	}
	return nil
}

// program compiles the program of one's own of a case, and reads its entries.
func (r *reader) program(f *yamlfile.File, c *Case) {
	c.target = program.V1Model
	switch {
	case f.Has("profile"):
		f.Errorf("program", "both profile and program are given; remove one")
	case f.Has("set"):
		f.Errorf("set", "set gives parameters of profiles, and a program of one's own has none")
	case c.Target != "" && c.Target != program.V1Model:
		f.Errorf("target", "a program of one's own is for v1model, not for %s", c.Target)
	case c.BMv2.PacketRate > 0:
		f.Errorf("bmv2", "a program of one's own runs in the fabric as it is: leave out bmv2, and give its units with program.units")
	case c.net != nil && !c.Program.Given(c.net): // otherwise its file has errors
		f.Errorf("program", "no program: give p4, or switches with p4; the topology's file names none either")
	}
	if f.Err() != nil || c.net == nil {
		return
	}
	if r.addressed[c.net] == nil {
		r.addressed[c.net] = c.net.Addressed()
	}
	c.net = r.addressed[c.net]
	if !c.checkBuffer(f) {
		return
	}
	key := fmt.Sprintf("%s %p", f.CanonicalAt("program"), c.net)
	if c.own = r.built[key]; c.own != nil {
		return
	}
	own, err := c.Program.Build(c.net, program.Files{
		Resolve: func(name string) string { return resolve(r.dir, name) },
		Read:    r.readOwn,
	})
	var list diag.List
	switch {
	case errors.As(err, &list): // with positions in its own files
		for _, d := range list {
			r.add(d)
		}
		f.Errorf("program", "the program or its entries have errors")
	case err != nil:
		f.Errorf("program", "%v", err)
	}
	r.built[key], c.own = own, own
}

// readOwn reads a file of a program. One that does not exist is not a file of the
// scenario: programs are searched for in several folders.
func (r *reader) readOwn(name string) ([]byte, error) {
	before := len(r.s.files)
	data, err := r.read(name)
	if err != nil {
		r.s.files = r.s.files[:before]
	}
	return data, err
}

// packets prepares the single packets of a case, and checks what is expected of them.
func (r *reader) packets(f *yamlfile.File, c *Case) {
	if c.net == nil || len(c.Packets) == 0 && len(c.Expect) == 0 {
		return
	}
	for i := range c.Packets {
		if p := &c.Packets[i]; p.Pcap != "" {
			p.Pcap = resolve(r.dir, p.Pcap)
		}
	}
	r.refers(packets.Files(c.Packets)...)
	packets.Prepare(c.Packets, c.net, f, func(name string) (io.ReadCloser, error) {
		if r.open != nil {
			return r.open(name)
		}
		return infile.OpenLines(name)
	})
	packets.Check(c.Expect, c.Packets, c.net, f)
	if c.Open() {
		f.Errorf("packets", "packets and measure cannot be together: leave out measure")
	}
}

// packetMetric returns an error if a metric is of single packets that there are not.
func (s *Scenario) packetMetric(name string) error {
	if !result.OfPackets(name) {
		return nil
	}
	_, selector, dotted := strings.Cut(name, ".")
	var names []string
	for i := range s.Packets {
		names = append(names, cmp.Or(s.Packets[i].Name, fmt.Sprint(i+1)))
	}
	switch {
	case len(names) == 0:
		return fmt.Errorf("metric %s is of packets, and the scenario has none", name)
	case dotted && !slices.Contains(names, selector):
		return fmt.Errorf("metric %s: no series of packets is called %q%s", name, selector, diag.DidYouMean(selector, names))
	}
	return nil
}

// packetResults returns what became of single packets.
func packetResults(c *Case, r *packets.Run) (list []result.PacketSeries) {
	delays := make([][]float64, len(c.Packets))
	seen := make([]map[int]bool, len(c.Packets))
	for i := range c.Packets {
		list = append(list, result.PacketSeries{Name: c.Packets[i].Name, From: c.Packets[i].From, Sent: r.Sent(i)})
		seen[i] = make(map[int]bool)
	}
	for _, id := range r.Hosts() {
		latest, count := make([]int, len(list)), make([]int, len(list))
		for _, a := range r.At(id) {
			if a.Series < 0 {
				continue
			}
			s := &list[a.Series]
			if a.Answer {
				s.Answered++
				continue
			}
			s.Received++
			count[a.Series]++
			seen[a.Series][a.Index] = true
			delays[a.Series] = append(delays[a.Series], (a.At - a.Sent).Microseconds())
			if a.Index+1 < latest[a.Series] {
				s.OutOfOrder++
			}
			latest[a.Series] = max(latest[a.Series], a.Index+1)
			if len(a.Data) > packet.EthernetLen+1 && packet.Ethernet(a.Data).EtherType() == packet.EtherTypeIPv4 && a.Data[packet.EthernetLen+1]&3 == byte(packet.CE) {
				s.Marked++
			}
		}
		for i, n := range count {
			if n > 0 {
				list[i].At = append(list[i].At, result.PacketsAt{Host: c.net.Nodes[id].Name, Received: n})
			}
		}
	}
	for i := range list {
		s := &list[i]
		s.Lost = s.Sent - len(seen[i])
		if d := delays[i]; len(d) > 0 {
			sum := 0.0
			for _, x := range d {
				sum += x
			}
			s.AvgUS = sum / float64(len(d))
			s.P50US, s.P99US, s.MaxUS = result.Quantile(d, 0.5), result.Quantile(d, 0.99), slices.Max(d)
		}
	}
	return list
}
