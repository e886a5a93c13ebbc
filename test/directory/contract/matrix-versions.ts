/** The matrix in force in every process of the directory, and the last ones. */
import { expect, onTestFinished, test } from 'vitest'
import { changeDirectory } from '../../../sidecar/authority/administration/change-directory.ts'
import type { CallError } from '../../../sidecar/base/call-error.ts'
import type { DirectoryChange } from '../../../sidecar/directory/change.ts'
import {
  type KeptMatrix,
  MatrixVersionRecords,
  VERSIONS_MAX,
} from '../../../sidecar/directory/matrix-versions.ts'
import { promote, type RollBack, rollBack } from '../../../sidecar/usecases/administration/matrix.ts'
import { TESTER } from '../../support/sidecar/actor.ts'
import { eventually } from '../../support/suite/resources.ts'
import type { Subject } from './subject.ts'

const CONFIGURED = matrix('configured')

/** Contents are of any bytes here. */
function matrix(name: string): KeptMatrix {
  return { digest: `sha256:${name}`, content: Buffer.from([0, 255, ...Buffer.from(name)]) }
}

/** The reason of a refusal, or `done`. */
async function outcome(work: () => Promise<void>): Promise<string> {
  try {
    await work()
    return 'done'
  } catch (error) {
    return (error as CallError).reason
  }
}

export function matrixVersionsContract(subject: () => Subject): void {
  /** A separate directory: there is one matrix in force in each. */
  async function scene() {
    const { store } = await (await subject().newPlace()).open(Date.now)
    onTestFinished(() => store.close())
    const records = new MatrixVersionRecords(store.records.queries)
    const changing = (work: (change: DirectoryChange) => Promise<void>) =>
      outcome(() => changeDirectory(store, TESTER, work))
    const promoting = (matrix: KeptMatrix, inForce: string, reason = 'a test') =>
      changing((change) => promote(change, { matrix, replaced: CONFIGURED, inForce, reason }))
    const rollingBack = (to: RollBack['to'], inForce: string) =>
      changing((change) => rollBack(change, { to, configured: CONFIGURED.digest, inForce, reason: 'a test' }))
    const versions = async () =>
      (await records.all()).map(({ digest, action }) => [digest.replace('sha256:', ''), action])
    return { store, records, promote: promoting, rollBack: rollingBack, versions }
  }

  test('none is, until one was promoted', async () => {
    const { records, versions, rollBack } = await scene()
    expect(await records.inForce()).toBeUndefined()
    expect(await records.has()).toBe(false)
    expect(await versions()).toEqual([])
    expect(await rollBack('previous', CONFIGURED.digest)).toBe('NOT_FOUND')
    expect(await rollBack('configured', CONFIGURED.digest)).toBe('NOT_FOUND')
  })

  test('a promoted matrix is in force with its bytes, and the one that it replaced is kept', async () => {
    const { records, promote, versions } = await scene()
    expect(await promote(matrix('one'), CONFIGURED.digest)).toBe('done')
    expect(await records.inForce()).toEqual(matrix('one'))
    expect(await records.has()).toBe(true)
    expect(await promote(matrix('two'), matrix('one').digest)).toBe('done')
    expect(await records.inForce()).toEqual(matrix('two'))
    expect(await versions()).toEqual([
      ['two', 'promoted'],
      ['one', 'promoted'],
      ['configured', 'replaced'],
    ])
  })

  test('a matrix goes back: to the last one, to any that is kept, and to those of the configurations', async () => {
    const { records, promote, rollBack, versions } = await scene()
    await promote(matrix('one'), CONFIGURED.digest)
    await promote(matrix('two'), matrix('one').digest)
    const steps = [
      [await rollBack('previous', matrix('two').digest), await records.inForce()],
      // Again: back to where it came from.
      [await rollBack('previous', matrix('one').digest), await records.inForce()],
      [await rollBack({ digest: CONFIGURED.digest }, matrix('two').digest), await records.inForce()],
      [await rollBack('configured', CONFIGURED.digest), await records.inForce()],
      // The matrix of the configuration is in force and need not be kept twice.
      [await rollBack('previous', CONFIGURED.digest), await records.inForce()],
    ]
    expect(steps).toEqual([
      ['done', matrix('one')],
      ['done', matrix('two')],
      ['done', CONFIGURED],
      ['done', undefined],
      ['done', matrix('two')],
    ])
    expect((await versions())[0]).toEqual(['two', 'rolled_back'])
  })

  test(`the last ${VERSIONS_MAX} are kept, and the audit trail knows of all`, async () => {
    const { store, promote, rollBack, versions } = await scene()
    await promote(matrix('0'), CONFIGURED.digest)
    for (let count = 1; count <= VERSIONS_MAX; count++)
      await promote(matrix(`${count}`), matrix(`${count - 1}`).digest, `because of ${count}`)
    expect(await versions()).toEqual(
      Array.from({ length: VERSIONS_MAX }, (_, index) => [`${VERSIONS_MAX - index}`, 'promoted']),
    )
    expect(await rollBack({ digest: CONFIGURED.digest }, matrix(`${VERSIONS_MAX}`).digest)).toBe('NOT_FOUND')
    const audit = await store.records.audit('', { after: '0', size: 1_000 })
    const promotions = audit.filter(({ action }) => action === 'matrix.promote')
    expect(promotions.slice(-2)).toMatchObject([
      { actor: TESTER.name, subject: 'sha256:9', details: { reason: 'because of 9' } },
      { actor: TESTER.name, subject: 'sha256:10', details: { reason: 'because of 10' } },
    ])
  })

  test('of several at the same time one is done', async () => {
    const { promote } = await scene()
    const outcomes = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => promote(matrix(name), CONFIGURED.digest)),
    )
    expect(outcomes.sort()).toEqual([...Array(3).fill('MATRIX_REPLACED'), 'done'])
  })

  test('followers are notified of a change of the matrix, which gives no token another status', async () => {
    const { store, promote } = await scene()
    const { changes } = store.verification
    const before = changes.state.touched
    const counts = { ...before }
    await promote(matrix('one'), CONFIGURED.digest)
    changes.knownForMs()
    await eventually(() => changes.state.touched.matrix === (counts.matrix ?? 0) + 1)
    expect({ ...changes.state.touched, matrix: counts.matrix }).toEqual(counts)
  })
}
