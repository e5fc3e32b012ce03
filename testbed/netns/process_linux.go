// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a running program of a network.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended
	err  error         // how it ended
}

// start runs a program in the background, its output in a log file, in a
// process group of its own so that Ctrl-C is not meant for it; ahead of other
// programs if asked for.
func start(network, name string, ahead bool, j *journal, program string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(Dir(network), name+".log"), done: make(chan struct{})}
	f, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s\n", program, strings.Join(args, " "))
	p.cmd = exec.Command(program, args...)
	p.cmd.Stdout, p.cmd.Stderr = f, f
	p.cmd.Env = append(os.Environ(), mark(network))
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run := p.cmd.Start
	if ahead {
		run = func() error { return startAhead(p.cmd) }
	}
	if err := run(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	err = j.add("process %d %s %s", p.cmd.Process.Pid, startTime(p.cmd.Process.Pid), name)
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, err
}

// aheadOf is the nice value of what runs ahead of other programs.
const aheadOf = -10

// startAhead starts a program that the kernel prefers to others: what a switch
// does late, other than what a host does late, costs packets. Where that is
// not allowed, it starts it all the same.
func startAhead(cmd *exec.Cmd) error {
	errs := make(chan error)
	go func() {
		// The program inherits from this thread, which ends with the goroutine.
		runtime.LockOSThread()
		unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), aheadOf)
		errs <- cmd.Start()
	}()
	return <-errs
}

// Waited returns how long the thread of a switch that had to wait the most was
// ready to run and had no processor.
func (n *Network) Waited(name string) time.Duration {
	if p := n.switches[name]; p != nil {
		return Waited(p.cmd.Process.Pid)
	}
	return 0
}

// Waited returns the same of a process; zero where the kernel does not count
// that.
func Waited(pid int) time.Duration {
	var most time.Duration
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, f := range files {
		text, _ := os.ReadFile(f) // a thread may have ended
		if fields := strings.Fields(string(text)); len(fields) == 3 {
			ns, _ := strconv.ParseInt(fields[1], 10, 64)
			most = max(most, time.Duration(ns))
		}
	}
	return most
}

// mark is what every process of a network has in its environment: it identifies
// those whose line in the journal a crash prevented.
func mark(network string) string { return "PAUSELESS_NETWORK=" + network }

// unlisted returns the processes of a network that are not in its journal.
func unlisted(network string, listed []thing) (found []thing) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), mark(network)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil || pid == os.Getpid() || slices.ContainsFunc(listed, func(t thing) bool { return t.pid == pid }) {
			continue
		}
		if started := startTime(pid); started != "" {
			found = append(found, thing{kind: "process", name: "of " + network, pid: pid, started: started})
		}
	}
	return found
}

// startTime returns when a process started, in ticks since the machine did:
// with the process id it names a process for good. It is "" if there is no
// such process.
func startTime(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field is the program's name in parentheses, which may have
	// blanks and parentheses in it; the start time is the 20th after it.
	i := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[i+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

// grace is how long a process may take to end by itself.
const grace = 2 * time.Second

// stop ends the process of a journal, if it still is that one.
func (t thing) stop() error {
	alive := func() bool { return startTime(t.pid) == t.started }
	if !alive() {
		return nil
	}
	syscall.Kill(t.pid, syscall.SIGTERM)
	for end := time.Now().Add(grace); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if !alive() {
			return nil
		}
	}
	syscall.Kill(t.pid, syscall.SIGKILL)
	for end := time.Now().Add(grace); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if !alive() {
			return nil
		}
	}
	return fmt.Errorf("process %d (%s) does not end", t.pid, t.name)
}

// tail returns the end of a process's log, for messages about it.
func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n  ")
}
