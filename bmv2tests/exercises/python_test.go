// SPDX-License-Identifier: Apache-2.0

package exercises

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pauseless/pauseless/internal/need"

	"google.golang.org/protobuf/encoding/prototext"
)

// elsewhere runs an unchanged controller of the tutorials, but replaces the
// addresses of the switches in its text, and prints when a clone session exists. Of
// p4runtime-shell it needs only the name of one exception.
const elsewhere = `
import runpy, sys
where = dict(a.split("=") for a in sys.argv[2:])
import p4runtime_lib.switch
init = p4runtime_lib.switch.SwitchConnection.__init__
def at(self, name=None, address=None, device_id=0, **options):
    init(self, name=name, address=where[name], device_id=1, **options)
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
	n   *network
	mu  sync.Mutex
	new *sync.Cond // out has grown, or the controller has ended
	out bytes.Buffer
	err error // not nil once it has ended
}

func (c *controller) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.new.Broadcast()
	return c.out.Write(p)
}

// python starts the exercise's own controller, with the program in the folder where
// the exercise's Makefile puts it.
func (n *network) python(program, modules string) *controller {
	n.Helper()
	python := need.Tool(n, "PYTHON3", "python3")
	utils := filepath.Join(filepath.Dir(checkout(n)), "utils")
	environ := append(os.Environ(), "PYTHONUNBUFFERED=1", "PYTHONPATH="+utils+string(os.PathListSeparator)+os.Getenv("PYTHONPATH"))
	check := exec.Command(python, "-c", "import "+modules)
	check.Env = environ
	if err := check.Run(); err != nil {
		need.No(n, errors.New("python3 cannot import "+modules))
	}
	dir := n.TempDir()
	p := n.program(program)
	info, err := prototext.Marshal(p.P4Info)
	if err != nil {
		n.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(program), ".p4")
	for file, data := range map[string][]byte{name + ".json": p.Config, name + ".p4.p4info.txtpb": info, "../logs/.keep": nil} {
		file = filepath.Join(dir, "build", file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.MkdirAll(filepath.Join(dir, "build"), 0o777), os.WriteFile(file, data, 0o666)); err != nil {
			n.Fatal(err)
		}
	}
	args := []string{"-c", elsewhere, filepath.Join(n.dir, "solution", "mycontroller.py")}
	for name, d := range n.switches {
		args = append(args, name+"="+d.addr)
	}
	c := &controller{n: n}
	c.new = sync.NewCond(&c.mu)
	cmd := exec.Command(python, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, environ, c, c
	if err := cmd.Start(); err != nil {
		n.Fatal(err)
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
	n.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	})
	return c
}

// await waits until the controller has printed a text n times, at most for
// patience.
func (c *controller) await(times int, text string) {
	c.n.Helper()
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
			c.n.Fatalf("want %q %d times: %v\n%s", text, times, c.err, c.out.String())
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
