/**
 * Runs before the first test: finds or installs PostgreSQL and PgBouncer. If that fails, a printed line says
 * why.
 */
import type { TestProject } from 'vitest/node'
import { missing } from '../../support/interop/obtain.ts'
import { obtainPgBouncer, obtainPostgres, type Programs } from '../../support/postgres/postgres-programs.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: Programs
    readonly pgbouncer: Programs
  }
}

export default async function setup(project: TestProject): Promise<void> {
  const postgres = await obtainPostgres()
  if (!postgres.ok) missing('PostgreSQL', postgres.why)
  project.provide('postgres', postgres)
  const pgbouncer = await obtainPgBouncer()
  if (!pgbouncer.ok) missing('PgBouncer', pgbouncer.why)
  project.provide('pgbouncer', pgbouncer)
}
