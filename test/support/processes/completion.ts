/** The command line under its own name, for shells that complete it. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newFolder } from '../suite/resources.ts'
import { COMPILE_CACHE, LAUNCHER } from './processes.ts'

/** A folder where shells run: with files and folders to complete, and the program on their path. */
export interface CompletionFolder {
  readonly path: string
  readonly environment: Readonly<Record<string, string>>
}

export function completionFolder(): CompletionFolder {
  const path = newFolder()
  const program = join(path, 'bin', 'portcullis')
  mkdirSync(join(path, 'bin'))
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${LAUNCHER}' "$@"\n`)
  chmodSync(program, 0o755)
  mkdirSync(join(path, 'portcullis-data'))
  writeFileSync(join(path, 'portcullis.yaml'), '')
  const environment = {
    HOME: path,
    PATH: `${join(path, 'bin')}:${process.env.PATH}`,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
  }
  return { path, environment }
}

/** The typed words, and the words that every shell then offers. */
export const COMPLETIONS: readonly (readonly [typed: string, offered: readonly string[]])[] = [
  ['portcullis ch', ['check']],
  ['portcullis keys r', ['rotate', 'rotate-administrator-token']],
  ['portcullis help dir', ['directory']],
  ['portcullis check bal', ['balance']],
  ['portcullis explain audit-logs stat', ['static_token']],
  ['portcullis plan iam ia', []],
  ['portcullis check balance --ki', ['--kind']],
  ['portcullis check balance --kind iam_', ['iam_token_account_scoped', 'iam_token_project_scoped']],
  ['portcullis issue --api mobile-farm --api mob', ['mobile-farm']],
  ['portcullis completion f', ['fish']],
  ['portcullis serve --config portcullis.y', ['portcullis.yaml']],
  ['portcullis matrix lint portcullis.y', ['portcullis.yaml']],
]
