/** Whole numbers of rows: what no Portcullis wrote is refused when it is read, backed up or restored. */
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { decoded, encoded } from '../../../sidecar/directory/backup/backup-content.ts'
import { migrationsFrom, TABLES } from '../../../sidecar/directory/schema.ts'
import type { Subject } from './subject.ts'

const FLAGS = ['enabled', 'owner', 'validator', 'limited', 'unrestricted']
const LAST_MS = BigInt(Date.parse('9999-12-31T23:59:59.999Z'))

/** Every column with whole numbers, each with the first one that is too large. */
function columns(): [column: string, tooLarge: bigint][] {
  using database = new DatabaseSync(':memory:')
  for (const step of migrationsFrom(0, 'sqlite', 'memory')) database.exec(step)
  const found = TABLES.flatMap(({ name }) => database.prepare(`PRAGMA table_info(${name})`).all())
  const names = found.filter(({ type }) => type === 'INTEGER').map(({ name }) => String(name))
  return [...new Set(names)].map((name) => [name, tooLargeFor(name)])
}

function tooLargeFor(column: string): bigint {
  if (FLAGS.includes(column)) return 2n
  if (column.endsWith('_ms')) return LAST_MS + 1n
  if (column.endsWith('_us')) return (LAST_MS + 1n) * 1_000n
  if (column.endsWith('_day')) return LAST_MS / 86_400_000n + 1n
  return { generation: 2n ** 31n, counter: 2n ** 32n }[column] ?? 2n ** 53n
}

export function rangesContract(subject: () => Subject): void {
  test.each(columns())('`%s` has none from %i on, and none below its range', async (column, tooLarge) => {
    for (const value of [tooLarge, -2n]) {
      const row = { [column]: value }
      expect(() => encoded(row)).toThrow(`expected \`${column}\` from`)
      expect(() => decoded({ [column]: column.endsWith('_us') ? String(value) : Number(value) })).toThrow()
      // In a separate expression, so that the two databases give it the same type.
      const read = async () => subject().database.all(`SELECT CAST(${value} AS BIGINT) AS ${column}`)
      await expect(read()).rejects.toMatchObject({ reason: 'DIRECTORY_UNAVAILABLE' })
    }
    const largest = { [column]: tooLarge - 1n }
    expect(decoded(JSON.parse(JSON.stringify(encoded(largest)))).map(String)).toEqual([String(tooLarge - 1n)])
  })
}
