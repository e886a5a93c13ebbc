/** `portcullis matrix shadow`, `promote` and `rollback`, and what `doctor` says of a promoted matrix. */
import { describe, expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { command, FakeTerminal } from '../support/processes/command-line.ts'
import { AFTER, BEFORE, FREE, fileOf, host, NEXT, REASON, ROWS } from '../support/sidecar/shadowed.ts'
import type { RunningSidecar } from '../support/sidecar/sidecar.ts'
import { newFile } from '../support/suite/resources.ts'

describe('the doctor', () => {
  const DIGEST = 'sha256:[0-9a-f]{64}'

  test.each<[string, string, matrix: RegExp]>([
    [
      'another one',
      fileOf(ROWS),
      new RegExp(`^warning +matrix +${DIGEST} +it was promoted, and is in force`, 'm'),
    ],
    ['the same', fileOf(NEXT), new RegExp(`^ok +matrix +${DIGEST} +promoted, and the same as`, 'm')],
  ])('says that a matrix was promoted, where the configuration has %s', async (_what, configured, says) => {
    const one = await host({ shadow: fileOf(NEXT) })
    await one.directory.promoteMatrix({ shadowDigest: AFTER, digest: BEFORE, reason: REASON })
    const { address, folder } = one.running
    const config = newFile(
      JSON.stringify({ data: folder, grpc: { address }, matrix: configured }),
      'portcullis.yaml',
    )
    const { stdout } = await command(['doctor', '--config', config])
    expect(stdout).toMatch(says)
    expect(stdout).toMatch(/^ok +sidecar +\S+ +a sidecar answers$/m)
  })
})

describe('the commands', () => {
  const ends = (running: RunningSidecar) => ['--address', running.address, '--data', running.folder]
  const allowed = newFile(
    JSON.stringify({
      flips: [
        {
          ...{ api: 'tickets', kind: 'iam_token_project_scoped', direction: 'opened' },
          ...{ reason: REASON, until: '9999-12-31' },
        },
      ],
    }),
    'allowed.yaml',
  )
  const promoting = ['matrix', 'promote', '--reason', REASON]

  test('show, promote and roll back', async () => {
    const one = await host({ shadow: fileOf(NEXT) })
    await one.cells()
    const shown = await command(['matrix', 'shadow', ...ends(one.running)])
    expect(shown).toMatchObject({ code: 0, stderr: '' })
    expect(shown.stdout).toMatch(
      /^in force {2}sha256:\w{64} {2}of the configuration\nshadow {4}sha256:\w{64} {2}since /,
    )
    expect(shown.stdout).toContain('opened  tickets  iam_token_project_scoped')
    expect(shown.stdout).toMatch(/\d+ decisions compared, 2 would differ\n/)
    expect(shown.stdout).toMatch(/closed +balance +static_token +1 +last \S+ +account 1 \(1\)/)
    expect(shown.stdout).toMatch(/no matrix was promoted\n$/)
    const refused = await command([...promoting, ...ends(one.running)])
    expect(refused.code).toBe(1)
    expect(refused.stdout).toContain(
      'not promoted: 1 cell would open without a sign-off; --max-opened is 0\n',
    )
    const done = await command([...promoting, '--allow', allowed, ...ends(one.running)])
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(done.stdout).toContain(`in force: ${AFTER}\n`)
    expect(await one.cells()).toEqual([true, false])
    const back = (...words: string[]) =>
      command(['matrix', 'rollback', '--reason', REASON, ...words, ...ends(one.running)])
    // The way back opens a cell, too.
    const unsigned = await back('--allow', allowed)
    expect(unsigned).toMatchObject({ code: 1, stderr: '' })
    expect(unsigned.stdout).toMatch(
      /^1 cell opens, 1 cell closes: .*\nopened +balance .*\nclosed +tickets .*\nunused .*\nnot rolled back: 1 cell would open without a sign-off; --max-opened is 0\n$/,
    )
    expect(await one.cells()).toEqual([true, false])
    const returned = await back('--max-opened', '1')
    expect(returned).toMatchObject({ code: 0, stderr: '' })
    expect(returned.stdout).toMatch(
      /^1 cell opens, 1 cell closes: .*\nopened +balance .*\nclosed +tickets .*\nin force: /,
    )
    expect(returned.stdout).toContain(`in force: ${BEFORE}\n`)
    expect((await back('--to', AFTER.slice(0, 20), '--allow', allowed)).stdout).toMatch(
      new RegExp(`^1 cell opens, 1 cell closes: .*\nopened +tickets .*\n(?:.*\n)*in force: ${AFTER}\n$`),
    )
    expect((await back('--to-configured')).code).toBe(1)
    expect((await back('--to-configured', '--max-opened', '1')).stdout).toMatch(
      /^1 cell opens, 1 cell closes: .*\nopened +balance .*\n(?:.*\n)*in force: the matrix of each configuration\n$/,
    )
    const { stdout } = await command(['matrix', 'shadow', ...ends(one.running)])
    expect(stdout).toMatch(/put in force\n(?:.* rolled_back .*\n){3}.* promoted .*\n.* replaced .*\n$/)
  })

  test.each<[what: string, options: string[], code: number, says: RegExp]>([
    ['with as many cells as may open', ['--max-opened', '1'], 0, /in force: sha256:/],
    ['of a shadow that is old enough', ['--max-opened', '1', '--since', '0s'], 0, /in force: sha256:/],
    [
      'of a younger one',
      ['--max-opened', '1', '--since', '1h'],
      1,
      /not promoted: the shadow is computed since/,
    ],
  ])('a promotion %s', async (_what, options, code, says) => {
    const one = await host({ shadow: fileOf(NEXT) })
    const ended = await command([...promoting, ...options, ...ends(one.running)])
    expect(ended.code).toBe(code)
    expect(ended.stdout).toMatch(says)
    expect((await one.cells())[0]).toBe(code === 0)
  })

  test('a kind that no longer needs a permission is promoted only on request, and the way back asks for the same', async () => {
    const one = await host({ shadow: fileOf(FREE) })
    const { digest: loose } = compile(FREE)
    const asked = (what: string, ...words: string[]) =>
      command(['matrix', what, '--reason', REASON, ...words, ...ends(one.running)])
    const refused = await asked('promote', '--max-opened', '1000')
    expect(refused.code).toBe(1)
    expect(refused.stdout).toMatch(
      /^no cell opens or closes, 1 fact of kinds loosened: .*\nloosened .* account → none\nnot promoted: 1 fact of kinds would be loosened or changed without a sign-off; --max-loosened is 0\n$/,
    )
    expect((await one.directory.getMatrixRollout({})).digest).toBe(BEFORE)
    const meant = newFile(
      JSON.stringify({
        flips: [
          {
            ...{ kind: 'iam_token_account_scoped', field: 'permissionScopes', direction: 'loosened', to: [] },
            ...{ reason: REASON, until: '9999-12-31' },
          },
        ],
      }),
      'allowed.yaml',
    )
    expect((await asked('promote', '--allow', meant)).stdout).toContain(`in force: ${loose}\n`)
    // Tightening needs no request.
    expect((await asked('rollback')).stdout).toMatch(/ 1 fact of kinds tightened: .*\n.*\nin force: sha256:/)
    const again = ['rollback', '--to', loose, '--json'] as const
    expect(JSON.parse((await asked(...again)).stdout)).toEqual({
      ...{ rolled_back: false, digest: BEFORE, to_digest: loose },
      refusals: [expect.stringMatching(/^1 fact of kinds would be loosened or changed/)],
    })
    expect(JSON.parse((await asked(...again, '--max-loosened', '1')).stdout)).toEqual({
      ...{ rolled_back: true, digest: loose, replaced: BEFORE },
    })
  })

  test('a sidecar without its own matrix finds those of the directory; a matrix that no sidecar has is not put in force unseen', async () => {
    const one = await host({ shadow: fileOf(NEXT) })
    await one.directory.promoteMatrix({ shadowDigest: AFTER, digest: BEFORE, reason: REASON })
    const other = fileOf(FREE)
    const config = newFile(JSON.stringify({ http: { console: false } }), 'portcullis.yaml')
    const bare = await host({ folder: one.running.folder, matrix: other, config })
    const back = (...words: string[]) =>
      command(['matrix', 'rollback', '--reason', REASON, ...words, ...ends(bare.running)])
    const known = await back()
    expect(known.stdout).toMatch(
      /^1 cell opens, 1 cell closes: .*\n(?:.*\n)*not rolled back: 1 cell would open/,
    )
    const unknown = await back('--to-configured', '--max-opened', '9', '--max-loosened', '9')
    expect(unknown).toMatchObject({ code: 1, stderr: '' })
    expect(unknown.stdout).toBe(
      `not rolled back: there is no longer a copy of ${compile(FREE).digest}, so what would open is not known; --unseen goes back all the same\n`,
    )
    expect(await bare.cells()).toEqual([true, false])
    expect(await back('--to-configured', '--unseen')).toMatchObject({
      ...{ code: 0, stdout: 'in force: the matrix of each configuration\n' },
    })
    expect(await bare.cells()).toEqual([false, true])
  })

  test('a person is asked, and says no', async () => {
    const one = await host({ shadow: fileOf(NEXT) })
    const terminal = new FakeTerminal('n')
    const ended = await command([...promoting, '--max-opened', '1', ...ends(one.running)], terminal)
    expect([ended.code, terminal.questions]).toEqual([
      2,
      ['Put the shadow in force in every process of the directory? [y/N] '],
    ])
    expect(await one.cells()).toEqual([false, true])
  })

  test.each<[string, string[], RegExp]>([
    [
      'two ways back',
      ['rollback', '--reason', REASON, '--to', 'a', '--to-configured'],
      /expected one of --to/,
    ],
    ['no earlier matrix', ['rollback', '--reason', REASON], /there is no earlier matrix among the last ten/],
    [
      'an unknown digest',
      ['rollback', '--reason', REASON, '--to', 'ffff'],
      /--to: expected the digest of one of/,
    ],
    [
      'an invalid number',
      ['promote', '--reason', REASON, '--max-opened', '-1'],
      /--max-opened: expected a number of cells/,
    ],
    [
      'an invalid number of facts',
      ['rollback', '--reason', REASON, '--max-loosened', 'any'],
      /--max-loosened: expected a number of facts/,
    ],
    ['no shadow', ['promote', '--reason', REASON], /there is no shadow to promote/],
  ])('%s: an error', async (_what, words, says) => {
    const one = await host()
    const ended = await command(['matrix', ...words, ...ends(one.running)])
    expect([ended.code, ended.stdout]).toEqual([2, ''])
    expect(ended.stderr).toMatch(says)
  })

  test('as JSON', async () => {
    const one = await host({ shadow: fileOf(NEXT) })
    await one.cells()
    const json = async (...words: string[]) =>
      JSON.parse((await command(['matrix', ...words, '--json', ...ends(one.running)])).stdout)
    expect(await json('shadow')).toMatchObject({
      ...{ digest: BEFORE, configured_digest: BEFORE, promoted: false, versions: [] },
      shadow: {
        digest: AFTER,
        differences: [
          { api: 'tickets', kind: 'iam_token_project_scoped', direction: 'opened', count: 1 },
          { api: 'balance', kind: 'static_token', direction: 'closed', count: 1 },
        ],
      },
    })
    expect(await json('promote', '--reason', REASON)).toMatchObject({
      promoted: false,
      refusals: [expect.stringMatching(/^1 cell/)],
    })
    expect(await json('promote', '--reason', REASON, '--max-opened', '1')).toEqual({
      ...{ promoted: true, digest: AFTER, replaced: BEFORE },
    })
    expect(await json('rollback', '--reason', REASON)).toMatchObject({ rolled_back: false, digest: AFTER })
    expect(await json('rollback', '--reason', REASON, '--max-opened', '1')).toEqual({
      ...{ rolled_back: true, digest: BEFORE, replaced: AFTER },
    })
  })
})
