// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/pauseless/pauseless/testbed/web/webtest"
)

// ownCertificate writes a self-signed certificate for 127.0.0.1 and its key.
func ownCertificate(t *testing.T, dir, name string) (certFile, keyFile string, cert *x509.Certificate, pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile, cert, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// serveLive runs the verb live until the test is over, and returns the page's
// address.
func serveLive(t *testing.T, args ...string) string {
	t.Helper()
	scenario := filepath.Join(t.TempDir(), "small.yaml")
	text := `
name: small
network: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}}
profiles: [drill]
traffic:
- burst: {from: h1..h2, to: h4, flows: 4, size: 64KB, times: 1, interval: 1ms}
until: 20ms
`
	if err := os.WriteFile(scenario, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	cmd := newLiveCmd()
	cmd.SetArgs(append([]string{scenario, "--listen", "127.0.0.1:0"}, args...))
	cmd.SetOut(in)
	cmd.SetErr(io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		err := cmd.ExecuteContext(ctx)
		in.CloseWithError(io.EOF)
		done <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	go io.Copy(io.Discard, r)
	return strings.Fields(line)[0]
}

// A browser that trusts the page's certificate shows the map over TLS, other
// clients do not. With --tls-ca the client needs a certificate.
func TestLivePageOverTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile, cert, _ := ownCertificate(t, dir, "page")
	readerFile, _, _, reader := ownCertificate(t, dir, "reader")
	_, _, _, stranger := ownCertificate(t, dir, "stranger")
	get := func(url string, conf *tls.Config) error {
		tr := &http.Transport{TLSClientConfig: conf}
		defer tr.CloseIdleConnections()
		r, err := (&http.Client{Transport: tr, Timeout: 2 * time.Minute}).Get(url)
		if err == nil {
			r.Body.Close()
		}
		return err
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(cert)

	both := serveLive(t, "--tls-cert", certFile, "--tls-key", keyFile, "--tls-ca", readerFile)
	for name, c := range map[string]struct {
		with []tls.Certificate
		ok   bool
	}{"none": {nil, false}, "a stranger's": {[]tls.Certificate{stranger}, false}, "the reader's": {[]tls.Certificate{reader}, true}} {
		if err := get(both, &tls.Config{RootCAs: trusted, Certificates: c.with}); (err == nil) != c.ok {
			t.Errorf("with %s certificate: %v", name, err)
		}
	}
	url := serveLive(t, "--tls-cert", certFile, "--tls-key", keyFile)
	if !strings.HasPrefix(url, "https://") {
		t.Fatalf("the address is %s", url)
	}
	if err := get(url, &tls.Config{}); err == nil {
		t.Error("a certificate that is not trusted is accepted")
	}
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	p := webtest.Open(t, url, 1200, 900, chromedp.Flag("ignore-certificate-errors-spki-list", base64.StdEncoding.EncodeToString(sum[:])))
	p.Until("window.pauseless && pauseless.state().samples > 0 && document.getElementById('title').textContent === 'small'")
	if got := webtest.Eval[bool](p, "isSecureContext && location.protocol === 'https:'"); !got {
		t.Error("the page is not secure")
	}
}
