/** The generated code is what the contract and the schemas generate, byte for byte. */
import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { printedApis, printedKinds } from '../support/oracle.ts'
import { ROOT } from '../support/sources.ts'

test('sidecar/gen is what buf generates from proto/', { timeout: 120_000 }, () => {
  const output = mkdtempSync(join(tmpdir(), 'portcullis-gen-'))
  try {
    execFileSync(process.execPath, ['node_modules/@bufbuild/buf/bin/buf', 'generate', '--output', output], {
      cwd: ROOT,
      // The plugin that buf starts must run on the same Node.
      env: { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` },
      stdio: 'pipe',
    })
    const generated = filesIn(join(output, 'sidecar/gen'))
    expect(generated.size).toBeGreaterThan(0)
    expect(filesIn(join(ROOT, 'sidecar/gen'))).toEqual(generated)
  } finally {
    rmSync(output, { recursive: true })
  }
})

test('the descriptors that reflection serves are those of proto/', { timeout: 120_000 }, () => {
  const output = mkdtempSync(join(tmpdir(), 'portcullis-gen-'))
  try {
    const image = join(output, 'portcullis.binpb')
    const arguments_ = ['build', 'proto', '--as-file-descriptor-set', '-o', image]
    execFileSync(process.execPath, ['node_modules/@bufbuild/buf/bin/buf', ...arguments_], {
      cwd: ROOT,
      stdio: 'pipe',
    })
    expect(readFileSync(join(ROOT, 'proto/portcullis.binpb')).equals(readFileSync(image))).toBe(true)
  } finally {
    rmSync(output, { recursive: true })
  }
})

test('the validators are what ajv makes of the schemas', { timeout: 120_000 }, () => {
  const output = mkdtempSync(join(tmpdir(), 'portcullis-gen-'))
  try {
    execFileSync(process.execPath, ['scripts/compile-schemas.ts', output], { cwd: ROOT, stdio: 'pipe' })
    const generated = filesIn(output)
    expect([...generated.keys()]).toEqual([
      'matrix/gen/support-matrix.ts',
      'sidecar/config/gen/config.ts',
      'sidecar/config/gen/directory.ts',
    ])
    for (const [path, text] of generated) expect(readFileSync(join(ROOT, path), 'utf8'), path).toBe(text)
  } finally {
    rmSync(output, { recursive: true })
  }
})

test('the ids of the shipped matrix as types are those of its file', () => {
  const output = mkdtempSync(join(tmpdir(), 'portcullis-gen-'))
  try {
    execFileSync(process.execPath, ['scripts/matrix-ids.ts', output], { cwd: ROOT, stdio: 'pipe' })
    const path = 'matrix/gen/support-matrix-ids.ts'
    const text = readFileSync(join(ROOT, path), 'utf8')
    expect(filesIn(output)).toEqual(new Map([[path, text]]))
    // As many as the source prints, each once.
    const ids = [...text.matchAll(/ {2}\| '([a-z0-9_-]+)'/g)].map(([, id]) => id)
    expect(ids).toEqual([...printedKinds(), ...printedApis()])
  } finally {
    rmSync(output, { recursive: true })
  }
})

/** Path → content. */
function filesIn(folder: string): Map<string, string> {
  const paths = globSync('**/*.ts', { cwd: folder }).sort()
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path), 'utf8')]))
}
