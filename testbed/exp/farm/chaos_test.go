// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// serve starts a NATS server with JetStream on loopback.
func serve(t testing.TB, dir string, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(patience) {
		t.Error("the server does not start") // not Fatal: also called from other goroutines
	}
	return s
}

// embedded runs a server in this process and returns its address.
func embedded(t *testing.T, dir string) (addr string, stop func()) {
	s := serve(t, dir, server.RANDOM_PORT)
	return s.Addr().String(), func() { s.Shutdown(); s.WaitForShutdown() }
}

// packaged returns a function that starts the nats-server on PATH. Its stop kills
// the server.
func packaged(t *testing.T) func(*testing.T, string) (string, func()) {
	program := need.Tool(t, "NATS_SERVER", "nats-server")
	return func(t *testing.T, dir string) (string, func()) {
		addr := need.Port(t)
		_, port, _ := net.SplitHostPort(addr)
		cmd := exec.Command(program, "-js", "-a", "127.0.0.1", "-p", port, "-sd", dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		up := make(chan struct{}) // it takes a moment until it listens
		nc, err := nats.Connect("nats://"+addr, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond),
			nats.ConnectHandler(func(*nats.Conn) { close(up) }))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		select {
		case <-up:
		case <-time.After(patience):
			t.Fatal("the server does not answer")
		}
		return addr, func() { cmd.Process.Kill(); cmd.Wait() }
	}
}

// A link is a TCP proxy of a server that can fail. Its address does not change
// if the server's does.
type link struct {
	l net.Listener

	mu    sync.Mutex
	to    string // the server's address; "" refuses connections
	hole  bool   // bytes are dropped without an error
	last  string // after a client has sent this, bytes of the server are dropped; "" is never
	quiet bool   // they are
	all   []net.Conn
}

func newLink(t *testing.T, to string) *link {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &link{l: l, to: to}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go k.carry(c)
		}
	}()
	t.Cleanup(func() { l.Close(); k.cut("") })
	return k
}

func (k *link) url() string { return "nats://" + k.l.Addr().String() }

// carry copies bytes in both directions.
func (k *link) carry(c net.Conn) {
	defer c.Close()
	k.mu.Lock()
	to := k.to
	k.mu.Unlock()
	if to == "" {
		return
	}
	s, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer s.Close()
	k.mu.Lock()
	k.all = append(k.all, c, s)
	k.mu.Unlock()
	go func() {
		io.Copy(&end{k: k, w: s, up: true}, c)
		s.Close()
	}()
	io.Copy(&end{k: k, w: c}, s)
}

// end is an end of a connection; its writes are dropped if the link fails so.
type end struct {
	k    *link
	w    io.Writer
	up   bool // to the server
	seen []byte
}

func (o *end) Write(p []byte) (int, error) {
	o.k.mu.Lock()
	if o.up && o.k.last != "" {
		o.seen = append(o.seen, p...)
		o.k.quiet = o.k.quiet || bytes.Contains(o.seen, []byte(o.k.last))
		o.seen = o.seen[max(0, len(o.seen)-len(o.k.last)):]
	}
	drop := o.k.hole || o.k.quiet && !o.up
	o.k.mu.Unlock()
	if drop {
		return len(p), nil
	}
	return o.w.Write(p)
}

// cut closes all connections; later ones lead to another address.
func (k *link) cut(to string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.to, k.hole, k.last, k.quiet = to, false, "", false
	for _, c := range k.all {
		c.Close()
	}
	k.all = nil
}

// silence drops what the server sends after a client has sent some text.
func (k *link) silence(after string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = after
}

// swallow makes the link a hole.
func (k *link) swallow() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hole = true
}

func servers(t *testing.T, test func(*testing.T, func(*testing.T, string) (string, func()))) {
	t.Run("embedded", func(t *testing.T) { test(t, embedded) })
	t.Run("packaged", func(t *testing.T) { test(t, packaged(t)) })
}

// Workers are killed, stopped and restarted at random, and the server is
// restarted: every job counts once, and the outcome is the same bytes as without
// workers.
func TestEveryJobCountsOnceIfProcessesDie(t *testing.T) {
	servers(t, func(t *testing.T, start func(*testing.T, string) (string, func())) {
		workers := 8
		if testing.Short() {
			workers = 3
		}
		p := plan(t, tiny)
		want := outcome(t, p, store(t), exp.Options{Parallel: 2})

		dir := t.TempDir()
		addr, stop := start(t, dir)
		link := newLink(t, addr)
		farm := offer(t, link.url(), lease)

		var mu sync.Mutex
		var all []*exec.Cmd
		for range workers {
			all = append(all, worker(t, link.url()))
		}
		done := make(chan struct{})
		var chaos sync.WaitGroup
		chaos.Go(func() {
			rng := rand.New(rand.NewPCG(1, 1))
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				case <-time.After(time.Duration(100+rng.IntN(150)) * time.Millisecond):
				}
				if n > 40 { // no more faults, so that slow machines finish
					// Workers end if the server stops while they start. Without a limit a
					// slow machine would get ever more to do.
					if n%20 == 0 && n <= 140 {
						mu.Lock()
						all = append(all, worker(t, link.url()))
						mu.Unlock()
					}
					continue
				}
				mu.Lock()
				victim := all[rng.IntN(len(all))]
				if rng.IntN(2) == 0 {
					victim.Process.Kill()
					all = append(all, worker(t, link.url()))
				} else {
					victim.Process.Signal(syscall.SIGSTOP)
					time.AfterFunc(2*lease, func() { victim.Process.Signal(syscall.SIGCONT) })
				}
				mu.Unlock()
			}
		})
		over := 0
		got := outcome(t, p, store(t), exp.Options{Parallel: 100, Maker: farm, OnEvent: func(e exp.Event) {
			if e.Kind == exp.Finished {
				if over++; over == 6 {
					stop()
					addr, stop = start(t, dir)
					link.cut(addr)
				}
			}
		}})
		close(done)
		chaos.Wait()
		if got != want || over != 24 {
			t.Errorf("%d runs came in, want 24; the same outcome as without workers: %v", over, got == want)
		}
		stop()
	})
}

// A worker's link to the server fails, or drops all bytes, until its leases have
// expired and other workers have its jobs: every job counts once.
func TestPartitionsChangeNoOutcome(t *testing.T) {
	servers(t, func(t *testing.T, start func(*testing.T, string) (string, func())) {
		p := plan(t, tiny)
		want := outcome(t, p, store(t), exp.Options{Parallel: 2})
		addr, stop := start(t, t.TempDir())
		defer stop()
		farm := offer(t, "nats://"+addr, lease)
		var links []*link
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		for range 3 {
			link := newLink(t, addr)
			links = append(links, link)
			f, err := Connect(ctx, Options{Secret: secret, URL: link.url(), Lease: lease})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			b, err := f.bench(ctx, patient) // before the link fails
			if err != nil {
				t.Fatal(err)
			}
			work.Go(func() {
				if err := b.work(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		begun, cuts, over := 0, 0, 0
		got := outcome(t, p, store(t), exp.Options{Parallel: 100, Maker: farm, OnEvent: func(e exp.Event) {
			switch e.Kind {
			case exp.Finished:
				over++
			case exp.Started:
				if begun++; begun%3 != 0 {
					return
				}
				link := links[cuts%len(links)]
				if cuts++; cuts%2 == 0 {
					link.cut("")
				} else {
					link.swallow()
				}
				time.AfterFunc(2*lease, func() { link.cut(addr) })
			}
		}})
		cancel()
		work.Wait()
		if got != want || over != 24 || cuts == 0 {
			t.Errorf("%d runs came in, want 24, with %d cuts; the same outcome as without workers: %v", over, cuts, got == want)
		}
	})
}

// A worker's link fails after the server has stored a result and before the worker
// knows. The NATS client then removes what it has written of the result, but not its
// description. The run is made again. Before, workers took the description for the
// result and removed the job from the queue, again and again, and Make did not
// return.
func TestResultWithoutItsBytesIsMadeAgain(t *testing.T) {
	servers(t, func(t *testing.T, start func(*testing.T, string) (string, func())) {
		p := plan(t, strings.Replace(tiny, "[1, 2, 3, 4]", "[1]", 1))
		want := outcome(t, p, store(t), exp.Options{})
		addr, stop := start(t, t.TempDir())
		defer stop()
		farm := offer(t, "nats://"+addr, lease)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()

		link := newLink(t, addr)
		cutOff, err := Connect(ctx, Options{Secret: secret, URL: link.url(), Lease: lease})
		if err != nil {
			t.Fatal(err)
		}
		defer cutOff.Close()
		job := p.Jobs()[0]
		rec, err := p.Record(ctx, job, scenario.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		data, err := rec.Encode()
		if err != nil {
			t.Fatal(err)
		}
		news, err := farm.results.Watch(ctx, jetstream.UpdatesOnly())
		if err != nil {
			t.Fatal(err)
		}
		link.silence("PUB $O.pauseless_results.")
		put := make(chan error, 1)
		go func() {
			_, err := cutOff.results.PutBytes(ctx, cutOff.named(job.Key), secret.sign(cutOff.build, "result", job.Key, data))
			put <- err
		}()
		if u := <-news.Updates(); u == nil || u.Name != farm.named(job.Key) {
			t.Fatalf("the server has stored %v", u)
		}
		link.cut(addr)
		if err := <-put; err == nil {
			t.Error("a result was acknowledged over a link that had failed")
		}
		var work sync.WaitGroup
		work.Go(func() {
			if err := cutOff.Work(ctx, patient); err != nil {
				t.Error(err)
			}
		})
		if got := outcome(t, p, store(t), exp.Options{Parallel: 50, Maker: farm}); got != want {
			t.Error("the outcome differs")
		}
		cancel()
		work.Wait()
	})
}
