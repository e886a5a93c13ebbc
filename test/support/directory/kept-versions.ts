/** Data folders that sidecars of earlier versions have left, each in a file of `test/directory/versions`. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
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
  /** Name of a file of the folder → its content, compressed by gzip, in Base64. */
  readonly files: Readonly<Record<string, string>>
}

const HERE = join(ROOT, 'test/directory/versions')
export const fileOf = (version: number) => join(HERE, `version-${version}.json`)
export const VERSIONS = readdirSync(HERE).map((name) => Number(/\d+/.exec(name)?.[0]))

/** A data folder as that version has left it. */
export function folderOf(version: number): { folder: string; kept: Kept } {
  const kept = JSON.parse(readFileSync(fileOf(version), 'utf8')) as Kept
  const folder = join(newFolder(), 'data')
  mkdirSync(folder, { mode: 0o700 })
  for (const [name, packed] of Object.entries(kept.files))
    writeFileSync(join(folder, name), gunzipSync(Buffer.from(packed, 'base64')), { mode: 0o600 })
  return { folder, kept }
}
