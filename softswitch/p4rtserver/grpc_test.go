// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/solo"
)

// serve starts a server for a switch without a program.
func serve(t *testing.T, opts Options, cfg GRPCConfig) (addr string, s *Server) {
	t.Helper()
	sw, err := softswitch.New(softswitch.Config{Name: "s1", DeviceID: 1, Ports: []softswitch.Port{{Number: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	solo.New(sw)
	s = New(sw, opts)
	g, err := s.GRPC(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go g.Serve(l)
	t.Cleanup(g.Stop)
	return l.Addr().String(), s
}

func dial(t *testing.T, addr string, creds credentials.TransportCredentials, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient(addr, append(opts, grpc.WithTransportCredentials(creds))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// capabilities calls the simplest method.
func capabilities(t *testing.T, c *grpc.ClientConn) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	_, err := p4v1.NewP4RuntimeClient(c).Capabilities(ctx, &p4v1.CapabilitiesRequest{})
	return err
}

// authority makes certificates.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
	pool *x509.CertPool
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir(), pool: x509.NewCertPool()}
	a.file, _ = a.issue(name, nil)
	a.pool.AddCert(a.cert)
	return a
}

// issue writes a certificate and its key, signed by parent, or self-signed for
// the authority if parent is nil.
func (a *authority) issue(name string, parent *authority) (certFile, keyFile string) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: parent == nil,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	signer, by := tmpl, key
	if parent != nil {
		signer, by = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, signer, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(a.dir, name+".crt"), filepath.Join(a.dir, name+".key")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	if parent == nil {
		a.key = key
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			a.t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// client returns the credentials of a client that trusts the authority, with a
// certificate issued by by, or without one.
func (a *authority) client(by *authority) credentials.TransportCredentials {
	a.t.Helper()
	cfg := &tls.Config{RootCAs: a.pool}
	if by != nil {
		pair, err := tls.LoadX509KeyPair(by.issue("controller", by))
		if err != nil {
			a.t.Fatal(err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(cfg)
}

func TestTLS(t *testing.T) {
	ca, other := newAuthority(t, "ca"), newAuthority(t, "other")
	cert, key := ca.issue("switch", ca)
	addr, _ := serve(t, Options{}, GRPCConfig{Cert: cert, Key: key})
	if err := capabilities(t, dial(t, addr, ca.client(nil))); err != nil {
		t.Errorf("over TLS: %v", err)
	}
	if err := capabilities(t, dial(t, addr, other.client(nil))); status.Code(err) != codes.Unavailable {
		t.Errorf("to a server that the client does not trust: %v", err)
	}
	if err := capabilities(t, dial(t, addr, insecure.NewCredentials())); status.Code(err) != codes.Unavailable {
		t.Errorf("in plain text: %v", err)
	}
}

func TestMutualTLS(t *testing.T) {
	ca, other := newAuthority(t, "ca"), newAuthority(t, "other")
	cert, key := ca.issue("switch", ca)
	addr, _ := serve(t, Options{}, GRPCConfig{Cert: cert, Key: key, CA: ca.file})
	if err := capabilities(t, dial(t, addr, ca.client(ca))); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	for what, by := range map[string]*authority{"without a certificate": nil, "with one of somebody else": other} {
		if err := capabilities(t, dial(t, addr, ca.client(by))); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestMistakesInTLSAreExplained(t *testing.T) {
	ca := newAuthority(t, "ca")
	cert, key := ca.issue("switch", ca)
	_, otherKey := ca.issue("other", ca)
	for want, cfg := range map[string]GRPCConfig{
		"TLS needs both a certificate and its key": {Cert: cert},
		"open none: no such file":                  {Cert: "none", Key: key},
		"is the key of another certificate than":   {Cert: cert, Key: otherKey},
		"open nothing: no such file":               {Cert: cert, Key: key, CA: "nothing"},
		`has a PEM block "EC PRIVATE KEY"`:         {Cert: cert, Key: key, CA: key},
	} {
		if _, err := New(mustSwitch(t), Options{}).GRPC(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func mustSwitch(t *testing.T) *softswitch.Switch {
	t.Helper()
	sw, err := softswitch.New(softswitch.Config{DeviceID: 1})
	if err != nil {
		t.Fatal(err)
	}
	return sw
}

func TestHealthAndReflection(t *testing.T) {
	addr, _ := serve(t, Options{}, GRPCConfig{})
	c := dial(t, addr, insecure.NewCredentials())
	for _, service := range []string{"", "p4.v1.P4Runtime"} {
		r, err := healthv1.NewHealthClient(c).Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
		if err != nil || r.Status != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", service, r, err)
		}
	}
	stream, err := reflectionv1.NewServerReflectionClient(c).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	r, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range r.GetListServicesResponse().GetService() {
		names = append(names, s.Name)
	}
	if !strings.Contains(strings.Join(names, " "), "p4.v1.P4Runtime") {
		t.Errorf("reflection lists %v", names)
	}
}

// Calls are counted with their codes, failures are logged, and a message that
// is too long is rejected.
func TestCallsAreCountedLoggedAndBounded(t *testing.T) {
	var mu sync.Mutex
	calls := map[string]int{}
	var log bytes.Buffer
	addr, _ := serve(t, Options{}, GRPCConfig{MaxMessage: 1000, Log: slog.New(slog.NewJSONHandler(&log, nil)),
		Calls: func(method string, code codes.Code, _ time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			calls[method[strings.LastIndex(method, "/")+1:]+" "+code.String()]++
		}})
	client := p4v1.NewP4RuntimeClient(dial(t, addr, insecure.NewCredentials()))
	if _, err := client.Write(t.Context(), &p4v1.WriteRequest{DeviceId: 7}); status.Code(err) != codes.NotFound {
		t.Errorf("a write for another device: %v", err)
	}
	if _, err := client.SetForwardingPipelineConfig(t.Context(), &p4v1.SetForwardingPipelineConfigRequest{DeviceId: 1,
		Config: &p4v1.ForwardingPipelineConfig{P4DeviceConfig: make([]byte, 2000)}}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a message of 2000 bytes where 1000 are allowed: %v", err)
	}
	if _, err := client.Capabilities(t.Context(), &p4v1.CapabilitiesRequest{}); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if calls["Write NotFound"] != 1 || calls["Capabilities OK"] != 1 {
		t.Errorf("counted %v", calls)
	}
	if line := log.String(); !strings.Contains(line, `"method":"/p4.v1.P4Runtime/Write"`) || !strings.Contains(line, `"code":"NotFound"`) {
		t.Errorf("logged %s", line)
	}
}

// The log has the cause of a failed batch, which is in its details.
func TestFirstErrorOfABatch(t *testing.T) {
	aborted, missing := status.Error(codes.Aborted, "not done"), status.Error(codes.NotFound, "no such entry")
	if got := firstError(batchError("Write failure.", []error{nil, aborted, missing, missing})); got != "3: NotFound: no such entry" {
		t.Errorf("the log says %q", got)
	}
	if got := firstError(missing); got != "" {
		t.Errorf("of an error that is no batch, the log says %q", got)
	}
}

// Calls beyond the limit of concurrent calls on a connection wait for others to
// end.
func TestCallsAtATimeAreBounded(t *testing.T) {
	addr, _ := serve(t, Options{}, GRPCConfig{MaxStreams: 2})
	client := p4v1.NewP4RuntimeClient(dial(t, addr, insecure.NewCredentials()))
	var cancels []context.CancelFunc
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		cancels = append(cancels, cancel)
		s, err := client.StreamChannel(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(&p4v1.StreamMessageRequest{}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); err != nil { // an error message: the stream is open
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := client.Capabilities(ctx, &p4v1.CapabilitiesRequest{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a third call beside two streams: %v", err)
	}
	for _, c := range cancels {
		c()
	}
	if _, err := client.Capabilities(t.Context(), &p4v1.CapabilitiesRequest{}); err != nil {
		t.Errorf("after they have ended: %v", err)
	}
}

// A bug in a call is an error for its caller and does not stop the switch.
func TestPanicsAreErrors(t *testing.T) {
	var log bytes.Buffer
	call := func() (err error) {
		defer ended(GRPCConfig{}, slog.New(slog.NewTextHandler(&log, nil)), "/x", time.Now(), &err)
		panic("oh")
	}
	if err := call(); status.Code(err) != codes.Internal || !strings.Contains(log.String(), "oh") {
		t.Errorf("error %v, logged %s", err, log.String())
	}
}

func TestLoopback(t *testing.T) {
	for addr, want := range map[string]bool{"127.0.0.1:9559": true, "localhost:1": true, "[::1]:1": true, ":9559": false, "0.0.0.0:1": false, "10.0.0.1:1": false, "x": false} {
		if got := Loopback(addr); got != want {
			t.Errorf("%s: %v, want %v", addr, got, want)
		}
	}
}

// A controller that does not read gets no more messages than its backlog, and
// the log has the number of lost ones.
func TestBacklogIsBounded(t *testing.T) {
	var log bytes.Buffer
	c := &client{out: make(chan *p4v1.StreamMessageResponse, 3), log: slog.New(slog.NewTextHandler(&log, nil))}
	c.id.Store(&electionID{0, 5})
	for range 25 {
		c.send(&p4v1.StreamMessageResponse{})
	}
	if len(c.out) != 3 || c.dropped.Load() != 22 {
		t.Errorf("%d wait and %d are lost, want 3 and 22", len(c.out), c.dropped.Load())
	}
	if n := strings.Count(log.String(), "a controller does not read"); n != 2 || !strings.Contains(log.String(), "election=5 lost=10 backlog=3") {
		t.Errorf("logged %d lines, want those for 1 and 10:\n%s", n, log.String())
	}
}
