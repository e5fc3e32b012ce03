// SPDX-License-Identifier: Apache-2.0

package need

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Inside, there is no interface but a loopback that is up, no journal of a network, and no
// process of others. A process that is left behind ends with the test.
func TestIsolated(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // it does not wait for tests that have networks
	if !Isolated(t) {
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIP: namespaces need root")
	}
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 || all[0].Flags&net.FlagUp == 0 {
		t.Errorf("interfaces %v", all)
	}
	for _, i := range all {
		if _, err := os.Stat("/sys/class/net/" + i.Name + "/tun_flags"); err == nil || strings.HasPrefix(i.Name, "veth") {
			t.Errorf("there is an interface %s", i.Name)
		}
	}
	for _, i := range all {
		if _, err := os.Stat("/sys/class/net/" + i.Name + "/statistics"); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat("/sys/class/net/eth0"); err == nil {
		t.Error("/sys has the machine's interfaces")
	}
	for _, dir := range []string{"/run/pauseless", "/run/netns"} {
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("%s has %v, %v", dir, files, err)
		}
	}
	if os.Getppid() != 1 {
		t.Errorf("the parent is process %d, want the first one of the namespace", os.Getppid())
	}
	// What is left by a process that has ended is reaped.
	out, err := exec.Command("sh", "-c", "true & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	orphan := "/proc/" + strings.TrimSpace(string(out))
	if !Poll(func() bool {
		_, err := os.Stat(orphan)
		return os.IsNotExist(err)
	}) {
		t.Errorf("%s is still there", orphan)
	}
}

func TestOnlyItsSubtestsAreRun(t *testing.T) {
	for _, c := range [][3]string{
		{"TestA", "", "^TestA$"}, {"TestA", "A|B", "^TestA$"}, {"TestA", "B/(x|y)|A/[/|]/z|A/(u|v)$", "^TestA$/[/|]/z|^TestA$/(u|v)$"}, {"TestA", "A/x$", "^TestA$/x$"}, {"TestA/x.y", "A", `^TestA$/^x\.y$`}, {"TestA/x", "A/x/z/w", "^TestA$/^x$/z/w"},
	} {
		if got := only(c[0], c[1]); got != c[2] {
			t.Errorf("of %s with %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
