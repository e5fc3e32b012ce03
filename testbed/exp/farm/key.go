// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/outfile"
)

// Key is the secret of a farm: `exp run` and its workers share it, the server does
// not have it. Every message carries a code (HMAC-SHA256, RFC 2104) that only
// holders of the key can make.
type Key [32]byte

// ReadKey reads a file with a key: 64 hexadecimal digits.
func ReadKey(file string) (k Key, err error) {
	text, err := infile.ReadUpTo(file, 1<<10)
	if err != nil {
		return k, err
	}
	b, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(b) != len(k) || k == Key(b) {
		return k, fmt.Errorf("%s: not a key of a farm, which is %d hexadecimal digits as `openssl rand -hex %d` prints them", file, 2*len(k), len(k))
	}
	return Key(b), nil
}

// MakeKey reads a file with a key, or makes both if there is no such file.
func MakeKey(file string) (Key, error) {
	k, err := ReadKey(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	rand.Read(k[:]) // never fails
	err = outfile.First(file, fmt.Appendf(nil, "%x\n", k), 0o600)
	if errors.Is(err, fs.ErrExist) { // another process has just made it
		return ReadKey(file)
	}
	return k, err
}

// id is the name of the key on the server. Farms with different keys may share a
// server, and do not see each other's jobs.
func (k Key) id() string { return hex.EncodeToString(k.code("", "id", "", nil)[:8]) }

// Token is what clients show a server that asks for a token.
func (k Key) Token() string { return hex.EncodeToString(k.code("", "token", "", nil)) }

// code returns the code of a message of a kind about something, of a build.
func (k Key) code(build, kind, about string, data []byte) []byte {
	h := hmac.New(sha256.New, k[:])
	field(h, "pauseless farm 1")
	field(h, build)
	field(h, kind)
	field(h, about)
	h.Write(data)
	return h.Sum(nil)
}

// field writes a text with its length, so that no two lists of fields are the same
// bytes.
func field(h hash.Hash, s string) {
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
	h.Write([]byte(s))
}

// sign returns a message with its code before it.
func (k Key) sign(build, kind, about string, data []byte) []byte {
	return append(k.code(build, kind, about, data), data...)
}

// open returns the message that sign returned, and whether it is one.
func (k Key) open(build, kind, about string, message []byte) (data []byte, ok bool) {
	if len(message) < sha256.Size {
		return nil, false
	}
	data = message[sha256.Size:]
	return data, hmac.Equal(message[:sha256.Size], k.code(build, kind, about, data))
}
