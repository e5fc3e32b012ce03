// SPDX-License-Identifier: Apache-2.0

package exercises

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/virtual"

	"google.golang.org/protobuf/encoding/prototext"
)

// elsewhere runs an unchanged controller of the tutorials, but replaces the
// addresses and device ids of the switches in its text, and prints when a clone session
// exists. Of p4runtime-shell it needs only the name of one exception.
const elsewhere = `
import runpy, sys
where = dict(a.split("=") for a in sys.argv[2:])
import p4runtime_lib.switch
init = p4runtime_lib.switch.SwitchConnection.__init__
def at(self, name=None, address=None, device_id=0, **options):
    address, device = where[name].split("/")
    init(self, name=name, address=address, device_id=int(device), **options)
p4runtime_lib.switch.SwitchConnection.__init__ = at
write = p4runtime_lib.switch.SwitchConnection.WritePREEntry
def say(self, entry):
    write(self, entry)
    print("clone session on", self.name)
p4runtime_lib.switch.SwitchConnection.WritePREEntry = say
try:
    import p4runtime_sh.p4runtime
except ImportError:
    import types
    shell = types.ModuleType("p4runtime_sh.p4runtime")
    shell.P4RuntimeWriteException = Exception
    sys.modules["p4runtime_sh"] = types.ModuleType("p4runtime_sh")
    sys.modules["p4runtime_sh"].p4runtime = sys.modules["p4runtime_sh.p4runtime"] = shell
sys.argv = sys.argv[1:2]
runpy.run_path(sys.argv[0], run_name="__main__")
`

// controller is a running Python controller.
type controller struct {
	t   testing.TB
	mu  sync.Mutex
	new *sync.Cond // out has grown, or the controller has ended
	out bytes.Buffer
	err error // not nil once it has ended
	end func()
}

func (c *controller) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.new.Broadcast()
	return c.out.Write(p)
}

// interpreter returns Python and its environment, or skips the test if it lacks modules.
func interpreter(t testing.TB, modules string) (python string, environ []string) {
	t.Helper()
	python = need.Tool(t, "PYTHON3", "python3")
	utils := filepath.Join(filepath.Dir(checkout(t)), "utils")
	environ = append(os.Environ(), "PYTHONUNBUFFERED=1", "PYTHONPATH="+utils+string(os.PathListSeparator)+os.Getenv("PYTHONPATH"))
	check := exec.Command(python, "-c", "import "+modules)
	check.Env = environ
	if err := check.Run(); err != nil {
		need.No(t, errors.New("python3 cannot import "+modules))
	}
	return python, environ
}

// folder returns a folder with a program where the exercise's Makefile puts it.
func folder(t testing.TB, program string, p controlplane.Pipeline) string {
	t.Helper()
	dir := t.TempDir()
	info, err := prototext.Marshal(p.P4Info)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(program), ".p4")
	for file, data := range map[string][]byte{"build/" + name + ".json": p.Config, "build/" + name + ".p4.p4info.txtpb": info, "logs/.keep": nil} {
		file = filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, data, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run starts Python in a folder. It ends with the test, or before by end.
func run(t testing.TB, python string, environ []string, dir string, args ...string) *controller {
	t.Helper()
	c := &controller{t: t}
	c.new = sync.NewCond(&c.mu)
	cmd := exec.Command(python, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, environ, c, c
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := cmd.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err = err; err == nil {
			c.err = io.EOF
		}
		c.new.Broadcast()
	}()
	c.end = func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	}
	t.Cleanup(c.end)
	return c
}

// python starts the exercise's own controller.
func (n *network) python(program, modules string) *controller {
	n.Helper()
	python, environ := interpreter(n, modules)
	args := []string{"-c", elsewhere, filepath.Join(n.dir, "solution", "mycontroller.py")}
	for name, d := range n.switches {
		args = append(args, name+"="+d.addr+"/1")
	}
	return run(n, python, environ, folder(n, program, n.program(program)), args...)
}

// await waits until the controller has printed a text n times, at most for
// patience.
func (c *controller) await(times int, text string) {
	c.t.Helper()
	stop := time.AfterFunc(patience, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err == nil {
			c.err = errors.New("it prints no more")
		}
		c.new.Broadcast()
	})
	defer stop.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for strings.Count(c.out.String(), text) < times {
		if c.err != nil {
			c.t.Fatalf("want %q %d times: %v\n%s", text, times, c.err, c.out.String())
		}
		c.new.Wait()
	}
}

// The controller of the exercise gives the switches their program and entries,
// reads them back with names, and counts.
func TestPythonP4Runtime(t *testing.T) {
	exercise(t, "p4runtime", "topology.json", func(n *network) {
		c := n.python("advanced_tunnel.p4", "p4runtime_lib.helper, p4runtime_lib.bmv2")
		c.await(1, "s2 MyIngress.egressTunnelCounter 100: 0 packets (0 bytes)")
		c.await(2, "MyIngress.myTunnel_exact:  hdr.myTunnel.dst_id b'd' -> MyIngress.myTunnel_") // on s1 and s2
		data := ping(n, "h1", n.ip["h2"])
		for range 3 {
			if got := n.only("h1", "h2", data); !bytes.Equal(got[:6], n.mac["h2"]) || !bytes.Equal(got[6:], data[6:]) {
				t.Errorf("h2 received % x, sent % x", got, data)
			}
		}
		n.only("h2", "h1", ping(n, "h2", n.ip["h1"]))
		for _, line := range []string{"s1 MyIngress.ingressTunnelCounter 100: 3 packets", "s2 MyIngress.egressTunnelCounter 100: 3 packets",
			"s2 MyIngress.ingressTunnelCounter 200: 1 packets", "s1 MyIngress.egressTunnelCounter 200: 1 packets"} {
			c.await(1, line)
		}
	})
}

// The controller of the exercise gets the first packet of a flow, sends it on,
// adds an entry, and deletes it when it has been idle for three seconds.
func TestPythonFlowCache(t *testing.T) {
	exercise(t, "flowcache", "topology.json", func(n *network) {
		c := n.python("solution/flowcache.p4", "p4runtime_lib.helper, p4runtime_lib.bmv2, scapy.all")
		data := n.udp("h1", n.ip["h2"], 0)
		cached := func(d *device, in, out int) int {
			n.Helper()
			return len(slices.DeleteFunc(d.send(in, data), func(f frame) bool {
				return f.Port != out || f.Data[14+1] != 5<<2 || f.Data[14+8] != 63 || !bytes.Equal(f.Data[:6], n.mac["h2"])
			}))
		}
		c.await(1, "clone session on s3")
		for _, hop := range []struct {
			name    string
			in, out int
		}{{"s1", 1, 2}, {"s2", 2, 1}} {
			d := n.switches[hop.name]
			if got := cached(d, hop.in, hop.out); got > 0 {
				t.Errorf("%s has an entry that nobody has added", hop.name)
			}
			c.await(1, "For switch "+hop.name+" flow (SA=10.0.1.1, DA=10.0.2.2, proto=17) added table entry")
			if got := cached(d, hop.in, hop.out); got != 1 {
				t.Errorf("%s, with an entry: %d packets, want one", hop.name, got)
			}
			d.wait(5 * time.Second)
			c.await(1, "Deleted flow_cache entry on "+hop.name+". (SA=10.0.1.1, DA=10.0.2.2, proto=17)")
		}
	})
}

// Unchanged Python controllers of the tutorials, and p4runtime-shell, control the simulated
// switches: virtual time waits for them, so that two runs are the same, byte for byte.
func TestPythonInTheFabric(t *testing.T) {
	for _, c := range []struct{ name, program, modules, text string }{
		{"p4runtime", "advanced_tunnel.p4", "p4runtime_lib.helper, p4runtime_lib.bmv2", controllers[0].text},
		{"flowcache", "solution/flowcache.p4", "p4runtime_lib.helper, p4runtime_lib.bmv2, scapy.all", `
topology: topology.json
program: {p4: solution/flowcache.p4}
until: 9s
packets:
- {name: flow, from: h1, to: h2, udp: {source: 1000, destination: 9}, every: 1s, count: 3}
- {name: again, from: h1, to: h2, start: 8s, udp: {source: 1000, destination: 9}}
expect:
- {packets: flow, at: h2, least: 2, some: true, fields: {ipv4.ttl: 62, ipv4.dscp: 5, "ethernet.destination": "08:00:00:00:02:22"}}
`},
		{"shell", "solution/basic.p4", "p4runtime_sh.shell", `
topology: triangle-topo/topology.json
program: {p4: solution/basic.p4}
until: 1s
packets: [{name: ping, from: h1, to: h2, ping: true}]
expect:
- {packets: ping, at: h2, fields: {ipv4.ttl: 62, ipv4.checksum: ok}}
- {packets: ping, at: h1}
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			python, environ := interpreter(t, c.modules)
			dir := filepath.Join(checkout(t), c.name)
			if c.name == "shell" {
				dir = filepath.Join(checkout(t), "basic")
			}
			s, err := scenario.ParseIn(c.name+".yaml", []byte("name: "+c.name+c.text), dir, scenario.Paper, nil)
			if err != nil {
				t.Fatal(err)
			}
			n := &network{TB: t, dir: dir}
			there := folder(t, c.program, n.program(c.program))
			var first []byte
			for range 2 {
				var control *controller
				runs, err := s.Run(t.Context(), scenario.Options{Event: func(controlplane.Event) {}, Serve: &virtual.Serve{
					Quiet:   time.Second, // longer than Python needs for an answer, shorter than it waits between two readings of counters
					Address: "127.0.0.1:0",
					Ready: func(targets []controlplane.Target) {
						args := []string{"-c", elsewhere, filepath.Join(dir, "solution", "mycontroller.py")}
						if c.name == "shell" {
							args = []string{"-c", shell}
						}
						for _, at := range targets {
							args = append(args, fmt.Sprintf("%s=%s/%d", at.Name, at.Addr, at.DeviceID))
						}
						control = run(t, python, environ, there, args...)
					},
				}})
				control.end()
				if err != nil {
					t.Fatalf("%v\n%s", err, control.out.String())
				}
				for _, u := range runs[0].Unmet {
					t.Errorf("%s\n%s", u, control.out.String())
				}
				var b bytes.Buffer
				if err := result.WriteJSON(&b, runs); err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = b.Bytes()
				} else if !bytes.Equal(first, b.Bytes()) {
					t.Errorf("two runs differ:\n%s\n%s", first, b.Bytes())
				}
			}
		})
	}
}

// shell is a script for p4runtime-shell: the entries of basic's triangle.
const shell = `
import sys
import p4runtime_sh.shell as sh
ports = {"s1": {1: 1, 2: 2, 3: 3}, "s2": {1: 2, 2: 1, 3: 3}, "s3": {1: 2, 2: 3, 3: 1}}
for arg in sys.argv[1:]:
    name, at = arg.split("=")
    address, device = at.split("/")
    sh.setup(device_id=int(device), grpc_addr=address, election_id=(0, 1),
        config=sh.FwdPipeConfig("build/basic.p4.p4info.txtpb", "build/basic.json"), verbose=False)
    for host, port in ports[name].items():
        te = sh.TableEntry("MyIngress.ipv4_lpm")(action="MyIngress.ipv4_forward")
        te.match["hdr.ipv4.dstAddr"] = f"10.0.{host}.{host}/32"
        te.action["dstAddr"] = f"08:00:00:00:0{host}:{host}{host}"
        te.action["port"] = str(port)
        te.insert()
    if arg != sys.argv[-1]: # virtual time waits for a primary
        sh.teardown()
import time
time.sleep(600) # the test ends it
`
