// SPDX-License-Identifier: Apache-2.0

// The core library of P4_16 (language spec, appendix "P4 core library").

#ifndef _CORE_P4_
#define _CORE_P4_

error {
    NoError,
    PacketTooShort,       // extract or lookahead wants more than is left
    NoMatch,              // no case of a select matches
    StackOutOfBounds,     // .next or .last of a stack that has none
    HeaderTooShort,       // the size given to extract exceeds the varbit
    ParserTimeout,        // the parser took too long
    ParserInvalidArgument // a parser operation got a value it cannot take
}

// A packet being parsed.
extern packet_in {
    // Reads a header of fixed size and goes behind it.
    void extract<T>(out T hdr);
    // Reads a header with one varbit field, which gets the given size.
    void extract<T>(out T variableSizeHeader, in bit<32> variableFieldSizeInBits);
    // Reads without going on.
    T lookahead<T>();
    // Goes on by so many bits.
    void advance(in bit<32> sizeInBits);
    // The length of the packet in bytes, where the target knows it.
    bit<32> length();
}

// A packet being put together.
extern packet_out {
    // Appends a header if it is valid, a stack or union element by element,
    // and the fields of a struct.
    void emit<T>(in T hdr);
}

// Goes to the reject state with the given error if the check fails.
extern void verify(in bool check, in error toSignal);

@noWarn("unused")
action NoAction() {}

match_kind {
    exact,
    ternary,
    lpm
}

// Stops the compilation, with the message, if the check is false.
extern bool static_assert(bool check, string message);
extern bool static_assert(bool check);

#endif // _CORE_P4_
