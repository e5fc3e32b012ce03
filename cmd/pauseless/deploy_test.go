// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"github.com/pauseless/pauseless/internal/bmv2"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/tool"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts in testdata/deploy build networks on this machine. Their conditions
// are requirements: [veth] root and a kernel with veth interfaces; [bmv2],
// [mininet], [ping], [iperf3] and [tshark] programs. Missing ones are printed. The
// command "frames FILE" counts the frames of a pcap file, "echoes NAMESPACE ADDRESS" sends
// pings until one is answered.
func TestDeployScripts(t *testing.T) {
	if !need.Isolated(t) {
		return
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/deploy",
		UpdateScripts: os.Getenv("UPDATE_GOLDEN") == "1",
		Setup: func(e *testscript.Env) error {
			e.Setenv("BMV2", os.Getenv("BMV2"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"frames": countFrames, "echoes": echoes},
		Condition: func(cond string) (bool, error) {
			err := have(cond)
			if err != nil {
				t.Logf("SKIP what needs %s: %v", cond, err)
			}
			return err == nil, nil
		},
	})
}

func have(what string) error {
	switch what {
	case "veth":
		return netns.Possible()
	case "bmv2":
		_, err := bmv2.Find("", "simple_switch_grpc")
		return err
	case "mininet":
		if err := have("ping"); err != nil {
			return err
		}
		return exec.Command("/usr/bin/python3", "-c", "import mininet").Run()
	case "iperf3", "tshark", "ping":
		_, err := tool.Find("", "", what)
		return err
	}
	return fmt.Errorf("no such condition")
}

// countFrames prints the numbers of RoCEv2 packets and PFC frames in a pcap file, by
// another reader of the format.
func countFrames(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	ts.Check(err)
	roce, pause, resume := 0, 0, 0
	for p := range gopacket.NewPacketSource(r, r.LinkType()).Packets() {
		if udp, ok := p.Layer(layers.LayerTypeUDP).(*layers.UDP); ok && udp.DstPort == 4791 {
			roce++
		}
		eth, ok := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
		const macControl, pfc = 0x8808, 0x0101 // IEEE 802.1Qbb
		if !ok || eth.EthernetType != macControl || len(eth.Payload) < 20 || binary.BigEndian.Uint16(eth.Payload) != pfc {
			continue
		}
		if eth.DstMAC.String() != "01:80:c2:00:00:01" {
			ts.Fatalf("a PFC frame to %v", eth.DstMAC)
		}
		const class = 3
		switch enabled, quanta := eth.Payload[3], binary.BigEndian.Uint16(eth.Payload[4+2*class:]); {
		case enabled&(1<<class) == 0:
		case quanta > 0:
			pause++
		default:
			resume++
		}
	}
	fmt.Fprintf(ts.Stdout(), "RoCEv2 %d PAUSE %d RESUME %d\n", roce, pause, resume)
}

// echoes sends ICMP echo requests to an address in a network namespace until one is
// answered, for at most a minute.
func echoes(ts *testscript.TestScript, _ bool, args []string) {
	var conn net.PacketConn
	ts.Check(netns.Within(args[0], func() (err error) {
		conn, err = net.ListenPacket("ip4:icmp", "0.0.0.0")
		return err
	}))
	defer conn.Close()
	to := &net.IPAddr{IP: net.ParseIP(args[1])}
	for range 60 {
		request := []byte{8, 0, 0xf7, 0xfe, 0, 0, 0, 1} // number 1, with its checksum
		_, err := conn.WriteTo(request, to)
		ts.Check(err)
		ts.Check(conn.SetReadDeadline(time.Now().Add(time.Second)))
		buf := make([]byte, 100)
		if n, from, err := conn.ReadFrom(buf); err == nil && n >= 8 && buf[0] == 0 && from.String() == args[1] {
			return
		}
	}
	ts.Fatalf("%s does not answer in %s", args[1], args[0])
}

// Without root, deploy returns an error before it makes anything.
func TestDeployWithoutRoot(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "pauseless-user")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	topology := filepath.Join(dir, "net.yaml")
	err = errors.Join(os.Chmod(dir, 0o755), os.Link(self, filepath.Join(dir, "pauseless")),
		os.WriteFile(topology, []byte("leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"deploy", "netns", topology, "--profile", "ecmp"},
		{"deploy", "netns", "--down", "net"},
		{"deploy", "mininet", topology, "--profile", "ecmp"},
	} {
		cmd := exec.Command(filepath.Join(dir, "pauseless"), args...)
		cmd.Dir = dir
		if os.Geteuid() == 0 {
			const nobody = 65534
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "needs root: run this with sudo") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}
