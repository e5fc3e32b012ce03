// SPDX-License-Identifier: Apache-2.0

// Package tofino runs the open Tofino compiler (p4c-barefoot and bfas of
// p4lang/p4c) on programs, and reads the resources that they use.
package tofino

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/pauseless/pauseless/internal/infile"
)

// Resource is a kind of resource of the match-action stages.
type Resource int

// The resources, in the order of tables.
const (
	Crossbar    Resource = iota // bytes of the match input crossbar, exact and ternary
	HashBits                    // bits of the hash functions
	Gateways                    // units that evaluate conditions
	SRAM                        // blocks of 128 Kb
	MapRAM                      // blocks of counters, meters and registers, beside SRAM
	TCAM                        // blocks of 44 bits by 512
	VLIW                        // action instructions
	StatefulALU                 // units of registers and meters
	Instruction                 // instructions of stateful ALUs, four each: a RegisterAction uses one
	TableID                     // logical tables
	resources
)

// names has the names of the compiler's own summaries.
var names = [resources]string{"crossbar", "hash bits", "gateways", "SRAM", "map RAM", "TCAM", "VLIW", "stateful ALUs", "ALU instructions", "tables"}

func (r Resource) String() string { return names[r] }

// Use has the used amount and the total of each resource.
type Use struct {
	Used, Of [resources]int
}

// Percent is the share of a resource in use.
func (u *Use) Percent(r Resource) float64 {
	if u.Of[r] == 0 {
		return 0
	}
	return 100 * float64(u.Used[r]) / float64(u.Of[r])
}

// Program has the resources that a program uses.
type Program struct {
	Name     string
	Compiler string // its version
	Stages   int    // number of the last stage with a table, from 1
	Of       int    // stages of the chip; a program with more does not fit
	Total    Use
	ByStage  []Use
}

// file has the parts of resources.json that are used here. The compiler's
// resources_schema.py describes it.
type file struct {
	Name      string `json:"program_name"`
	Compiler  string `json:"compiler_version"`
	Schema    string `json:"schema_version"`
	Resources *struct {
		MAU *struct {
			Stages    int         `json:"nStages"`
			MAUStages []stageFile `json:"mau_stages"`
		} `json:"mau"`
	} `json:"resources"`
}

type item = json.RawMessage

type stageFile struct {
	Number   int `json:"stage_number"`
	Crossbar struct {
		Exact   int    `json:"exact_size"`
		Ternary int    `json:"ternary_size"`
		Bytes   []item `json:"bytes"`
	} `json:"xbar_bytes"`
	Hash struct {
		Bits      int    `json:"nBits"`
		Functions int    `json:"nFunctions"`
		Used      []item `json:"bits"`
	} `json:"hash_bits"`
	Gateways struct {
		Rows  int    `json:"nRows"`
		Units int    `json:"nUnits"`
		Used  []item `json:"gateways"`
	} `json:"gateways"`
	RAMs struct {
		Rows    int    `json:"nRows"`
		Columns int    `json:"nColumns"`
		Used    []item `json:"srams"`
	} `json:"rams"`
	MapRAMs struct {
		Rows  int    `json:"nRows"`
		Units int    `json:"nUnits"`
		Used  []item `json:"maprams"`
	} `json:"map_rams"`
	TCAMs struct {
		Rows    int    `json:"nRows"`
		Columns int    `json:"nColumns"`
		Used    []item `json:"tcams"`
	} `json:"tcams"`
	VLIW struct {
		Size int    `json:"size"`
		Used []item `json:"instructions"`
	} `json:"vliw"`
	ALUs struct {
		Number int    `json:"nAlus"`
		Used   []item `json:"meters"`
	} `json:"meter_alus"`
	Tables struct {
		Size int    `json:"size"`
		Used []item `json:"ids"`
	} `json:"logical_tables"`
}

func (s *stageFile) use() Use {
	var u Use
	set := func(r Resource, used []item, of int) { u.Used[r], u.Of[r] = len(used), of }
	set(Crossbar, s.Crossbar.Bytes, s.Crossbar.Exact+s.Crossbar.Ternary)
	set(HashBits, s.Hash.Used, s.Hash.Bits*s.Hash.Functions)
	set(Gateways, s.Gateways.Used, s.Gateways.Rows*s.Gateways.Units)
	set(SRAM, s.RAMs.Used, s.RAMs.Rows*s.RAMs.Columns)
	set(MapRAM, s.MapRAMs.Used, s.MapRAMs.Rows*s.MapRAMs.Units)
	set(TCAM, s.TCAMs.Used, s.TCAMs.Rows*s.TCAMs.Columns)
	set(VLIW, s.VLIW.Used, s.VLIW.Size)
	set(StatefulALU, s.ALUs.Used, s.ALUs.Number)
	u.Of[Instruction] = s.ALUs.Number * slotsPerALU
	set(TableID, s.Tables.Used, s.Tables.Size)
	return u
}

// Parse reads a resources.json. Errors name the file and the cause.
func Parse(name string, data []byte) (*Program, error) {
	var f file
	if err := infile.JSON(data, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if f.Resources == nil || f.Resources.MAU == nil {
		return nil, fmt.Errorf("%s has no resources.mau: is it a resources.json of p4c-barefoot, made with -g?", name)
	}
	if major, _, _ := strings.Cut(f.Schema, "."); major != "2" {
		return nil, fmt.Errorf("%s has schema version %q, this program reads 2.x", name, f.Schema)
	}
	mau := f.Resources.MAU
	if n := max(mau.Stages, len(mau.MAUStages)); n < 1 || n > maxStages {
		return nil, fmt.Errorf("%s: resources.mau has %d stages, must have from 1 to %d", name, n, maxStages)
	}
	p := &Program{Name: f.Name, Compiler: f.Compiler, Of: mau.Stages, ByStage: make([]Use, max(mau.Stages, len(mau.MAUStages)))}
	for i := range mau.MAUStages {
		s := &mau.MAUStages[i]
		if s.Number < 0 || s.Number >= len(p.ByStage) {
			return nil, fmt.Errorf("%s: stage %d of %d", name, s.Number, len(p.ByStage))
		}
		u := s.use()
		p.ByStage[s.Number] = u
		if u.Used[TableID] > 0 {
			p.Stages = max(p.Stages, s.Number+1)
		}
		for r := range resources {
			p.Total.Used[r] += u.Used[r]
			// The file may leave out stages without a table. All stages have the same
			// totals.
			p.Total.Of[r] = max(p.Total.Of[r], u.Of[r]*mau.Stages)
		}
	}
	return p, nil
}

// maxStages is beyond the stages of any Tofino.
const maxStages = 64

// slotsPerALU is the number of instructions of a stateful ALU.
const slotsPerALU = 4

// contextFile has the parts of context.json that are used here. The driver reads
// that file. It has the instructions of stateful ALUs, which resources.json lacks.
type contextFile struct {
	Tables []struct {
		Type   string `json:"table_type"`
		Name   string `json:"name"`
		Stages []struct {
			Number int `json:"stage_number"`
		} `json:"stage_tables"`
		Slots []struct {
			Slot int `json:"instruction_slot"`
		} `json:"action_to_stateful_instruction_slot"`
	} `json:"tables"`
}

// AddInstructions counts the instructions of stateful ALUs in the context.json
// of the same program, as far as actions call them.
func (p *Program) AddInstructions(name string, data []byte) error {
	var c contextFile
	if err := infile.JSON(data, &c); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(c.Tables) == 0 {
		return fmt.Errorf("%s has no tables: is it a context.json of bfas?", name)
	}
	for _, t := range c.Tables {
		if t.Type != "stateful" {
			continue
		}
		slots := make(map[int]bool)
		for _, s := range t.Slots {
			slots[s.Slot] = true
		}
		for _, s := range t.Stages {
			if s.Number < 0 || s.Number >= len(p.ByStage) {
				return fmt.Errorf("%s: register %s is in stage %d of %d", name, t.Name, s.Number, len(p.ByStage))
			}
			p.ByStage[s.Number].Used[Instruction] += len(slots)
			p.Total.Used[Instruction] += len(slots)
		}
	}
	return nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// Read reads every resources.json below a folder, and the context.json of the
// folder above it. A program has the name of its output folder; if that is the
// folder given, it has the name in the file. If there is no resources.json, Read
// reads the folder's tofino.json, a stored report. If some programs did not
// compile, Read returns the others and an error that names those.
func Read(dir string) ([]*Program, error) {
	var list []*Program
	var missing error
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "resources.json" {
			return err
		}
		data, err := infile.Read(path)
		if err != nil {
			return err
		}
		p, err := Parse(path, data)
		if err != nil {
			return err
		}
		beside := filepath.Join(filepath.Dir(path), "..", "context.json")
		if data, err = infile.Read(beside); err != nil {
			missing = errors.Join(missing, fmt.Errorf("%w: bfas writes it, with the instructions of stateful ALUs; did the program compile?", err))
			return nil
		}
		if err := p.AddInstructions(beside, data); err != nil {
			return err
		}
		if rel, err := filepath.Rel(dir, path); err == nil {
			if first, rest, below := strings.Cut(filepath.ToSlash(rel), "/"); below && strings.Contains(rest, "/") && first != "pipe" {
				p.Name = first
			}
		}
		list = append(list, p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && missing == nil {
		// A folder of results has the report alone.
		if rows := filepath.Join(dir, "tofino.json"); exists(rows) {
			return ReadRows(rows)
		}
		return nil, fmt.Errorf("no resources.json below %s: compile with p4c-barefoot -g, or with \"pauseless tofino build\"", dir)
	}
	sort.Slice(list, func(i, k int) bool { return list[i].Name < list[k].Name })
	return list, missing
}
