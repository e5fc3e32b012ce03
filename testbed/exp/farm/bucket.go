// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// bucket is a store of objects on the server, which anyone there may write.
//
// The client of NATS trusts the descriptions of objects: it follows links, one that
// refers to itself without end; it can neither replace nor delete an object whose
// description it cannot read; and to replace one it deletes the chunks that the
// description names, which may be all of the store.
type bucket struct {
	jetstream.ObjectStore
	stream jetstream.Stream // with descriptions and chunks
	name   string
}

// errLink is the error of an object that refers to another one. We make none.
var errLink = errors.New("it is a link")

// GetInfo finds only objects whose bytes are all there. The client writes the bytes
// of an object in chunks, and then its description. If the connection fails before
// all are acknowledged, Put removes the chunks, but not the description, which the
// server may have (purgePartial in object.go of nats.go 1.55). GetBytes of such an
// object waits until its context ends. GetInfo does not look for the chunks first,
// since servers before 2.11 search all subjects of a store for them.
func (b bucket) GetInfo(ctx context.Context, name string, o ...jetstream.GetObjectInfoOpt) (*jetstream.ObjectInfo, error) {
	info, err := b.ObjectStore.GetInfo(ctx, name, o...)
	if err != nil {
		return nil, err
	}
	if info.NUID == "" || strings.ContainsAny(info.NUID, ".*> \t\r\n") { // it names chunks
		return nil, jetstream.ErrBadObjectMeta
	}
	if info.Opts != nil && info.Opts.Link != nil {
		return nil, errLink
	}
	if info.Chunks == 0 {
		return info, nil
	}
	chunks := "$O." + b.name + ".C." + info.NUID
	s, err := b.stream.Info(ctx, jetstream.WithSubjectFilter(chunks))
	if err != nil {
		return nil, err
	}
	if s.State.Subjects[chunks] != uint64(info.Chunks) {
		return nil, jetstream.ErrObjectNotFound
	}
	return info, nil
}

// PutBytes stores an object, whatever is under its name.
func (b bucket) PutBytes(ctx context.Context, name string, data []byte) (*jetstream.ObjectInfo, error) {
	if err := b.Delete(ctx, name); err != nil {
		return nil, err
	}
	return b.ObjectStore.PutBytes(ctx, name, data)
}

// Delete deletes the description of an object, whatever it is, and its chunks if
// they can only be its own.
func (b bucket) Delete(ctx context.Context, name string) error {
	info, err := b.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		_, err = b.ObjectStore.GetInfo(ctx, name) // there may be a part of it
	}
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	if err := b.stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+b.name+".M."+base64.URLEncoding.EncodeToString([]byte(name)))); err != nil {
		return err
	}
	if info == nil {
		return nil
	}
	return b.stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+b.name+".C."+info.NUID))
}
