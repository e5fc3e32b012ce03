// SPDX-License-Identifier: Apache-2.0

package infile

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// maxPEM is the greatest size in bytes of a file of certificates or of a key. The bundles
// of operating systems have a quarter of a megabyte.
const maxPEM = 4 << 20

// KeyPair reads a certificate, with those between it and its authority, and its key, two
// PEM files. The certificate must be valid now.
func KeyPair(cert, key string) (tls.Certificate, error) {
	switch {
	case cert == "":
		return tls.Certificate{}, fmt.Errorf("key %s has no certificate: name the file of its certificate, too", key)
	case key == "":
		return tls.Certificate{}, fmt.Errorf("certificate %s has no key: name the file of its key, too", cert)
	}
	certs, err := certificates(cert)
	if err != nil {
		return tls.Certificate{}, err
	}
	if err := current(cert, certs[:1]); err != nil {
		return tls.Certificate{}, err
	}
	text, err := ReadUpTo(key, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	blocks, err := pemBlocks(key, text, func(kind string) bool { return strings.HasSuffix(kind, "PRIVATE KEY") }, "private key, which begins with -----BEGIN PRIVATE KEY-----")
	if err != nil {
		return tls.Certificate{}, err
	}
	if b := blocks[0]; b.Type == "ENCRYPTED PRIVATE KEY" || b.Headers["DEK-Info"] != "" {
		return tls.Certificate{}, fmt.Errorf("%s is encrypted: write the key without a passphrase: openssl pkey -in %[1]s", key)
	}
	var chain bytes.Buffer
	for _, c := range certs {
		if err := pem.Encode(&chain, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}); err != nil {
			return tls.Certificate{}, err
		}
	}
	pair, err := tls.X509KeyPair(chain.Bytes(), pem.EncodeToMemory(blocks[0]))
	if err != nil && strings.Contains(err.Error(), "does not match") {
		return pair, fmt.Errorf("%s is the key of another certificate than %s (%s)", key, cert, named(certs[0]))
	}
	if err != nil {
		return pair, fmt.Errorf("%s: %w", key, err)
	}
	return pair, nil
}

// Authorities reads a PEM file of certificates, which are to be trusted. One of them must
// be valid now.
func Authorities(name string) (*x509.CertPool, error) {
	certs, err := certificates(name)
	if err != nil {
		return nil, err
	}
	if err := current(name, certs); err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, c := range certs {
		pool.AddCert(c)
	}
	return pool, nil
}

// ServerTLS returns the configuration of a server with a certificate and key. If ca is not
// empty, clients need a certificate that one of its certificates has signed.
func ServerTLS(cert, key, ca string) (*tls.Config, error) {
	pair, err := KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	conf := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if ca != "" {
		if conf.ClientCAs, err = Authorities(ca); err != nil {
			return nil, err
		}
		conf.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return conf, nil
}

// ClientTLS returns the configuration of a client that trusts the certificates in ca, or
// those of the system if ca is empty, and has a certificate if cert is not.
func ClientTLS(ca, cert, key string) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	if ca != "" {
		if conf.RootCAs, err = Authorities(ca); err != nil {
			return nil, err
		}
	}
	if cert != "" || key != "" {
		pair, err := KeyPair(cert, key)
		if err != nil {
			return nil, err
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}

// certificates reads the certificates of a file, at least one. None is left out.
func certificates(name string) ([]*x509.Certificate, error) {
	text, err := ReadUpTo(name, maxPEM)
	if err != nil {
		return nil, err
	}
	blocks, err := pemBlocks(name, text, func(kind string) bool { return kind == "CERTIFICATE" }, "certificate, which begins with -----BEGIN CERTIFICATE-----")
	if err != nil {
		return nil, err
	}
	var certs []*x509.Certificate
	for i, b := range blocks {
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: certificate %d: %w", name, i+1, err)
		}
		certs = append(certs, c)
	}
	return certs, nil
}

// pemBlocks returns the blocks of a kind, at least one.
func pemBlocks(name string, text []byte, is func(kind string) bool, what string) (found []*pem.Block, err error) {
	other := ""
	for rest := text; ; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		if is(b.Type) {
			found = append(found, b)
		} else {
			other = b.Type
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case other != "":
		return nil, fmt.Errorf("%s has a PEM block %.40q, expected a %s", name, other, what)
	case len(text) > 0 && text[0] == 0x30:
		return nil, fmt.Errorf("%s has no PEM text, but perhaps DER: convert it with openssl x509 -inform der or openssl pkey -inform der", name)
	}
	return nil, fmt.Errorf("%s has no PEM text of a %s", name, what)
}

// now is the time of the clock. Tests set it.
var now = time.Now

// current returns an error if no certificate is valid now.
func current(name string, certs []*x509.Certificate) error {
	at := now()
	var first error
	for _, c := range certs {
		var err error
		switch {
		case at.Before(c.NotBefore):
			err = fmt.Errorf("%s (%s) is valid from %s, and the clock of this machine says %s: set the clock, or use another certificate", name, named(c), c.NotBefore.UTC().Format(time.RFC3339), at.UTC().Format(time.RFC3339))
		case at.After(c.NotAfter):
			err = fmt.Errorf("%s (%s) has expired at %s, and the clock of this machine says %s: renew the certificate, or set the clock", name, named(c), c.NotAfter.UTC().Format(time.RFC3339), at.UTC().Format(time.RFC3339))
		default:
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func named(c *x509.Certificate) string { return fmt.Sprintf("%.200q", c.Subject.String()) }

// TLSAdvice says what to do about the failure of a TLS handshake, or "".
func TLSAdvice(err error) string {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
	)
	text := err.Error()
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	switch { // gRPC passes texts only
	case errors.As(err, &host) || has("x509: certificate is valid for", "x509: cannot validate certificate", "x509: certificate is not valid for any names", "certificate relies on legacy Common Name"):
		return "connect to a name or address that the server's certificate has, or issue one with this subjectAltName"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired || has("certificate has expired or is not yet valid"):
		return "renew the server's certificate, or set the clock of this machine"
	case errors.As(err, &authority) || has("certificate signed by unknown authority"):
		return "give the certificate of the authority that signed the server's"
	case has("tls: certificate required", "tls: no certificates"):
		return "the server wants a certificate of its clients that an authority which it trusts has signed: give one and its key"
	case has("remote error: tls: handshake failure"):
		return "the server may want a certificate of its clients that an authority which it trusts has signed: give one and its key; or it has no TLS version in common with this client"
	case has("remote error: tls: error decrypting message", "remote error: tls: decrypt error"):
		return "the server says that this client's key is not that of its certificate"
	case has("tls: expired certificate", "tls: certificate expired"):
		return "the server says that this client's certificate has expired: renew it, or set the server's clock"
	case has("tls: unknown certificate authority", "tls: bad certificate", "tls: unknown certificate"):
		return "the server does not trust this client's certificate: use one that an authority signed which the server trusts"
	case errors.As(err, &record) || has("first record does not look like a TLS handshake"):
		return "the server speaks no TLS: connect without certificates"
	case has("error reading server preface"):
		return "does the server use TLS? then give the certificate of its authority"
	}
	return ""
}
