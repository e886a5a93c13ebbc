/** Explains statements of the directory in PostgreSQL, as with statistics of many rows. */
import { Client } from 'pg'
import { numberParameters } from '../../../sidecar/directory/named-parameters.ts'
import { GROWING, type Plan, type Reading, ROWS, WIDE } from '../directory/statements.ts'

/** A value of each type that a statement has. */
const VALUES: Readonly<Record<string, string>> = {
  ...{ text: "'a value'", bytea: "'\\x00'", bigint: '100', integer: '100' },
}

/** A node of a plan. */
interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Cond'?: string
  readonly 'Recheck Cond'?: string
  readonly Filter?: string
  readonly Plans?: readonly Node[]
}

/** @param url of an empty directory, which gets a row in each table */
export async function postgresPlans(url: string, statements: readonly string[]): Promise<[string, Plan][]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    // Rows that refer to nothing, and no triggers that would see it.
    await client.query('SET session_replication_role = replica')
    for (const table of GROWING) await fill(client, table)
    // PostgreSQL multiplies the rows of a page with the pages that it finds.
    await client.query(`UPDATE pg_class SET relpages = 1, reltuples = ${ROWS} WHERE relname = ANY ($1)`, [
      [...GROWING],
    ])
    const plans: [string, Plan][] = []
    for (const sql of statements) plans.push([sql, planOf(await explained(client, sql))])
    return plans
  } finally {
    await client.end()
  }
}

/** Gives a table a row, and statistics as of many different ones. */
async function fill(client: Client, table: string): Promise<void> {
  const { rows: columns } = await client.query<{ name: string; type: string }>(
    `SELECT column_name AS name, data_type AS type FROM information_schema.columns
     WHERE table_schema = 'public' AND table_name = $1 AND is_identity = 'NO'`,
    [table],
  )
  const values = columns.map(({ name, type }) => CHOSEN[`${table}.${name}`] ?? VALUES[type])
  await client.query(`INSERT INTO ${table} (${columns.map(({ name }) => name)}) VALUES (${values})`)
  for (const { name } of columns) {
    const distinct = WIDE[table]?.includes(name) ? 100 : -0.1
    await client.query(`ALTER TABLE ${table} ALTER COLUMN ${name} SET (n_distinct = ${distinct})`)
  }
  await client.query(`ANALYZE ${table}`)
}

/** Of columns that take no other value, and of those that are mostly empty. */
const CHOSEN: Readonly<Record<string, string>> = {
  ...{ 'users.type': "'service_user'", 'panel_links.purpose': "'login'" },
  ...{ 'panel_sessions.caller_digest': 'NULL', 'static_tokens.revoked_at_ms': 'NULL' },
  ...{ 'accounts.deleted_at_ms': 'NULL', 'projects.deleted_at_ms': 'NULL', 'users.deleted_at_ms': 'NULL' },
}

async function explained(client: Client, sql: string): Promise<Node> {
  const none = Object.fromEntries([...sql.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, null]))
  await client.query(`PREPARE explained AS ${numberParameters('$', sql, none).text}`)
  const [prepared] = (
    await client.query('SELECT parameter_types::text[] AS types FROM pg_prepared_statements')
  ).rows
  // With values, as a statement is planned that says how many rows it takes.
  const values = prepared.types.map((type: string) => VALUES[type])
  const execute = `EXECUTE explained${values.length === 0 ? '' : `(${values.join(', ')})`}`
  const { rows } = await client.query(`EXPLAIN (FORMAT JSON) ${execute}`)
  await client.query('DEALLOCATE explained')
  return rows[0]['QUERY PLAN'][0].Plan
}

/** The columns that a condition compares with a value. */
function columnsIn(condition = ''): string[] {
  return [...condition.matchAll(/\((?:\(?\w+\.)?(\w+)\)?(?:::\w+)? = /g)].map(([, column = '']) => column)
}

function planOf(root: Node): Plan {
  const readings: Reading[] = []
  let sorts = false
  const visit = (node: Node, limited: boolean) => {
    const { 'Node Type': type, 'Relation Name': table = '', Filter: filter } = node
    const condition = node['Index Cond'] ?? node['Recheck Cond']
    sorts ||= type === 'Sort'
    if (/ Scan$/.test(type) && GROWING.has(table)) {
      const scans = type === 'Seq Scan' || (condition === undefined && !(limited && filter === undefined))
      const by = columnsIn(condition?.replaceAll(' IS NULL', ' = NULL'))
      readings.push({ table, by, scans, limited, filters: columnsIn(filter) })
    }
    // Below a sort, everything is read.
    for (const each of node.Plans ?? []) visit(each, type === 'Limit' || (limited && type !== 'Sort'))
  }
  visit(root, false)
  return { readings, sorts }
}
