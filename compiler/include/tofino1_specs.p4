// SPDX-License-Identifier: Apache-2.0

// p4c has the parts of tna.p4 in several files. Here each of them is the whole.
#include "tna.p4"
