// SPDX-License-Identifier: Apache-2.0

package interp

// An instr is one instruction of the register machine that programs are
// compiled to. Most have the form f[d] = f[a] op f[b].
//
// Alternatives measured on a mix of moves, sums, masks and branches: this
// switch over 16-byte instructions takes 1.4 ns per instruction, a slice of
// closures 4.2 ns, and closures that call the next one 1.8 ns. A fixed array
// for f, which saves the bounds checks, gains 6 % and costs half a megabyte per
// switch.
type instr struct {
	op      opcode
	d, a, b slot
	imm     uint64
}

type opcode uint16

// The instructions. A mask is applied to the result. "limbs" means that the
// slots are the first of several.
const (
	iEnd opcode = iota

	iMov  // d = a & imm
	iMovI // d = imm; fuse sets a to 1 if another one follows
	iAdd  // d = (a + b) & imm, and so on
	iSub
	iMul
	iAnd
	iOr
	iXor
	iShl
	iShr
	iDiv
	iMod
	iNot  // d = ^a & imm
	iSar  // d = int64(a) >> b
	iSext // d = a's low imm bits, sign-extended
	iUSat // d = a, clamped to 0…imm; b is 1 if a is signed
	iSSat // d = a, clamped to a signed number of imm bits; b is 1 if a is signed

	iEq // d = a == b, and so on; U unsigned, S signed
	iNe
	iLtU
	iLeU
	iLtS
	iLeS

	iJmp  // to imm
	iBack // to imm, backwards: limited
	iJZ   // if a == 0; fuse sets d of these to 1 if another of the same follows
	iJNZ
	iJBytes // if the bytes of the header with offset a match byteMatch b; only the optimiser emits it
	iJEq    // if a == b
	iJNe
	iJLtU
	iJLeU
	iJLtS
	iJLeS

	iWExt // d, imm.n limbs = a, imm.m limbs; extended with the sign if imm.flag
	iWAdd // d = a + b, imm.n limbs, and so on
	iWSub
	iWMul
	iWAnd
	iWOr
	iWXor
	iWNot
	iWShl // b is one limb
	iWShr // arithmetic if imm.flag
	iWDiv
	iWMod
	iWMask // d, imm.n limbs, truncated to imm.m bits
	iWSext // d, imm.n limbs, sign-extended from imm.m bits
	iWUSat // d, imm.n limbs, clamped to imm.m bits; signed before if imm.flag
	iWSSat
	iWEq // d = a == b, imm.n limbs
	iWLt // signed if imm.flag
	iWLe
	iWNonZero
	iWShift // d = a, imm.n limbs, as a shift amount

	iElem  // d = base of element a of a stack: imm.n base, imm.m stride, imm.k elements
	iLoad  // d = field imm of the block at a
	iStore // field imm of the block at a = b

	iAddHeader    // block at a, imm is the number of a headerOp
	iAddValid     // without clearing it
	iRemoveHeader // block at a
	iCopyHeader   // block at a = block at b
	iHeaderEq     // d = blocks at a and b are equal
	iVarbit       // variable-length field of the block at a = that of b
	iVarEq        // d = they are equal, as numbers
	iPush         // stack imm, by b
	iPop
	iCopyStack // stack imm.n = stack imm.m

	iRegRead  // d = register imm[a]; beyond the end zero if b is 1; fuse adds sameIndex
	iRegWrite // register imm[a] = b
	iRandom   // d in a…b
	iHash     // d = a + calculation imm mod b
	iWhole    // d = calculation imm
	iMath     // d = math unit imm of a
	iCount    // counter imm[a]; b bytes do not count
	iMeter    // d = colour of meter imm[a]; b is the colour before, in colourBits, and above it the bytes that do not count
	iClone    // session a, field list b
	iMirror   // session a, field list b
	iResubmit // field list a
	iRecirc   // field list a
	iDigest   // list a
	iTruncate // to a bytes
	iDrop     // by the architecture
	iDropPort // d = the port that drops
	iLog      // message imm
	iAssert   // a, message imm

	// Instructions that only the optimiser emits. A field is 64 bits from byte b,
	// shifted left by imm&0xff and right by imm>>8.
	iField // of the header with offset a; zero if it was not extracted
	iPeek  // of the unparsed part of the packet
	iOrI   // d |= imm
	iShlOr // d = a << imm | b
	iTake  // extraction imm of b bytes to block d, with no field to load

	// Instructions that only fuse emits. They include the following instructions.
	iFields     // several iField of one header: see instr.run
	iTakeFields // iTake and the following iField or iFields
	iMovs       // b times iMov
	iShlOrRead  // iShlOr and the following iRegRead

	iExtract // extraction imm
	iLook    // d, limbs = imm.n bits of the packet at bit imm.m
	iAdvance // by a bits
	iFail    // with error a
	iJMatch  // wide match imm of the key at a
	iVSet    // if the key at a is in value set imm
	iSwitch  // on a, by jump table imm
	iState   // a parser state that may occur again: limited
	iApply   // table imm
	iVerify  // checksum imm
	iUpdate  // checksum imm
	iTrace   // message imm
	opcodes
)

var opcodeNames = [opcodes]string{
	"end", "mov", "movi", "add", "sub", "mul", "and", "or", "xor", "shl", "shr", "div", "mod", "not", "sar", "sext", "usat", "ssat",
	"eq", "ne", "ltu", "leu", "lts", "les", "jmp", "back", "jz", "jnz", "jbytes", "jeq", "jne", "jltu", "jleu", "jlts", "jles",
	"wext", "wadd", "wsub", "wmul", "wand", "wor", "wxor", "wnot", "wshl", "wshr", "wdiv", "wmod", "wmask", "wsext", "wusat", "wssat",
	"weq", "wlt", "wle", "wnonzero", "wshift", "elem", "load", "store",
	"addheader", "addvalid", "removeheader", "copyheader", "headereq", "varbit", "vareq", "push", "pop", "copystack",
	"regread", "regwrite", "random", "hash", "whole", "math", "count", "meter", "clone", "mirror", "resubmit", "recirc", "digest", "truncate", "drop", "dropport", "log", "assert",
	"field", "peek", "ori", "shlor", "take", "fields", "takefields", "movs", "shlorread",
	"extract", "look", "advance", "fail", "jmatch", "vset", "switch", "state", "apply", "verify", "update", "trace",
}

func (op opcode) String() string { return opcodeNames[op] }

// isJump reports whether imm is a jump target.
func (op opcode) isJump() bool { return op >= iJmp && op <= iJLeS }

// Parts of imm: two numbers of 24 bits, one of 15 and a flag.
func pack(n, m, k int, flag bool) uint64 {
	x := uint64(n) | uint64(m)<<24 | uint64(k)<<48
	if flag {
		x |= 1 << 63
	}
	return x
}

func (i *instr) n() int     { return int(i.imm & 0xffffff) }
func (i *instr) m() int     { return int(i.imm >> 24 & 0xffffff) }
func (i *instr) k() int     { return int(i.imm >> 48 & 0x7fff) }
func (i *instr) flag() bool { return i.imm>>63 != 0 }

// sameIndex in b of an iRegRead says that the next instruction is one with the
// same index.
const sameIndex = 2

// run returns the number of fields that an iField or iFields loads, and
// lastByte the offset in the header of their last word.
func (i *instr) run() int      { return int(i.imm >> 16 & 0xff) }
func (i *instr) lastByte() int { return int(i.imm >> 24 & 0xffff) }
