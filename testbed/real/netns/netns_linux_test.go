// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/tool"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/relay"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The test program is also run as a switch, which only listens, and as a
// process that builds a network and is killed.
func TestMain(m *testing.M) {
	if addr := os.Getenv("TEST_SWITCH"); addr != "" {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for {
			conn, err := l.Accept()
			if err != nil {
				os.Exit(1)
			}
			conn.Close()
		}
	}
	if file := os.Getenv("TEST_RELAY"); file != "" {
		c, err := relay.ReadConfig(file)
		if err == nil {
			err = relay.Run(context.Background(), c, func(string) {})
		}
		fmt.Println(err)
		os.Exit(1)
	}
	if name := os.Getenv("TEST_BUILDER"); name != "" {
		RunDir = os.Getenv("TEST_RUNDIR")
		c, err := config(name)
		if err == nil {
			_, err = Up(context.Background(), c)
		}
		fmt.Println("up:", err)
		select {}
	}
	// Tests of another checkout use the same names.
	if err := need.Alone("networks"); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	sweep()
	os.Exit(m.Run())
}

// sweep removes what tests left that were killed.
func sweep() {
	if Possible() != nil {
		return
	}
	for _, name := range []string{"zt-a", "zt-b", "zt-c", "zt-d", "zt-r"} {
		for _, p := range unlisted(name, nil) {
			p.stop()
		}
	}
	links, _ := netlink.LinkList()
	for _, l := range links {
		if strings.HasPrefix(l.Attrs().Name, "zt") {
			removeLink(l.Attrs().Name)
		}
	}
	spaces, _ := filepath.Glob("/run/netns/zt-*")
	for _, s := range spaces {
		removeNamespace(filepath.Base(s))
	}
}

const network = `
leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}
`

// switches is the number of the network's switches, which have consecutive ports.
const switches = 3

// firstPort returns the port of the first switch, which all processes of a test share:
// the first of three that are free when it is called first.
var firstPort = sync.OnceValue(func() int {
	if port, err := strconv.Atoi(os.Getenv("TEST_PORT")); err == nil {
		return port
	}
	for {
		addr, _, err := tool.HoldPort() // until the end of the process, as the others
		if err != nil {
			panic(err)
		}
		first := netip.MustParseAddrPort(addr).Port()
		free := int(first)+switches < 1<<16
		for i := range switches {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", int(first)+i))
			if free = free && err == nil; err == nil {
				l.Close()
			}
		}
		if free {
			os.Setenv("TEST_PORT", fmt.Sprint(first))
			return int(first)
		}
	}
})

func config(name string) (Config, error) {
	t, err := topo.Parse("t.yaml", []byte(network))
	if err != nil {
		return Config{}, err
	}
	p, err := local.New(t, local.Options{Kind: local.SoftSwitch, GRPC: firstPort(), Prefix: "zt", Direct: true})
	if err != nil {
		return Config{}, err
	}
	return Config{Name: name, Plan: p, Program: func(s *local.Switch) (string, []string, error) {
		return "/usr/bin/env", []string{"TEST_BUILDER=", "TEST_SWITCH=" + s.GRPC, os.Args[0]}, nil
	}}, nil
}

// needRoot skips the test where interfaces cannot be made.
func needRoot(t *testing.T) {
	t.Helper()
	need.No(t, Possible())
	old := RunDir
	RunDir = t.TempDir()
	t.Cleanup(func() { RunDir = old })
}

// leftovers lists the interfaces, namespaces and switches of the tests' networks.
func leftovers(t *testing.T) (found []string) {
	t.Helper()
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if strings.HasPrefix(l.Attrs().Name, "zt") {
			found = append(found, "link "+l.Attrs().Name)
		}
	}
	spaces, _ := filepath.Glob("/run/netns/zt*")
	for _, s := range spaces {
		found = append(found, "netns "+s)
	}
	for i := range switches {
		addr := fmt.Sprintf("127.0.0.1:%d", firstPort()+i)
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			found = append(found, "a switch at "+addr)
		}
	}
	return found
}

func TestUpAndDown(t *testing.T) {
	needRoot(t)
	c, err := config("zt-a")
	if err != nil {
		t.Fatal(err)
	}
	n, err := Up(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	// A host sends a frame, and the switch's interface receives it.
	link, err := netlink.LinkByName("ztl1-eth1")
	if err != nil {
		t.Fatal(err)
	}
	before := link.Attrs().Statistics.RxPackets
	if _, err := exec.LookPath("ping"); err != nil {
		t.Log("SKIP: no ping to send a frame with")
	} else {
		// No host answers; that the frame was sent is enough.
		out, _ := exec.Command("ip", "netns", "exec", "zt-a-h1", "ping", "-c", "1", "-W", "0.1", "10.0.1.2").CombinedOutput()
		if !need.Poll(func() bool {
			link, err := netlink.LinkByName("ztl1-eth1")
			if err != nil {
				t.Fatal(err)
			}
			return link.Attrs().Statistics.RxPackets > before
		}) {
			t.Fatalf("the frame of a host does not come out at its switch: %s", out)
		}
	}
	if names, err := List(); err != nil || !slices.Equal(names, []string{"zt-a"}) {
		t.Errorf("list: %v, %v", names, err)
	}
	if _, err := Up(t.Context(), c); err == nil || !strings.Contains(err.Error(), "network zt-a is up already") {
		t.Errorf("up twice: %v", err)
	}
	other := c
	other.Name = "zt-b"
	if _, err := Up(t.Context(), other); err == nil || !strings.Contains(err.Error(), "interface ztl1-eth1 exists already") {
		t.Errorf("another network with the same interfaces: %v", err)
	}
	if len(leftovers(t)) == 0 {
		t.Error("the failed second network took the first one down")
	}
	if err := n.KillSwitch("l1"); err != nil {
		t.Fatal(err)
	}
	if err := n.StartSwitch(t.Context(), "l1"); err != nil {
		t.Fatal(err)
	}
	if err := n.Down(); err != nil {
		t.Fatal(err)
	}
	if l := leftovers(t); len(l) > 0 {
		t.Errorf("left over: %v", l)
	}
	if err := Down("zt-a"); err == nil || !strings.Contains(err.Error(), "no network zt-a is up") {
		t.Errorf("down twice: %v", err)
	}
}

// A host's kernel answered RoCEv2 packets with ICMP port unreachable while no
// host ran.
func TestKernelDoesNotAnswerRoCE(t *testing.T) {
	needRoot(t)
	c, err := config("zt-a")
	if err != nil {
		t.Fatal(err)
	}
	n, err := Up(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Down()
	s, err := Open("", "ztl1-eth1")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const answered = 4792
	to, from := c.Plan.Hosts[0], c.Plan.Hosts[1]
	for _, port := range []uint16{packet.PortRoCEv2, packet.PortINT, packet.PortPINT, packet.PortPostcard, answered} {
		ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: from.Addr.Addr().AsSlice(), DstIP: to.Addr.Addr().AsSlice()}
		udp := &layers.UDP{SrcPort: 1234, DstPort: layers.UDPPort(port)}
		udp.SetNetworkLayerForChecksum(ip)
		b := gopacket.NewSerializeBuffer()
		err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
			&layers.Ethernet{SrcMAC: from.MAC[:], DstMAC: to.MAC[:], EthernetType: layers.EthernetTypeIPv4}, ip, udp, gopacket.Payload("payload"))
		if err == nil {
			err = s.Send(b.Bytes())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := 0
	err = s.Each(ctx, func(c Captured) bool {
		if ip := packet.FindIPv4(c.Data); !c.Out && ip != nil && ip.Protocol() == uint8(layers.IPProtocolICMPv4) {
			// The ICMP header has 8 bytes; the packet that it is about follows.
			got = int(binary.BigEndian.Uint16(ip.Payload()[8+20+2:]))
		}
		return got == 0
	})
	if err != nil || got != answered {
		t.Errorf("the first ICMP message is about port %d (%v), want %d", got, err, answered)
	}
}

// The relay gives links their delay, and loses what a fault says.
func TestRelayedLinks(t *testing.T) {
	needRoot(t)
	topology, err := topo.Parse("t.yaml", []byte(network))
	if err != nil {
		t.Fatal(err)
	}
	p, err := local.New(topology, local.Options{Kind: local.SoftSwitch, PacketRate: 1000, Prefix: "zt"})
	if err != nil {
		t.Fatal(err)
	}
	p.Switches = slices.Clone(p.Switches)
	for i := range p.Switches {
		p.Switches[i].GRPC, p.Switches[i].Metrics = need.Port(t), ""
	}
	n, err := Up(t.Context(), Config{Name: "zt-r", Plan: p,
		Program: func(s *local.Switch) (string, []string, error) {
			return "/usr/bin/env", []string{"TEST_BUILDER=", "TEST_SWITCH=" + s.GRPC, os.Args[0]}, nil
		},
		Relay: func(file string) (string, []string, error) {
			return "/usr/bin/env", []string{"TEST_BUILDER=", "TEST_SWITCH=", "TEST_RELAY=" + file, os.Args[0]}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Down()
	from, err := Open("zt-r-h1", local.HostInterface)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := Open("", p.Hosts[0].Switch)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	// Each frame arrives once, in order, and not before the link's delay of 2 us, 5000
	// times slower, and the time of its bytes at 8 Mb/s.
	const frames, length = 30, 1000
	const least = 10*time.Millisecond + length*time.Microsecond
	var begun [frames + 1]time.Time
	send := func(i int) {
		f := make([]byte, length)
		copy(f, p.Hosts[1].MAC[:])
		f[12], f[13], f[14] = 0x88, 0xb5, byte(i)
		begun[i] = time.Now()
		if err := from.Send(f); err != nil {
			t.Fatal(err)
		}
	}
	for i := range frames {
		send(i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	next := 0
	receive := func(until int) {
		err := to.Each(ctx, func(c Captured) bool {
			if len(c.Data) != length {
				return true
			}
			if i := int(c.Data[14]); i != next {
				t.Errorf("frame %d came after frame %d", i, next-1)
			}
			if took := c.Time.Sub(begun[next]); took < least {
				t.Errorf("frame %d took %v, less than its link's %v", next, took, least)
			}
			next++
			return next < until
		})
		if err != nil || next < until {
			t.Fatalf("%d frames came, want %d: %v", next, until, err)
		}
	}
	receive(frames)
	host := slices.IndexFunc(topology.Links, func(l topo.Link) bool {
		return l.ID == topology.Nodes[p.Hosts[0].Node].Ports[0].Link
	})
	for end := range 2 {
		if _, err := relay.Ask(Control("zt-r"), relay.Request{Faults: []relay.Fault{{Cable: host, To: end, From: time.Now().Add(-time.Hour), Loss: 1}}}); err != nil {
			t.Fatal(err)
		}
		// In one of the two directions the frame is lost.
		send(next)
		var s relay.Stats
		if !need.Poll(func() bool {
			var err error
			if s, err = relay.Ask(Control("zt-r"), relay.Request{}); err != nil || s.Missed > 0 {
				t.Fatalf("%+v, %v", s, err)
			}
			return s.Lost+s.Frames >= frames+uint64(end)+1
		}) {
			t.Fatal("the frame was neither carried nor lost")
		}
		if end == 1 && s.Lost != 1 {
			t.Errorf("%d frames were lost, want 1", s.Lost)
		}
	}
	if _, err := relay.Ask(Control("zt-r"), relay.Request{Faults: []relay.Fault{{Cable: 1000}}}); err == nil || !strings.Contains(err.Error(), "cable 1000") {
		t.Errorf("a fault of a cable that is not there: %v", err)
	}
	if err := n.Down(); err != nil {
		t.Fatal(err)
	}
	if l := leftovers(t); len(l) > 0 {
		t.Errorf("left over: %v", l)
	}
}

func TestDownAfterACrash(t *testing.T) {
	needRoot(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // for the builder to be up
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_BUILDER=zt-c", "TEST_RUNDIR="+RunDir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	cmd.Process.Kill()
	cmd.Wait()
	// As if it had crashed between the start of the last switch and its line.
	journal := filepath.Join(Dir("zt-c"), "journal")
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	text = text[:bytes.LastIndex(bytes.TrimSpace(text), []byte("\n"))+1]
	if err := os.WriteFile(journal, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if line != "up: <nil>\n" {
		t.Fatal(line)
	}
	if len(leftovers(t)) == 0 {
		t.Fatal("nothing was left after the crash")
	}
	if err := Down("zt-c"); err != nil {
		t.Fatal(err)
	}
	if l := leftovers(t); len(l) > 0 {
		t.Errorf("left over: %v", l)
	}
}

func TestFailedUpLeavesNothing(t *testing.T) {
	needRoot(t)
	c, err := config("zt-d")
	if err != nil {
		t.Fatal(err)
	}
	good := c.Program
	c.Program = func(s *local.Switch) (string, []string, error) {
		if s.Name == "s1" {
			return "/bin/sh", []string{"-c", "echo no such program loaded; exit 3"}, nil
		}
		return good(s)
	}
	if _, err := Up(t.Context(), c); err == nil || !strings.Contains(err.Error(), "switch s1 ended at once: exit status 3") || !strings.Contains(err.Error(), "no such program loaded") {
		t.Errorf("got %v", err)
	}
	if l := leftovers(t); len(l) > 0 {
		t.Errorf("left over: %v", l)
	}
}

func TestOnlyProcessesOfTheNetworkAreEnded(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	// The journal's process has the same id and another start time.
	if err := (object{kind: "process", name: "l1", pid: cmd.Process.Pid, started: "1"}).stop(); err != nil {
		t.Fatal(err)
	}
	if startTime(cmd.Process.Pid) == "" {
		t.Error("another program's process was ended")
	}
}

func TestIncompleteJournalIsRead(t *testing.T) {
	old := RunDir
	RunDir = t.TempDir()
	defer func() { RunDir = old }()
	if err := os.Mkdir(Dir("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	whole := sealed("netns x-h1") + "\n" + sealed("link l1-eth1") + "\n" + sealed("process 123 456 l1") + "\n"
	text := whole + sealed("process 1 2 init") + "\n" + sealed("process x y z") + "\nlin"
	if err := os.WriteFile(filepath.Join(Dir("x"), "journal"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := readJournal("x")
	want := []object{{"process", "l1", 123, "456"}, {"link", "l1-eth1", 0, ""}, {"netns", "x-h1", 0, ""}}
	if err == nil || !slices.Equal(got, want) || !strings.Contains(err.Error(), "journal:4: \"process 1 2 init ") || !strings.Contains(err.Error(), "journal:5:") || strings.Contains(err.Error(), "journal:6:") {
		t.Errorf("got %v, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(Dir("x"), "journal"), []byte(sealed("netns x-h1")+"\nlin"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := readJournal("x"); err != nil || len(got) != 1 {
		t.Errorf("an incomplete last line: %v, %v", got, err)
	}
	// A bit that flips names no other object: those of another network were removed.
	for bit := range 8 * len(whole) {
		bad := []byte(whole)
		bad[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(filepath.Join(Dir("x"), "journal"), bad, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := readJournal("x")
		if err == nil && !slices.Equal(got, want) {
			t.Errorf("bit %d flips, and the objects are %v", bit, got)
		}
		for _, o := range got {
			if !slices.Contains(want, o) {
				t.Errorf("bit %d flips, and an object is %v", bit, o)
			}
		}
	}
}

// The journal of one network in the place of another's names no objects: `down x` removed
// those of y.
func TestJournalOfAnotherNetwork(t *testing.T) {
	old := RunDir
	RunDir = t.TempDir()
	defer func() { RunDir = old }()
	for _, name := range []string{"x", "y"} {
		j, err := newJournal(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(j.add("netns %s-h1", name), j.file.Close()); err != nil {
			t.Fatal(err)
		}
		if got, err := readJournal(name); err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if err := os.Rename(filepath.Join(Dir("y"), "journal"), filepath.Join(Dir("x"), "journal")); err != nil {
		t.Fatal(err)
	}
	if got, err := readJournal("x"); got != nil || err == nil || !strings.Contains(err.Error(), "is the journal of network y") || !strings.Contains(err.Error(), "move it to "+Dir("y")) {
		t.Errorf("the journal of y: %v, %v", got, err)
	}
}

func TestInvalidNames(t *testing.T) {
	for _, name := range []string{"", "..", "a/b", "A", "-a", strings.Repeat("a", 33)} {
		if err := Down(name); err == nil || !strings.Contains(err.Error(), "use up to 32 of a-z") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Switches have a higher priority than other programs.
func TestSwitchesHavePriority(t *testing.T) {
	cmd := exec.Command("nice")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := startAhead(cmd, earlyTurn); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	mine, err := exec.Command("nice").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := make(chan error)
	go func() {
		runtime.LockOSThread() // ends with the goroutine
		allowed <- unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), aheadOf)
	}()
	want := fmt.Sprintln(aheadOf)
	if err := <-allowed; err != nil {
		want = string(mine)
	} else if string(mine) == want {
		t.Errorf("this program has the nice value of its switches, %d", aheadOf)
	}
	if out.String() != want {
		t.Errorf("nice value %q, want %q", out.String(), want)
	}
}

// A socket that was opened while other interfaces had traffic received frames
// of theirs first, and counted frames as missed.
func TestSocketReceivesItsInterfaceOnly(t *testing.T) {
	need.No(t, Possible())
	name := fmt.Sprintf("pl%ds", os.Getpid())
	quiet := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name + "p"}
	if err := netlink.LinkAdd(quiet); err != nil {
		t.Fatal(err)
	}
	defer netlink.LinkDel(quiet)
	quietIPv6(name)
	if err := netlink.LinkSetUp(quiet); err != nil {
		t.Fatal(err)
	}
	elsewhere, err := net.Dial("udp4", "127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	var stop atomic.Bool
	var sender sync.WaitGroup
	sender.Go(func() {
		for frame := make([]byte, 1000); !stop.Load(); {
			elsewhere.Write(frame)
		}
	})
	defer sender.Wait()
	defer stop.Store(true)
	received := 0
	for range 60 {
		s, err := Open("", name)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := s.file.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		raw.Control(func(fd uintptr) {
			if n, _, err := unix.Recvfrom(int(fd), s.buf, unix.MSG_DONTWAIT); err == nil && n > 0 {
				received++
			}
		})
		received += s.Missed()
		s.Close()
	}
	if received > 0 {
		t.Errorf("a socket on a quiet interface received %d frames", received)
	}
}

// A server that listens at a switch's address already was mistaken for the
// switch.
func TestUsedPortIsRefused(t *testing.T) {
	l, err := net.Listen("tcp", need.Port(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := checkPort(l.Addr().String()); err == nil || !strings.Contains(err.Error(), "address already in use: is another network up?") {
		t.Errorf("got %v", err)
	}
	l.Close()
	if err := errors.Join(checkPort(l.Addr().String()), checkPort("")); err != nil {
		t.Error(err)
	}
}

// A host's command that had ended before it was noted made a journal that was refused: the
// network could not be taken down.
func TestEndedProcessIsNotInTheJournal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "journal"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	j := &journal{f}
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if err := j.addProcess(cmd.Process.Pid, "h1"); err != nil {
		t.Fatal(err)
	}
	if err := j.addProcess(os.Getpid(), "h2"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	if want := sealed(fmt.Sprintf("process %d %s h2", os.Getpid(), startTime(os.Getpid()))) + "\n"; string(text) != want {
		t.Errorf("journal %q, want %q", text, want)
	}
}
