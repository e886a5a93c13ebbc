/**
 * Replay: what another matrix would change, exactly, and that a log of any length is read in bounded memory.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { blocksOf, LINE_BYTES_MAX } from '../../sidecar/signals/decision-log/blocks.ts'
import { type MalformedLine, readLines } from '../../sidecar/signals/decision-log/read-line.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'
import { command } from '../support/processes/command-line.ts'
import type { LoggedLine } from '../support/signals/decision-log.ts'
import { logUnder, replayed } from '../support/signals/replayed.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

const matrix = smallMatrix()
const { lines, text } = await logUnder(matrix)

describe('another matrix', () => {
  test('the same one changes nothing, in each mode', async () => {
    expect(lines.length).toBeGreaterThan(200)
    for (const each of [lines, (await logUnder(matrix, true)).lines]) {
      const { changed, untold, decisions } = replayed(each, matrix)
      expect({ changed, untold: [...untold], decisions }).toEqual({
        changed: 0,
        untold: [],
        decisions: lines.length,
      })
    }
  })

  // The changes are those that the other matrix decides otherwise, line by line.
  test.each<[what: string, change: (other: ReturnType<typeof smallMatrix>) => void]>([
    ['opens a cell', ({ apis }) => apis[1]?.accepts.push('room_key')],
    ['closes a cell', ({ apis }) => apis[2]?.accepts.pop()],
    [
      'has a kind in another header',
      ({ tokenKinds: [, key] }) => key && Object.assign(key, { header: 'X-Day-Pass' }),
    ],
    [
      'binds a kind otherwise',
      ({ tokenKinds: [, key] }) => key && Object.assign(key, { scopeLevel: 'account' }),
    ],
    [
      'has fewer APIs',
      (other) => Object.assign(other, { apis: other.apis.slice(1), statements: [], conflicts: [] }),
    ],
    ['has fewer conflicts', (other) => Object.assign(other, { conflicts: [] })],
  ])('that %s changes what it would have decided', async (_what, change) => {
    const other = smallMatrix()
    change(other)
    const { lines: after } = await logUnder(other)
    const changed = lines.filter((line, index) => {
      const then = after[index] as LoggedLine
      return line.reason !== then.reason || line.conflicts.join() !== then.conflicts.join()
    })
    const replay = replayed(lines, other)
    const told = replay.changes.reduce((sum, { decisions }) => sum + decisions, 0)
    const untold = [...replay.untold.values()].reduce((sum, count) => sum + count, 0)
    expect(told).toBe(replay.changed)
    expect(changed.length).toBeGreaterThan(0)
    // Only a header that is gone leaves anything open.
    expect([...replay.untold.keys()].filter((why) => why !== 'header_is_gone')).toEqual([])
    if (untold === 0) expect(replay.changed).toBe(changed.length)
    const opened = (each: readonly LoggedLine[]) => each.filter(({ allowed }) => allowed).length
    const sum = (type: string) =>
      replay.changes.filter((one) => one.type === type).reduce((total, { decisions }) => total + decisions, 0)
    if (untold === 0) expect(sum('opened') - sum('closed')).toBe(opened(after) - opened(lines))
  })

  test('strict mode in place of the other closes what is contested', () => {
    const { changes } = replayed(lines, matrix, true)
    expect(new Set(changes.map(({ type, api, kind, after }) => [type, api, kind, after].join(' ')))).toEqual(
      new Set(['closed lobby room_key CONTESTED', 'reason lobby room_key CONTESTED']),
    )
  })

  test('has its own kinds for the tokens of upstreams, which say only what they are bound to', () => {
    const passes = lines.filter(
      ({ asked, kind, token }) => asked === 'credentials' && kind === 'day_pass' && token !== undefined,
    )
    const by = (type: string) =>
      passes.map((line) => ({ ...line, subject: { id: 'u', account: '1', ...line.subject, type } }))
    const renamed: typeof matrix = JSON.parse(JSON.stringify(matrix).replaceAll('"day_pass"', '"pass"'))
    const { changed, decisions } = replayed(by('user'), renamed)
    expect([changed, decisions]).toEqual([0, passes.length])
    const without = smallMatrix()
    for (const kind of without.tokenKinds) kind.scopeLevel = 'project'
    Object.assign(without, { statements: [], conflicts: [] })
    const allowed = passes.filter((line) => line.allowed).length
    expect(allowed).toBeGreaterThan(0)
    for (const [type, after] of [
      ['user', 'CREDENTIAL_INVALID'],
      ['guest', 'INVALID_SCOPE'],
    ] as const) {
      const closed = replayed(by(type), without).changes.filter((change) => change.type === 'closed')
      expect(new Set(closed.map((change) => change.after))).toEqual(new Set([after]))
      expect(closed.reduce((sum, { decisions: count }) => sum + count, 0)).toBe(allowed)
    }
    // A token of this sidecar names its kind itself.
    expect(replayed(by('guest'), renamed).counts.closed).toBe(allowed)
  })

  test('an unknown result is not guessed: a credential that was not verified stays unknown', () => {
    const other = smallMatrix()
    other.apis.push({ id: 'attic', title: 'Attic', accepts: ['day_pass'], section: '§2' })
    const { changes, untold } = replayed(lines, other)
    expect(new Set(changes.map(({ api }) => api))).toEqual(new Set(['attic']))
    expect([...untold.keys()]).toEqual(['api_is_new'])
    expect(untold.get('api_is_new')).toBe(
      lines.filter(({ asked, api }) => asked === 'credentials' && api === 'attic').length,
    )
  })
})

describe('the command', () => {
  const opening = smallMatrix()
  opening.apis[1]?.accepts.push('room_key')
  opening.apis[2]?.accepts.pop()
  opening.statements = []
  opening.conflicts = []
  const [before, after] = [matrix, opening].map((each) => newFile(JSON.stringify(each), 'matrix.json'))

  test('nothing would change: 0', async () => {
    const log = newFile(text, 'decisions.log')
    expect(await command(['replay', log, '--matrix', before as string])).toMatchObject({
      code: 0,
      stdout: `${lines.length} decisions: none would change\n`,
    })
  })

  test('opened cells come first, and malformed lines have their number: 1', async () => {
    const [head, ...rest] = text.trimEnd().split('\n')
    const log = newFile([head, 'not JSON', '', '{"time":"now"}', ...rest].join('\n'), 'decisions.log')
    const { code, stdout } = await command(['replay', log, '--matrix', after as string])
    expect(code).toBe(1)
    const [first, second] = stdout.split('\n')
    expect(first).toMatch(new RegExp(`^${lines.length} decisions: \\d+ would change$`))
    expect(second).toMatch(
      /^opened +\d+ +library +room_key +TOKEN_KIND_NOT_ACCEPTED → ALLOWED +e\.g\. \d{4}-/,
    )
    expect(stdout).toContain(`malformed  ${log}:2: expected JSON\n`)
    expect(stdout).toMatch(/:4: \S+: expected/)
  })

  test('only decisions of a time, and of a compressed file', async () => {
    const log = newFile('', 'decisions.log.gz')
    writeFileSync(log, gzipSync(text))
    const [since, until] = [lines[100]?.time, lines[200]?.time] as [string, string]
    const decisions = async (...words: string[]) =>
      JSON.parse((await command(['replay', log, '--json', ...words])).stdout).decisions
    const are = (is: (time: string) => boolean) => lines.filter(({ time }) => is(time)).length
    expect(await decisions()).toBe(lines.length)
    expect(await decisions('--since', since)).toBe(are((time) => time >= since))
    expect(await decisions('--until', until, '--every-line')).toBe(are((time) => time < until))
    const none = await command(['replay', log, '--since', until, '--until', since])
    expect(none).toMatchObject({ code: 2, stderr: 'portcullis: --until: expected a time after --since\n' })
  })

  test('the same as JSON', async () => {
    const log = newFile(`${text}nonsense\n`, 'decisions.log')
    const { code, stdout } = await command(['replay', log, log, '--matrix', after as string, '--json'])
    const report = JSON.parse(stdout)
    expect({ code, report }).toMatchObject({
      code: 1,
      report: {
        decisions: 2 * lines.length,
        untold: {},
        malformed: { count: 2, first: [{ log, line: lines.length + 1 }, {}] },
      },
    })
    expect(report.changes[0]).toMatchObject({ type: 'opened', api: 'library', kind: 'room_key' })
  })

  test.each<[what: string, words: string[], message: string]>([
    ['a log that is not there', ['/nowhere/decisions.log'], '/nowhere/decisions.log cannot be read (ENOENT)'],
    [
      'a matrix that is not there',
      ['/dev/null', '--matrix', '/nowhere/m.json'],
      'matrix: /nowhere/m.json cannot be read (ENOENT)',
    ],
  ])('%s: 2', async (_what, words, message) => {
    const { code, stderr } = await command(['replay', ...words])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) })
  })
})

test('a line that follows the beginning of one is read: that process was killed, and another one went on', async () => {
  const [torn, whole] = lines.map((line) => JSON.stringify(line)) as [string, string]
  const read: unknown[] = []
  const malformed: MalformedLine[] = []
  async function* log() {
    yield Buffer.from(`${torn.slice(0, 50)}${whole}\n${whole}\n${torn.slice(0, 5)}${torn.slice(0, 9)}\n`)
  }
  await readLines(
    blocksOf(log()),
    (line) => read.push(line),
    (line) => malformed.push(line),
  )
  expect(read).toEqual([lines[1], lines[1]])
  expect(malformed.map(({ line }) => line)).toEqual([1, 3])
})

test('a long log is read in bounded memory, and a long line is malformed', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const chunk = Buffer.from(text)
  const malformed: MalformedLine[] = []
  let read = 0
  let grownMax = 0
  async function* log() {
    collect()
    const before = process.memoryUsage().arrayBuffers
    for (let sent = 0; sent < 16; sent++) yield Buffer.alloc(LINE_BYTES_MAX, 'x')
    // A collection frees buffers in the background, so that they are counted a little longer.
    await eventually(() => {
      collect()
      return process.memoryUsage().arrayBuffers - before < 4 * LINE_BYTES_MAX
    })
    yield Buffer.from('\n')
    collect()
    const atFirst = process.memoryUsage().heapUsed
    for (let sent = 0; sent < 6_000_000; sent += chunk.length) {
      yield chunk.subarray(0, 1_000)
      yield chunk.subarray(1_000)
    }
    collect()
    grownMax = process.memoryUsage().heapUsed - atFirst
  }
  await readLines(
    blocksOf(log()),
    () => read++,
    (line) => malformed.push(line),
  )
  expect(malformed).toEqual([{ line: 1, problem: `expected at most ${LINE_BYTES_MAX} bytes` }])
  expect(read * (text.length / lines.length)).toBeGreaterThan(5_500_000)
  expect(grownMax).toBeLessThan(2_000_000)
})

test('a log without an end of its last line is read to its end', async () => {
  const path = join(newFolder(), 'log')
  writeFileSync(path, text.trimEnd())
  expect(JSON.parse((await command(['replay', path, '--json'])).stdout)).toMatchObject({
    decisions: lines.length,
  })
})
