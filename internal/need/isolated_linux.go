// SPDX-License-Identifier: Apache-2.0

package need

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// isolation is the environment variable that leads a test's process into its namespaces:
// a stage, and the name of the test.
const isolation = "PAUSELESS_ISOLATED"

// Stages of isolation: the first process of the namespaces, and the one that it starts.
const (
	first  = "first "
	inside = "inside "
)

// Isolated is for tests that build networks. It runs the test again in a process whose
// network, mounts and processes are its own: nothing that another network has left on this
// machine has its names, and nothing stays when it is killed. It returns true there, and
// false in the process that has waited for it and failed if it failed:
//
//	if !need.Isolated(t) {
//		return
//	}
//
// Meanwhile no other process of this user has networks. Without root it returns true at
// once: a test that needs more skips itself.
func Isolated(t *testing.T) bool {
	t.Helper()
	switch os.Getenv(isolation) {
	case inside + t.Name():
		return true
	case first + t.Name():
		code, err := enclosed(t.Name())
		if err != nil {
			t.Fatal(err)
		}
		if code != 0 {
			t.Fail() // it has said why
		}
		return false
	}
	if os.Geteuid() != 0 {
		return true
	}
	release, err := alone("networks")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append(os.Args[1:len(os.Args):len(os.Args)], "-test.run="+only(t.Name(), flag.Lookup("test.run").Value.String()), "-test.v", "-test.count=1", "-test.testlogfile=", "-test.coverprofile=")...)
	cmd.Env = append(os.Environ(), isolation+"="+first+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	runtime.LockOSThread() // its end would be taken for that of the process
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		t.Logf("without namespaces of its own: %v", err)
		if err := Alone("networks"); err != nil {
			t.Fatal(err)
		}
		return true
	}
	if err = cmd.Wait(); err != nil {
		t.Fail()
	}
	t.Logf("in namespaces of its own:\n%s", out.String())
	return false
}

// only returns a pattern for -test.run that matches a test, and of its subtests those that
// the given pattern does.
func only(name, given string) string {
	var levels []string
	for level := range strings.SplitSeq(name, "/") {
		levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
	}
	var all []string
	for _, one := range split(given, '|') {
		parts := split(one, '/')
		matches := true
		for i, level := range strings.Split(name, "/") {
			if i < len(parts) {
				ok, err := regexp.MatchString(parts[i], level)
				matches = matches && ok && err == nil
			}
		}
		if matches {
			all = append(all, strings.Join(append(levels[:len(levels):len(levels)], parts[min(len(levels), len(parts)):]...), "/"))
		}
	}
	return strings.Join(all, "|")
}

// split splits a pattern as -test.run does: not within brackets and parentheses.
func split(pattern string, at byte) (parts []string) {
	begin, set, group := 0, 0, 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[':
			set++
		case c == ']':
			set = max(set-1, 0)
		case c == '(' && set == 0:
			group++
		case c == ')' && set == 0:
			group--
		case c == at && set == 0 && group == 0:
			parts = append(parts, pattern[begin:i])
			begin = i + 1
		}
	}
	return append(parts, pattern[begin:])
}

// enclosed prepares the namespaces, whose first process this is, and runs the test in
// another one. It reaps what others leave, as the first process has to.
func enclosed(name string) (code int, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return 0, fmt.Errorf("own mounts: %w", err)
	}
	for dir, kind := range map[string]string{"/proc": "proc", "/sys": "sysfs"} { // of these processes and interfaces
		if err := unix.Mount(kind, dir, kind, 0, ""); err != nil {
			return 0, fmt.Errorf("%s: %w", dir, err)
		}
	}
	for _, dir := range []string{"/run/pauseless", "/run/netns"} { // journals and names of networks
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return 0, err
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
			return 0, fmt.Errorf("%s: %w", dir, err)
		}
	}
	if err := loopback(); err != nil {
		return 0, fmt.Errorf("loopback: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	if err := os.Setenv(isolation, inside+name); err != nil {
		return 0, err
	}
	pid, err := syscall.ForkExec(self, os.Args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 0, err
	}
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err
		case ended == pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case ended == pid:
			return status.ExitStatus(), nil
		}
	}
}

// loopback sets the loopback interface up.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}
