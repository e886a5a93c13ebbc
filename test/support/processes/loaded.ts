/** What a sidecar has loaded when it is ready, in a process of its own. */
import { pathToFileURL } from 'node:url'
import { expect } from 'vitest'
import { ROOT } from '../checkout/sources.ts'
import { newFile, newFolder } from '../suite/resources.ts'
import { startProcess } from './processes.ts'

/**
 * The parts of what a sidecar with this configuration has loaded, sorted.
 *
 * @param parts finds a part in the URL of a module, by its first group that matches
 */
export async function loadedBy(config: object, parts: RegExp): Promise<string[]> {
  const file = newFile(
    JSON.stringify({
      data: newFolder(),
      grpc: { address: '127.0.0.1:0' },
      http: { address: 'off' },
      log: { level: 'silent' },
      ...config,
    }),
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
const sidecar = await startSidecar(readConfig({ file: '${file}' }))
console.log(JSON.stringify([...loaded].sort()))
await sidecar.close()
`,
    'program.mjs',
  )
  const { stdout, stderr } = await startProcess([process.execPath, program]).ended
  expect(stderr).toBe('')
  return JSON.parse(stdout) as string[]
}
