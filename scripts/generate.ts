/**
 * Makes what is generated and not in git, where something that it is made of has changed. `npm ci` does it,
 * and so do the scripts and the tests that need it. Nothing here imports generated code.
 *
 *     node scripts/generate.ts                 what is not current
 *     node scripts/generate.ts PART…           these parts, in any case: `npm run gen -- messages`
 *     node scripts/generate.ts descriptors     after a change of a proto, with buf; then what is not current
 *     node scripts/generate.ts released        with buf: what later contracts are compared with
 */
import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Made } from './generate/made.ts'
import { ROOT } from './packages.ts'

/** Each is loaded when it must make something. A later one may read what an earlier one has made. */
const PARTS: Readonly<Record<string, () => Promise<Made>>> = {
  messages: async () => (await import('./generate/messages.ts')).makeMessages(),
  openapi: async () => (await import('./generate/openapi.ts')).makeOpenApi(),
  schemas: async () => (await import('./generate/schemas.ts')).makeSchemas(),
  ids: async () => (await import('./generate/ids.ts')).makeIds(),
  page: async () => (await import('./generate/page.ts')).makePage(),
  chart: async () => (await import('./generate/chart.ts')).makeChart(),
}

/** The code that the sidecar and its package need; a package has its own page. */
export const CODE: readonly string[] = ['messages', 'openapi', 'schemas', 'ids']

/** The tools of every part: the generators, and the versions of installed packages. */
const TOOLS = [
  'node_modules/.package-lock.json',
  ...globSync('scripts/{generate,generate/*,licenses,packages}.ts', { cwd: ROOT }),
]

/** Part → path → digest: its sources, and its output. The launcher looks whether this exists. */
const RECORD = 'proto/gen/made.json'

type Digests = Readonly<Record<string, string>>

export interface Recorded {
  readonly inputs: Digests
  readonly files: Digests
}

if (import.meta.main) await main(process.argv.slice(2))

async function main(names: readonly string[]): Promise<void> {
  const { COMPILED, compile } = await import('./generate/descriptors.ts')
  const known = { ...COMPILED, ...PARTS }
  const unknown = names.find((name) => !Object.hasOwn(known, name))
  if (unknown !== undefined) {
    process.stderr.write(`generate: expected some of ${Object.keys(known).join(', ')}, not ${unknown}\n`)
    process.exitCode = 2
    return
  }
  for (const name of names) {
    if (name in COMPILED) compile(name)
    else await make(name)
  }
  await generate()
}

/** Makes those parts that are not current. Two that do so at the same time make the same. */
export async function generate(names: readonly string[] = Object.keys(PARTS)): Promise<void> {
  for (const name of names) if (!isCurrent(readRecord()[name])) await make(name)
}

async function make(name: string): Promise<void> {
  const began = Date.now()
  const { files, inputs } = await (PARTS[name] as (typeof PARTS)[string])()
  // Output of an older checkout is not recorded.
  if (name === 'page' && readRecord()[name] === undefined)
    rmSync(join(ROOT, 'console/dist'), { recursive: true, force: true })
  writeFiles(ROOT, files)
  for (const path of Object.keys(readRecord()[name]?.files ?? {}))
    if (!files.has(path)) rmSync(join(ROOT, path), { force: true })
  const read = [...TOOLS, ...inputs].toSorted()
  const recorded: Recorded = {
    // An input that changed meanwhile may have been read before: then this is made again next time.
    inputs: Object.fromEntries(read.map((path) => [path, changedSince(began, path) ? '' : digestOf(path)])),
    files: Object.fromEntries(Array.from(files, ([path, content]) => [path, sha256(content)])),
  }
  const record = { ...readRecord(), [name]: recorded }
  writeFiles(ROOT, new Map([[RECORD, `${JSON.stringify(record, null, 2)}\n`]]))
}

/** Whether everything that it was made of, and everything that was made, is as it was. */
export function isCurrent(recorded: Recorded | undefined, digest = digestOf): boolean {
  if (recorded === undefined) return false
  return Object.entries({ ...recorded.inputs, ...recorded.files }).every(
    ([path, was]) => was !== '' && digest(path) === was,
  )
}

export function readRecord(): Readonly<Record<string, Recorded>> {
  try {
    return JSON.parse(readFileSync(join(ROOT, RECORD), 'utf8'))
  } catch {
    return {}
  }
}

/** Writes files that have changed. A concurrent reader sees the old one or the new one. */
export function writeFiles(folder: string, files: Made['files']): void {
  for (const [name, content] of files) {
    const path = join(folder, name)
    if (digestOf(path) === sha256(content)) continue
    mkdirSync(dirname(path), { recursive: true })
    const written = `${path}.${process.pid}`
    writeFileSync(written, content)
    renameSync(written, path)
  }
}

/** @returns empty: there is no such file */
function digestOf(path: string): string {
  try {
    return sha256(readFileSync(resolve(ROOT, path)))
  } catch {
    return ''
  }
}

function changedSince(began: number, path: string): boolean {
  const { mtimeMs = 0 } = statSync(join(ROOT, path), { throwIfNoEntry: false }) ?? {}
  return mtimeMs > began && mtimeMs <= Date.now()
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
