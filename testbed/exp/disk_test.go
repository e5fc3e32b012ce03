// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pauseless/pauseless/internal/need"
)

// The store's disk becomes full: finished runs are kept and can be read, the
// error says what to do, and with free space the same command continues to the
// same outcome. The disk is a tmpfs that a child process of this test mounts in
// a new namespace.
func TestFullDiskLosesOnlyRunsUnderWay(t *testing.T) {
	if dir := os.Getenv("EXP_TEST_DISK"); dir != "" {
		fillDisk(t, dir)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFullDiskLosesOnlyRunsUnderWay$")
	cmd.Env = append(os.Environ(), "EXP_TEST_DISK="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil && cmd.ProcessState == nil || strings.Contains(string(out), noMount):
		need.No(t, fmt.Errorf("a tmpfs cannot be mounted: %v %s", err, out))
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	}
}

const noMount = "no mount: "

func fillDisk(t *testing.T, dir string) {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		fmt.Println(noMount, err)
		t.Fail()
		return
	}
	defer syscall.Unmount(dir, syscall.MNT_DETACH)
	want := outcome(t, tinyPlan(t), newStore(t), Options{})
	st, err := OpenStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 200<<10), 0o666); err != nil {
		t.Fatal(err)
	}
	p := tinyPlan(t)
	begun, over := 0, 0
	_, err = Run(context.Background(), p, st, Options{OnEvent: func(e Event) {
		switch e.Kind {
		case Finished:
			over++
		case Started:
			if begun++; begun == 4 { // a run is under way, and the disk is filled
				f, err := os.OpenFile(ballast, os.O_WRONLY|os.O_APPEND, 0)
				if err != nil {
					t.Error(err)
					return
				}
				defer f.Close()
				for err == nil {
					_, err = f.Write(make([]byte, 4096))
				}
			}
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "no space left on device") || !strings.Contains(err.Error(), "free space on the disk of "+dir+", and the same command continues") {
		t.Errorf("a full disk: %v", err)
	}
	if s, err := p.Status(st, 1); err != nil || s.Done != 3 || over != 3 || s.Left != 5 {
		t.Errorf("on a full disk: error %v, %d runs were over, status %+v; want 3 done, 5 left", err, over, s)
	}
	if _, err := OpenStore(dir); err == nil || !strings.Contains(err.Error(), "--store names another folder") {
		t.Errorf("opening a store on a full disk: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	made := 0
	if got := outcome(t, p, st, Options{OnEvent: func(e Event) {
		if e.Kind == Started {
			made++
		}
	}}); got != want || made != 5 {
		t.Errorf("with free space %d runs were made, want 5; the same outcome: %v", made, got == want)
	}
}
