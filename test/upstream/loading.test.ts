/** What the code for upstreams and profiles costs a sidecar that has none: nothing of it is loaded. */
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { startProcess } from '../support/processes.ts'
import { newFile, newFolder } from '../support/resources.ts'
import { ROOT } from '../support/sources.ts'

const PASSWORD = newFile('a password')
const job = { account: '1', user_name: 'x', password_file: PASSWORD }

/** The packages of this room that a sidecar with this configuration has loaded when it is ready. */
async function loadedBy(config: object): Promise<string[]> {
  const file = newFile(
    JSON.stringify({
      data: newFolder(),
      grpc: { address: '127.0.0.1:0' },
      http: { address: 'off' },
      log_level: 'silent',
      ...config,
    }),
  )
  const program = newFile(
    `import { registerHooks } from 'node:module'
const loaded = new Set()
registerHooks({
  load(url, context, next) {
    const name = /node_modules\\/(undici|cockatiel|node-cache)\\/|sidecar\\/(upstream)\\//.exec(url)
    if (name) loaded.add(name[1] ?? name[2])
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

test.each<[claim: string, config: object, loaded: string[]]>([
  ['nothing of it', {}, []],
  ['a profile of the directory', { profiles: { job } }, ['node-cache', 'upstream']],
  [
    'an upstream',
    {
      upstreams: { cloud: { auth_url: 'https://identity.example' } },
      profiles: { job: { ...job, upstream: 'cloud' } },
    },
    ['cockatiel', 'node-cache', 'undici', 'upstream'],
  ],
])('a sidecar with %s loads what it needs and no more', async (_claim, config, loaded) => {
  expect(await loadedBy(config)).toEqual(loaded)
})
