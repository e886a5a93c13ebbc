/** The commands that build and test a client from a clean clone: its page says them, and tests run them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from './command.ts'

/**
 * The two commands of the page of a client, the second one as words.
 *
 * @throws Error where there are not two
 */
export function commandsOf(language: string): { readonly build: string; readonly test: readonly string[] } {
  const page = readFileSync(join(repository, 'clients', language, 'README.md'), 'utf8')
  const [, block = ''] = /^## Work on it\n[^#`]*^```sh\n([^`]*)^```$/m.exec(page) ?? []
  const [build, test, ...others] = block.trim().split('\n')
  if (build === undefined || test === undefined || others.length > 0)
    throw new Error(`expected two commands in clients/${language}/README.md`)
  return { build, test: test.split(' ') }
}
