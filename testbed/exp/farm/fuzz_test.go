// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// memory is the server's store of objects, or of keys, in memory.
type memory struct {
	jetstream.ObjectStore
	objects map[string][]byte
}

func (m memory) GetInfo(_ context.Context, name string, _ ...jetstream.GetObjectInfoOpt) (*jetstream.ObjectInfo, error) {
	if _, ok := m.objects[name]; !ok {
		return nil, jetstream.ErrObjectNotFound
	}
	return &jetstream.ObjectInfo{}, nil
}

func (m memory) Get(_ context.Context, name string, _ ...jetstream.GetObjectOpt) (jetstream.ObjectResult, error) {
	b, ok := m.objects[name]
	if !ok {
		return nil, jetstream.ErrObjectNotFound
	}
	return object{Reader: bytes.NewReader(b)}, nil
}

type object struct {
	jetstream.ObjectResult
	*bytes.Reader
}

func (o object) Read(p []byte) (int, error) { return o.Reader.Read(p) }
func (o object) Close() error               { return nil }

func (m memory) PutBytes(_ context.Context, name string, data []byte) (*jetstream.ObjectInfo, error) {
	if name == "" {
		return nil, jetstream.ErrBadObjectMeta
	}
	m.objects[name] = data
	return &jetstream.ObjectInfo{}, nil
}

func (m memory) Delete(_ context.Context, name string) error {
	delete(m.objects, name)
	return nil
}

type keys struct {
	jetstream.KeyValue
	values map[string]string
}

func (k keys) Put(_ context.Context, key string, value []byte) (uint64, error) {
	k.values[key] = string(value)
	return 1, nil
}

func (k keys) Get(_ context.Context, key string) (jetstream.KeyValueEntry, error) {
	v, ok := k.values[key]
	if !ok {
		return nil, jetstream.ErrKeyNotFound
	}
	return entry{value: []byte(v)}, nil
}

type entry struct {
	jetstream.KeyValueEntry
	value []byte
}

func (e entry) Value() []byte { return e.value }

// message is a message of the queue, and the answers to it.
type message struct {
	jetstream.Msg
	subject string
	data    []byte
	before  uint64 // deliveries before this one
	answers []string
}

func (m *message) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{NumDelivered: m.before + 1}, nil
}

func (m *message) Subject() string                  { return m.subject }
func (m *message) Headers() nats.Header             { return nil }
func (m *message) Data() []byte                     { return m.data }
func (m *message) InProgress() error                { return nil }
func (m *message) Term() error                      { m.answers = append(m.answers, "term"); return nil }
func (m *message) Nak() error                       { m.answers = append(m.answers, "nak"); return nil }
func (m *message) NakWithDelay(time.Duration) error { m.answers = append(m.answers, "nak"); return nil }
func (m *message) DoubleAck(context.Context) error  { m.answers = append(m.answers, "ack"); return nil }

// farmInMemory returns a farm with its server in memory, and a worker.
func farmInMemory() (*Farm, *bench) {
	f := &Farm{build: "b", key: secret, id: secret.id(), lease: time.Minute, log: func(string) {}, waiting: map[string][]chan struct{}{}, sent: map[*exp.Plan]sentPlan{}, told: map[string]time.Time{},
		plans: memory{objects: map[string][]byte{}}, results: memory{objects: map[string][]byte{}}, failed: keys{values: map[string]string{}}}
	return f, &bench{f: f, plans: map[string]*exp.Plan{}, hung: map[string]bool{}}
}

// FuzzMessages checks that invalid content of the queue, or of the stores of plans
// and results, is an error of one job and never a panic, and that a job is
// acknowledged only if the server has its result or error: content that is signed,
// and content that is not, which has no effect at all.
func FuzzMessages(f *testing.F) {
	s, err := scenario.Parse("tiny.yaml", []byte(tiny))
	if err != nil {
		f.Fatal(err)
	}
	p, err := exp.NewPlan(s, "")
	if err != nil {
		f.Fatal(err)
	}
	name, packed, err := p.Pack()
	if err != nil {
		f.Fatal(err)
	}
	j := p.Jobs()[0]
	good, err := json.Marshal(job{name, j.Case, j.Seed, j.Key, "try", 0})
	if err != nil {
		f.Fatal(err)
	}
	rec, err := p.Record(f.Context(), j, scenario.Options{Threads: 1})
	if err != nil {
		f.Fatal(err)
	}
	rec.Build = "b"
	result, err := rec.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, packed, result, true)
	f.Add(good, packed, result, false)
	f.Add([]byte(`{"case":-1}`), []byte(`{}`), []byte(`{"key":"`+j.Key+`"}`), true)
	f.Add(bytes.Replace(good, []byte(j.Key), []byte("other"), 1), packed[:len(packed)/2], result[:len(result)/2], true)
	f.Add([]byte("null"), []byte("null"), result, true)
	f.Fuzz(func(t *testing.T, data, plan, result []byte, signed bool) {
		if signed && bytes.Equal(data, good) && bytes.Equal(plan, packed) {
			return // this would make the run, which takes too long for a fuzzer
		}
		farm, b := farmInMemory()
		sign := func(kind, about string, data []byte) []byte {
			if signed {
				return secret.sign("b", kind, about, data)
			}
			return data
		}
		farm.plans.(memory).objects[farm.named(name)] = sign("plan", name, plan)
		m := &message{subject: farm.subject(j.Key), data: sign("job", j.Key, data)}
		b.handle(t.Context(), m)
		results, failures := farm.results.(memory).objects, farm.failed.(keys).values
		if len(m.answers) != 1 {
			t.Errorf("the message of %q was answered by %q", data, m.answers)
		}
		done := results[farm.named(j.Key)] != nil || failures[farm.named(j.Key)] != ""
		if len(m.answers) > 0 && m.answers[0] == "ack" && !done {
			t.Errorf("the job of %q was acknowledged without a result or error", data)
		}
		if !signed && (done || m.answers[0] != "term") {
			t.Errorf("a message that is not signed was answered by %q", m.answers)
		}
		for key := range failures {
			if key != farm.named(j.Key) {
				t.Errorf("%q failed, which is not a job", key)
			}
		}
		farm, _ = farmInMemory()
		farm.results.(memory).objects[farm.named(j.Key)] = sign("result", j.Key, result)
		got, err := farm.result(t.Context(), j, "try")
		if signed && err == nil && got == nil {
			t.Error("neither a result nor an error")
		}
		if !signed && (err != nil || got != nil || len(farm.results.(memory).objects) > 0) {
			t.Errorf("a result that is not signed: %v, %v", got, err)
		}
		if err == nil && got != nil {
			if _, err := got.Encode(); err != nil || got.Key != j.Key || got.Run == nil || got.Run.Seed != j.Seed || got.Build != "b" {
				t.Errorf("an invalid result was accepted: %v", err)
			}
		}
		var failed exp.RunError
		if errors.As(err, &failed) {
			t.Errorf("an unreadable result is a failed run: %v", err)
		}
	})
}
