/** A matrix that is in force in the place of that of the file. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compile, type Matrix } from '../../engine/index.ts'
import { contentOf, type Promoted, readContent } from '../../sidecar/rules/matrix-file/matrix-content.ts'
import { Rules } from '../../sidecar/rules/rules.ts'
import { manyApis } from '../support/matrices/large-matrix.ts'
import { eventually, newFolder, whenTheFileEnds } from '../support/suite/resources.ts'

const digests = new WeakMap<Matrix, string>()
/** Compiled once: each time is as long as what is tested. */
function digestOf(matrix: Matrix): string {
  const digest = digests.get(matrix) ?? compile(matrix).digest
  digests.set(matrix, digest)
  return digest
}

/** Rules of a separate file, looked at on `reload` alone, with all their notifications. */
function open(first: Matrix) {
  const path = join(newFolder(), 'matrix.json')
  const put = (matrix: Matrix) => {
    writeFileSync(`${path}.new`, JSON.stringify(matrix))
    renameSync(`${path}.new`, path)
  }
  put(first)
  const overruled: string[] = []
  const rules = new Rules({
    ...{ path, strict: false, pollMs: 0 },
    onRefused: (error) => {
      throw error
    },
    onOverruled: ({ digest }) => overruled.push(digest),
  })
  whenTheFileEnds(() => rules.close())
  const adopted: string[] = []
  rules.watch(({ digest }) => adopted.push(digest))
  // Values that a protocol makes of each engine, such as encoded answers.
  let prepared = rules.engine.digest
  rules.prepare(function* (engine) {
    yield
    return () => {
      prepared = engine.digest
    }
  })
  const replace = (matrix: Matrix) => {
    put(matrix)
    rules.reload()
  }
  /** The deciding engine, and the values that were made of it: always the same. */
  const inForce = () => [rules.engine.digest, prepared]
  return { rules, replace, overruled, adopted, inForce }
}

function promotedOf(matrix: Matrix, large: boolean): Promoted {
  return { matrix, digest: digestOf(matrix), large }
}

const twice = (matrix: Matrix) => Array(2).fill(digestOf(matrix))

describe.each([
  ['a small matrix', 3, false],
  ['a large matrix', 220, true],
])('%s', (_name, apis, large) => {
  const [FILE, NEXT_FILE, PROMOTED, LATER] = ['file', 'next-file', 'promoted', 'later'].map((name) =>
    manyApis(apis, name),
  ) as [Matrix, Matrix, Matrix, Matrix]

  test('is in force in the place of the file, whatever becomes of that, until it is taken back', async () => {
    const { rules, replace, overruled, adopted, inForce } = open(FILE)
    await rules.promote(promotedOf(PROMOTED, large))
    expect(inForce()).toEqual(twice(PROMOTED))
    expect([rules.overruled, rules.configuredDigest]).toEqual([true, digestOf(FILE)])
    replace(NEXT_FILE)
    await eventually(() => rules.configuredDigest === digestOf(NEXT_FILE))
    expect(inForce()).toEqual(twice(PROMOTED))
    expect(overruled).toEqual([digestOf(NEXT_FILE)])
    await rules.promote(undefined)
    expect(inForce()).toEqual(twice(NEXT_FILE))
    expect(rules.overruled).toBe(false)
    // From now on the file counts again.
    replace(FILE)
    await eventually(() => rules.engine.digest === digestOf(FILE))
    expect(inForce()).toEqual(twice(FILE))
    expect(adopted).toEqual([PROMOTED, NEXT_FILE, FILE].map(digestOf))
  })

  test('of several at the same time, the last one is in force', async () => {
    const { rules, inForce } = open(FILE)
    const all = [PROMOTED, LATER, PROMOTED, undefined, LATER].map((matrix) =>
      rules.promote(matrix && promotedOf(matrix, large)),
    )
    await Promise.all(all)
    expect(inForce()).toEqual(twice(LATER))
    await Promise.all([rules.promote(promotedOf(PROMOTED, large)), rules.promote(undefined)])
    expect(inForce()).toEqual(twice(FILE))
    expect(rules.overruled).toBe(false)
  })

  test('that is not the one of its digest is refused, and the one before stays', async () => {
    const { rules, inForce } = open(FILE)
    await rules.promote(promotedOf(PROMOTED, large))
    const damaged = { ...promotedOf(LATER, large), digest: digestOf(FILE) }
    await expect(rules.promote(damaged)).rejects.toThrow(
      `the promoted matrix is damaged: its digest is ${digestOf(LATER)}, expected ${digestOf(FILE)}`,
    )
    expect(inForce()).toEqual(twice(PROMOTED))
  })

  test('the file has the same matrix: nothing changes but who decides', async () => {
    const { rules, adopted, replace } = open(FILE)
    const engine = rules.engine
    await rules.promote(promotedOf(FILE, large))
    expect([rules.engine, rules.overruled, adopted]).toEqual([engine, true, []])
    replace(NEXT_FILE)
    await eventually(() => rules.configuredDigest === digestOf(NEXT_FILE))
    expect(rules.engine).toBe(engine)
  })

  test('is kept as the directory keeps it, and read as it was', async () => {
    const { signal } = new AbortController()
    const content = await contentOf(PROMOTED, signal)
    expect(content.length).toBeLessThan(JSON.stringify(PROMOTED).length)
    const digest = digestOf(PROMOTED)
    expect(await readContent({ digest, content }, signal)).toEqual({ digest, matrix: PROMOTED, large })
  })
})

describe('content that is not a matrix is refused', () => {
  const { signal } = new AbortController()

  test.each<[string, (content: Buffer) => Buffer | Promise<Buffer>, RegExp]>([
    ['bytes that are not compressed', () => Buffer.from('{}'), /incorrect header check/],
    ['a part of it', (content) => content.subarray(0, content.length / 2), /unexpected end of file/],
    [
      'a matrix with a field that this version does not know',
      () => contentOf({ ...manyApis(3, 'one'), later: true } as Matrix, signal),
      /later: unknown field/,
    ],
  ])('%s', async (_name, changed, expected) => {
    const content = await changed(await contentOf(manyApis(3, 'one'), signal))
    await expect(readContent({ digest: 'sha256:any', content }, signal)).rejects.toThrow(expected)
  })
})
