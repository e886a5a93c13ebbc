/**
 * The report of a replay: the changes for which the command fails, the callers, the numbers of each account,
 * and the same as one HTML file.
 */
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { Replay } from '../../sidecar/signals/decision-log/replay.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'
import { command } from '../support/processes/command-line.ts'
import type { LoggedLine } from '../support/signals/decision-log.ts'
import { logUnder, replayed } from '../support/signals/replayed.ts'
import { newFile, newFolder } from '../support/suite/resources.ts'

const matrix = smallMatrix()
const { lines, text } = await logUnder(matrix)
const opening = smallMatrix()
opening.apis[1]?.accepts.push('room_key')
opening.apis[2]?.accepts.pop()
opening.statements = []
opening.conflicts = []
const [before, after] = [matrix, opening].map((each) => newFile(JSON.stringify(each), 'matrix.json'))

describe('--fail-on', () => {
  const closing = smallMatrix()
  closing.apis[2]?.accepts.pop()
  closing.statements = []
  closing.conflicts = []
  const onlyClosed = newFile(JSON.stringify(closing), 'matrix.json')
  const log = newFile(text, 'decisions.log')
  const torn = newFile(`${text}{"time":"20`, 'decisions.log')

  test.each<[change: string, matrix: string | undefined, log: string, code: number]>([
    ['opened', after, log, 1],
    ['opened', onlyClosed, log, 0],
    ['opened', before, torn, 0],
    ['closed', after, log, 1],
    ['closed', onlyClosed, log, 1],
    ['closed', before, log, 0],
    ['any', onlyClosed, log, 1],
    ['any', before, torn, 0],
  ])('%s', async (change, other = '', file, code) => {
    const ended = await command(['replay', file, '--matrix', other, '--fail-on', change])
    expect(ended).toMatchObject({ code, stderr: '' })
  })

  test('counts what may open, because it may not stay closed', async () => {
    const other = smallMatrix()
    other.apis.push({ id: 'attic', title: 'Attic', accepts: ['day_pass'], section: '§2' })
    Object.assign(other, { statements: [], conflicts: [] })
    const unknown = lines.filter(({ asked, api }) => asked === 'credentials' && api === 'attic')
    const attic = newFile(unknown.map((line) => `${JSON.stringify(line)}\n`).join(''), 'attic.log')
    const words = ['replay', attic, '--matrix', newFile(JSON.stringify(other), 'matrix.json'), '--fail-on']
    expect((await command([...words, 'opened'])).code).toBe(1)
    expect((await command([...words, 'closed'])).code).toBe(0)
  })

  test('a file that is not a decision log does not pass for one without changes', async () => {
    const { code, stderr } = await command(['replay', before ?? '', '--fail-on', 'opened'])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('expected lines of a decision log'),
    })
  })

  test('another word is refused', async () => {
    const { code, stderr } = await command(['replay', log, '--fail-on', 'reason'])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('opened, closed, any') })
  })
})

test('each change has the first of its decisions, and each account its numbers', async () => {
  const log = newFile(text, 'decisions.log')
  const { stdout } = await command(['replay', log, '--matrix', after as string, '--json'])
  const { changes, accounts, counts, changed } = JSON.parse(stdout)
  for (const { api, kind, before: was, sample } of changes) {
    const first = lines.find((line) => line.time === sample.time && line.api === api)
    expect(first).toBeDefined()
    const alike = lines.find((line) => line.api === api && line.kind === kind && line.reason === was)
    expect(sample).toMatchObject({ caller: alike?.caller ?? {} })
  }
  const total = (each: Record<string, number>) =>
    ['opened', 'closed', 'reason', 'conflicts'].reduce((sum, type) => sum + (each[type] ?? 0), 0)
  expect(total(counts)).toBe(changed)
  expect(accounts.map(total).reduce((one: number, other: number) => one + other, 0)).toBe(changed)
  const people = await command(['replay', log, '--matrix', after as string])
  expect(people.stdout).toMatch(/^account 1 +\d+ opened, \d+ closed/m)
  expect(people.stdout).toMatch(/^opened .* e\.g\. \d{4}-.* of account 1$/m)
})

test('denials that passed in observe mode are counted as such', async () => {
  const observed = lines.map((line) => (line.allowed ? line : { ...line, observed: true }))
  const log = newFile(observed.map((line) => `${JSON.stringify(line)}\n`).join(''), 'decisions.log')
  const denials = lines.filter(({ allowed }) => !allowed).length
  const { stdout } = await command(['replay', log, '--matrix', after as string])
  expect(stdout).toContain(`${denials} denied, and passed all the same (observe mode)\n`)
  const [, count] = /^opened +(\d+) /m.exec(stdout) ?? []
  expect(stdout).toMatch(new RegExp(`^opened +${count} .*; ${count} passed all the same`, 'm'))
})

describe('--html', () => {
  const hostile = '<script src="https://example.com/x.js"></script>\u202e&"\''

  test('is one file with every change, and no text of a caller is markup in it', async () => {
    const strange = { ...(lines.find(({ reason }) => reason === 'UNKNOWN_API') ?? lines[0]), api: hostile }
    const claims = {
      ...{ ...strange, asked: 'claims', kind: hostile, scope: { account: hostile }, reason: 'CONTESTED' },
      caller: { name: hostile },
    }
    const log = newFile(`${text}${JSON.stringify(claims)}\n`, 'decisions.log')
    const file = join(newFolder(), 'report.html')
    const { code } = await command(['replay', log, '--matrix', after as string, '--html', file])
    expect(code).toBe(1)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const page = readFileSync(file, 'utf8')
    for (const markup of ['<script', '<a', 'http-equiv="refresh', '\u202e'])
      expect(page.replaceAll(/<style>[\s\S]*<\/style>/g, '')).not.toContain(markup)
    expect(page).toContain('&lt;script src=&quot;https://example.com/x.js&quot;&gt;')
    const style = /<style>([\s\S]*)<\/style>/.exec(page)?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    expect(style).not.toBe('')
    expect(page).toContain(`default-src 'none'; style-src 'sha256-${hash}'`)
    const replay = replayed(lines, opening)
    const rows = [...page.matchAll(/<tr><th scope="row">/g)].length
    expect(rows).toBe(replay.changes.length + 1 + replay.accounts.length + 1)
  })

  test('a file that cannot be written: 2', async () => {
    const log = newFile(text, 'decisions.log')
    const { code, stderr } = await command(['replay', log, '--html', '/nowhere/report.html'])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('--html: /nowhere/report.html cannot be written (ENOENT)'),
    })
  })
})

test('accounts are counted alone up to a bound, and together beyond it', () => {
  const [line] = lines.filter(
    ({ reason, asked }) => reason === 'TOKEN_KIND_NOT_ACCEPTED' && asked === 'claims',
  )
  const other = smallMatrix()
  for (const api of other.apis) api.accepts = other.tokenKinds.map(({ id }) => id)
  Object.assign(other, { statements: [], conflicts: [] })
  const engine = compile(other, {})
  const replay = new Replay(() => engine)
  for (let account = 0; account < 1_500; account++) {
    const scope = { account: `a${account}`, ...(line?.scope?.project && { project: 'p' }) }
    replay.add({ ...(line as LoggedLine), target: undefined, scope } as never)
  }
  expect([replay.counts.opened, replay.accounts.length, replay.otherAccounts?.opened]).toEqual([
    1_500, 1_000, 500,
  ])
})
