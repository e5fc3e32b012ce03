// SPDX-License-Identifier: Apache-2.0

package ops

// An Instr is one instruction of the register machine that programs are
// compiled to. Most have the form f[d] = f[a] op f[b].
//
// Alternatives measured on a mix of moves, sums, masks and branches: this
// switch over 16-byte instructions takes 1.4 ns per instruction, a slice of
// closures 4.2 ns, and closures that call the next one 1.8 ns. A fixed array
// for f, which saves the bounds checks, gains 6 % and costs half a megabyte per
// switch.
type Instr struct {
	Op      Opcode
	D, A, B Slot
	Imm     uint64
}

// An Opcode is what an instruction does.
type Opcode uint16

// The instructions; d, a, b and imm are the parts of an Instr. A mask is applied to the
// result. "limbs" means that the slots are the first of several.
const (
	End Opcode = iota

	Mov  // d = a & imm
	MovI // d = imm; fuse sets a to 1 if another one follows
	Add  // d = (a + b) & imm, and so on
	Sub
	Mul
	And
	Or
	Xor
	Shl
	Shr
	Div
	Mod
	Not  // d = ^a & imm
	Sar  // d = int64(a) >> b
	Sext // d = a's low imm bits, sign-extended
	USat // d = a, clamped to 0…imm; b is 1 if a is signed
	SSat // d = a, clamped to a signed number of imm bits; b is 1 if a is signed

	Eq // d = a == b, and so on; U unsigned, S signed
	Ne
	LtU
	LeU
	LtS
	LeS

	Jmp  // to imm
	Back // to imm, backwards: limited
	JZ   // if a == 0; fuse sets d of these to 1 if another of the same follows
	JNZ
	JBytes // if the bytes of the header with offset a match ByteMatch b
	JEq    // if a == b
	JNe
	JLtU
	JLeU
	JLtS
	JLeS

	WExt // d, imm.n limbs = a, imm.m limbs; extended with the sign if imm.flag
	WAdd // d = a + b, imm.n limbs, and so on
	WSub
	WMul
	WAnd
	WOr
	WXor
	WNot
	WShl // b is one limb
	WShr // arithmetic if imm.flag
	WDiv
	WMod
	WMask // d, imm.n limbs, truncated to imm.m bits
	WSext // d, imm.n limbs, sign-extended from imm.m bits
	WUSat // d, imm.n limbs, clamped to imm.m bits; signed before if imm.flag
	WSSat
	WEq // d = a == b, imm.n limbs
	WLt // signed if imm.flag
	WLe
	WNonZero
	WShift // d = a, imm.n limbs, as a shift amount

	Elem  // d = base of element a of a stack: imm.n base, imm.m stride, imm.k elements
	Load  // d = field imm of the block at a
	Store // field imm of the block at a = b

	AddHeader    // block at a, imm is the number of a HeaderOp
	AddValid     // without clearing it
	RemoveHeader // block at a
	CopyHeader   // block at a = block at b
	HeaderEq     // d = blocks at a and b are equal
	Varbit       // variable-length field of the block at a = that of b
	VarEq        // d = they are equal, as numbers
	Push         // stack imm, by b
	Pop
	CopyStack // stack imm.n = stack imm.m

	RegRead  // d = register imm[a]; beyond the end zero if b is 1; fuse adds SameIndex
	RegWrite // register imm[a] = b
	Random   // d in a…b
	Hash     // d = a + calculation imm mod b
	Whole    // d = calculation imm
	Math     // d = math unit imm of a
	Count    // counter imm[a]; b bytes do not count
	Meter    // d = colour of meter imm[a]; b is the colour before, in ColourBits, and above it the bytes that do not count
	Clone    // session a, field list b
	Mirror   // session a, field list b
	Resubmit // field list a
	Recirc   // field list a
	Digest   // list a
	Truncate // to a bytes
	Drop     // by the architecture
	DropPort // d = the port that drops
	Log      // message imm
	Assert   // a, message imm

	// Instructions that only the optimiser emits. A field is 64 bits from byte b,
	// shifted left by imm&0xff and right by imm>>8.
	Field // of the header with offset a; zero if it was not extracted
	Peek  // of the unparsed part of the packet
	OrI   // d |= imm
	ShlOr // d = a << imm | b
	Take  // extraction imm of b bytes to block d, with no field to load

	// Instructions that only fuse emits. They include the following instructions.
	Fields     // several Field of one header: see Instr.Run
	TakeFields // Take and the following Field or Fields
	Movs       // b times Mov
	ShlOrRead  // ShlOr and the following RegRead

	Extract // extraction imm
	Look    // d, limbs = imm.n bits of the packet at bit imm.m
	Advance // by a bits
	Fail    // with error a
	JMatch  // wide match imm of the key at a
	VSet    // if the key at a is in value set imm
	Switch  // on a, by jump table imm
	State   // a parser state that may occur again: limited
	Apply   // table imm
	Verify  // checksum imm
	Update  // checksum imm
	Trace   // message imm
	Opcodes
)

var opcodeNames = [Opcodes]string{
	"end", "mov", "movi", "add", "sub", "mul", "and", "or", "xor", "shl", "shr", "div", "mod", "not", "sar", "sext", "usat", "ssat",
	"eq", "ne", "ltu", "leu", "lts", "les", "jmp", "back", "jz", "jnz", "jbytes", "jeq", "jne", "jltu", "jleu", "jlts", "jles",
	"wext", "wadd", "wsub", "wmul", "wand", "wor", "wxor", "wnot", "wshl", "wshr", "wdiv", "wmod", "wmask", "wsext", "wusat", "wssat",
	"weq", "wlt", "wle", "wnonzero", "wshift", "elem", "load", "store",
	"addheader", "addvalid", "removeheader", "copyheader", "headereq", "varbit", "vareq", "push", "pop", "copystack",
	"regread", "regwrite", "random", "hash", "whole", "math", "count", "meter", "clone", "mirror", "resubmit", "recirc", "digest", "truncate", "drop", "dropport", "log", "assert",
	"field", "peek", "ori", "shlor", "take", "fields", "takefields", "movs", "shlorread",
	"extract", "look", "advance", "fail", "jmatch", "vset", "switch", "state", "apply", "verify", "update", "trace",
}

// String returns the name of an opcode in Print.
func (op Opcode) String() string { return opcodeNames[op] }

// IsJump reports whether imm is a jump target.
func (op Opcode) IsJump() bool { return op >= Jmp && op <= JLeS }

// Pack returns the Imm of instructions whose Imm has parts: two numbers of 24 bits, one
// of 15 and a flag. N, M, K and Flag return the parts.
func Pack(n, m, k int, flag bool) uint64 {
	x := uint64(n) | uint64(m)<<24 | uint64(k)<<48
	if flag {
		x |= 1 << 63
	}
	return x
}

// N returns the first number of Pack.
func (i *Instr) N() int { return int(i.Imm & 0xffffff) }

// M returns the second number of Pack.
func (i *Instr) M() int { return int(i.Imm >> 24 & 0xffffff) }

// K returns the third number of Pack.
func (i *Instr) K() int { return int(i.Imm >> 48 & 0x7fff) }

// Flag returns the flag of Pack.
func (i *Instr) Flag() bool { return i.Imm>>63 != 0 }

// SameIndex in b of a RegRead says that the next instruction is one with the
// same index.
const SameIndex = 2

// Run returns the number of fields that a Field or Fields loads.
func (i *Instr) Run() int { return int(i.Imm >> 16 & 0xff) }

// LastByte returns the offset in the header of the last word that Fields loads.
func (i *Instr) LastByte() int { return int(i.Imm >> 24 & 0xffff) }
