// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"bytes"
	"compress/gzip"
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

func (m memory) GetBytes(_ context.Context, name string, _ ...jetstream.GetObjectOpt) ([]byte, error) {
	b, ok := m.objects[name]
	if !ok {
		return nil, jetstream.ErrObjectNotFound
	}
	return b, nil
}

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

func (k keys) PutString(_ context.Context, key, value string) (uint64, error) {
	k.values[key] = value
	return 1, nil
}

func (k keys) Get(context.Context, string) (jetstream.KeyValueEntry, error) {
	return nil, jetstream.ErrKeyNotFound
}

// message is a message of the queue, and the answers to it.
type message struct {
	jetstream.Msg
	subject string
	data    []byte
	answers []string
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
	f := &Farm{build: "b", lease: time.Minute, log: func(string) {}, waiting: map[string][]chan struct{}{}, sent: map[*exp.Plan]sentPlan{}, told: map[string]time.Time{},
		plans: memory{objects: map[string][]byte{}}, results: memory{objects: map[string][]byte{}}, failed: keys{values: map[string]string{}}}
	return f, &bench{f: f, plans: map[string]*exp.Plan{}}
}

// FuzzMessages checks that invalid content of the queue, or of the stores of plans
// and results, is an error of one job and never a panic, and that a job is
// acknowledged only if the server has its result or error.
func FuzzMessages(f *testing.F) {
	s, err := scenario.Parse("tiny.yaml", []byte(tiny))
	if err != nil {
		f.Fatal(err)
	}
	p, err := exp.NewPlan(s, "")
	if err != nil {
		f.Fatal(err)
	}
	name, packed := p.Pack()
	j := p.Jobs()[0]
	good, err := json.Marshal(job{name, j.Case, j.Seed, j.Key})
	if err != nil {
		f.Fatal(err)
	}
	rec, err := p.Record(f.Context(), j, scenario.Options{Threads: 1})
	if err != nil {
		f.Fatal(err)
	}
	result, err := rec.Encode()
	if err != nil {
		f.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(result))
	if err != nil {
		f.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(z); err != nil {
		f.Fatal(err)
	}
	f.Add(good, packed, text.Bytes(), false)
	f.Add([]byte(`{"case":-1}`), []byte(`{}`), []byte(`{"key":"`+j.Key+`"}`), false)
	f.Add(bytes.Replace(good, []byte(j.Key), []byte("other"), 1), packed[:len(packed)/2], text.Bytes()[:text.Len()/2], false)
	f.Add([]byte("null"), []byte("null"), result, true)
	f.Fuzz(func(t *testing.T, data, plan, result []byte, whole bool) {
		if bytes.Equal(data, good) && bytes.Equal(plan, packed) {
			return // this would make the run, which takes too long for a fuzzer
		}
		farm, b := farmInMemory()
		farm.plans.(memory).objects[name] = plan
		m := &message{subject: farm.subject(j.Key), data: data}
		b.handle(t.Context(), m)
		results, failures := farm.results.(memory).objects, farm.failed.(keys).values
		if len(m.answers) != 1 {
			t.Errorf("the message of %q was answered by %q", data, m.answers)
		}
		if len(m.answers) > 0 && m.answers[0] == "ack" && results[j.Key] == nil && failures[j.Key] == "" {
			t.Errorf("the job of %q was acknowledged without a result or error", data)
		}
		for key := range failures {
			if key != j.Key {
				t.Errorf("%q failed, which is not a job", key)
			}
		}
		if !whole { // most inputs are not gzip
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			z.Write(result)
			z.Close()
			result = packed.Bytes()
		}
		farm, _ = farmInMemory()
		farm.results.(memory).objects[j.Key] = result
		got, err := farm.result(t.Context(), j.Key)
		if err == nil && got == nil {
			t.Error("neither a result nor an error")
		}
		if err == nil {
			if _, err := got.Encode(); err != nil || got.Key != j.Key || got.Run == nil {
				t.Errorf("an invalid result was accepted: %v", err)
			}
		}
		var failed exp.RunError
		if errors.As(err, &failed) {
			t.Errorf("an unreadable result is a failed run: %v", err)
		}
	})
}
