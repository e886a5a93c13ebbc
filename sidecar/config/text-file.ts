/** Reads YAML or JSON files strictly: no duplicate keys and no aliases. Errors never quote the file. */
import { readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Problem } from '../../matrix/document/index.ts'

/** Size of the largest file that is accepted, in bytes. */
const BYTES_MAX = 16 * 1024 * 1024

export type FileReading =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Reads a YAML or JSON file. JSON is a subset of YAML, so the YAML parser reads both. */
export function readTextFile(path: string): FileReading {
  try {
    if (statSync(path).size > BYTES_MAX) return failure(`expected at most ${BYTES_MAX} bytes`)
    return parseText(new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path)))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return failure(code === 'ENOENT' ? 'the file does not exist' : `cannot be read (${code ?? 'not UTF-8'})`)
  }
}

/** Loaded only if there is a file to read: the package has 72 files, and most sidecars use only flags and variables. */
const yaml = () => createRequire(import.meta.url)('yaml') as typeof import('yaml')

function parseText(text: string): FileReading {
  const document = yaml().parseDocument(text, { uniqueKeys: true, prettyErrors: false })
  const [error] = document.errors
  if (error !== undefined) {
    const line = text.slice(0, error.pos[0]).split('\n').length
    return failure(`expected YAML or JSON; ${error.code} at line ${line}`)
  }
  try {
    // An empty file is an empty configuration. Aliases are refused, because a few lines of them can expand to gigabytes.
    return { ok: true, value: document.toJS({ maxAliasCount: 0 }) ?? {} }
  } catch {
    return failure('expected YAML without aliases')
  }
}

function failure(expected: string): FileReading {
  return { ok: false, problems: [{ path: '', expected }] }
}
