// SPDX-License-Identifier: Apache-2.0

package source

import "testing"

func TestPositions(t *testing.T) {
	var s Set
	a := s.Add("a.p4", "one\ntwo\r\n\nfour")
	b := s.Add("b.p4", "")
	c := s.Add("c.p4", "x\ny")
	for _, p := range []struct {
		f      *File
		offset int
		want   string
	}{
		{a, 0, "a.p4:1:1"}, {a, 3, "a.p4:1:4"}, {a, 4, "a.p4:2:1"}, {a, 8, "a.p4:2:5"}, {a, 9, "a.p4:3:1"},
		{a, 10, "a.p4:4:1"}, {a, 14, "a.p4:4:5"}, {b, 0, "b.p4:1:1"}, {c, 2, "c.p4:2:1"}, {c, 3, "c.p4:2:2"},
	} {
		pos := p.f.Pos(p.offset)
		if got := s.Position(pos).String(); got != p.want {
			t.Errorf("%s at %d: %s, want %s", p.f.Name, p.offset, got, p.want)
		}
		if s.FileAt(pos) != p.f || p.f.Offset(pos) != p.offset {
			t.Errorf("%s at %d: not found again", p.f.Name, p.offset)
		}
	}
	if got := s.Position(0).String(); got != "-" {
		t.Errorf("nowhere is at %s", got)
	}
}

func TestSetLine(t *testing.T) {
	var s Set
	f := s.Add("a.p4", "#line 50\nx\n#line 7 \"b.p4\"\ny\nz\n#line 1\nlast")
	f.SetLine(1, "", 50)
	f.SetLine(12, "b.p4", 7)
	f.SetLine(31, "", 1)
	for offset, want := range map[int]string{0: "a.p4:1:1", 9: "a.p4:50:1", 11: "a.p4:51:1", 26: "b.p4:7:1", 28: "b.p4:8:1", 38: "b.p4:1:1"} {
		if got := s.Position(f.Pos(offset)).String(); got != want {
			t.Errorf("offset %d: %s, want %s", offset, got, want)
		}
	}
	f.SetLine(40, "c.p4", 3) // the last line: no line follows
	if got := s.Position(f.Pos(40)).String(); got != "b.p4:1:3" {
		t.Errorf("last line: %s", got)
	}
}

func TestText(t *testing.T) {
	var s Set
	a := s.Add("a.p4", "one two\r\nthree")
	b := s.Add("b.p4", "four")
	for _, c := range []struct {
		start, end     Pos
		text, fragment string
	}{
		{a.Pos(0), a.Pos(3), "one", "one"},
		{a.Pos(4), a.Pos(11), "two\r\nth", "two ..."},
		{a.Pos(4), b.Pos(2), "", ""},
		{a.Pos(4), a.Pos(2), "", ""},
		{0, 0, "", ""},
	} {
		sp := Span{c.start, c.end}
		if got := s.Text(sp); got != c.text {
			t.Errorf("text of %v: %q, want %q", sp, got, c.text)
		}
		if got := s.Fragment(sp); got != c.fragment {
			t.Errorf("fragment of %v: %q, want %q", sp, got, c.fragment)
		}
	}
	if got := string(s.Source("b.p4")); got != "four" {
		t.Errorf("source of b.p4: %q", got)
	}
	if s.Source("c.p4") != nil || s.Main() != a {
		t.Error("a file that is not there is found, or the wrong one is the main one")
	}
}
