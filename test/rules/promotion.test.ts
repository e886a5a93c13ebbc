/**
 * A shadow that is put in force, and taken back: in every process of the directory, and in a sidecar that
 * follows one of them.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import type { KeptMatrix, PromotedMatrices } from '../../sidecar/authority/promoted-matrices.ts'
import { callError } from '../../sidecar/base/call-error.ts'
import { Health } from '../../sidecar/base/health.ts'
import { openPromotion } from '../../sidecar/process/open/promotion.ts'
import { contentOf } from '../../sidecar/rules/matrix-file/matrix-content.ts'
import { Rules } from '../../sidecar/rules/rules.ts'
import { BlackBox, refusalOf } from '../support/contract/black-box.ts'
import { manyApis } from '../support/matrices/large-matrix.ts'
import { done, newBackup } from '../support/processes/backup.ts'
import { AFTER, host as anyHost, BEFORE, fileOf, NEXT, REASON, ROWS } from '../support/sidecar/shadowed.ts'
import type { RunningSidecar } from '../support/sidecar/sidecar.ts'
import { eventually, newFile, newFolder } from '../support/suite/resources.ts'

const FOLLOWER = 'follower-caller-token-0123456789abcdef'
const READER = 'reader-caller-token-0123456789abcdef'
const CALLERS = `callers:
  - { name: follower, token_file: ${newFile(FOLLOWER)}, rights: [follow] }
  - { name: reader, token_file: ${newFile(READER)}, rights: [read] }
`
const CONFIG = newFile(CALLERS, 'portcullis.yaml')

const host = (options: Parameters<typeof anyHost>[0] = {}) => anyHost({ config: CONFIG, ...options })

/** Two processes on one directory, of which the first one has a shadow. */
async function pair() {
  const folder = join(newFolder(), 'data')
  const one = await host({ folder, shadow: fileOf(NEXT) })
  return { folder, one, other: await host({ folder }) }
}

const promotion = { shadowDigest: AFTER, digest: BEFORE, reason: REASON }
const toPrevious = { $case: 'toPrevious', value: true } as const

describe('a promotion', () => {
  test('is in force where it was made when it is answered, and soon in every process', async () => {
    const { folder, one, other } = await pair()
    expect(await one.cells()).toEqual([false, true])
    await one.directory.promoteMatrix(promotion)
    expect(await one.cells()).toEqual([true, false])
    await eventually(async () => (await other.cells())[0])
    expect(await other.cells()).toEqual([true, false])
    // Also in one that begins later, with whatever it has in its configuration.
    const later = await host({ folder, matrix: fileOf({ ...ROWS, title: 'another one' }) })
    expect(await later.cells()).toEqual([true, false])
    expect(await later.directory.getMatrixRollout({ matrices: false })).toMatchObject({
      ...{ digest: AFTER, promoted: true },
      configuredDigest: compile({ ...ROWS, title: 'another one' }).digest,
    })
  })

  test('and a roll-back are audited, with who and why, and are in the list of versions', async () => {
    const { one, other } = await pair()
    await one.directory.promoteMatrix(promotion)
    await one.directory.rollBackMatrix({ digest: AFTER, reason: 'it was wrong', to: toPrevious })
    await eventually(async () => !(await other.cells())[0])
    expect(await other.cells()).toEqual([false, true])
    const { records } = await one.directory.listAuditRecords({ action: 'matrix.' })
    expect(records).toMatchObject([
      {
        action: 'matrix.promote',
        actor: 'caller administrator',
        subjectId: AFTER,
        details: { reason: REASON },
      },
      { action: 'matrix.roll_back', subjectId: BEFORE, details: { reason: 'it was wrong' } },
    ])
    const { versions } = await other.directory.getMatrixRollout({ matrices: false })
    expect(versions).toMatchObject([
      { digest: BEFORE, action: 'rolled_back', actor: 'caller administrator', reason: 'it was wrong' },
      { digest: AFTER, action: 'promoted', actor: 'caller administrator', reason: REASON },
      { digest: BEFORE, action: 'replaced', actor: 'caller administrator', reason: '' },
    ])
  })

  test('overrules the file, which is said when that changes; --to-configured gives it back its place', async () => {
    const matrix = fileOf(ROWS)
    const one = await host({ matrix, shadow: fileOf(NEXT) })
    await one.directory.promoteMatrix(promotion)
    const edited = { ...ROWS, title: 'edited' }
    writeFileSync(matrix, JSON.stringify(edited))
    const warning = await eventually(() => one.running.logLines.find((line) => line.includes('in its place')))
    expect(JSON.parse(warning)).toMatchObject({ level: 40, matrix, matrix_digest: compile(edited).digest })
    expect(await one.cells()).toEqual([true, false])
    await one.directory.rollBackMatrix({
      ...{ digest: AFTER, reason: 'files again' },
      to: { $case: 'toConfigured', value: true },
    })
    expect(await one.directory.getMatrixRollout({ matrices: false })).toMatchObject({
      ...{ digest: compile(edited).digest, promoted: false },
    })
  })

  test('leaves earlier matrices readable, also where another process promoted', async () => {
    const { one, other } = await pair()
    await one.directory.promoteMatrix(promotion)
    await eventually(async () => (await other.cells())[0])
    for (const [toDigest, expected] of [
      [BEFORE, ROWS],
      [AFTER, NEXT],
    ] as const)
      for (const { directory } of [one, other]) {
        const { toMatrix } = await directory.getMatrixRollout({ toDigest })
        expect(JSON.parse(toMatrix)).toEqual(expected)
      }
    const unknown = await one.directory.getMatrixRollout({ matrices: true, toDigest: 'sha256:unknown' })
    expect([unknown.toMatrix, unknown.digest]).toEqual(['', AFTER])
  })

  test('is in a backup, and in force where that is restored', async () => {
    const { folder, one } = await pair()
    await one.directory.promoteMatrix(promotion)
    const [backup, restored] = [newBackup(), join(newFolder(), 'data')]
    expect((await done('backup', backup, '--data', folder)).rows).toMatchObject({ matrix_versions: 2 })
    await done('restore', backup, '--new-keys', '--data', restored)
    const later = await host({ folder: restored })
    expect(await later.cells()).toEqual([true, false])
    await later.directory.rollBackMatrix({ digest: AFTER, reason: REASON, to: toPrevious })
    expect(await later.cells()).toEqual([false, true])
  })

  test('of a large matrix is in force when it is answered', async () => {
    const [first, second] = [manyApis(220, 'first'), manyApis(220, 'second')]
    const one = await host({ matrix: fileOf(first), shadow: fileOf(second) })
    const { shadow, digest } = await one.directory.getMatrixRollout({ matrices: false })
    await one.directory.promoteMatrix({ shadowDigest: shadow?.digest ?? '', digest, reason: REASON })
    expect((await one.running.client.getMatrix()).digest).toBe(compile(second).digest)
  })

  test('goes to a sidecar that follows this one, and to one that follows that one', async () => {
    const { one } = await pair()
    const following = async ({ running }: { running: RunningSidecar }) =>
      host({
        config: newFile(
          `${CALLERS}directory: { hub: { addresses: ['${running.address}'], token_file: ${newFile(FOLLOWER)} } }`,
          'portcullis.yaml',
        ),
      })
    const follower = await following(one)
    const second = await following(follower)
    await one.directory.promoteMatrix(promotion)
    for (const each of [follower, second]) await eventually(async () => (await each.cells())[0])
    // One that begins later has it at once.
    expect(await (await following(one)).cells()).toEqual([true, false])
    await one.directory.rollBackMatrix({ digest: AFTER, reason: REASON, to: toPrevious })
    for (const each of [follower, second]) await eventually(async () => (await each.cells())[1])
  })
})

describe('nothing changes', async () => {
  const one = await host({ shadow: fileOf(NEXT) })

  test('where another shadow was seen', async () => {
    const other = { ...promotion, shadowDigest: BEFORE }
    await expect(one.directory.promoteMatrix(other)).rejects.toMatchObject({
      ...{ code: 'FAILED_PRECONDITION', reason: 'MATRIX_REPLACED' },
    })
    expect(await one.cells()).toEqual([false, true])
  })

  test('where no reason is given', async () => {
    const bare = { ...promotion, reason: '' }
    await expect(one.directory.promoteMatrix(bare)).rejects.toThrow(/^reason: expected 1 to 1000 characters/)
    expect(await one.cells()).toEqual([false, true])
  })

  test('where the caller may only read', async () => {
    const reader = one.running.connect({ callerToken: READER }).directory
    const { digest, shadow } = await reader.getMatrixRollout({ matrices: true })
    expect([digest, shadow?.digest]).toEqual([BEFORE, AFTER])
    expect(JSON.parse(shadow?.matrix ?? '')).toEqual(NEXT)
    await expect(reader.promoteMatrix(promotion)).rejects.toMatchObject({ reason: 'CALLER_RIGHT_MISSING' })
    await expect(reader.rollBackMatrix({ digest, reason: REASON, to: toPrevious })).rejects.toMatchObject({
      reason: 'CALLER_RIGHT_MISSING',
    })
  })

  test('where the promoted matrix is asked for without the right to follow', async () => {
    const box = new BlackBox(one.running.address)
    const refused = await box.ask('getPromotedMatrix', {}).catch(refusalOf)
    expect(refused).toMatchObject({ code: 'UNAUTHENTICATED', reason: 'CALLER_TOKEN_MISSING' })
  })
})

describe('a promoted matrix that is damaged', () => {
  const damage = (folder: string) => {
    const database = new DatabaseSync(join(folder, 'directory.sqlite'))
    database.exec("UPDATE matrix_versions SET content = x'00' WHERE content IS NOT NULL")
    database.close()
  }

  test('is not taken for another one: a process that begins says so, and does not serve', async () => {
    const { folder, one } = await pair()
    await one.directory.promoteMatrix(promotion)
    damage(folder)
    await expect(host({ folder })).rejects.toThrow(/promoted matrix of the directory cannot be used/)
    expect(await one.cells()).toEqual([true, false])
  })

  test.each<[string, Error, ready: boolean]>([
    ['that cannot be used', new Error('unexpected end of file'), false],
    // Then the directory says so, if that lasts.
    ['that cannot be read now', callError('DIRECTORY_UNAVAILABLE', {}), true],
  ])('%s: the one before stays in force, and it is tried again', async (_name, problem, ready) => {
    const { signal } = new AbortController()
    const health = new Health(Date.now)
    health.started()
    const rules = new Rules({ strict: false, pollMs: 0, onRefused: () => {} })
    const kept = { digest: AFTER, content: await contentOf(NEXT, signal) }
    let inForce: () => Promise<KeptMatrix | undefined> = async () => kept
    let heard = () => {}
    const promoted: PromotedMatrices = {
      inForce: () => inForce(),
      wasPromoted: async () => true,
      watch: (listener) => {
        heard = listener
        return () => {}
      },
    }
    const following = await openPromotion({ promoted, rules, health, log: pino({ level: 'silent' }) })
    onTestFinished(() => following.close())
    expect(rules.engine.digest).toBe(AFTER)
    let tries = 0
    inForce = async () => {
      tries++
      throw problem
    }
    heard()
    await eventually(() => tries > 1)
    expect([rules.engine.digest, health.ready]).toEqual([AFTER, ready])
    inForce = async () => undefined
    await eventually(() => rules.engine.digest === compile(supportMatrix).digest)
    expect(health.ready).toBe(true)
  })
})
