/** `portcullis matrix shadow`, `promote` and `rollback`, and what `doctor` says of a promoted matrix. */
import { describe, expect, test } from 'vitest'
import { command, FakeTerminal } from '../support/processes/command-line.ts'
import { AFTER, BEFORE, fileOf, host, NEXT, REASON, ROWS } from '../support/sidecar/shadowed.ts'
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
      'not promoted: 1 cell would open that nobody signed off; --max-opened is 0\n',
    )
    const done = await command([...promoting, '--allow', allowed, ...ends(one.running)])
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(done.stdout).toContain(`in force: ${AFTER}\n`)
    expect(await one.cells()).toEqual([true, false])
    const back = await command(['matrix', 'rollback', '--reason', REASON, ...ends(one.running)])
    expect(back).toMatchObject({ code: 0, stderr: '' })
    expect(back.stdout).toMatch(
      /^1 cell opens, 1 cell closes: .*\nopened +balance .*\nclosed +tickets .*\nin force: /,
    )
    expect(back.stdout).toContain(`in force: ${BEFORE}\n`)
    const forth = ['matrix', 'rollback', '--to', AFTER.slice(0, 20), '--reason', REASON]
    expect((await command([...forth, ...ends(one.running)])).stdout).toMatch(
      new RegExp(`^1 cell opens, 1 cell closes: .*\nopened +tickets .*\n(?:.*\n)*in force: ${AFTER}\n$`),
    )
    const configured = ['matrix', 'rollback', '--to-configured', '--reason', REASON]
    expect((await command([...configured, ...ends(one.running)])).stdout).toMatch(
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
      'a number that is none',
      ['promote', '--reason', REASON, '--max-opened', '-1'],
      /--max-opened: expected a number/,
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
    expect(await json('rollback', '--reason', REASON)).toEqual({ digest: BEFORE, replaced: AFTER })
  })
})
