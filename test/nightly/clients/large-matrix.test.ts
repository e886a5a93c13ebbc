/**
 * Each client in local mode beside a sidecar with 100,000 APIs: it answers from memory, and the memory that
 * it takes for that is what docs/use/clients.md says. The programs are those that measure the clients.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { LANGUAGES, type Program, startWithTokens } from '../../../bench/suites/clients.ts'
import { supportMatrix } from '../../../matrix/index.ts'
import { obtained } from '../../support/interop/obtain.ts'
import { manyApis } from '../../support/matrices/large-matrix.ts'
import { newFile, newFolder } from '../../support/suite/resources.ts'

const APIS = 100_000

/** Most megabytes that a program takes more than beside a sidecar with the thirty APIs of the source. */
const MEGABYTES_MAX = 400

const many = manyApis(APIS - 1)
const balance = supportMatrix.apis.filter(({ id }) => id === 'balance')
const matrix = newFile(JSON.stringify({ ...many, apis: [...many.apis, ...balance] }), 'matrix.json')

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const start = async (...flags: readonly string[]) => startWithTokens(stack, newFolder(), 50, 0.02, flags)
const small = await start()
const large = await start('--matrix', matrix)

/** Runs a program to its end. It fails where a check that should come from memory never does. */
async function run({ command, args, cwd, env }: Program, environment: Readonly<Record<string, string>>) {
  const started = spawn(command, args, {
    ...{ cwd, stdio: ['ignore', 'pipe', 'inherit'] as const },
    env: { ...process.env, ...env, ...environment },
  })
  let megabytes = 0
  const look = setInterval(() => {
    const [, kilobytes] = /^VmHWM:\s*(\d+) kB$/m.exec(statusOf(started.pid)) ?? []
    megabytes = Math.max(megabytes, Number(kilobytes ?? 0) / 1_024)
  }, 20)
  const printed = await buffer(started.stdout)
  clearInterval(look)
  const { first_local_answer_ms: firstMs } = JSON.parse(printed.toString()) as Readonly<
    Record<string, number>
  >
  return { megabytes: Math.round(megabytes), firstMs: Math.round(firstMs ?? Number.NaN) }
}

/** Empty where the program has ended. */
function statusOf(pid: number | undefined): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return ''
    throw error
  }
}

describe.runIf(process.platform === 'linux')('local mode', () => {
  test.for(LANGUAGES)('of the client for $name takes 100,000 APIs', async (language, { skip }) => {
    const program = await obtained(`what the ${language.name} client is built with`, () =>
      language.program(newFolder()),
    )
    if (!program.ok) return skip()
    const [less, more] = [await run(program.value, small), await run(program.value, large)]
    console.log(language.name, { with30Apis: less, with100000Apis: more })
    expect(more.megabytes - less.megabytes).toBeLessThan(MEGABYTES_MAX)
  })
})
