/** PostgreSQL, which some suites have beside a sidecar. */
import { obtainPostgres } from '../../test/support/postgres/postgres-programs.ts'
import { CommandFailed } from '../harness/command.ts'

/** @returns the folder of its programs @throws CommandFailed if they cannot be had */
export async function requirePostgres(): Promise<string> {
  const programs = await obtainPostgres()
  if (!programs.ok) throw new CommandFailed(programs.why)
  return programs.folder
}
