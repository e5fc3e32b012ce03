// SPDX-License-Identifier: Apache-2.0

package infile

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	number "math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// issued is a certificate with its key, as PEM.
type issued struct {
	cert      *x509.Certificate
	key       *ecdsa.PrivateKey
	pem, keys []byte
}

// issue makes a certificate that is valid from a time for an hour, signed by an authority,
// or by itself if by is nil.
func issue(t *testing.T, name string, from time.Time, by *issued) *issued {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: number.NewInt(from.UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: from, NotAfter: from.Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: by == nil,
	}
	signer, with := tmpl, key
	if by != nil {
		signer, with = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, signer, &key.PublicKey, with)
	if err != nil {
		t.Fatal(err)
	}
	i := &issued{key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	if i.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	i.keys = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	return i
}

// Files of certificates and keys that cannot work are errors with the file and what to do,
// at a server, at a client and as authorities.
func TestBadCertificatesAreExplained(t *testing.T) {
	hour := time.Now().Add(-30 * time.Minute)
	ca := issue(t, "ca", hour, nil)
	good, other := issue(t, "good", hour, ca), issue(t, "other", hour, ca)
	old, early := issue(t, "old", hour.Add(-48*time.Hour), ca), issue(t, "early", hour.Add(48*time.Hour), ca)
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	cert, key, authority := write("good.crt", good.pem), write("good.key", good.keys), write("ca.crt", ca.pem)
	broken := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("garbage")})
	for name, c := range map[string]struct {
		cert, key string
		want      string
	}{
		"expired":            {write("old.crt", old.pem), write("old.key", old.keys), `old.crt ("CN=old") has expired at `},
		"not yet valid":      {write("early.crt", early.pem), write("early.key", early.keys), `early.crt ("CN=early") is valid from `},
		"another's key":      {cert, write("other.key", other.keys), `other.key is the key of another certificate than ` + cert + ` ("CN=good")`},
		"swapped":            {key, cert, `good.key has a PEM block "PRIVATE KEY", expected a certificate`},
		"twice the same":     {cert, cert, `good.crt has a PEM block "CERTIFICATE", expected a private key`},
		"missing":            {filepath.Join(dir, "none"), key, "none: no such file"},
		"without a key":      {cert, "", "good.crt has no key: name the file of its key, too"},
		"without one":        {"", key, "good.key has no certificate"},
		"empty":              {write("empty", nil), key, "empty has no PEM text of a certificate"},
		"garbage":            {write("garbage", bytes.Repeat([]byte{1, 2, 3}, 1000)), key, "garbage has no PEM text of a certificate"},
		"DER":                {write("der", good.cert.Raw), key, "der has no PEM text, but perhaps DER: convert it with openssl"},
		"cut":                {write("cut", good.pem[:len(good.pem)/2]), key, "cut has no PEM text of a certificate"},
		"broken inside":      {write("broken", broken), key, "broken: certificate 1: x509: "},
		"second broken":      {write("second", append(bytes.Clone(good.pem), broken...)), key, "second: certificate 2: x509: "},
		"encrypted key":      {cert, write("secret", pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")})), "secret is encrypted: write the key without a passphrase"},
		"old encrypted key":  {cert, write("secret1", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Headers: map[string]string{"DEK-Info": "AES"}, Bytes: []byte("x")})), "secret1 is encrypted"},
		"key of nothing":     {cert, write("strange", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})), "strange: "},
		"huge":               {write("huge", bytes.Repeat([]byte("-----BEGIN CERTIFICATE-----\n"), maxPEM/28+1)), key, "too large"},
		"a device":           {"/dev/zero", key, "too large"},
		"many invalid parts": {write("many", bytes.Repeat([]byte("-----BEGIN CERTIFICATE-----\n"), maxPEM/28)), key, "many has no PEM text of a certificate"},
	} {
		_, server := ServerTLS(c.cert, c.key, "")
		_, client := ClientTLS("", c.cert, c.key)
		errs := []error{server, client}
		if c.key == key && c.cert != "" { // the file with the fault is one of certificates
			_, err := ServerTLS(cert, key, c.cert)
			_, err2 := ClientTLS(c.cert, "", "")
			errs = append(errs, err, err2)
		}
		for i, err := range errs {
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 500 {
				t.Errorf("%s, use %d: error %v, want %q", name, i, err, c.want)
			}
		}
	}
	for _, c := range [][3]string{{cert, key, authority}, {write("chain", append(bytes.Clone(good.pem), ca.pem...)), key, write("two", append(bytes.Clone(old.pem), ca.pem...))}} {
		if _, err := ServerTLS(c[0], c[1], c[2]); err != nil {
			t.Error(err)
		}
		if _, err := ClientTLS(c[2], c[0], c[1]); err != nil {
			t.Error(err)
		}
	}
}

// The failures of handshakes have advice, in TLS 1.2 and 1.3, as errors and as texts.
func TestFailedHandshakesHaveAdvice(t *testing.T) {
	hour := time.Now().Add(-30 * time.Minute)
	ca, stranger := issue(t, "ca", hour, nil), issue(t, "stranger", hour, nil)
	pair := func(i *issued) []tls.Certificate {
		return []tls.Certificate{{Certificate: [][]byte{i.cert.Raw}, PrivateKey: i.key}}
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	good, old, early := pair(issue(t, "good", hour, ca)), pair(issue(t, "good", hour.Add(-48*time.Hour), ca)), pair(issue(t, "good", hour.Add(48*time.Hour), ca))
	foreign := pair(issue(t, "good", hour, stranger))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, c := range map[string]struct {
		server, client []tls.Certificate
		host           string
		wants          bool // the server, a certificate
		want           string
	}{
		"good":                    {good, good, "good", true, ""},
		"server expired":          {old, nil, "good", false, "renew the server's certificate"},
		"server not yet valid":    {early, nil, "good", false, "set the clock of this machine"},
		"server of another CA":    {foreign, nil, "good", false, "give the certificate of the authority"},
		"wrong name":              {good, nil, "bad", false, "connect to a name or address that the server's certificate has"},
		"wrong address":           {good, nil, "127.0.0.1", false, "connect to a name or address that the server's certificate has"},
		"no client certificate":   {good, nil, "good", true, "a certificate of its clients that an authority which it trusts has signed: give one and its key"},
		"client expired":          {good, old, "good", true, "the server"},
		"client of another CA":    {good, foreign, "good", true, "the server does not trust this client's certificate"},
		"server of plain text":    {nil, nil, "good", false, "the server speaks no TLS"},
		"client of another's key": {good, []tls.Certificate{{Certificate: good[0].Certificate, PrivateKey: foreign[0].PrivateKey}}, "good", true, "the server"},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			here, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			there, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				defer there.Close()
				defer io.Copy(io.Discard, there) // what is not read would end the connection before its alert arrives
				if c.server == nil {
					there.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
					return
				}
				conf := &tls.Config{Certificates: c.server, MaxVersion: version, ClientCAs: pool}
				if c.wants {
					conf.ClientAuth = tls.RequireAndVerifyClientCert
				}
				s := tls.Server(there, conf)
				if s.Handshake() == nil {
					s.Write([]byte("x"))
				}
			}()
			client := tls.Client(here, &tls.Config{RootCAs: pool, ServerName: c.host, MaxVersion: version, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if c.client == nil {
					return new(tls.Certificate), nil
				}
				return &c.client[0], nil
			}})
			_, err = client.Read(make([]byte, 1))
			here.Close()
			if c.want == "" {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if err == nil {
				t.Errorf("%s: no error", name)
				continue
			}
			for _, err := range []error{err, fmt.Errorf("rpc error: %s", err.Error())} {
				if got := TLSAdvice(err); !strings.Contains(got, c.want) {
					t.Errorf("%s, version %x: advice %q for %v, want %q", name, version, got, err, c.want)
				}
			}
		}
	}
}
