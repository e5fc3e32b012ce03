// SPDX-License-Identifier: Apache-2.0

// The chart library, in a bundle of its own: report and live both use it.

import uPlot from '../vendor/uplot/uPlot.esm.js';

globalThis.uPlot = uPlot;
