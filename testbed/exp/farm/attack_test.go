// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

func run(seed uint64) *result.Run { return &result.Run{Seed: seed, Profile: "ecmp"} }

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// bomb is a gzip of a GB of nothing, without its end: a MB, then another one 1023
// times.
var bomb = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(make([]byte, 1<<20))
	z.Flush()
	first := b.Len()
	z.Write(make([]byte, 1<<20))
	z.Flush()
	return slices.Concat(b.Bytes()[:first], bytes.Repeat(b.Bytes()[first:], 1023))
})

// A stranger on the server, who has no key, forges results, failures, plans, jobs,
// beginnings and builds while an experiment runs: the outcome has the same bytes.
// Compressed bombs and objects that refer to themselves are among the forgeries.
func TestStrangerChangesNothing(t *testing.T) {
	s := serve(t, t.TempDir(), server.RANDOM_PORT)
	defer s.Shutdown()
	url := "nats://" + s.Addr().String()
	p := plan(t, strings.Replace(tiny, "[1, 2, 3, 4]", "[1, 2]", 1))
	want := outcome(t, p, store(t), exp.Options{})
	farm := offer(t, url, lease)
	mine, err := Connect(t.Context(), Options{Secret: secret, URL: url, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()

	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	// The stranger uses another key where a code is needed.
	stranger, err := Connect(t.Context(), Options{Secret: Key{66}, URL: url, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	name, _, err := p.Pack()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	attack := func(i int, j exp.Job) {
		forged, err := (&exp.Record{Key: j.Key, Build: exp.Version(), Run: run(j.Seed)}).Encode()
		if err != nil {
			t.Error(err)
			return
		}
		switch object := farm.named(j.Key); i % 6 {
		case 0:
			stranger.results.PutBytes(ctx, object, forged)
		case 1:
			stranger.results.PutBytes(ctx, object, Key{66}.sign(exp.Version(), "result", j.Key, forged))
		case 2:
			stranger.results.PutBytes(ctx, object, bomb())
		case 3:
			stranger.failed.Put(ctx, object, []byte(`{"text":"it has failed"}`))
		case 4: // an object that refers to itself
			meta, err := json.Marshal(jetstream.ObjectInfo{Bucket: "pauseless_results", NUID: "x", Size: 9, Chunks: 1,
				ObjectMeta: jetstream.ObjectMeta{Name: object, Opts: &jetstream.ObjectMetaOptions{Link: &jetstream.ObjectLink{Bucket: "pauseless_results", Name: object}}}})
			if err != nil {
				t.Error(err)
				return
			}
			at, err := stranger.results.PutBytes(ctx, object, nil)
			if err == nil && at != nil {
				info, err := stranger.js.Stream(ctx, "OBJ_pauseless_results")
				if err != nil {
					return
				}
				last, err := info.GetLastMsgForSubject(ctx, "$O.pauseless_results.M.>")
				if err == nil {
					nc.Publish(last.Subject, meta)
				}
			}
		case 5:
			nc.Publish(farm.subject(j.Key), []byte(`{"plan":"`+name+`","key":"`+j.Key+`"}`))
			nc.Publish(farm.begins(j.Key), []byte("\x1b]0;title\x07"))
			stranger.builds.Put(ctx, farm.named("another"), []byte("offers jobs"))
			stranger.plans.PutBytes(ctx, farm.named(name), []byte(`{"Dir":"/"}`))
		}
	}
	for i, j := range p.Jobs() {
		attack(i, j)
	}
	var all sync.WaitGroup
	all.Go(func() { // for as long as it is a stranger, not a flood
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for i := 0; i < 60 && ctx.Err() == nil; i++ {
			attack(i, p.Jobs()[i%len(p.Jobs())])
			<-tick.C
		}
	})
	all.Go(func() {
		if err := mine.Work(ctx, patient); err != nil {
			t.Error(err)
		}
	})
	got := outcome(t, p, store(t), exp.Options{Parallel: 50, Maker: farm, OnEvent: func(e exp.Event) {}})
	cancel()
	all.Wait()
	if got != want {
		t.Error("a stranger has changed the outcome")
	}
}

// A message that is signed counts for its run, its build and its kind only.
func TestMessagesAreTiedToWhatTheyAreAbout(t *testing.T) {
	p := plan(t, tiny)
	jobs := p.Jobs()
	j, other := jobs[0], jobs[1]
	encode := func(key, build string, seed uint64) []byte {
		data, err := (&exp.Record{Key: key, Build: build, Run: run(seed)}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	good := encode(j.Key, "b", j.Seed)
	for what, message := range map[string][]byte{
		"of another run":   secret.sign("b", "result", other.Key, encode(other.Key, "b", other.Seed)),
		"of another build": secret.sign("c", "result", j.Key, encode(j.Key, "c", j.Seed)),
		"a plan":           secret.sign("b", "plan", j.Key, good),
		"a failure":        secret.sign("b", "failure", j.Key, good),
		"unsigned":         good,
		"a bomb":           bomb(),
		"empty":            {},
		"a code alone":     secret.code("b", "result", other.Key, nil),
	} {
		farm, _ := farmInMemory()
		at := farm.results.(memory).objects
		at[farm.named(j.Key)] = message
		if rec, err := farm.result(t.Context(), j, "try"); rec != nil || err != nil || len(at) > 0 {
			t.Errorf("%s: %v, %v, %d left", what, rec, err, len(at))
		}
	}
	for what, message := range map[string][]byte{
		"the record of another build": secret.sign("b", "result", j.Key, encode(j.Key, "c", j.Seed)),
		"the record of another seed":  secret.sign("b", "result", j.Key, encode(j.Key, "b", j.Seed+1)),
		"the record of another key":   secret.sign("b", "result", j.Key, encode(other.Key, "b", j.Seed)),
	} {
		farm, _ := farmInMemory()
		farm.results.(memory).objects[farm.named(j.Key)] = message
		if rec, err := farm.result(t.Context(), j, "try"); rec != nil || err == nil {
			t.Errorf("%s: %v, %v", what, rec, err)
		}
	}
	// A flip of any bit of a result is found, too.
	message := secret.sign("b", "result", j.Key, good)
	for i := 0; i < 8*len(message); i += 1 + len(message)/50 {
		bad := bytes.Clone(message)
		bad[i/8] ^= 1 << (i % 8)
		farm, _ := farmInMemory()
		farm.results.(memory).objects[farm.named(j.Key)] = bad
		if rec, err := farm.result(t.Context(), j, "try"); rec != nil || err != nil {
			t.Errorf("bit %d: %v, %v", i, rec, err)
		}
	}
	farm, _ := farmInMemory()
	farm.results.(memory).objects[farm.named(j.Key)] = message
	if rec, err := farm.result(t.Context(), j, "try"); rec == nil || err != nil {
		t.Errorf("the result: %v, %v", rec, err)
	}
	// A failure counts for the request that it answers: one that is sent again does not.
	for try, want := range map[string]bool{"old": false, "try": true} {
		farm, _ := farmInMemory()
		text, err := json.Marshal(failure{try, "it has \x1b[31mfailed", nil})
		if err != nil {
			t.Fatal(err)
		}
		farm.failed.(keys).values[farm.named(j.Key)] = string(secret.sign("b", "failure", j.Key, text))
		_, err = farm.result(t.Context(), j, "try")
		var failed exp.RunError
		if errors.As(err, &failed) != want || want && strings.Contains(err.Error(), "\x1b") {
			t.Errorf("the failure of %s: %v", try, err)
		}
	}
}

// A job that ends every worker is given to some, and is then a failed run with the
// cause. Before, it went to one worker after the other for ever.
func TestPoisonousJobEnds(t *testing.T) {
	farm, b := farmInMemory()
	j := exp.Job{Key: strings.Repeat("ab", 32), Seed: 1}
	text, err := json.Marshal(job{Key: j.Key, Seed: 1, Try: "try"})
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	b.w.make = func(context.Context, *job) (string, *exp.Record, error) {
		made++
		panic("out of memory") // the worker's end
	}
	for n := range uint64(6) {
		m := &message{subject: farm.subject(j.Key), data: secret.sign("b", "job", j.Key, text), before: n}
		func() {
			defer func() { recover() }()
			b.handle(t.Context(), m)
		}()
		if last := n == 5; last != (len(m.answers) == 1 && m.answers[0] == "ack") {
			t.Errorf("delivery %d: the message was answered by %q", n+1, m.answers)
		}
	}
	_, err = farm.result(t.Context(), j, "try")
	var failed exp.RunError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "no worker has finished this run: 5 have begun it") || made != 5 {
		t.Errorf("%d workers have made it; %v", made, err)
	}
}

// A plan carries the files that it refers to, and a worker reads no other ones. Before,
// a plan could name any file of a worker, whose lines came back in errors.
func TestWorkersReadNoFilesOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	secretFile := filepath.Join(dir, "secret.txt")
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put("secret.txt", "root:$6$abc:19000: x\n")
	if err := os.Symlink(secretFile, filepath.Join(dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	put("sizes.txt", "0 0\n20000 1\n")
	put("profile.yaml", "name: mine\nscheme: ecmp\n")
	text := `name: tiny
topology: net.yaml
profile: ecmp
traffic:
- poisson: {sizes: ` + filepath.Join(dir, "sizes.txt") + `, load: 0.3, flows: 5}
- incast: {degree: 2, sizes: ` + filepath.Join(dir, "sizes.txt") + `, to: h1}
- trace: {file: ` + filepath.Join(dir, "flows.csv") + `}
`
	put("net.yaml", "graph:\n  switches: [{name: l1}]\n  hosts:\n  - {name: h, count: 3, on: l1, rate: 40Gbps, delay: 2us}\n")
	put("flows.csv", "src,dst,bytes,start\nh1,h2,1000,1us\n")
	put("mine.yaml", text)
	s, err := scenario.ReadAt(filepath.Join(dir, "mine.yaml"), scenario.Paper)
	if err != nil {
		t.Fatal(err)
	}
	p, err := exp.NewPlan(s, "")
	if err != nil {
		t.Fatal(err)
	}
	name, packed, err := p.Pack()
	if err != nil {
		t.Fatal(err)
	}
	// Without the files, the same plan makes the same jobs and runs.
	rec, err := p.Record(t.Context(), p.Jobs()[0], scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"net.yaml", "flows.csv", "sizes.txt", "mine.yaml"} {
		os.Remove(filepath.Join(dir, f))
	}
	q, err := exp.Unpack(name, packed)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprint(p.Jobs()), fmt.Sprint(q.Jobs()); a != b {
		t.Errorf("other jobs: %s and %s", a, b)
	}
	again, err := q.Record(t.Context(), q.Jobs()[0], scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rec.TookS, again.TookS = 0, 0
	a, aerr := rec.Encode()
	b, berr := again.Encode()
	if aerr != nil || berr != nil || !bytes.Equal(a, b) {
		t.Errorf("another run: %v, %v", aerr, berr)
	}
	// Even a plan that is signed can name only what it carries.
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{secretFile, "link.yaml", "../secret.txt", "/dev/zero", "dev/zero", "/proc/self/environ", "/etc/passwd"} {
		for _, key := range []string{"topology: " + file, "profile: " + file, "trace: {file: " + file + "}", "poisson: {sizes: " + file + ", load: 0.1, flows: 3}", "coflow: {sizes: " + file + ", flows: 2, count: 1}"} {
			var k struct {
				File, Dir, Scale, Command string
				Text                      []byte
				Files                     map[string][]byte
			}
			if err := json.Unmarshal(whole, &k); err != nil {
				t.Fatal(err)
			}
			net, profile, traffic := "topology: net.yaml", "profile: ecmp", "incast: {degree: 2, size: 20KB, to: h1}"
			switch key[:4] {
			case "topo":
				net = key
			case "prof":
				profile = key
			default:
				traffic = key
			}
			k.Text = []byte("name: x\n" + net + "\n" + profile + "\ntraffic:\n- " + traffic + "\n")
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if err := errors.Join(json.NewEncoder(z).Encode(k), z.Close()); err != nil {
				t.Fatal(err)
			}
			_, err := exp.Unpack(sum(b.Bytes()), b.Bytes())
			if err == nil || !strings.Contains(err.Error(), "does not carry") && !strings.Contains(err.Error(), "no such file") ||
				strings.Contains(err.Error(), "root") || strings.Contains(err.Error(), "$6$") {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
	for i := 0; i < 8*len(packed); i += 1 + len(packed)/50 {
		bad := bytes.Clone(packed)
		bad[i/8] ^= 1 << (i % 8)
		if _, err := exp.Unpack(name, bad); err == nil {
			t.Errorf("bit %d of a plan was flipped, and it was accepted", i)
		}
	}
}

// Files with keys: those of no key are refused, and several processes make one.
func TestKeyFiles(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	keys := make([]Key, 8)
	name := filepath.Join(dir, "farm.key")
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], err = MakeKey(name); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, k := range keys {
		if k != keys[0] || k == (Key{}) {
			t.Errorf("keys %x and %x", k, keys[0])
		}
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, text := range []string{"", "abc", strings.Repeat("0", 64), strings.Repeat("ab", 33), strings.Repeat("zz", 32), strings.Repeat("a", 1<<20)} {
		bad := filepath.Join(dir, "bad")
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := MakeKey(bad); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%.70q: %v", text, err)
		}
	}
	if _, err := ReadKey("/dev/zero"); err == nil {
		t.Error("a device is a key")
	}
	if _, err := Connect(t.Context(), Options{URL: "nats://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "needs a key") {
		t.Errorf("no key: %v", err)
	}
}

// Forged registrations before the true one, more than are looked at, beside the signed one
// of an old build, do not keep a worker away. Before, it was refused.
func TestFloodOfBuilds(t *testing.T) {
	s := serve(t, t.TempDir(), server.RANDOM_PORT)
	defer s.Shutdown()
	f, err := Connect(t.Context(), Options{Secret: secret, URL: "nats://" + s.Addr().String(), Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put := func(build string, offer []byte) {
		if _, err := f.builds.Put(t.Context(), f.named(build), offer); err != nil {
			t.Fatal(err)
		}
	}
	put("old", secret.sign("old", "offer", "", nil))
	for i := range 2 * maxBuilds {
		put(fmt.Sprint("forged", i), []byte("x"))
	}
	if err := f.refused(t.Context()); err == nil || !strings.Contains(err.Error(), "offered by old") {
		t.Errorf("without the true one: %v", err)
	}
	put(f.build, secret.sign(f.build, "offer", "", nil))
	if err := f.refused(t.Context()); err != nil {
		t.Error(err)
	}
}
