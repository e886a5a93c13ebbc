/**
 * Runs before the first test: finds or installs PostgreSQL and PgBouncer. If that fails, a printed line says
 * why.
 */
import type { TestProject } from 'vitest/node'
import { obtainPgBouncer, obtainPostgres, type Programs } from '../../support/postgres/programs.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: Programs
    readonly pgbouncer: Programs
  }
}

export default async function setup(project: TestProject): Promise<void> {
  const postgres = await obtainPostgres()
  if (!postgres.ok)
    process.stderr.write(`interop: every test that needs PostgreSQL is skipped: ${postgres.why}\n`)
  project.provide('postgres', postgres)
  const pgbouncer = await obtainPgBouncer()
  if (!pgbouncer.ok)
    process.stderr.write(`interop: every test that needs PgBouncer is skipped: ${pgbouncer.why}\n`)
  project.provide('pgbouncer', pgbouncer)
}
