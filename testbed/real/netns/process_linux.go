// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"bytes"
	"context"
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

	"github.com/pauseless/pauseless/testbed/real/local"

	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// process is a running program of a network.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it has ended
	err  error         // of Wait, once it has ended
}

// start runs a program in the background, with its output in a log file. The
// program has a new session, so that Ctrl-C does not reach it; turn is its turn
// for the processors.
func start(network, name string, turn int, j *journal, program string, args ...string) (*process, error) {
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
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	run := p.cmd.Start
	if turn > usualTurn {
		run = func() error { return startAhead(p.cmd, turn) }
	}
	if err := run(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	err = j.addProcess(p.cmd.Process.Pid, name)
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, err
}

// aheadOf is the nice value of switches and links.
const aheadOf = -10

// Turns of processes for the processors.
const (
	usualTurn   = iota
	earlyTurn   // before usual ones, by the nice value
	instantTurn // in real time, where this is allowed
)

// startAhead starts a program with a higher priority, since a switch or link that runs late
// loses packets or makes delays of its own. BMv2's are not in real time: one that holds
// packets by recirculation occupies a processor, links would wait for it, and the kernel
// stops processes in real time for 50 ms of each second in which they leave nothing to
// others. It ignores errors of both.
func startAhead(cmd *exec.Cmd, turn int) error {
	errs := make(chan error)
	go func() {
		// The program inherits this thread's priority; the thread ends with the
		// goroutine.
		runtime.LockOSThread()
		unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), aheadOf)
		if turn == instantTurn {
			realTime(0)
		}
		errs <- cmd.Start()
	}()
	if err := <-errs; err != nil {
		return err
	}
	// Linux shares processors between sessions first (sched(7), autogroup), so the
	// nice value of a process decides only within its session.
	os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", cmd.Process.Pid), []byte(strconv.Itoa(aheadOf)), 0)
	return nil
}

// realTime schedules a thread, 0 for the calling one, before all others that are not in
// real time, in turn with those that are.
func realTime(tid int) error {
	return unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0)
}

// RunAhead schedules this process like the links, in real time, until the returned
// function is called. It does nothing where that is not allowed.
func RunAhead() (end func()) {
	each := func(do func(tid int)) {
		tasks, _ := os.ReadDir("/proc/self/task") // further threads inherit the policy
		for _, t := range tasks {
			if tid, err := strconv.Atoi(t.Name()); err == nil {
				do(tid)
			}
		}
	}
	each(func(tid int) { realTime(tid) })
	return func() {
		each(func(tid int) {
			unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}, 0)
		})
	}
}

// Waited returns how long a switch's threads waited for a processor: the
// maximum over its threads.
func (n *Network) Waited(name string) time.Duration {
	if p := n.switches[name]; p != nil {
		return Waited(p.cmd.Process.Pid)
	}
	return 0
}

// Waited returns how long a process's threads waited for a processor: the
// maximum over its threads, from /proc/PID/task/*/schedstat; zero if the kernel
// has no such statistics.
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

// Adopt returns a network that another program has built with this package's journal:
// Mininet's script. Its processes are known by their names in the journal.
func Adopt(c Config) (*Network, error) {
	objects, err := readJournal(c.Name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(Dir(c.Name), "journal"), os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	n := &Network{Config: c, journal: &journal{f}, switches: make(map[string]*process), adopted: true}
	for _, o := range objects {
		if o.kind != "process" {
			continue
		}
		found, err := os.FindProcess(o.pid)
		if err != nil {
			return nil, err
		}
		p := &process{name: o.name, cmd: &exec.Cmd{Process: found}, done: make(chan struct{})}
		n.switches[o.name] = p
	}
	return n, nil
}

// WithinHost is Within for a host of the network.
func (n *Network) WithinHost(name string, do func() error) error {
	if !n.adopted {
		return Within(Namespace(n.Name, name), do)
	}
	p := n.switches[name] // Mininet's shell in the host
	if p == nil {
		return fmt.Errorf("network %s has no process %s", n.Name, name)
	}
	return within(func() (vnetns.NsHandle, error) { return vnetns.GetFromPid(p.cmd.Process.Pid) }, name, do)
}

// mark returns the environment variable of every process of a network. It
// identifies processes that are not in the journal because of a crash.
func mark(network string) string { return "PAUSELESS_NETWORK=" + network }

// unlisted returns the processes of a network that are not in its journal.
func unlisted(network string, listed []object) (found []object) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), mark(network)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err != nil || pid == os.Getpid() || slices.ContainsFunc(listed, func(o object) bool { return o.pid == pid }) {
			continue
		}
		if started := startTime(pid); started != "" {
			found = append(found, object{kind: "process", name: "of " + network, pid: pid, started: started})
		}
	}
	return found
}

// startTime returns the start of a process in clock ticks since boot, which with
// its id identifies the process; "" if there is no such process.
func startTime(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field is the program's name in parentheses, which may contain
	// blanks and parentheses; the start time is the 20th field after it.
	i := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[i+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

// addProcess writes a process into the journal, unless it has ended: a host's command may be
// as short as that.
func (j *journal) addProcess(pid int, name string) error {
	started := startTime(pid)
	if started == "" {
		return nil
	}
	return j.add("process %d %s %s", pid, started, name)
}

// grace is how long stop waits after SIGTERM, and again after SIGKILL.
const grace = 2 * time.Second

// stop ends a process of the journal. It does nothing if another process has
// the id now.
func (o object) stop() error {
	alive := func() bool { return startTime(o.pid) == o.started }
	if !alive() {
		return nil
	}
	syscall.Kill(o.pid, syscall.SIGTERM)
	for end := time.Now().Add(grace); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if !alive() {
			return nil
		}
	}
	syscall.Kill(o.pid, syscall.SIGKILL)
	for end := time.Now().Add(grace); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if !alive() {
			return nil
		}
	}
	return fmt.Errorf("process %d (%s) does not end", o.pid, o.name)
}

// tail returns the last five lines of a process's log.
func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n  ")
}

// commandPatience is how long a command of a host may take that is not in the background.
const commandPatience = 30 * time.Second

// HostCommands executes the commands of the plan's hosts, in order and each in the namespace
// of its host. Their output is in the log HOST.log of the network. Those in the background
// end with the network. A command that fails is said, and the next one is executed, as in
// Mininet; it is an error if there is no such program.
func (n *Network) HostCommands(ctx context.Context, say func(text string)) error {
	for _, h := range n.Plan.Hosts {
		for _, c := range h.Commands {
			failed, err := n.hostCommand(ctx, h.Name, c)
			if err != nil {
				return fmt.Errorf("host %s: command %q of the topology: %w", h.Name, c, err)
			}
			if failed != "" {
				say(fmt.Sprintf("host %s: command %q of the topology: %s", h.Name, c, failed))
			}
		}
	}
	return nil
}

// RunScripts starts the plan's commands outside the hosts. Their output is in the network's
// scripts.log, and they end with the network.
func (n *Network) RunScripts() error {
	for _, c := range n.Plan.Scripts {
		p, err := start(n.Name, "scripts", usualTurn, n.journal, c.Words[0], c.Words[1:]...)
		if err != nil {
			return fmt.Errorf("command %q of the topology: %w", c, err)
		}
		n.background = append(n.background, p)
	}
	return nil
}

// EndHostCommands ends the commands that are in the background. Down does so, too.
func (n *Network) EndHostCommands() {
	for _, p := range n.background {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		<-p.done
	}
	n.background = nil
}

func (n *Network) hostCommand(ctx context.Context, host string, c local.Command) (failed string, err error) {
	var p *process
	err = n.WithinHost(host, func() error {
		p, err = start(n.Name, host, usualTurn, n.journal, c.Words[0], c.Words[1:]...)
		return err
	})
	if err == nil && c.Background {
		n.background = append(n.background, p)
	}
	if err != nil || c.Background {
		return "", err
	}
	late := time.NewTimer(commandPatience)
	defer late.Stop()
	select {
	case <-p.done:
		if p.err != nil {
			return fmt.Sprintf("%v; its log %s ends with\n  %s", p.err, p.log, p.tail()), nil
		}
		return "", nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-late.C:
		err = fmt.Errorf("it has not ended after %v: end it with & if it is to run in the background", commandPatience)
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
	<-p.done
	return "", err
}
