/** Lines of decision logs: each is read as it was written, and a search finds what it should. */
import { type Block, blocksOf } from '../../../sidecar/signals/decision-log/blocks.ts'
import { START } from '../../../sidecar/signals/decision-log/line-times.ts'
import { Matcher, newTally } from '../../../sidecar/signals/decision-log/matcher.ts'
import { type Line, readLines } from '../../../sidecar/signals/decision-log/read-line.ts'
import type { DecisionQuery } from '../../../sidecar/usecases/decision-search.ts'
import { promised, type Target } from '../target.ts'

const line = {
  time: '2026-11-22T09:44:34.123Z',
  ...{ protocol: 'grpc', caller: { name: 'web' }, request_id: 'r1', api: 'iam', kind: 'static_token' },
  ...{ allowed: true, reason: 'ALLOWED', matrix: 'x', strict: false, conflicts: [], asked: 'credentials' },
  ...{
    scope: { account: '123456' },
    token: 'abc',
    subject: { id: 'u1', type: 'service_user', account: '123456' },
    latency_us: 5,
  },
}

/** A query, and whether a line fits it. */
const QUERIES: readonly [query: DecisionQuery, has: (line: Line) => boolean][] = [
  [{ api: 'iam' }, ({ api }) => api === 'iam'],
  [{ tokens: ['abc'] }, ({ token }) => token === 'abc'],
  [{ allowed: true }, ({ allowed }) => allowed],
  [{ users: ['u1'] }, ({ subject }) => subject?.id === 'u1'],
  [{ requestId: 'r1' }, (each) => each.request_id === 'r1' || each.trace_id === 'r1'],
  [{ sinceMs: Date.parse(line.time) }, ({ time }) => Date.parse(time) >= Date.parse(line.time)],
]

/** Whether a sidecar would write the line so. */
function isWritten(line: Line, text: string, bytes: Buffer): boolean {
  const time = new Date(Date.parse(line.time) || 0).toISOString()
  return line.time === time && JSON.stringify(line) === text && bytes.includes(`${text}\n`)
}

/** Whether it could follow what is before it on its line: one that was torn within the same minute. */
function mayFollow(line: Line, offset: number, bytes: Buffer): boolean {
  const start = offset === 0 ? 0 : bytes.lastIndexOf('\n', offset - 1) + 1
  const torn = bytes.toString('latin1', start + START.length, offset).slice(0, line.time.length)
  return !torn.endsWith('Z') || Math.abs(Date.parse(torn) - Date.parse(line.time)) <= 60_000
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function linesOf(bytes: Buffer, size: number): Promise<string[]> {
  const lines: string[] = []
  await readLines(
    blocksOf(inPieces(bytes, size)),
    (each) => lines.push(JSON.stringify(each)),
    ({ line: at, problem }) => lines.push(`${at}: ${problem}`),
  )
  return lines
}

async function wholeBlock(bytes: Buffer): Promise<Block[]> {
  const blocks: Block[] = []
  for await (const block of blocksOf(inPieces(bytes, Math.max(1, bytes.length)))) blocks.push(block)
  return blocks
}

export const targets: readonly Target[] = [
  {
    name: 'decision-log',
    runsInTests: 300,
    // Each line is read twice as a whole, and by each query.
    stepsMax: (bytes) => 50_000 + 400 * bytes,
    seeds: [
      `${JSON.stringify(line)}\n${JSON.stringify({ ...line, api: 'balance', token: undefined })}\n`,
      `\n\n{"time":"${JSON.stringify(line)}\n`,
      'x',
    ],
    words: [
      '\n',
      '{"time":"',
      '"api":"iam"',
      '"token":"abc"',
      '"subject":{"id":"u1"',
      '"allowed":true',
      ' ',
      '\\u0061',
      '\u2028',
    ],
    run: async (bytes) => {
      const whole = await linesOf(bytes, Math.max(1, bytes.length))
      promised(
        JSON.stringify(whole) === JSON.stringify(await linesOf(bytes, 1 + ((bytes.at(-1) ?? 0) % 97))),
        'lines differ when the bytes arrive in pieces',
      )
      const blocks = await wholeBlock(bytes)
      const found = (query: DecisionQuery) =>
        blocks.flatMap((block) => new Matcher(query).find(block, newTally()))
      const all = found({})
      for (const { text, offset } of all)
        promised(
          bytes.subarray(offset).toString().trimStart().startsWith(text),
          'a line is where it was found',
        )
      for (const [query, has] of QUERIES) {
        const offsets = found(query).map(({ offset }) => offset)
        const expected = all.filter(({ line: each }) => has(each)).map(({ offset }) => offset)
        promised(
          offsets.every((offset) => expected.includes(offset)),
          'a line that is found fits the search',
        )
        // A line of another form may lack what a sidecar would have written.
        const own = all.filter(
          ({ line: each, text, offset }) =>
            has(each) && isWritten(each, text, bytes) && mayFollow(each, offset, bytes),
        )
        promised(
          own.every(({ offset }) => offsets.includes(offset)),
          'every line as a sidecar writes it is found',
        )
      }
    },
  },
]
