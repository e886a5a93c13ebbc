/** The data folders that sidecars of earlier versions have left: `test/directory/version-5`, and so on. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { ROOT } from '../checkout/sources.ts'
import { newFolder } from '../suite/resources.ts'

export interface Kept {
  /** When the tokens were issued: they expire a day later. */
  readonly issued_at: string
  readonly tokens: readonly {
    readonly what: string
    readonly header: string
    readonly value: string
    readonly reason: string
  }[]
}

const HERE = join(ROOT, 'test/directory')
export const VERSIONS = readdirSync(HERE)
  .flatMap((name) => /^version-(\d+)$/.exec(name)?.[1] ?? [])
  .map(Number)

/** A data folder as that version has left it. */
export function folderOf(version: number): { folder: string; kept: Kept } {
  const from = join(HERE, `version-${version}`)
  const folder = join(newFolder(), 'data')
  mkdirSync(folder, { mode: 0o700 })
  for (const name of ['signing-keys.json', 'static-token-pepper'])
    copyFileSync(join(from, name), join(folder, name))
  const bytes = gunzipSync(readFileSync(join(from, 'directory.sqlite.gz')))
  writeFileSync(join(folder, 'directory.sqlite'), bytes, { mode: 0o600 })
  return { folder, kept: JSON.parse(readFileSync(join(from, 'tokens.json'), 'utf8')) as Kept }
}
