/** The current matrix: what `GetMatrix` returns, and that a new file replaces it completely or not at all. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compile, type Matrix } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { BlackBox, type Message } from '../support/contract/black-box.ts'
import { cells } from '../support/matrices/oracle.ts'
import { ACCOUNT, runSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFolder, passing } from '../support/suite/resources.ts'

const REFUSED = 'the matrix file cannot be used; the last good one stays in force'

/** The matrix of the package with another title: the same rules with another digest. */
const titled = (title: string): Matrix => ({ ...supportMatrix, title })
const digestOf = (matrix: Matrix) => compile(matrix).digest

/** Starts a sidecar with its own matrix file. */
async function runOnFile(flags = {}) {
  const path = join(newFolder(), 'matrix.json')
  const replace = (content: string) => {
    writeFileSync(`${path}.new`, content)
    renameSync(`${path}.new`, path)
  }
  replace(JSON.stringify(titled('first')))
  const running = await runSidecar({ flags: { matrix: path, matrix_poll_ms: 5, ...flags } })
  return { ...running, path, replace, box: new BlackBox(running.address) }
}

const linesSaying = (lines: readonly string[], text: string) =>
  lines.map((line) => JSON.parse(line) as { msg: string; problem?: string }).filter(({ msg }) => msg === text)

describe.each([false, true])('GetMatrix, strict %s', async (strict) => {
  const running = await runSidecar({ flags: { strict } })
  const { matrix } = (await new BlackBox(running.address).ask('getMatrix', {})) as { matrix: Message }
  const engine = compile(supportMatrix, { strict })

  test('returns the digest and the mode', () => {
    expect(matrix).toMatchObject({ digest: engine.digest, strict, rules_digest: engine.rulesDigest })
    expect(matrix.digest).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(running.sidecar.matrixDigest).toBe(matrix.digest)
  })

  test('returns every cell of §5.4, with the mode applied', () => {
    const contested = new Map(
      (matrix.apis as (Message & { id: string })[]).map((api) => [api.id, api.contested as string[]]),
    )
    const rows = [...new Set(cells().map(({ api }) => api))].map((id) => {
      const opened = cells().filter((cell) => cell.api === id && cell.accepted)
      return {
        id,
        accepted: opened
          .map(({ kind }) => kind)
          .filter((kind) => !strict || !contested.get(id)?.includes(kind)),
      }
    })
    expect((matrix.apis as Message[]).map(({ id, accepted }) => ({ id, accepted }))).toEqual(rows)
    expect([...contested].filter(([, kinds]) => kinds.length > 0)).toEqual([
      ['cdn', ['iam_token_project_scoped']],
      ['audit-logs', ['iam_token_account_scoped', 'iam_token_project_scoped']],
      ['mobile-farm', ['iam_token_project_scoped']],
    ])
  })

  test('returns the token kinds of §1, §5.1, §5.2 and §8', () => {
    const kinds = (matrix.token_kinds as Message[]).map(
      ({ id, header, scope_level, issued_to, issuable, permission_scopes, lifetime }) => [
        id,
        header,
        scope_level,
        issued_to,
        issuable,
        permission_scopes,
        lifetime,
      ],
    )
    const day = { seconds: 86_400, nanos: 0 }
    expect(kinds).toEqual([
      ['iam_token_account_scoped', 'X-Auth-Token', 'account', 'service_user', true, ['account'], day],
      [
        'iam_token_project_scoped',
        'X-Auth-Token',
        'project',
        'service_user',
        true,
        ['account', 'projects'],
        day,
      ],
      ['static_token', 'X-Token', 'account', 'control_panel_user', false, [], null],
    ])
  })
})

describe('a matrix file', () => {
  test('that was replaced decides from then on, and watches are notified', async () => {
    const { box, replace } = await runOnFile()
    const watch = (box.follow('watchMatrix') as AsyncIterable<{ matrix: Message }>)[Symbol.asyncIterator]()
    const next = async () => (await watch.next()).value?.matrix.digest
    expect(await next()).toBe(digestOf(titled('first')))
    const second: Matrix = {
      ...titled('second'),
      apis: supportMatrix.apis.map((api) => (api.id === 'reports' ? { ...api, id: 'report-archive' } : api)),
      statements: JSON.parse(
        JSON.stringify(supportMatrix.statements).replaceAll('"reports"', '"report-archive"'),
      ),
    }
    replace(JSON.stringify(second))
    expect(await next()).toBe(digestOf(second))
    const claim = { token: { kind: 'static_token', scope: { account: ACCOUNT } } }
    expect(await box.ask('check', { api: 'reports', ...claim })).toMatchObject({
      reason: 'REASON_UNKNOWN_API',
    })
    expect(await box.ask('check', { api: 'report-archive', ...claim })).toMatchObject({
      allowed: true,
      digest: digestOf(second),
    })
    // A second change with two watches: each is notified once.
    const other = (box.follow('watchMatrix') as AsyncIterable<{ matrix: Message }>)[Symbol.asyncIterator]()
    expect((await other.next()).value?.matrix.digest).toBe(digestOf(second))
    replace(JSON.stringify(titled('third')))
    expect(await next()).toBe(digestOf(titled('third')))
    expect((await other.next()).value?.matrix.digest).toBe(digestOf(titled('third')))
  })

  test.each<[claim: string, spoil: (file: Awaited<ReturnType<typeof runOnFile>>) => void, problem: string]>([
    ['that is not JSON', ({ replace }) => replace('{"title": '), 'expected JSON'],
    ['that is deleted', ({ path }) => rmSync(path), 'ENOENT'],
  ])('%s changes nothing, and the log says why once', async (_claim, spoil, problem) => {
    const file = await runOnFile()
    const before = await file.box.ask('getMatrix', {})
    spoil(file)
    const [line] = await eventually(() => {
      const lines = linesSaying(file.logLines, REFUSED)
      return lines.length > 0 && lines
    })
    expect(line?.problem).toContain(problem)
    expect(await file.box.ask('getMatrix', {})).toEqual(before)
    // A good file takes effect again. By then the sidecar has looked at the bad file many times.
    file.replace(JSON.stringify(titled('repaired')))
    await eventually(() => file.sidecar.matrixDigest === digestOf(titled('repaired')))
    expect(linesSaying(file.logLines, REFUSED)).toHaveLength(1)
  })

  test('that cannot be used prevents the start', async () => {
    await expect(runSidecar({ flags: { matrix: '/does/not/exist.json' } })).rejects.toThrow(
      /^matrix: \/does\/not\/exist\.json cannot be read \(ENOENT\)$/,
    )
  })

  test('is read again only on `reload` if polling is off', async () => {
    const { sidecar, replace } = await runOnFile({ matrix_poll_ms: 0 })
    replace(JSON.stringify(titled('second')))
    await passing(50)
    expect(sidecar.matrixDigest).toBe(digestOf(titled('first')))
    sidecar.reload()
    expect(sidecar.matrixDigest).toBe(digestOf(titled('second')))
  })
})
