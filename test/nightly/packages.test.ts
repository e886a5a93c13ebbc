/**
 * The packages as users get them: npm installs each tarball into an empty project, with its dependencies from
 * the registry. The oldest supported Node, Bun and Deno run them.
 */
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compile } from '../../engine/index.ts'
import { SCHEMA_VERSION } from '../../sidecar/directory/schema.ts'
import { FOLDERS, filesOf, manifestOf, packAll } from '../support/checkout/packages.ts'
import { ROOT } from '../support/checkout/sources.ts'
import { run } from '../support/interop/command.ts'
import { findOlderNode, installRuntimes, unlessMissing } from '../support/interop/runtimes.ts'
import { passesInstalledClient } from '../support/interop/sidecar.ts'
import { manyApis } from '../support/matrices/large-matrix.ts'
import { cells, scopeFor } from '../support/matrices/oracle.ts'
import { newFolder } from '../support/suite/resources.ts'

const folder = newFolder()

const tarballs = packAll(folder)
const NAMES = FOLDERS.map((each) => [manifestOf(each).name, each] as const)

/** A project with only this package and its dependencies. */
const alone = (packageFolder: string): string => join(folder, 'alone', packageFolder)
/** A project that decides in its own process. */
const together = join(folder, 'together')

const projects = await unlessMissing('the dependencies of the packages', async () => {
  for (const each of FOLDERS) await install(alone(each), [each])
  await install(together, ['engine', 'matrix'])
  return true
})
const { bun, deno, attw } = await installRuntimes()
const olderNode = await findOlderNode()

describe('a build can be repeated', () => {
  test('every byte is the same on another day, in another time zone and language', () => {
    const again = packAll(newFolder(), { TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8' })
    for (const each of FOLDERS)
      expect(digestOf(again.get(each) ?? ''), each).toBe(digestOf(tarballs.get(each) ?? ''))
  })

  test.each(FOLDERS)('no file of %s names the folder that it was built in', (each) => {
    const files = [...filesOf(tarballs.get(each) ?? '')]
    expect(files.filter(([, { content }]) => content.includes(ROOT)).map(([path]) => path)).toEqual([])
  })
})

describe.skipIf(!projects)('npm installs', () => {
  test.each(NAMES)('%s alone, and it is imported by its name', async (name, each) => {
    const program = `console.log(Object.keys(await import('${name}')).length > 0)`
    expect(await evaluate(process.execPath, program, alone(each))).toBe(true)
  })

  test('the engine and the matrix as two packages of less than 600 kB, without the parser of YAML', () => {
    const files = globSync('node_modules/**', { cwd: together })
      .filter((path) => !path.endsWith('/yaml.js'))
      .map((path) => statSync(join(together, path)))
    // Blocks of 512 bytes, including those of folders: the space that is used on the disk.
    const bytes = files.reduce((total, { blocks }) => total + blocks * 512, 0)
    expect(bytes).toBeLessThan(600_000)
    const manifests = globSync('node_modules/**/package.json', { cwd: together }).toSorted()
    expect(manifests).toEqual(
      ['engine', 'matrix'].map((name) => join('node_modules/@portcullis', name, 'package.json')),
    )
  })

  test('the command line, and npx finds it', async () => {
    const printed = await run('npx', ['portcullis', '--version'], { cwd: alone('sidecar') })
    expect(printed.trim()).toBe(`${manifestOf('sidecar').version} (directory ${SCHEMA_VERSION})`)
  })

  // Its thread is a separate file, which nothing imports.
  test('the sidecar, and it reads a large matrix in its thread', async () => {
    for (const name of ['one', 'two'])
      writeFileSync(join(alone('sidecar'), `${name}.json`), JSON.stringify(manyApis(400, name)))
    const program = `
      import { renameSync } from 'node:fs'
      import { readConfig, startSidecar } from 'portcullis'
      const flags = { data: 'data', 'grpc.address': '127.0.0.1:0', 'http.address': 'off', matrix: 'one.json', matrix_poll_ms: 5 }
      const sidecar = await startSidecar(readConfig({ flags }))
      const before = sidecar.matrixDigest
      renameSync('two.json', 'one.json')
      while (sidecar.matrixDigest === before) await new Promise((resolve) => setTimeout(resolve, 5))
      console.log(JSON.stringify(sidecar.matrixDigest))
      await sidecar.close()
    `
    const digest = await evaluate(process.execPath, program, alone('sidecar'))
    expect(digest).toBe(compile(manyApis(400, 'two')).digest)
  })
})

describe('the engine and the matrix decide every cell as the source prints it', () => {
  const questions = cells().map(({ api, kind }) => ({ api, kind, scope: scopeFor(kind) }))
  const program = `
    import { compile } from '@portcullis/engine'
    import { loadMatrix, supportMatrix } from '@portcullis/matrix'
    const engine = compile(supportMatrix)
    const allowed = ${JSON.stringify(questions)}.map((question) => engine.decide(question).allowed)
    let refused
    try { loadMatrix('{ "title": 1, "title": 2 }') } catch ({ name }) { refused = name }
    console.log(JSON.stringify({ allowed, refused }))
  `
  const runtimes: [name: string, command: string | undefined, args: string[]][] = [
    ['a Node older than 24', olderNode, []],
    ['Bun', bun, []],
    ['Deno', deno, ['run', '--cached-only', '--allow-read']],
  ]
  for (const [name, command, args] of runtimes)
    test.skipIf(!projects || command === undefined)(`on ${name}`, async () => {
      writeFileSync(join(together, 'program.mjs'), program)
      const answer = await run(command ?? '', [...args, 'program.mjs'], { cwd: together })
      expect(JSON.parse(answer)).toEqual({
        allowed: cells().map(({ accepted }) => accepted),
        refused: 'MatrixError',
      })
    })
})

test.skipIf(!projects || olderNode === undefined)('the client asks from a Node older than 24', async () => {
  expect(await passesInstalledClient(olderNode ?? '', alone('clients/typescript'))).toBe(true)
})

test.skipIf(attw === undefined).each(NAMES)('attw finds the types of %s right', async (_name, each) => {
  const args = [tarballs.get(each) ?? '', '--profile', 'esm-only', '--no-color', '--no-emoji']
  expect(await run(process.execPath, [attw ?? '', ...args])).toContain(manifestOf(each).name)
})

const digestOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')

/** Makes an empty project, into which npm installs packages from their tarballs. */
async function install(project: string, packages: readonly string[]): Promise<void> {
  mkdirSync(project, { recursive: true })
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n')
  const options = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund']
  await run('npm', ['install', ...options, ...packages.map((each) => tarballs.get(each) ?? '')], {
    cwd: project,
  })
}

/** Runs a program and reads its output as JSON. */
async function evaluate(node: string, program: string, cwd: string): Promise<unknown> {
  return JSON.parse(await run(node, ['--input-type=module', '--eval', program], { cwd }))
}
