// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/need"
)

// fakeClock makes the programs that the test starts read the wall clock from a
// file. set sets it to an offset from the true clock.
func fakeClock(t *testing.T) (set func(offset string)) {
	t.Helper()
	lib := os.Getenv("LIBFAKETIME")
	if lib == "" {
		if found, _ := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1"); len(found) > 0 {
			lib = found[0]
		} else {
			need.No(t, errors.New("libfaketime is not installed, and LIBFAKETIME does not name its libfaketimeMT.so.1"))
		}
	}
	file := filepath.Join(t.TempDir(), "clock")
	set = func(offset string) {
		if err := os.WriteFile(file+".new", []byte(offset+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	set("+0")
	t.Setenv("LD_PRELOAD", lib)
	t.Setenv("FAKETIME_TIMESTAMP_FILE", file)
	t.Setenv("FAKETIME_NO_CACHE", "1")
	t.Setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1")
	return set
}

// The clock of BMv2's machine is set an hour forward and back. Connection,
// election and entries are not affected, and the operator is notified. Our own
// clock may also be set: package archtest bans the wall clock in code that runs
// for long.
func TestASwitchWhoseClockIsSet(t *testing.T) {
	need.Tool(t, "BMV2", "simple_switch_grpc")
	set := fakeClock(t)
	sw := startBMv2(t)
	said := &log{}
	o := said.options(t)
	o.Probe = 100 * time.Millisecond
	first, second := sw.Target, sw.Target
	first.ElectionID.Low, second.ElectionID.Low = 5, 2
	k1, f1, stop := keep(t, sw, first, o, 50*time.Millisecond)
	d := state(t, program(t), 50)
	k1.Set(sw.Name, d)
	awaitKept(t, k1)
	standby := controlplane.Options{Policy: controlplane.Standby, Event: func(controlplane.Event) {}}
	k2, f2, _ := keep(t, sw, second, standby, -1)
	more := state(t, d.Pipeline, 150)
	k2.Set(sw.Name, more)

	s := f1.Sessions()[0]
	digests := make(chan controlplane.Digest)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	list := s.Digests(ctx)
	go func() {
		for d := range list {
			select {
			case digests <- d:
			case <-ctx.Done():
			}
		}
	}()
	heard := func(src string) {
		t.Helper()
		if err := s.PacketOut(t.Context(), marked(src), map[string]string{"egress_port": "0"}); err != nil {
			t.Fatal(err)
		}
		select {
		case d := <-digests:
			if d.Fields[1].Text != src {
				t.Errorf("a digest about %s, want %s", d.Fields[1].Text, src)
			}
		case <-time.After(patience):
			t.Errorf("no digest about %s", src)
		}
	}
	heard("10.9.0.1")
	set("+3600")
	said.await(t, controlplane.ClockSet, "its clock was set forward by 1h0m0s", 1)
	heard("10.9.0.2")
	k1.Set(sw.Name, state(t, d.Pipeline, 100))
	awaitKept(t, k1)
	set("+0")
	said.await(t, controlplane.ClockSet, "its clock was set back by 1h0m0s: BMv2 sends no packets until it has caught up; restart the switch", 1)
	k1.Set(sw.Name, d)
	awaitKept(t, k1)
	if n := said.count(controlplane.Lost, ""); n > 0 {
		t.Errorf("the connection was lost %d times", n)
	}

	stop()
	wait, enough := context.WithTimeout(t.Context(), patience)
	defer enough()
	if err := f2.Sessions()[0].AwaitPrimary(wait); err != nil {
		t.Fatalf("the standby does not take over: %v", err)
	}
	awaitKept(t, k2)
	asDesired(t, sw, more)

	// The remedy in the message works.
	sw.kill()
	sw.start(t)
	asDesired(t, sw, more)
}
