// SPDX-License-Identifier: Apache-2.0

// The chart library, a separate bundle that report and live share.

import uPlot from '../vendor/uplot/uPlot.esm.js';

globalThis.uPlot = uPlot;
