/**
 * The benchmarks of the page at a tiny size, in the Chromium of this machine. Without it their rows are
 * skipped, as in `npm run bench`.
 */
import { expect, test } from 'vitest'
import { suites } from '../../../bench/suites/index.ts'
import { runAtSmokeSize } from '../../bench/expected.ts'
import { findChromium } from '../../support/interop/browser.ts'
import { obtained } from '../../support/interop/obtain.ts'

const { ok } = await obtained('Chromium', findChromium)

test.each(suites.filter(({ needs }) => needs === 'browser'))(
  'the $name suite runs, checks its answers and produces its rows',
  async (suite) => {
    const skipped = await runAtSmokeSize(suite)
    expect(skipped.length > 0).toBe(!ok)
  },
)
