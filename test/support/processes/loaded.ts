/** The modules that a sidecar has loaded when it is ready, in a separate process. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { ROOT } from '../checkout/sources.ts'
import { newFile, newFolder } from '../suite/resources.ts'
import { type RunOptions, serve, startProcess } from './processes.ts'

/**
 * A sidecar with each configuration has loaded these parts when it is ready, sorted, and none besides that an
 * earlier row has: they start one after the other in one process.
 *
 * @param parts finds a part in the URL of a module, by its first group that matches
 */
export function testLoading(
  parts: RegExp,
  rows: readonly (readonly [claim: string, config: object, loaded: readonly string[]])[],
): void {
  const all = loadedInTurn(
    rows.map(([, config]) => config),
    parts,
  )
  test.each(rows.map(([claim, , loaded], index) => ({ claim, index, loaded })))(
    'a sidecar with $claim loads only what it needs',
    async ({ index, loaded }) => {
      expect((await all)[index]).toEqual(loaded)
    },
  )
}

/** The modules that are loaded for each configuration, and were for no earlier one. */
async function loadedInTurn(configs: readonly object[], parts: RegExp): Promise<string[][]> {
  const files = configs.map((config) =>
    newFile(
      JSON.stringify({
        data: newFolder(),
        grpc: { address: '127.0.0.1:0' },
        http: { address: 'off' },
        log: { level: 'silent' },
        ...config,
      }),
    ),
  )
  const program = newFile(
    `import { registerHooks } from 'node:module'
const loaded = new Set()
registerHooks({
  load(url, context, next) {
    const [, ...names] = ${parts}.exec(url) ?? []
    const name = names.find((each) => each !== undefined)
    if (name) loaded.add(name)
    return next(url, context)
  },
})
const { readConfig, startSidecar } = await import('${pathToFileURL(ROOT)}sidecar/index.ts')
const inTurn = []
for (const file of ${JSON.stringify(files)}) {
  const before = new Set(inTurn.flat())
  const sidecar = await startSidecar(readConfig({ file }))
  inTurn.push([...loaded].filter((name) => !before.has(name)).sort())
  await sidecar.close()
}
console.log(JSON.stringify(inTurn))
`,
    'program.mjs',
  )
  const { stdout, stderr } = await startProcess([process.execPath, program]).ended
  expect(stderr).toBe('')
  return JSON.parse(stdout) as string[][]
}

/** Writes down what was loaded, for each module its URL, when the process ends. */
const REPORT = `
import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
const loaded = []
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
process.on('exit', () => writeFileSync(process.env.REPORT, loaded.join('\\n')))`

/** The URLs of all that `serve` loads until it ends. */
export async function urlsLoadedBy(flags: readonly string[], options?: RunOptions): Promise<string[]> {
  const preload = `--import=${pathToFileURL(newFile(REPORT, 'report.mjs'))}`
  const report = join(newFolder(), 'loaded')
  const { stop } = await serve(flags, {
    ...options,
    environment: { NODE_OPTIONS: preload, REPORT: report },
  })
  await stop()
  return readFileSync(report, 'utf8').split('\n')
}
