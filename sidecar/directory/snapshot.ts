/** A directory as it is at one moment. */
import type { Secret } from '../base/secret.ts'
import type { Dialect } from './schema.ts'

export type SnapshotRow = Readonly<Record<string, unknown>>

export interface Snapshot {
  readonly dialect: Dialect
  /** Version of its schema; 0: it has no tables yet. */
  readonly version: number
  all(sql: string): Promise<SnapshotRow[]>
  /** The rows of a query that may be very long. */
  rows(sql: string): AsyncIterable<SnapshotRow> | Iterable<SnapshotRow>
  /** Compares the tables with their second copies. @throws Error if the directory is damaged */
  expectWhole(): Promise<void>
}

/** The content of the directory is wrong. Any other error does not mean that: the disk may be full. */
export class DamagedDirectory extends Error {}

/** The key of the configuration with the URL of a shared directory, for error messages. */
export const URL_KEY = 'directory.url'

/** The name of a directory in messages. The URL has a password. */
export function nameOf({ file, shared }: DirectoryPlace): string {
  return shared === undefined ? file : URL_KEY
}

/** Where a directory is. */
export interface DirectoryPlace {
  /** SQLite file, used if no directory is shared. */
  readonly file: string
  readonly shared?:
    | {
        readonly url: Secret
        /** How long the database may take to answer, in milliseconds. */
        readonly timeoutMs: number
        /** Longest time of a statement, in milliseconds; default: `timeoutMs`. */
        readonly statementMs?: number
      }
    | undefined
}
