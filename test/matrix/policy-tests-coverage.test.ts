/** The coverage of a matrix by policy tests. */
import { describe, expect, test } from 'vitest'
import { compile, type Matrix } from '../../engine/index.ts'
import { supportMatrix } from '../../matrix/index.ts'
import { Coverage, percentOf } from '../../matrix/policy-tests/coverage.ts'
import type { PolicyTest, TestToken } from '../../matrix/policy-tests/document.ts'
import { runTests } from '../../matrix/policy-tests/run.ts'
import { ACCOUNT_KIND, engine, PROJECT_KIND, STATIC_KIND, strictEngine } from '../support/matrices/engines.ts'
import { smallMatrix } from '../support/matrices/small-matrix.ts'

const engines = { lenient: engine, strict: strictEngine }

const TOKENS: Readonly<Record<string, TestToken>> = {
  ours: { kind: ACCOUNT_KIND, scope: { account: '1' } },
  old: { kind: ACCOUNT_KIND, fault: 'CREDENTIAL_EXPIRED' },
}

const CELL = { api: 'iam', kind: STATIC_KIND }
const CONTESTED = { api: 'cdn', kind: PROJECT_KIND }

describe('coverage', () => {
  const coverageOf = (...tests: PolicyTest[]) => {
    const coverage = new Coverage(engines)
    runTests({ tests, tokens: TOKENS }, { engines, mode: 'lenient', coverage })
    return coverage.report()
  }

  test('counts cells that a question reached, once', () => {
    const { cells: found } = coverageOf(
      { api: 'iam', mode: 'both', accepted: [] },
      { ...CELL, allowed: true },
      // These end before the cell is looked at.
      { api: 'cdn', kind: STATIC_KIND, scope: { account: '1', project: 'a' }, allowed: true },
      { api: 'reports', headers: { 'X-Auth-Token': 'old' }, allowed: true },
      // This one does not.
      { api: 'balance', headers: { 'X-Auth-Token': 'ours' }, allowed: true },
    )
    expect(found).toMatchObject({ covered: 4, total: 90 })
    expect(found.missing).toHaveLength(86)
    expect(found.missing.slice(0, 2)).toEqual([
      `federations × ${ACCOUNT_KIND}`,
      `federations × ${PROJECT_KIND}`,
    ])
    expect(percentOf(found)).toBe(4.4)
  })

  test('counts a conflict where all its cells were asked about in both modes', () => {
    const once = coverageOf({ ...CONTESTED, allowed: true }).conflicts
    expect(once).toMatchObject({ covered: 0, total: 4 })
    const twice = coverageOf({ ...CONTESTED, mode: 'both', allowed: true }).conflicts
    expect(twice).toMatchObject({ covered: 1, total: 4 })
    expect(twice.missing).toEqual(once.missing.filter((id) => id !== 'cdn-project-omission'))
    expect(once.missing).toContain('cdn-project-omission')
    const [first, ...others] = supportMatrix.conflicts.filter(({ cells }) => cells.length > 0)
    const more = { ...first, cells: [CONTESTED, { api: 'iam', kind: PROJECT_KIND }] }
    const matrix = { ...supportMatrix, conflicts: [more, ...others] } as Matrix
    const both = { lenient: compile(matrix), strict: compile(matrix, { strict: true }) }
    const coverage = new Coverage(both)
    const tests: PolicyTest[] = [{ ...CONTESTED, mode: 'both', allowed: true }]
    runTests({ tests }, { engines: both, mode: 'lenient', coverage })
    expect(coverage.report().conflicts.missing).toContain(first?.id)
  })

  test('counts the reasons that there can be', () => {
    const reasons = coverageOf({ ...CELL, allowed: true }, { api: 'iam', headers: {}, allowed: true }).reasons
    expect(reasons).toMatchObject({ covered: 2, total: 16 })
    const [kind] = supportMatrix.tokenKinds
    if (kind === undefined) throw new Error('expected a kind')
    const small: Matrix = { ...supportMatrix, tokenKinds: [kind], apis: [], statements: [], conflicts: [] }
    const lenient = compile({ ...small, apis: [{ id: 'a', title: 'A', accepts: [kind.id], section: '§1' }] })
    const { missing } = new Coverage({ lenient, strict: lenient }).report().reasons
    expect(missing).not.toContain('WRONG_HEADER')
    expect(missing).not.toContain('CONTESTED')
    expect(missing).not.toContain('PROJECT_MISMATCH')
    expect(missing).toContain('ACCOUNT_MISMATCH')
  })

  test('lists a thousand of what is missing', () => {
    const [pass] = smallMatrix().tokenKinds
    const apis = Array.from({ length: 1_001 }, (_, index) => ({
      ...{ id: `door-${index}`, title: 'x', accepts: [], section: 'x' },
    }))
    const matrix = { ...smallMatrix(), tokenKinds: [pass], apis, statements: [], conflicts: [] } as Matrix
    const lenient = compile(matrix)
    const { missing, ...counts } = new Coverage({ lenient, strict: lenient }).report().cells
    expect([missing.length, counts]).toEqual([1_000, { covered: 0, total: 1_001 }])
  })

  test('counts a token in another header where its prefix alone would decide', () => {
    const [pass, key] = smallMatrix().tokenKinds
    const missing = (prefix: object) => {
      const tokenKinds = [
        { ...pass, ...prefix },
        { ...key, header: pass?.header },
      ]
      const lenient = compile({ ...smallMatrix(), tokenKinds } as Matrix)
      return new Coverage({ lenient, strict: lenient }).report().reasons.missing
    }
    expect(missing({ prefix: 'a_' })).toContain('WRONG_HEADER')
    expect(missing({})).not.toContain('WRONG_HEADER')
  })

  test('is 100 only where nothing is missing', () => {
    expect(percentOf({ covered: 99_999, total: 100_000 })).toBe(99.9)
    expect(percentOf({ covered: 0, total: 0 })).toBe(100)
  })
})
