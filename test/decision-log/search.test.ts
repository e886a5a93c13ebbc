/**
 * Searches of decision logs find the same lines as a look at every line. They work in either direction, in
 * bounded memory, and whatever became of the files.
 */
import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import {
  blocksBefore,
  blocksOf,
  eachLine,
  LINE_BYTES_MAX,
} from '../../sidecar/signals/decision-log/blocks.ts'
import { Counts } from '../../sidecar/signals/decision-log/counts.ts'
import {
  filesOfLog,
  type LogFile,
  logFile,
  logsOfFolder,
} from '../../sidecar/signals/decision-log/log-files.ts'
import { countIn, foundIn, merged } from '../../sidecar/signals/decision-log/log-search.ts'
import { Matcher, newTally } from '../../sidecar/signals/decision-log/matcher.ts'
import { BLOCK_BYTES, searchTurn } from '../../sidecar/signals/decision-log/search-turn.ts'
import type { DecisionQuery } from '../../sidecar/usecases/decision-search.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'
import type { LoggedLine } from '../support/signals/decision-log.ts'
import { newFolder } from '../support/suite/resources.ts'

const START_MS = Date.UTC(2026, 10, 20)
const MATRIX = compile(smallMatrix(), {}).digest

/** The line of a decision that was made this many seconds after the start. */
function line(second: number, members: Partial<LoggedLine> = {}): LoggedLine {
  return {
    ...{ time: new Date(START_MS + second * 1_000).toISOString(), protocol: 'grpc' },
    ...{ caller: { address: '127.0.0.1' }, api: 'lobby', kind: 'day_pass', allowed: true, reason: 'ALLOWED' },
    ...{ matrix: MATRIX, strict: false, conflicts: [], asked: 'credentials' },
    ...{ scope: { account: '1' }, header: 'x-day-pass', latency_us: 3 },
    ...members,
  } as LoggedLine
}

const textOf = (lines: readonly object[]) => lines.map((each) => `${JSON.stringify(each)}\n`).join('')

/** Decisions of two days in which each member has several values. */
const LINES = Array.from({ length: 600 }, (_, index) =>
  line(index * 288, {
    api: ['lobby', 'library', 'cellar', 'a "quoted"\\ \u00e9 one'][index % 4] as string,
    ...(index % 3 === 0
      ? { allowed: false, reason: 'TOKEN_KIND_NOT_ACCEPTED' }
      : { allowed: true, reason: 'ALLOWED' }),
    token: String(index % 7).repeat(32),
    subject: { id: `user-${index % 5}`, type: 'guest', account: String(index % 6) },
    scope: index % 2 === 0 ? { account: String(index % 6) } : { account: '9', project: `p${index % 4}` },
    ...(index % 11 === 0 && { target: { account: '77', project: 'target' } }),
    ...(index % 13 === 0 && { request_id: `req-${index}` }),
    ...(index % 17 === 0 && { trace_id: `trace-${index}` }),
    ...(index % 10 === 0 && { client_address: `10.0.0.${index % 50}` }),
  }),
)

const at = (second: number) => START_MS + second * 1_000

/** A query, and the condition that its lines meet. */
const QUERIES: readonly [what: string, query: DecisionQuery, is: (line: LoggedLine) => boolean][] = [
  ['everything', {}, () => true],
  [
    'a time',
    { sinceMs: at(9_000), untilMs: at(90_000) },
    ({ time }) => Date.parse(time) >= at(9_000) && Date.parse(time) < at(90_000),
  ],
  ['a moment', { sinceMs: at(2_880), untilMs: at(2_880) + 1 }, ({ time }) => Date.parse(time) === at(2_880)],
  ['an API', { api: 'cellar' }, ({ api }) => api === 'cellar'],
  ['an API with signs of JSON', { api: 'a "quoted"\\ \u00e9 one' }, ({ api }) => api.startsWith('a')],
  ['a part of an API', { api: 'cell' }, () => false],
  ['a reason', { reason: 'TOKEN_KIND_NOT_ACCEPTED' }, ({ reason }) => reason !== 'ALLOWED'],
  ['a denial', { allowed: false }, ({ allowed }) => !allowed],
  ['an allowed decision', { allowed: true }, ({ allowed }) => allowed],
  ['a token', { tokens: ['x', '3'.repeat(32)] }, ({ token }) => token === '3'.repeat(32)],
  ['a user', { users: ['user-2'] }, ({ subject }) => subject?.id === 'user-2'],
  [
    'several users',
    { users: ['user-2', 'user-4', 'nobody'] },
    ({ subject }) => ['user-2', 'user-4'].includes(subject?.id ?? ''),
  ],
  [
    'very many users',
    { users: Array.from({ length: 99 }, (_, index) => `user-${index + 3}`) },
    ({ subject }) => ['user-3', 'user-4'].includes(subject?.id ?? ''),
  ],
  [
    'an account',
    { account: '4' },
    ({ scope, subject }) => scope?.account === '4' || subject?.account === '4',
  ],
  ['the account of a resource', { account: '77' }, ({ target }) => target?.account === '77'],
  ['a project', { project: 'p1' }, ({ scope }) => scope?.project === 'p1'],
  ['a request', { requestId: 'req-26' }, ({ request_id }) => request_id === 'req-26'],
  ['a trace', { requestId: 'trace-34' }, ({ trace_id }) => trace_id === 'trace-34'],
  [
    'an address of a client',
    { address: '10.0.0.20' },
    ({ client_address }) => client_address === '10.0.0.20',
  ],
  [
    'an address that is written otherwise',
    { address: '[::FFFF:10.0.0.20]:443' },
    ({ client_address }) => client_address === '10.0.0.20',
  ],
  ['the address of who asked', { address: '127.0.0.1', api: 'cellar' }, ({ api }) => api === 'cellar'],
  [
    'all of it',
    {
      sinceMs: at(0),
      allowed: false,
      users: ['user-0'],
      account: '9',
      api: 'cellar',
      reason: 'TOKEN_KIND_NOT_ACCEPTED',
    },
    ({ api, allowed, subject, scope }) =>
      api === 'cellar' && !allowed && subject?.id === 'user-0' && scope?.account === '9',
  ],
]

function newLog(text: string | Buffer, name = 'decisions.log', folder = newFolder()): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const search = (query: DecisionQuery, newestFirst: boolean, keptMax = 10_000) => ({
  ...{ matcher: new Matcher(query), tally: newTally(), newestFirst, blockBytes: 4_096, keptMax },
  onUnreadable: (_file: LogFile, error: Error): void => {
    throw error
  },
})

async function countOf(file: LogFile, query: DecisionQuery) {
  const counts = new Counts('api')
  const options = search(query, false)
  await countIn([file], counts, options)
  return { decisions: counts.decisions, damaged: options.tally.damaged }
}

const fileAt = async (path: string) => (await logFile(path)) as LogFile

async function timesOf(
  found: AsyncIterable<{ readonly line: { readonly time: string } }>,
): Promise<string[]> {
  return (await Array.fromAsync(found)).map((each) => each.line.time)
}

const plain = newLog(textOf(LINES))
const spaced = newLog(
  LINES.map((each) => `${JSON.stringify(each, undefined, 1).replaceAll('\n', ' ')}\r\n`).join(''),
)
const compressed = newLog(gzipSync(textOf(LINES)), 'decisions.log.gz')
const packed = newLog(zstdCompressSync(textOf(LINES)), 'decisions.log.zst')

describe.each([
  ['a file', plain],
  ['a file that another program has written with spaces', spaced],
  ['a file that gzip has compressed', compressed],
  ['a file that zstd has compressed', packed],
])('in %s', (_file, path) => {
  test.each(QUERIES)('%s is found as by a look at every line', async (_what, query, is) => {
    const expected = LINES.filter(is).map(({ time }) => time)
    const file = await fileAt(path)
    expect(await timesOf(foundIn([file], search(query, false)))).toEqual(expected)
    expect(await timesOf(foundIn([file], search(query, true)))).toEqual(expected.toReversed())
    expect(await countOf(file, query)).toMatchObject({ decisions: expected.length, damaged: 0 })
  })

  test('only the given number of the newest lines is kept', async () => {
    const found = timesOf(foundIn([await fileAt(path)], search({ allowed: false }, true, 7)))
    expect((await found).slice(0, 7)).toEqual(
      LINES.filter(({ allowed }) => !allowed)
        .slice(-7)
        .reverse()
        .map(({ time }) => time),
    )
  })
})

test.each([1, 2, 3, 7, 64, 1_000, 100_000])(
  'blocks of %i bytes are the same lines from both ends',
  async (size) => {
    const texts = ['', 'a', 'bc', '', 'd'.repeat(30), 'é'.repeat(200), '', 'end']
    for (const text of [texts.join('\n'), `${texts.join('\n')}\n`, '\n', 'x', '']) {
      const path = newLog(text)
      await using handle = await open(path)
      const linesIn = (blocks: readonly { readonly bytes: Buffer; readonly offset: number }[]) =>
        blocks.flatMap(({ bytes, offset }) => {
          const found: [number, string][] = []
          eachLine(bytes, (start, end) => found.push([offset + start, bytes.toString('utf8', start, end)]))
          return found
        })
      const chunks = async function* () {
        for (let from = 0; from < Buffer.byteLength(text); from += size)
          yield Buffer.from(text).subarray(from, from + size)
      }
      const forward = linesIn(await Array.fromAsync(blocksOf(chunks())))
      const backward = (await Array.fromAsync(blocksBefore(handle, Buffer.byteLength(text), size))).reverse()
      expect(linesIn(backward)).toEqual(forward)
      expect(forward.map(([, each]) => each)).toEqual(text === '' ? [] : text.replace(/\n$/, '').split('\n'))
    }
  },
)

test('a line that is too long is counted, and those around it are found', async () => {
  const long = `{"time":"${'x'.repeat(2 * LINE_BYTES_MAX)}`
  const path = newLog(`${textOf([line(1)])}${long}\n${textOf([line(2)])}`)
  for (const newestFirst of [false, true]) {
    const options = search({}, newestFirst)
    expect(await timesOf(foundIn([await fileAt(path)], options))).toHaveLength(2)
    expect(options.tally.damaged).toBe(1)
  }
})

test.each<[what: string, text: string, found: number, damaged: number, foreign: number]>([
  ['no JSON', `${textOf([line(1)])}nonsense\n${textOf([line(2)])}`, 2, 1, 0],
  ['a line of the other log', '{"level":30,"time":1795340674123,"msg":"hello"}\n', 0, 1, 0],
  ['a line of another program', '{"time":"2026-11-22T09:44:34.123Z","msg":"hello"}\n', 0, 1, 0],
  ['a last line that is cut', textOf([line(1), line(2)]).slice(0, -40), 1, 1, 0],
  ['a cut line with the next one behind it', textOf([line(1)]).slice(0, 60) + textOf([line(2)]), 1, 1, 0],
  ['empty lines', `\n\n${textOf([line(1)])}\n`, 1, 0, 0],
  ['zeros of a crash', `${'\0'.repeat(900)}\n${textOf([line(1)])}`, 1, 1, 0],
  ['a reason of a later version', textOf([line(1, { reason: 'MOON_PHASE' as never })]), 1, 0, 1],
  ['a member of a later version', textOf([{ ...line(1), mood: 'good' }]), 1, 0, 1],
  ['a member that is missing', textOf([{ ...line(1), matrix: undefined }]), 1, 0, 1],
  ['a line that a search has printed', textOf([{ ...line(1), names: { subject: 'worker' } }]), 1, 0, 0],
  [
    'a text that looks like a line',
    textOf([line(1, { api: '\n{"time":"2026-11-22T00:00:00.000Z","api":"x"' })]),
    1,
    0,
    0,
  ],
])('%s', async (_what, text, found, damaged, foreign) => {
  for (const newestFirst of [false, true]) {
    const options = search({}, newestFirst)
    expect(await timesOf(foundIn([await fileAt(newLog(text))], options))).toHaveLength(found)
    expect(options.tally).toMatchObject({ damaged, foreign })
  }
  expect(await countOf(await fileAt(newLog(text)), {})).toEqual({ decisions: found, damaged })
})

test('a compressed file that is cut gives what is there, and says that there is more', async () => {
  const random = LINES.map((each, index) => ({
    ...each,
    matrix: `sha256:${(index * 7919).toString(16).padStart(64, '0')}`,
  }))
  const whole = gzipSync(textOf(random))
  const file = await fileAt(newLog(whole.subarray(0, whole.length / 2), 'cut.gz'))
  for (const newestFirst of [false, true]) {
    const unreadable: string[] = []
    const options = {
      ...search({}, newestFirst),
      onUnreadable: (_file: LogFile, error: Error) => void unreadable.push(error.message),
    }
    expect((await timesOf(foundIn([file], options))).length).toBeGreaterThan(100)
    expect(unreadable).toHaveLength(1)
  }
})

describe('the files of a log', () => {
  const folder = newFolder()
  const parts = [LINES.slice(0, 150), LINES.slice(150, 270), LINES.slice(270, 450), LINES.slice(450)]
  const names = [
    'decisions.log.3.gz',
    'decisions.log-20261121',
    'decisions.log.20261121T120000000Z-77',
    'decisions.log',
  ]
  for (const [index, name] of names.entries())
    newLog(
      name.endsWith('.gz') ? gzipSync(textOf(parts[index] ?? [])) : textOf(parts[index] ?? []),
      name,
      folder,
    )
  newLog('{"level":30,"msg":"hello"}\n', 'sidecar.log', folder)
  newLog(textOf(LINES), 'decisions.log.bak', folder)
  newLog(textOf([line(5, { api: 'of another log' })]), 'other.jsonl', folder)
  mkdirSync(join(folder, 'decisions.log.4'))

  test('are those that it was replaced by, the oldest first, however they are named', async () => {
    const files = await filesOfLog(join(folder, 'decisions.log'))
    expect(files.map(({ name }) => name)).toEqual(names.map((name) => join(folder, name)))
    expect(await timesOf(foundIn(files, search({}, false)))).toEqual(LINES.map(({ time }) => time))
    expect(await timesOf(foundIn(files, search({}, true)))).toEqual(LINES.map(({ time }) => time).reverse())
  })

  test('are found in a folder, which may have several logs and other files', async () => {
    const logs = await logsOfFolder(folder)
    expect(logs.map((files) => files.length).sort()).toEqual([1, 1, 4])
  })

  test('of several hosts are one list by their time', async () => {
    const hosts = [0, 1, 2].map((host) => LINES.filter((_, index) => index % 3 === host))
    const files = await Promise.all(hosts.map((lines) => fileAt(newLog(textOf(lines)))))
    for (const newestFirst of [false, true]) {
      const all = files.map((file) => foundIn([file], search({}, newestFirst)))
      const times = LINES.map(({ time }) => time)
      expect(await timesOf(merged(all, newestFirst))).toEqual(newestFirst ? times.toReversed() : times)
    }
  })
})

describe('a search in parts', () => {
  const engine = compile(smallMatrix(), {})
  const turn = (from: string | undefined, rowsMax: number, signal = new AbortController().signal) => ({
    from,
    rowsMax,
    engine,
    signal,
  })

  async function everyPart(path: string, query: DecisionQuery, rowsMax: number): Promise<string[]> {
    const times: string[] = []
    let from: string | undefined
    do {
      const part = await searchTurn(path, query, turn(from, rowsMax))
      expect(part.rows.length).toBeLessThanOrEqual(rowsMax)
      times.push(...part.rows.map((row) => (row.line as LoggedLine).time))
      from = part.next
    } while (from !== undefined)
    return times
  }

  test.each(QUERIES)(
    '%s is found once, however long its parts are, in files of all sorts',
    async (_what, query, is) => {
      const folder = newFolder()
      newLog(gzipSync(textOf(LINES.slice(0, 150))), 'decisions.log.2.gz', folder)
      newLog(textOf(LINES.slice(150, 400)), 'decisions.log.1', folder)
      const path = newLog(textOf(LINES.slice(400)), 'decisions.log', folder)
      const expected = LINES.filter(is)
        .map(({ time }) => time)
        .reverse()
      for (const rowsMax of [37, 200, 5_000]) expect(await everyPart(path, query, rowsMax)).toEqual(expected)
    },
  )

  test('goes on in the same place when the file is replaced and grows between its parts', async () => {
    const path = newLog(textOf(LINES.slice(0, 400)))
    const first = await searchTurn(path, {}, turn(undefined, 100))
    const text = readFileSync(path)
    renameSync(path, `${path}.20261122T000000000Z-1`)
    writeFileSync(path, textOf([line(999_999)]))
    const second = await searchTurn(path, {}, turn(first.next, 100))
    expect(second.rows.map((row) => (row.line as LoggedLine).time)).toEqual(
      LINES.slice(200, 300)
        .map(({ time }) => time)
        .reverse(),
    )
    appendFileSync(`${path}.20261122T000000000Z-1`, text)
    expect((await searchTurn(path, {}, turn(second.next, 500))).rows).toHaveLength(200)
  })

  test.each([
    'nonsense',
    Buffer.from('["1-1",null]').toString('base64url'),
    Buffer.from('["1-1",-1]').toString('base64url'),
    Buffer.from('{}').toString('base64url'),
  ])('does not go on at %s', async (from) => {
    await expect(searchTurn(plain, {}, turn(from, 10))).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })

  test('lets others have their turn after each block, and ends when its client leaves', async () => {
    const long = newLog(Buffer.concat(Array.from({ length: 10 }, () => readFileSync(plain))))
    const blocks = readFileSync(long).length / BLOCK_BYTES
    const nobody = { tokens: ['f'.repeat(32)] }
    let turns = 0
    let counting = true
    const count = () => {
      turns++
      if (counting) setImmediate(count)
    }
    setImmediate(count)
    await searchTurn(long, nobody, turn(undefined, 10))
    counting = false
    expect(turns).toBeGreaterThan(blocks)
    const leaving = new AbortController()
    const searching = searchTurn(long, nobody, turn(undefined, 10, leaving.signal))
    setImmediate(() => leaving.abort(new Error('the client has gone')))
    await expect(searching).rejects.toThrow('the client has gone')
  })

  test('a row says what the rules of now decide', async () => {
    const open = line(1, {
      allowed: false,
      reason: 'TOKEN_KIND_NOT_ACCEPTED',
      subject: { id: 'u', type: 'guest', account: '1' },
    })
    const path = newLog(
      textOf([{ ...open, matrix: `sha256:${'0'.repeat(64)}` }, line(2, { api: 'library', asked: 'claims' })]),
    )
    const { rows } = await searchTurn(path, {}, turn(undefined, 10))
    expect(rows.map(({ afterwards }) => afterwards)).toMatchObject([
      { digest: 'same', now: { same: true } },
      { digest: 'other', message: undefined, now: { same: false, allowed: true, reason: 'ALLOWED' } },
    ])
  })
})
