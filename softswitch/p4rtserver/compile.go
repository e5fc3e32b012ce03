// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"bytes"
	"slices"
	"sync"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/softswitch/interp"

	"google.golang.org/protobuf/encoding/protowire"
)

// compiled caches the programs compiled last. All switches of a process with
// the same configuration share one program.
var compiled struct {
	sync.Mutex
	list []*compilation // most recently used last
}

// compilation is a configuration with its result.
type compilation struct {
	config []byte
	opts   interp.Options
	once   sync.Once
	json   *bmv2json.Program
	prog   *interp.Program
	err    error
}

// keepCompiled is the size of the cache: more programs than an experiment has.
const keepCompiled = 8

// compile compiles a device configuration, or returns the cached result, whose config
// has the same bytes. The caller must change neither the result nor the configuration.
func compile(config []byte, opts interp.Options) (*compilation, error) {
	compiled.Lock()
	i := slices.IndexFunc(compiled.list, func(c *compilation) bool { return c.opts == opts && bytes.Equal(c.config, config) })
	c := &compilation{config: config, opts: opts}
	if i >= 0 {
		c = compiled.list[i]
		compiled.list = slices.Delete(compiled.list, i, i+1)
	}
	compiled.list = append(compiled.list, c)
	if len(compiled.list) > keepCompiled {
		compiled.list = slices.Delete(compiled.list, 0, 1)
	}
	compiled.Unlock()
	c.once.Do(func() {
		if c.json, c.err = bmv2json.Decode("p4_device_config", deviceData(config)); c.err == nil {
			c.prog, c.err = interp.Compile(c.json, opts)
		}
	})
	if c.err != nil { // and is not worth its memory
		compiled.Lock()
		compiled.list = slices.DeleteFunc(compiled.list, func(x *compilation) bool { return x == c })
		compiled.Unlock()
	}
	return c, c.err
}

// deviceData returns the BMv2 JSON of a device configuration. Older clients,
// such as p4lang's tutorials and p4-utils, send it in a message of PI,
// p4.tmp.P4DeviceConfig, whose field device_data has number 3.
func deviceData(config []byte) []byte {
	var data []byte
	for rest := config; len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 || number > 3 {
			return config
		}
		value := rest[n:]
		if n = protowire.ConsumeFieldValue(number, kind, value); n < 0 {
			return config
		}
		if number == 3 && kind == protowire.BytesType {
			data, _ = protowire.ConsumeBytes(value)
		}
		rest = value[n:]
	}
	if data == nil {
		return config
	}
	return data
}
