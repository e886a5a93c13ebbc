/** Whether npm waits for a server that it runs. Real ones: test/nightly/sidecar/npm.test.ts. */
import { expect, test } from 'vitest'
import { npmWaits } from '../../sidecar/cli/commands/npm.ts'

test.each<[script: string | undefined, waits: boolean]>([
  [undefined, false],
  ['node sidecar/portcullis.js serve --dev', true],
  ["'portcullis'", true],
  ['portcullis serve', true],
  ['NODE_ENV=test portcullis serve > log 2>&1', true],
  ['build && portcullis serve || exit 1', true],
  ['portcullis serve --data \'a & b\' --config "c & d"', true],
  ['portcullis serve |& tee log', true],
  ['portcullis serve &', false],
  ['portcullis serve & vitest run', false],
  ['nohup portcullis serve', false],
  ['setsid -f portcullis serve', false],
  // npm does not wait for the servers of a program that it runs.
  ['bash test.sh', false],
  ['vitest run', false],
])('npm waits for a server that it runs by %j: %s', (script, waits) => {
  expect(npmWaits(script)).toBe(waits)
})
