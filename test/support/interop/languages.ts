/** The same tests in every language: written once, run by each client against one sidecar for the file. */
import { afterAll, beforeAll, describe, inject } from 'vitest'
import { newFolder } from '../suite/resources.ts'
import { type Ask, type RunningClient, startClient } from './client.ts'
import { type Sidecar, startSidecar } from './sidecar.ts'

/** The languages, each with its client or the reason why it is skipped. */
export const languages = [
  { language: 'Python', program: inject('python') },
  { language: 'Go', program: inject('go') },
] as const

/**
 * Declares the tests for every language.
 *
 * @param define gets how to ask, and the sidecar; both only from inside a test
 * @param flags further flags of the sidecar, which may use a separate folder
 */
export function inEveryLanguage(
  define: (ask: Ask, sidecar: () => Sidecar) => void,
  flags: (folder: string) => readonly string[] = () => [],
): void {
  let folder: string
  let sidecar: Sidecar
  beforeAll(async () => {
    folder = newFolder()
    sidecar = await startSidecar(...flags(folder))
  })
  afterAll(async () => {
    await sidecar?.stop()
  })
  for (const { language, program } of languages)
    describe.skipIf(!program.ok)(language, () => {
      let client: RunningClient
      beforeAll(() => {
        client = startClient(program, sidecar.address)
      })
      afterAll(() => client?.stop())
      define(
        (...question) => client.ask(...question),
        () => sidecar,
      )
    })
}
