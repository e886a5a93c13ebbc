/** The values that the edges of the simulation find: those of the fleet that is simulated now. */
import type { SQLInputValue } from 'node:sqlite'
import type { DirectoryFile } from './directory-file.ts'
import type { PostgresServer, Rows } from './postgres-server.ts'

/** The directory that the truth asks, without delay. */
export interface DirectoryItself {
  onCommit: () => void
  all(text: string, values?: readonly SQLInputValue[]): Rows
  alter(text: string, values: readonly SQLInputValue[]): boolean
}

export const world: {
  /** Where a file is the directory, it is not asked. */
  postgres: PostgresServer
  file: DirectoryFile | undefined
  /** That of the two which the fleet has. */
  directory: DirectoryItself
} = { postgres: undefined as never, file: undefined, directory: undefined as never }
