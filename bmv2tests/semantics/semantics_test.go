package semantics

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/bmv2tests/semantics/generate"
	"github.com/pauseless/pauseless/bmv2tests/semantics/shrink"
)

var (
	count  = flag.Int("programs", 100, "")
	first  = flag.Uint64("seed", 1, "")
	show   = flag.Bool("show", false, "")
	reduce = flag.Bool("reduce", false, "")
)

func class(c generate.Case) string {
	p, err := Compile(c)
	if err != nil {
		return "refused"
	}
	e, err := Evaluate(c)
	if err != nil || e.Packets < 1 {
		return "invalid"
	}
	err = e.Run(p, nil)
	switch {
	case err == nil:
		return ""
	case strings.Contains(err.Error(), "[json-program]"):
		return "load"
	}
	return "differs"
}

func TestPrograms(t *testing.T) {
	refused, packets, sent, lines := 0, 0, 0, 0
	for i := range *count {
		seed := *first + uint64(i)
		c := generate.New(seed)
		if *show {
			fmt.Println(c.Text)
		}
		lines += len(c.Text)
		e, err := Evaluate(c)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		packets += e.Packets
		sent += len(c.Packets)
		p, err := Compile(c)
		if err == nil {
			err = e.Run(p, nil)
		}
		if r := (Refused{}); errors.As(err, &r) {
			refused++
			t.Logf("seed %d: %v", seed, err)
		} else if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			if *reduce {
				kind := class(c)
				c = shrink.Reduce(c, func(c generate.Case) bool { return class(c) == kind })
				e, _ := Evaluate(c)
				p, _ := Compile(c)
				t.Logf("%s\n%s\n%v", c.Text, e.Script, e.Run(p, nil))
			}
		}
	}
	t.Logf("%d refused, %d of %d packets, %d bytes per program", refused, packets, sent, lines / *count)
}
