// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/pauseless/pauseless/testbed/exp"
)

// reading is a connection on which a text arrives.
type reading struct {
	net.Conn
	io.Reader
}

func (r reading) Read(p []byte) (int, error) { return r.Reader.Read(p) }

// What a server sends is limited, in whatever pieces it arrives, and valid messages
// pass as they are.
func TestWhatAServerSendsIsLimited(t *testing.T) {
	message := "MSG a.b 1 _INBOX.x 12\r\nMSG c 1 9999\r\n"
	for text, want := range map[string]error{
		"INFO {}\r\nPING\r\n+OK\r\n" + message + "\r\nPING\r\n": nil,
		"INFO {}\r\nHMSG a 1 10 67108864\r\nNATS/1.0":           nil,
		"INFO {}\r\n\x16\x03\x01MSG a 1 99999999999999\r\n":     nil, // TLS
		"INFO {}\r\n\r\n\r\n":                                   nil,
		"INFO " + strings.Repeat("x", maxControl):               errControl,
		"INFO {}\r\nMSG a 1 67108865\r\n":                       errPayload,
		"msg a 1 99999999999999999999999\r\n":                   errPayload,
		"HMSG a 1 10 -1\r\n":                                    errPayload,
		"MSG\r\n":                                               errPayload,
		"MSG a 1 2\r\nxx\r\nMSG a 1 9223372036854775807\r\n":    errPayload,
	} {
		for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			got, err := io.ReadAll(bufio.NewReaderSize(&wire{Conn: reading{Reader: r}}, 100))
			if !errors.Is(err, want) || want == nil && string(got) != text {
				t.Errorf("%.60q: %.60q, %v", text, got, err)
			}
		}
	}
}

// A server that announces a message of 9 EB ends neither exp run nor a worker. Before,
// the client allocated as much, which is a panic in a goroutine of its own.
func TestServerThatAnnouncesHugeMessages(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, `INFO {"server_id":"x","version":"2.11.0","proto":1,"headers":true,"max_payload":1048576,"jetstream":true}`+"\r\n")
			for r := bufio.NewReader(c); ; {
				line, err := r.ReadString('\n')
				if err != nil {
					break
				}
				if strings.HasPrefix(line, "PING") {
					io.WriteString(c, "PONG\r\n")
				}
				if strings.HasPrefix(line, "SUB") {
					io.WriteString(c, "MSG _INBOX.x 1 9223372036854775807\r\n"+strings.Repeat("x", 40_000))
				}
			}
			c.Close()
		}
	}()
	if f, err := Connect(t.Context(), Options{Secret: secret, URL: "nats://" + l.Addr().String(), Lease: lease}); err == nil {
		f.Close()
		t.Error("connected")
	}
}

// Descriptions of objects that the client cannot read, or that name the chunks of all
// objects, do not keep a worker from storing its result, and are removed. Before, such
// a message under a run's name made every worker fail to store it, until the run
// counted as failed.
func TestForgedDescriptionsOfResults(t *testing.T) {
	s := serve(t, t.TempDir(), server.RANDOM_PORT)
	defer s.Shutdown()
	url := "nats://" + s.Addr().String()
	farm := offer(t, url, lease)
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	p := plan(t, tiny)
	jobs := p.Jobs()
	j, other := jobs[0], jobs[1]
	if _, err := farm.results.PutBytes(t.Context(), farm.named(other.Key), []byte("of another run")); err != nil {
		t.Fatal(err)
	}
	rec, err := (&exp.Record{Key: j.Key, Build: farm.build, Run: run(j.Seed)}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	good := farm.key.sign(farm.build, "result", j.Key, rec)
	for _, forged := range []string{`no JSON`, `{}`, `null`, `[]`, `{"nuid":">","chunks":1,"size":9}`, `{"nuid":"*","size":9}`, `{"nuid":"x y","chunks":0}`,
		`{"nuid":"x","chunks":1,"size":9,"digest":"x"}`, `{"nuid":"x","chunks":4294967295,"size":18446744073709551615}`, `{"nuid":"x","deleted":true}`,
		`{"nuid":"x","options":{"link":{"bucket":"pauseless_results","name":"` + farm.named(j.Key) + `"}}}`} {
		forge := func() {
			if err := errors.Join(nc.Publish("$O.pauseless_results.M."+base64.URLEncoding.EncodeToString([]byte(farm.named(j.Key))), []byte(forged)), nc.Flush()); err != nil {
				t.Fatal(err)
			}
		}
		forge()
		if got, err := farm.result(t.Context(), j, "try"); got != nil || err != nil {
			t.Errorf("%s: %v, %v", forged, got, err)
		}
		forge()
		if _, err := farm.results.PutBytes(t.Context(), farm.named(j.Key), good); err != nil {
			t.Errorf("%s: a result cannot be stored: %v", forged, err)
		}
		if got, err := farm.result(t.Context(), j, "try"); got == nil || err != nil {
			t.Errorf("%s: the result: %v, %v", forged, got, err)
		}
	}
	if data, err := farm.results.GetBytes(t.Context(), farm.named(other.Key)); err != nil || !bytes.Equal(data, []byte("of another run")) {
		t.Errorf("another result is gone: %v", err)
	}
	farm.Kept(t.Context(), j)
	if got, err := farm.result(t.Context(), j, "try"); got != nil || err != nil {
		t.Errorf("a result that was kept: %v, %v", got, err)
	}
}
